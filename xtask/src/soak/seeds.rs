//! The seeds that ever failed, kept in the repository.
//!
//! The one rule: a seed that found something is run again by every
//! `cargo xtask test`, until a person decides it has nothing more to say.
//!
//! Which world a seed stands for may change with the simulator; the file is a
//! list of places to look first, not a list of bugs.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::worlds::Failure;
use crate::repository;

/// Where they are kept, below the root.
pub const FILE: &str = "crates/sim/seeds.txt";

/// Characters kept of what went wrong: the file says where to look, not what was seen.
const MOST_WORDS: usize = 100;

/// What a new file begins with.
const HEADER: &str = "\
# Seeds of worlds that once failed, one a line, with what went wrong then.
# `cargo xtask test` replays each; `cargo xtask soak` adds to them.
";

fn path() -> PathBuf {
    repository::root().join(FILE)
}

/// The seeds in the file, in its order; none when there is no file.
///
/// # Errors
/// When the file can't be read or a line does not begin with a number.
pub fn known() -> Result<Vec<u64>> {
    match fs::read_to_string(path()) {
        Ok(text) => parse(&text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("reading {FILE}")),
    }
}

/// The seeds in the text of a seed file.
pub fn parse(text: &str) -> Result<Vec<u64>> {
    let mut seeds = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = line.split('#').next().unwrap_or_default().trim();
        if number.is_empty() {
            continue;
        }
        let seed = number
            .parse()
            .with_context(|| format!("{FILE}:{}: `{number}` is no seed", index + 1))?;
        seeds.push(seed);
    }
    Ok(seeds)
}

/// Adds the seeds of failures that are not in the file yet.
///
/// # Errors
/// When the file can't be read or written.
pub fn add(failures: &[Failure]) -> Result<()> {
    let known = known()?;
    let fresh: Vec<_> = failures
        .iter()
        .filter(|f| !known.contains(&f.seed))
        .collect();
    if fresh.is_empty() {
        return Ok(());
    }
    let mut file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path())
        .with_context(|| format!("opening {FILE}"))?;
    if file.metadata()?.len() == 0 {
        file.write_all(HEADER.as_bytes())?;
    }
    for failure in &fresh {
        writeln!(file, "{}", line(failure))?;
    }
    println!("{} seeds added to {FILE}", fresh.len());
    Ok(())
}

/// A failure as a line of the file.
pub fn line(failure: &Failure) -> String {
    let first_line = failure.why.lines().next().unwrap_or_default();
    let why: String = first_line.chars().take(MOST_WORDS).collect();
    format!("{} # {}", failure.seed, why.trim())
}
