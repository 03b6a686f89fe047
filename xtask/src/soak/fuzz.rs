//! The fuzzers of `fuzz/`: each one of the stack for the whole time, those of the parsers
//! together for as long.
//!
//! The one rule: an installed cargo-fuzz is used; otherwise it is built into the target
//! folder, so that nothing is left on the machine.
//!
//! The checks of the fuzzers are in `fuzz/src/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::repository;

/// The targets of the stack. All other targets are those of the parsers.
const STACKS: [&str; 2] = ["stack_receive", "stack_stateful"];

/// Largest input, in bytes: a few frames of full size.
const MAX_LEN: u32 = 8192;

/// Fuzzes the stack for `seconds` with each of its targets, and then the parsers together
/// for as long.
///
/// # Errors
/// If cargo-fuzz can't be had, or a fuzzer found something.
pub fn run(seconds: u64) -> Result<()> {
    let cargo_fuzz = cargo_fuzz()?;
    let parsers: Vec<String> = targets(&cargo_fuzz)?
        .into_iter()
        .filter(|target| !STACKS.contains(&target.as_str()))
        .collect();
    let share = (seconds / parsers.len().max(1) as u64).max(1);
    for target in STACKS {
        fuzz(&cargo_fuzz, target, seconds)?;
    }
    for target in &parsers {
        fuzz(&cargo_fuzz, target, share)?;
    }
    Ok(())
}

fn fuzz(cargo_fuzz: &Path, target: &str, seconds: u64) -> Result<()> {
    println!("fuzzing {target} for {seconds} s");
    // The core has no unsafe code, so the address sanitizer would find nothing; without
    // it the fuzzer runs twice as fast.
    let output = command(cargo_fuzz)
        .args(["run", "--sanitizer=none", target, "--"])
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={MAX_LEN}"))
        .args(["-timeout=20", "-verbosity=0", "-print_final_stats=1"])
        .output()
        .context("starting cargo fuzz")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!(
            "the fuzzer {target} failed; replay as it says, with RUSTC_BOOTSTRAP=1 set \
             and --sanitizer=none, in fuzz/\n{said}"
        );
    }
    let inputs = said
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    println!(
        "  {} inputs, nothing found",
        inputs.unwrap_or("no count of").trim()
    );
    Ok(())
}

fn targets(cargo_fuzz: &Path) -> Result<Vec<String>> {
    let output = command(cargo_fuzz)
        .arg("list")
        .output()
        .context("starting cargo fuzz")?;
    ensure!(
        output.status.success(),
        "cargo fuzz list: {}",
        output.status
    );
    Ok(String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(str::to_owned)
        .collect())
}

fn command(cargo_fuzz: &Path) -> Command {
    let mut command = Command::new(cargo_fuzz);
    command
        .arg("fuzz")
        .current_dir(repository::root().join("fuzz"))
        // Only the compiler's coverage flags are unstable, not the code.
        .env("RUSTC_BOOTSTRAP", "1");
    command
}

/// The path of an installed cargo-fuzz, or of the one built into the target folder.
fn cargo_fuzz() -> Result<PathBuf> {
    let installed = Command::new("cargo-fuzz")
        .args(["fuzz", "--version"])
        .output();
    if installed.is_ok_and(|output| output.status.success()) {
        return Ok(PathBuf::from("cargo-fuzz"));
    }
    let tools = repository::root().join("target").join("tools");
    let program = tools.join("bin").join("cargo-fuzz");
    if !program.exists() {
        let status = Command::new(env!("CARGO"))
            .args(["install", "cargo-fuzz", "--locked", "--root"])
            .arg(&tools)
            .status()
            .context("starting cargo install")?;
        ensure!(
            status.success(),
            "cargo-fuzz can't be installed; --fuzz-seconds 0 leaves it out"
        );
    }
    Ok(program)
}
