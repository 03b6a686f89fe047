//! Tests that compile the programs of `tests/c` with the system's C compiler, and run them.
//!
//! Rule: a program must compile without a warning and checks itself; a test looks only at the
//! program's exit status. Each program runs with the address and the undefined-behaviour sanitizer.

#[path = "../../host/tests/apart/mod.rs"]
mod apart;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::Duration,
};

use apart::apart_within;

/// Longest run of one try, in which cargo may have to build the library.
const LIMIT: Duration = Duration::from_secs(900);

/// Builds the static library that C programs link, and returns its path.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let own = env::current_exe().expect("a test has a path");
        let profile = own.ancestors().nth(2).expect("the test is in PROFILE/deps");
        let target = profile.parent().expect("a profile has a folder");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--package", "fullpipe-capi"]);
        cargo.arg("--target-dir").arg(target);
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo runs").success());
        profile.join("libfullpipe_capi.a")
    })
}

/// A program of `tests/c`, with its other sources and the compiler's flags.
struct Program {
    /// Its main file, without `.c`.
    name: &'static str,
    /// Other files, below the crate's folder.
    sources: &'static [&'static str],
    flags: &'static [&'static str],
}

impl Program {
    /// Compiles the program, runs it with `arguments`, and returns its output.
    fn run(&self, arguments: &[&str]) -> String {
        let Self {
            name,
            sources,
            flags,
        } = self;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let out = Path::new(env!("CARGO_TARGET_TMPDIR"));
        fs::create_dir_all(out).expect("the folder for tests is writable");
        let unique = flags.concat().replace(['/', ',', '='], "_");
        let program = out.join(format!("{name}{unique}"));
        let mut compiler = Command::new("cc");
        compiler.current_dir(folder);
        compiler.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]);
        for include in [
            "include",
            "linux",
            "tests/c",
            "compat/unet3",
            "compat/netburner",
        ] {
            compiler.arg("-I").arg(include);
        }
        compiler
            .args(*flags)
            .arg(format!("tests/c/{name}.c"))
            .args(*sources)
            .arg(library())
            .args(["-lpthread", "-ldl", "-lm", "-o"])
            .arg(&program);
        let compiled = compiler.status().expect("a C compiler is installed");
        assert!(compiled.success(), "{compiler:?}");
        let ran = Command::new(&program).args(arguments).output();
        let ran = ran.expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (said, complained) = (text(&ran.stdout), text(&ran.stderr));
        assert!(ran.status.success(), "{name}: {said}{complained}");
        println!("{said}");
        said
    }
}

const ADDRESS: &str = "-fsanitize=address,undefined";
const FATAL: &str = "-fno-sanitize-recover=all";
const SANITIZERS: &[&str] = &[ADDRESS, FATAL];

/// Sources of uNet3's calls over a simulated cable.
const UNET3: &[&str] = &["tests/c/cable_system.c", "compat/unet3/unet3.c"];
/// Sources of NetBurner's calls over a simulated cable.
const NETBURNER: &[&str] = &["tests/c/cable_system.c", "compat/netburner/netburner.c"];
const NUTTX: &[&str] = &["tests/c/cable_system.c", "compat/nuttx/posix.c"];

#[test]
fn bytes_come_back_unchanged_through_the_c_interface() {
    apart_within(
        LIMIT,
        "bytes_come_back_unchanged_through_the_c_interface",
        &[],
        || {
            let echo = Program {
                name: "echo",
                sources: &[],
                flags: SANITIZERS,
            };
            let said = echo.run(&[]);
            assert!(said.contains("udp echo"), "{said}");
        },
    );
}

#[test]
fn the_library_never_calls_malloc() {
    apart_within(LIMIT, "the_library_never_calls_malloc", &[], || {
        let echo = Program {
            name: "echo",
            sources: &["tests/c/no_malloc.c"],
            flags: &[
                "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc",
                "-Wl,--wrap=posix_memalign,--wrap=aligned_alloc",
            ],
        };
        echo.run(&[]);
    });
}

/// The environment variable FULLPIPE_MISUSE can set the number of calls and the seed.
#[test]
fn random_calls_with_wrong_arguments_are_refused() {
    apart_within(
        LIMIT,
        "random_calls_with_wrong_arguments_are_refused",
        &[],
        || {
            let misuse = Program {
                name: "misuse",
                sources: &[],
                flags: SANITIZERS,
            };
            let asked = env::var("FULLPIPE_MISUSE").unwrap_or_else(|_| "20000 1".to_owned());
            let said = misuse.run(&asked.split(' ').collect::<Vec<_>>());
            assert!(said.contains("36 of 36 blocks free"), "{said}");
        },
    );
}

#[test]
fn a_call_of_a_second_thread_is_refused() {
    apart_within(LIMIT, "a_call_of_a_second_thread_is_refused", &[], || {
        let threads = Program {
            name: "threads",
            sources: &[],
            flags: SANITIZERS,
        };
        threads.run(&[]);
    });
}

/// With 1,024 bytes of send buffer each segment waits for a delayed ACK; with 16,384 none does.
#[test]
fn a_program_for_unet3_runs_and_is_much_faster_tuned_than_default() {
    apart_within(
        LIMIT,
        "a_program_for_unet3_runs_and_is_much_faster_tuned_than_default",
        &[],
        || {
            let run = |flags| {
                let program = Program {
                    name: "unet3_program",
                    sources: UNET3,
                    flags,
                };
                let said = program.run(&[]);
                let number = |after: &str| -> f64 {
                    let (_, rest) = said.split_once(after).expect("it prints its times");
                    let digits = rest.split(' ').next().expect("a number follows");
                    digits.parse().expect("a number")
                };
                (number("sent in "), number("received in "))
            };
            let default = run(SANITIZERS);
            let tuned = run(&[
                ADDRESS,
                FATAL,
                "-DCFG_TCP_SND_WND=16384",
                "-DCFG_TCP_RCV_WND=32768",
                "-DCFG_PKT_RCV_QUE=255",
                "-DETH1_RXDESC_CNT=18",
            ]);
            assert!(default.0 > 100.0 * tuned.0, "send: {default:?} {tuned:?}");
            assert!(default.1 > 4.0 * tuned.1, "receive: {default:?} {tuned:?}");
        },
    );
}

#[test]
fn each_setting_of_netburner_changes_what_is_on_the_wire() {
    apart_within(
        LIMIT,
        "each_setting_of_netburner_changes_what_is_on_the_wire",
        &[],
        || {
            let netburner = Program {
                name: "netburner",
                sources: NETBURNER,
                flags: SANITIZERS,
            };
            netburner.run(&[]);
        },
    );
}

#[test]
fn a_long_posix_write_gets_through_a_small_pool() {
    apart_within(
        LIMIT,
        "a_long_posix_write_gets_through_a_small_pool",
        &[],
        || {
            for flags in [
                &[
                    ADDRESS,
                    FATAL,
                    "-include",
                    "compat/nuttx/posix.h",
                    "-DCONFIG_IOB_NBUFFERS=36",
                    "-DCONFIG_IOB_BUFSIZE=196",
                ],
                &[
                    ADDRESS,
                    FATAL,
                    "-include",
                    "compat/nuttx/posix.h",
                    "-DCONFIG_IOB_NBUFFERS=1024",
                    "-DCONFIG_IOB_BUFSIZE=196",
                ],
            ] {
                let nuttx = Program {
                    name: "nuttx",
                    sources: NUTTX,
                    flags,
                };
                nuttx.run(&[]);
            }
        },
    );
}
