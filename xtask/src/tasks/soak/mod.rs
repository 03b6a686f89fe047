//! `cargo xtask soak`: runs random worlds by the thousand, then the fuzzers. With other flags it
//! judges explanations of random transfers, judges accounts inferred from captures, or applies
//! advice to kernel hosts.
//!
//! The one rule: a failed world is written to its own file. The failure message contains the
//! command that replays the file, and `cargo xtask test` runs the file from then on.
//!
//! The simulator draws the worlds and checks them.

mod captures;
mod fuzz;
mod kernels;
mod many;
#[cfg(test)]
mod tests;
mod verdicts;
mod world_files;
mod worlds;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use world_files::WorldSource;
use worlds::Plan;

/// Run random worlds (simulated networks), then the fuzzers, and report each failure.
///
/// World N is drawn from seed N: the same network, knobs and traffic every time,
/// until the code that draws worlds changes. A world that fails is written to a file
/// in crates/sim/worlds, to be committed. Worlds run on all cores, with debug assertions
/// and overflow checks; the stack and the simulator are optimised.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask soak                              2000 worlds, then three minutes of fuzzing
  cargo xtask soak --worlds 100 --fuzz-seconds 0
  cargo xtask soak --first 5000 --worlds 1000   the 1000 worlds from seed 5000 on
  cargo xtask soak --seconds 600                as many worlds as fit in ten minutes
  cargo xtask soak --world 1234                 run one world
  cargo xtask soak --replay crates/sim/worlds/window-from-old-ack-4095.toml
                                                replay a world that failed
  cargo xtask soak --world 1234 --pcap w.pcapng capture the frames of its hosts
  cargo xtask soak --verdicts                   explanations of 200 random transfers, judged
  cargo xtask soak --verdicts --seconds 3600    as many of them as start within an hour
  cargo xtask soak --verdicts --world 17        one of these transfers, its file and its result
  cargo xtask soak --verdicts --world 17 --save w.toml
                                                keep the file, for `fullpipe lab explain`
  cargo xtask soak --captures --cases 440       limits that captures show, judged
  cargo xtask soak --captures --twins           simulated copies of these captures, and their advice
  cargo xtask soak --captures --world 17        one of the cases of --captures
  cargo xtask soak --captures --kernels --cases 132
                                                captures of kernel hosts (as root), judged
  cargo xtask soak --captures --kernels --world 15 --pcap 15.pcapng
                                                one of them, and its capture at the sender
  cargo xtask soak --kernels --cases 60         advice applied to kernel hosts (as root)
  cargo xtask soak --views --cases 60           three accounts (seconds by limit) of transfers with a kernel (as root)
  cargo run --release --package xtask -- soak --verdicts --worlds 1000
                                                1000 transfers, with an optimised build")]
pub struct SoakArguments {
    /// Number of worlds to run [default: 2000, or 200 with --verdicts]
    #[arg(long, value_name = "N")]
    worlds: Option<u64>,
    /// The seed of the first world; each further world has the next seed
    #[arg(long, default_value_t = 0, value_name = "SEED")]
    first: u64,
    /// Run the world of this seed, and nothing else
    #[arg(long, value_name = "SEED", conflicts_with_all = ["worlds", "first", "seconds", "fuzz_seconds"])]
    world: Option<u64>,
    /// Run the world of this file, and nothing else
    #[arg(long, value_name = "FILE", conflicts_with_all = ["world", "worlds", "first", "seconds", "fuzz_seconds", "verdicts"])]
    replay: Option<PathBuf>,
    /// Capture the frames of all hosts of the world of --world or --replay to a file
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Start worlds for this many seconds, instead of --worlds
    #[arg(long, value_name = "S", conflicts_with = "worlds")]
    seconds: Option<u64>,
    /// Seconds for each fuzzer of the stack, and for all fuzzers of parsers together; 0 runs no fuzzer
    #[arg(long, default_value_t = 60, value_name = "S")]
    fuzz_seconds: u64,
    /// Judge the verdicts on random transfers: try every change of each transfer, and apply the advice of its verdict
    #[arg(long, conflicts_with = "fuzz_seconds")]
    verdicts: bool,
    /// Capture transfers whose limit is known, and judge the limits that the captures show
    #[arg(long, conflicts_with_all = ["seconds", "fuzz_seconds", "verdicts", "replay"])]
    captures: bool,
    /// With --captures: judge the simulated copies (twins) of the captured transfers, and apply the
    /// advice of each twin to its transfer
    #[arg(long, requires = "captures")]
    twins: bool,
    /// Capture transfers between kernel hosts, apply the advice of `why`, and repeat the transfers (as root)
    /// With --captures: judge captures of transfers between kernel hosts instead
    #[arg(long, conflicts_with_all = ["seconds", "fuzz_seconds", "verdicts", "twins", "replay"])]
    kernels: bool,
    /// Compare three accounts (seconds by limit) of each transfer between fullpipe's stack and a
    /// kernel: the accounts of the sender, the receiver and the capture (as root)
    #[arg(long, conflicts_with_all = ["seconds", "fuzz_seconds", "verdicts", "captures", "kernels", "replay"])]
    views: bool,
    /// Number of cases of --captures, --kernels or --views [default: 440 of captures, otherwise 60]
    #[arg(long, value_name = "N")]
    cases: Option<u64>,
    /// Write the experiment of the world of --world to a file
    #[arg(long, value_name = "FILE", requires_all = ["world", "verdicts"])]
    save: Option<PathBuf>,
    /// Number of worlds that run at the same time [default: one for each core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

impl SoakArguments {
    /// Number of worlds to run: `--worlds`, or `usual`; no bound with `--seconds`.
    fn count(&self, usual: u64) -> u64 {
        match self.seconds {
            Some(_) => u64::MAX - self.first,
            None => self.worlds.unwrap_or(usual),
        }
    }

