//! `cargo xtask`: runs `test` and `bench` itself, and builds and runs the program `tasks` for every other task.
//!
//! Rule: `tasks` is built with the packages and features of the tests, because cargo would compile
//! most crates again for another selection.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use xtask::{bench, repository, test};

/// The tasks of this program. The program `tasks` has the help of all tasks.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Arguments {
    Test(test::TestArguments),
    Bench(bench::BenchArguments),
}

/// Returns the exit code: 0 if all went well, 1 if something failed, 2 for a wrong command line
/// (from clap).
fn main() -> ExitCode {
    let task = std::env::args_os().nth(1).unwrap_or_default();
    let done = match task.to_str() {
        Some("test" | "bench") => match Arguments::parse() {
            Arguments::Test(arguments) => return test::run(&arguments),
            Arguments::Bench(arguments) => bench::run(&arguments),
        },
        _ => tasks(std::env::args_os().skip(1).collect()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Builds the program `tasks` and replaces this process by it.
fn tasks(arguments: Vec<OsString>) -> Result<()> {
    let mut build = Command::new(env!("CARGO"));
    build
        .current_dir(repository::root())
        .args(["build", "--quiet", "--bin", "tasks"])
        .args(test::ALL.split(' '));
    // If this program was built with optimisation, build `tasks` with optimisation too: its
    // measurements then measure optimised code.
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    let status = build.status().context("starting cargo")?;
    ensure!(status.success(), "`tasks` was not built");
    let program = std::env::current_exe()?.with_file_name("tasks");
    let error = Command::new(&program).args(arguments).exec();
    Err(error).with_context(|| format!("starting {}", program.display()))
}
