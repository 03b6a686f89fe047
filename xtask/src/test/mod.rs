//! `cargo xtask test`: runs every check of the repository in one command.
//!
//! The one rule: each part is either run or listed as left out; nothing is skipped silently. All
//! steps run even after one failed, so that one run shows every failure. Steps that wait run beside
//! steps that compute.
//!
//! This file only lists the steps; their checks are in other files.

mod child;
mod console;
mod firmware;
mod limit;
mod outcome;
mod python;
mod selection;
pub mod tools;

#[cfg(test)]
mod tests;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::ValueEnum;

use crate::bench;
use child::Child;
use outcome::{Outcome, Summary};
use selection::PROFILE;

pub use selection::ALL;

/// Run every check and every test; the last line counts what passed and failed.
///
/// The interoperability tests need root and a few programs (iperf, iperf3, tshark, tcptrace,
/// iproute2, curl). The tests of the HTML page need Chromium, and the counting of instructions needs
/// valgrind; the firmware needs QEMU, a linker and Debian's Rust compiler (1 GB). The Python package needs python3-venv
/// and packages from PyPI. As root on Debian, missing programs are installed with apt. Elsewhere, each part whose
/// program is missing is left out, and the part is named at the end.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask test                    everything this machine can run
  cargo xtask test --strict           the same, and each part left out is a failure (as in CI)
  cargo xtask test --only clippy      one step
  cargo xtask test --only tests --only interop")]
pub struct TestArguments {
    /// Count each part that is left out, such as one whose program is missing, as a failure
    ///
    /// Also switched on by the environment variable CI=true.
    #[arg(long)]
    strict: bool,
    /// Run this step only (may be given several times)
    #[arg(long, value_name = "STEP")]
    only: Vec<Step>,
}

/// The steps. Those that fail soonest come first.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Step {
    /// rustfmt would change no file
    Fmt,
    /// The repository's rules (`cargo xtask tidy`), generated pages among them
    Tidy,
    /// clippy reports nothing for any target of the workspace
    Clippy,
    /// Unit and integration tests of the workspace
    Tests,
    /// The examples in the documentation run
    DocTests,
    /// The stack builds without default features, as on bare metal, and without each feature; tests
    /// of reduced builds, with transfers
    NoStd,
    /// The examples build, and those of a TUN proxy and of an HTTP client run (as root)
    Examples,
    /// rustdoc builds without a warning
    Doc,
    /// Each crate that can be published is packed for a registry, with the files that it names
    Package,
    /// Experiments with many seeds give the committed results, and the results that docs/ claims
    Lab,
    /// The Python package: its wheel, types and tests in a clean environment (python3-venv, PyPI)
    Python,
    /// Ten random worlds (simulated networks), and each world file in crates/sim/worlds
    Soak,
    /// Instructions of fullpipe are at most 3 % over the committed figures (valgrind)
    Instructions,
    /// Flash and RAM on a microcontroller are within 2 % of docs/footprint.md (QEMU)
    Footprint,
    /// Tests of the HTML page of a run, in a browser (Chromium)
    Page,
    /// Tests against the kernel, stock iperf, iperf3, curl and tshark (as root)
    Interop,
    /// Tests of the firmware on an emulated device, against stock iperf and curl (as root)
    Firmware,
}

/// Order of the steps: the steps of `First` run first, because they fail soonest. Then the steps of
/// the other two lanes run at the same time, those of one lane one after another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lane {
    /// Steps that use both cores all the time.
    First,
    /// Steps that compile and compute.
    Computing,
    /// Steps that mostly wait: for downloads, for the clock of the kernel and of the emulator, or for
    /// one thread of a browser. They run one after another, so that only one of them measures rates.
    /// Their tests have network namespaces of their own, so they do not disturb the other lane.
    Waiting,
}

impl Step {
    fn lane(self) -> Lane {
        match self {
            Step::Fmt | Step::Tidy | Step::Clippy => Lane::First,
            Step::Tests
            | Step::DocTests
            | Step::NoStd
            | Step::Examples
            | Step::Doc
            | Step::Package
            | Step::Lab
            | Step::Soak
            | Step::Instructions
            | Step::Footprint => Lane::Computing,
            Step::Python | Step::Page | Step::Interop | Step::Firmware => Lane::Waiting,
        }
    }

