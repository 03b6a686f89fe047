//! The repository's own tasks: `cargo xtask test`, `tidy`, `soak`, `docs`, `footprint`, `capi`,
//! `bench`, `screenshots`.
//!
//! The one rule: CI and people run the same commands, so no task needs a tool that must be
//! installed by hand.
//!
//! Each task has its own module.

mod api;
mod capi;
mod docs;
mod footprint;
mod screenshots;
mod soak;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::{bench, test};

/// Tasks of the fullpipe repository.
#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    Test(test::TestArguments),
    Tidy(tidy::TidyArguments),
    Soak(soak::SoakArguments),
    Docs(docs::DocsArguments),
    Footprint(footprint::FootprintArguments),
    Capi(capi::CapiArguments),
    Bench(bench::BenchArguments),
    Screenshots(screenshots::ScreenshotsArguments),
}

/// Returns the exit code: 0 if all went well, 1 if something failed, 2 for a wrong command line
/// (from clap).
fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Test(arguments) => return test::run(&arguments),
        Task::Tidy(arguments) => tidy::run(&arguments),
        Task::Soak(arguments) => soak::run(&arguments),
        Task::Docs(arguments) => docs::run(&arguments),
        Task::Footprint(arguments) => footprint::run(&arguments),
        Task::Capi(arguments) => capi::run(&arguments),
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Screenshots(arguments) => screenshots::run_all(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
