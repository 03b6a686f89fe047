//! `cargo xtask bench`: the benchmarks, one after the other.
//!
//! The one rule: only optimised builds are measured, one at a time, so that a
//! benchmark has the machine to itself.
//!
//! Which benchmarks there are is what cargo says; there is no list here.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::repository;

/// Run the benchmarks of the workspace.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask bench                     all of them
  cargo xtask bench -p fullpipe         one crate's
  cargo xtask bench -p fullpipe idle    one crate's benchmarks whose name contains `idle`")]
pub struct Arguments {
    /// This crate's benchmarks only
    #[arg(short, long)]
    package: Option<String>,
    /// Only benchmarks whose name contains this
    filter: Option<String>,
}

/// Hands over to `cargo bench`.
///
/// # Errors
/// When a benchmark does not build or fails.
pub fn run(arguments: &Arguments) -> Result<()> {
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(repository::root())
        .arg("bench")
        .arg("--benches");
    match &arguments.package {
        Some(package) => command.args(["-p", package]),
        None => command.arg("--workspace"),
    };
    if let Some(filter) = &arguments.filter {
        command.args(["--", filter]);
    }
    let status = command.status().context("starting cargo bench")?;
    ensure!(status.success(), "cargo bench ended with {status}");
    Ok(())
}