    fn name(self) -> String {
        self.to_possible_value()
            .expect("no step is hidden")
            .get_name()
            .to_owned()
    }

    /// Time after which a step is killed and counts as failed. The limit is several times the
    /// step's duration on two slow cores beside the other lane, so that only a step that hangs
    /// reaches it.
    fn limit(self) -> Duration {
        let minutes = match self {
            Step::Fmt => 5,
            Step::Tidy => 15,
            Step::Clippy
            | Step::DocTests
            | Step::NoStd
            | Step::Examples
            | Step::Doc
            | Step::Package
            | Step::Soak => 40,
            Step::Python
            | Step::Instructions
            | Step::Footprint
            | Step::Page
            | Step::Interop
            | Step::Firmware => 40,
            Step::Tests | Step::Lab => 80,
        };
        Duration::from_secs(60 * minutes)
    }

    /// Creates a cargo command of this step.
    fn cargo(self, arguments: &str) -> Child {
        Child::new(env!("CARGO"), self.limit()).args(arguments.split(' '))
    }

    /// Runs another task of this program.
    fn xtask(self, arguments: &str) -> Outcome {
        match std::env::current_exe() {
            Ok(program) => Child::new(&program.to_string_lossy(), self.limit())
                .args(arguments.split(' '))
                .outcome(),
            Err(error) => Outcome::of_check(Err(error.into())),
        }
    }

    /// Runs the step. `missing` lists the tools that [`tools::prepare`] could not install.
    fn run(self, missing: &[String]) -> Outcome {
        let cargo = |arguments: &str| self.cargo(arguments);
        match self {
            Step::Fmt => APART
                .iter()
                .map(|folder| format!("fmt --check --manifest-path {folder}/Cargo.toml"))
                .map(|arguments| cargo(&arguments).outcome())
                .fold(cargo("fmt --all --check").outcome(), Outcome::and),
            Step::Tidy => self.xtask("tidy"),
            Step::Clippy => cargo(&format!(
                "clippy --quiet {ALL} --all-targets -- -D warnings"
            ))
            .outcome()
            .and(cargo(CLIPPY_OF_BENCH).outcome()),
            // Property tests draw the same cases in each run, so that what passed once passes again.
            // Those of a plain `cargo test` differ from run to run.
            Step::Tests => cargo(&format!("test {ALL} --tests --no-fail-fast"))
                .env("PROPTEST_RNG_SEED", "1")
                .tests()
                .and(cargo(&format!("test {ALL} {RECIPES}")).tests()),
            Step::DocTests => cargo(&format!("test {ALL} --doc --no-fail-fast")).tests(),
            Step::NoStd => FEATURES
                .iter()
                .map(|off| cargo(&without(off)).outcome())
                .chain(REDUCED.iter().map(|on| cargo(&reduced(on)).tests()))
                .fold(
                    cargo("build -p fullpipe --no-default-features").outcome(),
                    Outcome::and,
                ),
            Step::Examples => self.examples(missing),
            Step::Doc => cargo("doc --quiet --workspace --no-deps")
                .env("RUSTDOCFLAGS", "-D warnings")
                .outcome(),
            Step::Package => cargo(PACKAGE).outcome(),
            Step::Lab => cargo(&format!(
                "test --profile {PROFILE} -p fullpipe-lab --test tables -- --ignored"
            ))
            .tests(),
            Step::Python => python::run(self.limit()),
            Step::Soak => self.xtask("soak --worlds 10 --fuzz-seconds 0"),
            Step::Instructions => self.instructions(),
            Step::Footprint => self.footprint(),
            Step::Page => self.page(),
            Step::Interop => self.interop(missing),
            Step::Firmware => firmware::run(missing, self.limit()),
        }
    }

