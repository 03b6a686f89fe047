//! `cargo xtask bench`: the benchmarks, one after the other.
//!
//! The one rule: only optimised builds are measured, one at a time, so that a
//! benchmark has the machine to itself.
//!
//! There is no list of benchmarks here: cargo finds them.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::repository;

/// Run the benchmarks of the workspace.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask bench                     all of them
  cargo xtask bench -p fullpipe         one crate's
  cargo xtask bench -p fullpipe idle    one crate's benchmarks whose name contains `idle`
  cargo xtask bench page                frames per second of the page (Chromium)
  cargo xtask bench kernel              fullpipe and the kernel over the same lossy link (root)
  cargo xtask bench kernel -- --help    options of that benchmark")]
pub struct BenchArguments {
    /// This crate's benchmarks only
    #[arg(short, long)]
    package: Option<String>,
    /// Only benchmarks whose name contains this
    filter: Option<String>,
    /// Arguments for the benchmark itself
    #[arg(last = true)]
    more: Vec<String>,
}

/// Runs `cargo bench`.
///
/// # Errors
/// If a benchmark does not build or fails.
pub fn run(arguments: &BenchArguments) -> Result<()> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(repository::root()).arg("bench");
    match (&arguments.package, arguments.filter.as_deref()) {
        (Some(package), _) => command.args(["-p", package, "--benches"]),
        // This benchmark takes minutes and its own arguments, so only its crate is built.
        (None, Some("kernel")) => command.args(["-p", "fullpipe-perf", "--bench", "kernel"]),
        (None, Some("page")) => command.args(["-p", "fullpipe-report", "--bench", "page"]),
        (None, Some(_) | None) => command.args(["--workspace", "--benches"]),
    };
    command
        .arg("--")
        .args(&arguments.filter)
        .args(&arguments.more);
    let status = command.status().context("starting cargo bench")?;
    ensure!(status.success(), "cargo bench ended with {status}");
    Ok(())
}
