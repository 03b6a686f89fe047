//! The optimised C library and its header.
//!
//! The one rule: a command that fails ends the task.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use xtask::repository;

/// Path of the header, relative to the repository's root.
pub const HEADER: &str = "crates/capi/include/fullpipe.h";

/// Runs a command, which must succeed.
pub fn execute(command: &mut Command) -> Result<()> {
    command.current_dir(repository::root());
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .with_context(|| format!("running {name}"))?;
    ensure!(status.success(), "{name} failed: {status}");
    Ok(())
}

/// Builds the optimised libraries and returns their folder.
pub fn build() -> Result<PathBuf> {
    execute(Command::new(env!("CARGO")).args(["build", "--release", "-p", "fullpipe-capi"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| repository::root().join("target"));
    Ok(target.join("release"))
}