    /// Builds the examples, and runs the tests that run examples as programs.
    fn examples(self, missing: &[String]) -> Outcome {
        let built = self
            .cargo(&format!("build {ALL} --examples"))
            .outcome()
            .and(self.cargo(&format!("build {OUTSIDE}")).outcome());
        if !missing.is_empty() {
            return built.and(Outcome::left_out(missing.to_vec()));
        }
        let tests = format!("test {ALL} --test tun --test dnsmasq --no-fail-fast");
        let only = format!("--ignored --test-threads=1 {EXAMPLE_RUNS}");
        built.and(self.cargo(&format!("{tests} -- {only}")).tests())
    }

    /// Counts instructions, after the tests of the program that counts them.
    fn instructions(self) -> Outcome {
        if !cfg!(target_arch = "x86_64") {
            return Outcome::left_out(vec![
                "the committed instruction counts are valid on x86-64 only".to_owned(),
            ]);
        }
        let missing = tools::prepare_valgrind();
        if !missing.is_empty() {
            return Outcome::left_out(missing);
        }
        let program = format!("{} {}", bench::PROGRAM, bench::PORTABLE);
        self.cargo(&format!("test {program}")).tests().and(
            self.cargo(&format!("run --quiet {program} -- guard"))
                .outcome(),
        )
    }

    /// Measures flash and RAM, and compares them with the page.
    fn footprint(self) -> Outcome {
        let missing = tools::prepare_firmware();
        if !missing.is_empty() {
            return Outcome::left_out(missing);
        }
        self.xtask("footprint --check")
    }

    /// Runs the tests of the page in a browser.
    fn page(self) -> Outcome {
        let missing = tools::prepare_browser();
        if !missing.is_empty() {
            return Outcome::left_out(missing);
        }
        self.cargo(&format!(
            "test {ALL} --test page -- --ignored --test-threads=1"
        ))
        .tests()
    }

    /// Runs the tests marked `#[ignore]`, which need root, namespaces and other programs.
    ///
    /// They run one at a time, because they measure rates and use fixed network names. Each test
    /// repeats itself once if it fails.
    fn interop(self, missing: &[String]) -> Outcome {
        if !missing.is_empty() {
            return Outcome::left_out(missing.to_vec());
        }
        let tests = format!("test {ALL} --tests --no-fail-fast");
        let skipped = ELSEWHERE.map(|name| format!("--skip {name}")).join(" ");
        self.cargo(&format!("{tests} -- --ignored --test-threads=1 {skipped}"))
            .tests()
            .and(self.cargo(&format!("test {OUTSIDE} -- --ignored")).tests())
    }
}

/// Features of the stack that take code away when they are off.
const FEATURES: [&str; 17] = [
    "autotune",
    "bbr",
    "cookies",
    "cubic",
    "ecn",
    "fragments",
    "icmp-errors",
    "ipv6",
    "limit-clock",
    "loopback",
    "names",
    "path-mtu",
    "resting",
    "sack",
    "slaac",
    "trace",
    "udp",
];

/// Returns the arguments that check the stack with every feature but `off`, and but those that need
/// `off`.
fn without(off: &str) -> String {
    let stays = |name: &&str| *name != off && (off, *name) != ("ipv6", "slaac");
    let on: Vec<_> = FEATURES.into_iter().filter(stays).collect();
    let on = on.join(",");
    format!("check -p fullpipe --no-default-features --features {on}")
}

/// Features of the builds in which the tests of `xtask/reduced` run.
const REDUCED: [&str; 2] = ["", "cubic,sack,udp"];

/// Returns the arguments that test the stack with the features `on` only.
fn reduced(on: &str) -> String {
    format!(
        "test --locked --manifest-path xtask/reduced/Cargo.toml --target-dir target/reduced \
         --no-fail-fast --no-default-features --features={on}"
    )
}

/// Text that occurs in the names of the tests that run examples, and of no other ones.
const EXAMPLE_RUNS: &str = "the_example_runs";