    /// Time of `--seconds`.
    fn within(&self) -> Option<Duration> {
        self.seconds.map(Duration::from_secs)
    }
}

/// Runs the cases of `--captures`, `--twins`, `--kernels` or `--views`.
fn run_cases(arguments: &SoakArguments) -> Result<()> {
    let (first, jobs) = (arguments.first, arguments.jobs);
    if arguments.kernels || arguments.views {
        let (first, cases) = match arguments.world {
            Some(number) => (number, 1),
            None => (first, arguments.cases.unwrap_or(60)),
        };
        let capture = arguments.pcap.as_deref();
        return match (arguments.views, arguments.captures) {
            (true, _) => kernels::views(first, cases, capture),
            (false, true) => kernels::captures(first, cases, jobs, capture),
            (false, false) => kernels::run(first, cases),
        };
    }
    let cases = arguments.cases.unwrap_or(440);
    match arguments.world {
        Some(number) => captures::show(number),
        None if arguments.twins => captures::twins(first, cases, jobs),
        None => captures::run(first, cases, jobs),
    }
}

/// Runs the kind of test that the arguments select.
///
/// # Errors
/// Fails if a world or a fuzzer failed, or cargo-fuzz is not available.
pub fn run(arguments: &SoakArguments) -> Result<()> {
    ensure!(
        arguments.pcap.is_none()
            || arguments.replay.is_some()
            || (arguments.world.is_some() && !arguments.verdicts),
        "--pcap captures one world: give --world or --replay too, without --verdicts"
    );
    ensure!(
        arguments.pcap.is_none() || arguments.captures == arguments.kernels,
        "--pcap with --captures needs --kernels, and --kernels needs --captures"
    );
    if arguments.captures || arguments.kernels || arguments.views {
        return run_cases(arguments);
    }
    ensure!(
        arguments.cases.is_none(),
        "--cases needs --captures, --kernels or --views"
    );
    if !arguments.verdicts {
        worlds::check_build()?;
    }
    if let Some(file) = &arguments.replay {
        return replay(&WorldSource::File(file.clone()), arguments.pcap.as_deref());
    }
    match (arguments.world, arguments.verdicts) {
        (Some(number), true) => return verdicts::show(number, arguments.save.as_deref()),
        (Some(seed), false) => {
            return replay(&WorldSource::Seed(seed), arguments.pcap.as_deref());
        }
        (None, true) => {
            let worlds = (arguments.first, arguments.count(200));
            return verdicts::run(worlds, arguments.within(), arguments.jobs);
        }
        (None, false) => {}
    }
    let plan = Plan {
        files: world_files::all()?,
        first: arguments.first,
        worlds: arguments.count(2000),
        seconds: arguments.within(),
        jobs: arguments.jobs,
    };
    let held = worlds::report(&worlds::run(&plan)?);
    if arguments.fuzz_seconds == 0 {
        return held;
    }
    let fuzzed = fuzz::run(arguments.fuzz_seconds);
    match (held, fuzzed) {
        (Ok(()), fuzzed) => fuzzed,
        (held, Ok(())) => held,
        (Err(held), Err(fuzzed)) => bail!("{held:#}; and {fuzzed:#}"),
    }
}

fn replay(world: &WorldSource, pcap: Option<&Path>) -> Result<()> {
    let plan = world.plan()?;
    let outcome = match pcap {
        Some(file) => worlds::world_captured(&plan, file)
            .with_context(|| format!("capturing to {}", file.display()))?,
        None => worlds::world(&plan),
    };
    match outcome {
        Ok(summary) => {
            println!("{world} {}", worlds::in_a_line(&summary));
            Ok(())
        }
        Err(why) => bail!("{world}: {why}"),
    }
}
