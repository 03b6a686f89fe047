//! Builds the forwarder around gVisor's netstack in `bench/gvisor`, with Go.
//!
//! The one rule: the program is written to `target/`. Go keeps the modules and its cache where it
//! keeps them for every program.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::repository;
use crate::test::tools::find;

/// Builds the program and returns its path.
///
/// # Errors
/// Fails if Go is missing, or a module cannot be fetched or built.
pub fn program() -> Result<PathBuf> {
    ensure!(
        find("go").is_some(),
        "go is missing (Debian package golang-go)"
    );
    let program = repository::root().join("target/bench/gvisor-forwarder");
    let status = Command::new("go")
        .current_dir(repository::root().join("bench/gvisor"))
        .args(["build", "-trimpath", "-buildvcs=false", "-o"])
        .arg(&program)
        .arg(".")
        .status()
        .context("starting go")?;
    ensure!(status.success(), "go build ended with {status}");
    Ok(program)
}
