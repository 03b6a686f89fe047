//! Checks rules of this repository that no compiler checks, in the whole tree.
//!
//! The one rule: a finding names the file, the line and the remedy. There are no warnings: a rule
//! is either met or broken.
//!
//! Only properties that a program can count are checked, not for example the quality of a name.

mod circles;
mod edges;
mod exceptions;
mod finding;
mod firmware;
mod glossary;
mod lengths;
mod links;
mod names;
mod openers;
mod paths;
mod rust_file;
mod source;
mod words;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use xtask::repository;

use crate::{api, docs};
pub use finding::Finding;
use rust_file::RustFile;

/// Check the repository's rules: headers, lengths, imports, names, words, generated pages.
#[derive(Default, clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask tidy             check everything
  cargo xtask tidy --crate tcp only the findings of crates/tcp
  cargo xtask tidy --longest   also list the longest files and functions")]
pub struct TidyArguments {
    /// Also print the ten longest files and functions
    #[arg(long)]
    longest: bool,
    /// Only print the findings in this folder of crates/, in xtask, in fuzz, or in the rest (docs)
    #[arg(long = "crate", value_name = "NAME")]
    area: Option<String>,
}

/// Endings of the names of files in which words are checked: sources, documents, scripts, and
/// committed output.
const TEXTS: [&str; 17] = [
    ".c", ".cmake", ".css", ".h", ".html", ".ipynb", ".js", ".json", ".md", ".py", ".pyi", ".rs",
    ".sh", ".tcp", ".toml", ".txt", "run",
];

/// Returns the part of the tree that contains a file: a folder of `crates/`, `xtask`, `fuzz`, or
/// `docs` for everything else.
fn area(path: &str) -> &str {
    let mut parts = path.split('/');
    match (parts.next(), parts.next()) {
        (Some("crates"), Some(name)) => name,
        (Some("xtask"), _) => "xtask",
        (Some("fuzz"), _) => "fuzz",
        _ => "docs",
    }
}

/// Returns the path of a file below its crate's `src`; `None` if the file is compiled only with
/// tests.
fn below_src(path: &str) -> Option<&str> {
    let (_, below) = path.split_once("/src/")?;
    let is_test = |part: &str| part == "tests" || part == "tests.rs";
    (!below.split('/').any(is_test)).then_some(below)
}

/// Checks the rules about the names and imports of each crate as a whole.
fn check_crates(rust: &[RustFile]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<(&RustFile, &str)>> = BTreeMap::new();
    for file in rust {
        if let Some(below) = below_src(&file.path) {
            crates
                .entry(area(&file.path))
                .or_default()
                .push((file, below));
        }
    }
    let mut findings = Vec::new();
    for files in crates.values() {
        let plain: Vec<&RustFile> = files.iter().map(|(file, _)| *file).collect();
        findings.extend(names::check(&plain));
        let modules = circles::Modules::read(files);
        findings.extend(circles::check(&modules));
    }
    findings
}

/// Checks every rule, and prints the findings or, if there are none, the number of files and
/// functions.
///
/// # Errors
/// Fails if there are findings. The findings were printed; the error is one line with their number.
pub fn run(arguments: &TidyArguments) -> Result<()> {
    let texts = repository::files(&TEXTS)?;
    let glossary = texts.iter().find(|file| file.path == glossary::FILE);
    let replaced = glossary.map_or_else(Vec::new, |file| glossary::replaced(&file.text));
    ensure!(!replaced.is_empty(), "{} lists no words", glossary::FILE);
    let mut findings = Vec::new();
    let mut rust = Vec::new();
    for file in &texts {
        findings.extend(words::check(&file.path, &file.text));
        findings.extend(glossary::check(&file.path, &file.text, &replaced));
        findings.extend(links::check(&file.path, &file.text));
        if file.path.ends_with(".py") || file.path.ends_with(".pyi") {
            findings.extend(openers::check_python(&file.path, &file.text));
        }
        if file.path.ends_with(".rs") {
            match RustFile::parse(&file.path, &file.text) {
                Ok(parsed) => rust.push(parsed),
                Err(finding) => findings.push(finding),
            }
        }
    }
    for file in &rust {
        findings.extend(source::check(file));
        findings.extend(openers::check(&file.path, &file.text));
    }
    findings.extend(check_crates(&rust));
    let asked = |path: &str| {
        arguments
            .area
            .as_deref()
            .is_none_or(|name| area(path) == name)
    };
    let spans = lengths::measure(&rust);
    findings.extend(lengths::check(&spans, &exceptions::LONG));
    findings.extend(edges::check()?);
    findings.extend(firmware::check()?);
    findings.extend(api::mentions::check(&api::listings()?));
    findings.extend(docs::stale()?.into_iter().map(|page| {
        Finding::new(
            page,
            1,
            "out of date: run `cargo xtask docs` and commit what it writes",
        )
    }));

    if arguments.longest {
        lengths::print_longest(&spans);
    }
    findings.retain(|finding| asked(&finding.path));
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!(
            "tidy: {} findings; {} files checked",
            findings.len(),
            texts.len()
        );
    }
    println!(
        "tidy: {} files, {} functions, no findings",
        texts.len(),
        spans.functions()
    );
    Ok(())
}
