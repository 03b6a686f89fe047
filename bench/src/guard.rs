//! The guard: compares fullpipe's instructions with the committed figures.
//!
//! Rule: the same code has the same figures on every x86-64 machine. Normally, the program chooses
//! some code at run time by the features of the processor; with AVX2, that code needs fewer
//! instructions. The guard is therefore built without the feature `simd`, and uses variants of
//! `memcpy` that every processor supports ([`crate::callgrind`]). The figures still depend on the
//! versions of the compiler and of the C library. The version of the compiler is noted beside the
//! figures.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use anyhow::{Context, Result, bail};

use crate::{callgrind, cases::Case, stacks::StackName};

/// The cases that are guarded.
const CASES: [Case; 5] = [
    Case::Bulk256k,
    Case::Rr,
    Case::Crr,
    Case::Udp1472,
    Case::Udp64,
];

/// Accepted difference from the committed figure, in percent.
const TOLERANCE: f64 = 3.0;

/// Beginning of the file with the figures.
const OPENING: &str = "\
# Instructions of fullpipe for one unit of work, both ends and both applications together,
# counted with portable code. `cargo xtask bench guard --update` writes this file, and
# `cargo xtask test --only instructions` compares with it.
";

/// Result of the comparison of one figure.
#[derive(Debug, PartialEq, Eq)]
enum Judgement {
    /// The figure is within the tolerance.
    Same,
    /// The figure exceeds the committed one by more than the tolerance.
    Over,
    /// The figure is below the committed one by more than the tolerance.
    Under,
}

fn judge(committed: f64, counted: f64) -> Judgement {
    match percent_over(committed, counted) {
        percent if percent > TOLERANCE => Judgement::Over,
        percent if percent < -TOLERANCE => Judgement::Under,
        _ => Judgement::Same,
    }
}

fn percent_over(committed: f64, counted: f64) -> f64 {
    100.0 * (counted / committed - 1.0)
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("instructions.toml")
}

/// Parses a file of lines `name = value`.
fn parse(text: &str) -> BTreeMap<&str, &str> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(" = ")).collect()
}

/// Returns the name and version of the compiler.
///
/// # Errors
/// Fails if the search path contains no compiler.
pub fn rustc_version() -> Result<String> {
    let output = Command::new("rustc").arg("--version").output();
    let output = output.context("starting rustc")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Counts every guarded case and writes the figures.
///
/// # Errors
/// Fails if a run fails or the file can't be written.
pub fn update() -> Result<()> {
    let mut text = format!("{OPENING}rustc = \"{}\"\n", rustc_version()?);
    for case in CASES {
        let counted = callgrind::instructions(StackName::Fullpipe, case)?;
        let line = format!("{} = {counted:.0}\n", case.name());
        print!("{line}");
        text.push_str(&line);
    }
    fs::write(file(), text).with_context(|| format!("writing {}", file().display()))
}

/// Counts every guarded case and compares it with the committed figure.
///
/// # Errors
/// Fails if a figure is too high, or a run fails.
pub fn check() -> Result<()> {
    let text =
        fs::read_to_string(file()).with_context(|| format!("reading {}", file().display()))?;
    let committed = parse(&text);
    let (mut over, mut under) = (Vec::new(), Vec::new());
    for case in CASES {
        let name = case.name();
        let figure = committed.get(name.as_str());
        let figure: f64 = figure
            .with_context(|| {
                format!(
                    "{} has no figure for {name}; run `cargo xtask bench guard --update`",
                    file().display()
                )
            })?
            .parse()
            .with_context(|| format!("the figure for {name} is not a number"))?;
        let counted = callgrind::instructions(StackName::Fullpipe, case)?;
        println!(
            "{name}: {counted:.0} instructions for one {}; committed: {figure:.0} ({:+.1} %)",
            case.unit(),
            percent_over(figure, counted)
        );
        match judge(figure, counted) {
            Judgement::Same => {}
            Judgement::Over => over.push(name),
            Judgement::Under => under.push(name),
        }
    }
    report(&over, &under, committed.get("rustc").copied())
}

/// Prints the figures that should be lowered, and fails if a figure is too high.
fn report(over: &[String], under: &[String], rustc: Option<&str>) -> Result<()> {
    if !under.is_empty() {
        println!(
            "the counts of {} fell: lower the committed figures with `cargo xtask bench guard --update`",
            under.join(", ")
        );
    }
    if over.is_empty() {
        return Ok(());
    }
    bail!(
        "more instructions than the committed figure, by over {TOLERANCE} %: {}. To find the cost, run \
         `cargo xtask bench callgrind --profile CASE`; if the cost is justified, run \
         `cargo xtask bench guard --update`. The committed figures were counted with {}; this compiler is {}.",
        over.join(", "),
        rustc.unwrap_or("an unknown compiler").trim_matches('"'),
        rustc_version()?
    )
}
