//! Runs the fuzzers of `fuzz/`: each fuzzer of the stack for the whole time, and the fuzzers of
//! the parsers together for the same time.
//!
//! The one rule: an installed cargo-fuzz is used. Otherwise cargo-fuzz is built into the target
//! folder, so that the rest of the machine is unchanged.
//!
//! The checks of the fuzzers are in `fuzz/src/`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use fullpipe_pool::Rng;

use xtask::repository;

/// Targets that fuzz the stack. All other targets fuzz parsers.
const STACKS: [&str; 2] = ["stack_receive", "stack_stateful"];

/// Largest input, in bytes: a few frames of full size.
const MAX_LEN: u32 = 8192;

/// Seeds from which the first scripts of a fuzzer of the stack are drawn. A script is a series of
/// random bytes; any bytes are a valid script. Without these scripts, the fuzzer would need minutes
/// to find the first one that completes a handshake.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=64;

/// Fuzzes the stack for `seconds` with each of its targets, and then all parsers together for
/// `seconds`.
///
/// # Errors
/// Fails if cargo-fuzz is not available, or a fuzzer found an error.
pub fn run(seconds: u64) -> Result<()> {
    let cargo_fuzz = cargo_fuzz()?;
    let parsers: Vec<String> = targets(&cargo_fuzz)?
        .into_iter()
        .filter(|target| !STACKS.contains(&target.as_str()))
        .collect();
    let share = (seconds / parsers.len().max(1) as u64).max(1);
    for target in STACKS {
        fuzz(&cargo_fuzz, target, seconds, Some(&write_seeds(target)?))?;
    }
    for target in &parsers {
        fuzz(&cargo_fuzz, target, share, None)?;
    }
    Ok(())
}

/// Writes the initial scripts of `target` to a separate folder, and returns it. The inputs that
/// the fuzzer finds are in another folder, where they remain for the next run.
fn write_seeds(target: &str) -> Result<PathBuf> {
    let target_folder = repository::root().join("target");
    let folder = target_folder.join("fuzz-seeds").join(target);
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    for seed in SEEDS {
        let mut rng = Rng::seeded(seed);
        let len = rng.between(200, MAX_LEN.into());
        let script: Vec<u8> = (0..len).map(|_| rng.below(256) as u8).collect();
        let file = folder.join(format!("seed-{seed}"));
        fs::write(&file, script).with_context(|| file.display().to_string())?;
    }
    Ok(folder)
}

/// Returns the arguments of `cargo fuzz` for `target`.
fn arguments(target: &str, seconds: u64, seeds: Option<&Path>) -> Vec<OsString> {
    // Use no address sanitizer: it would find nothing, because the core has no unsafe code, and it
    // would halve the fuzzer's speed.
    let mut arguments = ["run", "--sanitizer=none", target]
        .map(OsString::from)
        .to_vec();
    if let Some(seeds) = seeds {
        // Name the corpus folder first, because the fuzzer adds new inputs to the first folder.
        arguments.push(Path::new("corpus").join(target).into());
        arguments.push(seeds.into());
    }
    arguments.push("--".into());
    arguments.push(format!("-max_total_time={seconds}").into());
    arguments.push(format!("-max_len={MAX_LEN}").into());
    // Allow inputs of every length from the start, because a script of a few bytes opens no
    // connection.
    arguments.push("-len_control=0".into());
    arguments.extend(["-timeout=20", "-print_final_stats=1"].map(OsString::from));
    arguments
}

fn fuzz(cargo_fuzz: &Path, target: &str, seconds: u64, seeds: Option<&Path>) -> Result<()> {
    println!("fuzzing {target} for {seconds} s");
    // Create the corpus folder, because cargo-fuzz creates only its own default folder.
    let corpus = repository::root().join("fuzz/corpus").join(target);
    fs::create_dir_all(&corpus).with_context(|| corpus.display().to_string())?;
    let output = command(cargo_fuzz)
        .args(arguments(target, seconds, seeds))
        .output()
        .context("starting cargo fuzz")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!(
            "the fuzzer {target} failed. To replay the input, run the command that its output names \
             in fuzz/, with RUSTC_BOOTSTRAP=1 and --sanitizer=none. The output:\n{said}"
        );
    }
    let inputs = said
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    println!(
        "  {} inputs, {} edges covered, no error found",
        inputs.unwrap_or("an unknown number of").trim(),
        edges(&said).unwrap_or("an unknown number of")
    );
    Ok(())
}

/// Returns the number of edges that a fuzzer has covered, from its output `said`.
fn edges(said: &str) -> Option<&str> {
    let (_, last) = said.rsplit_once(" cov: ")?;
    last.split_whitespace().next()
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
        // Allow unstable compiler flags with a stable compiler: the flags for coverage are
        // unstable.
        .env("RUSTC_BOOTSTRAP", "1");
    command
}

/// Returns the path of an installed cargo-fuzz, or of the one built into the target folder.
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
            "cargo-fuzz can't be installed; run without fuzzers: --fuzz-seconds 0"
        );
    }
    Ok(program)
}

#[cfg(test)]
mod tests;