/// Parts of the names of the ignored tests that [`Step::Interop`] leaves out, because other steps
/// run them: the tests of [`Step::Lab`], which need only time and an optimised build, of
/// [`Step::Page`], of [`Step::Firmware`], and of [`Step::Examples`].
const ELSEWHERE: [&str; 6] = [
    "many_seeds",
    "tuned_buffers",
    "a_thousand_connections",
    "in_browser",
    firmware::TESTS,
    EXAMPLE_RUNS,
];

/// Arguments of the test of the example impairment of CONTRIBUTING.md. The impairment exists only
/// with the feature `recipes`.
const RECIPES: &str = "--features fullpipe-explain/recipes --test recipes";

/// Workspaces apart from the main one.
const APART: [&str; 6] = [
    "bench",
    "examples/http_server",
    "firmware",
    "fuzz",
    "xtask/footprint",
    "xtask/reduced",
];

/// Packs every crate of the workspace except those that are not published. The packed crates are
/// not compiled, because the other steps compile the same files.
const PACKAGE: &str = "package --quiet --workspace --exclude fullpipe-capi --exclude fullpipe-judge \
    --exclude fullpipe-python --exclude xtask --no-verify --allow-dirty";

/// Checks the program `bench/`, which compares fullpipe with other stacks and is not in the
/// workspace.
const CLIPPY_OF_BENCH: &str = "clippy --quiet --all-targets --all-features --locked \
    --manifest-path bench/Cargo.toml --target-dir target/bench -- -D warnings";

/// Arguments for the example that uses fullpipe as other programs do, outside the workspace.
const OUTSIDE: &str =
    "--locked --manifest-path examples/http_server/Cargo.toml --target-dir target/outside";

/// Runs the steps, and prints the table and the last line `N passed, N failed`.
///
/// That line is last, so that it is easy to find in a log.
pub fn run(arguments: &TestArguments) -> ExitCode {
    let strict = arguments.strict || std::env::var("CI").is_ok_and(|value| value == "true");
    let steps: Vec<Step> = Step::value_variants()
        .iter()
        .copied()
        .filter(|step| arguments.only.is_empty() || arguments.only.contains(step))
        .collect();
    // Prepare the tools before the first test, because some tests that do not need root also use
    // them.
    let against_strangers = [Step::Tests, Step::Examples, Step::Interop, Step::Firmware];
    let missing = match steps.iter().any(|step| against_strangers.contains(step)) {
        true => tools::prepare(),
        false => Vec::new(),
    };
    let of = |lane| {
        steps
            .iter()
            .copied()
            .filter(move |step| step.lane() == lane)
    };
    let mut done = run_lane(of(Lane::First), &missing, "");
    let is_labelled = of(Lane::Computing).next().is_some() && of(Lane::Waiting).next().is_some();
    let [computing, waiting] = if is_labelled {
        ["computing", "waiting"]
    } else {
        [""; 2]
    };
    std::thread::scope(|scope| {
        let beside = scope.spawn(|| run_lane(of(Lane::Waiting), &missing, waiting));
        done.extend(run_lane(of(Lane::Computing), &missing, computing));
        done.extend(
            beside
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        );
    });
    let mut summary = Summary::new(strict);
    done.sort_by_key(|(step, ..)| steps.iter().position(|other| other == step));
    for (step, took, outcome) in done {
        summary.add(&step.name(), took, outcome);
    }
    print!("\n{summary}");
    match summary.failed() {
        0 => ExitCode::SUCCESS,
        1.. => ExitCode::FAILURE,
    }
}

/// Runs the steps of a lane one after another, with the label of the lane before each line. Returns
/// the duration and the outcome of each.
fn run_lane(
    steps: impl Iterator<Item = Step>,
    missing: &[String],
    label: &str,
) -> Vec<(Step, Duration, Outcome)> {
    console::set_label(label);
    let done = steps.map(|step| {
        console::say(&format!("=== {} ===", step.name()));
        let start = Instant::now();
        let outcome = step.run(missing);
        let took = start.elapsed();
        console::say(&format!(
            "=== {}: {:.1} s ===",
            step.name(),
            took.as_secs_f64()
        ));
        (step, took, outcome)
    });
    done.collect()
}
