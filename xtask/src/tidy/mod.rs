//! Rules of the house that no compiler knows, checked over the whole tree.
//!
//! The one rule: a finding names the file, the line and what to do; there is no
//! warning level, a rule holds or it is not a rule.
//!
//! It judges what can be counted. Whether a name is good is for a reader.

mod edges;
mod exceptions;
mod lengths;
mod source;
mod words;

#[cfg(test)]
mod tests;

use std::fmt;

use anyhow::{Result, bail};
use syn::spanned::Spanned;

use crate::{docs, repository};

/// Check the rules of the house: headers, lengths, crate edges, forbidden words, generated pages.
#[derive(Default, clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask tidy             check everything
  cargo xtask tidy --longest   also list the longest files and functions")]
pub struct Arguments {
    /// Also print the ten longest files and functions
    #[arg(long)]
    longest: bool,
}

/// One broken rule at one place.
pub struct Finding {
    path: String,
    line: usize,
    says: String,
}

impl Finding {
    fn new(path: &str, line: usize, says: impl Into<String>) -> Finding {
        Finding {
            path: path.to_owned(),
            line,
            says: says.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.says)
    }
}

/// A Rust file, as text and as syntax.
pub struct RustFile {
    path: String,
    text: String,
    syntax: syn::File,
}

impl RustFile {
    fn parse(path: &str, text: &str) -> Result<RustFile, Finding> {
        match syn::parse_file(text) {
            Ok(syntax) => Ok(RustFile {
                path: path.to_owned(),
                text: text.to_owned(),
                syntax,
            }),
            Err(error) => {
                let line = error.span().span().start().line;
                Err(Finding::new(path, line, format!("does not parse: {error}")))
            }
        }
    }

    /// The crate's folder name when the file belongs to `crates/NAME/`.
    fn crate_folder(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }
}

/// Checks every rule; `Ok` says how many files were looked at.
///
/// # Errors
/// The findings, printed, and one line that counts them.
pub fn run(arguments: &Arguments) -> Result<()> {
    let texts = repository::files(&[".rs", ".md", ".toml", ".sh", "run"])?;
    let mut findings = Vec::new();
    let mut rust = Vec::new();
    for file in &texts {
        findings.extend(words::check(&file.path, &file.text));
        if file.path.ends_with(".rs") {
            match RustFile::parse(&file.path, &file.text) {
                Ok(parsed) => rust.push(parsed),
                Err(finding) => findings.push(finding),
            }
        }
    }
    for file in &rust {
        findings.extend(source::check(file));
    }
    let spans = lengths::measure(&rust);
    findings.extend(lengths::check(&spans, &exceptions::LONG));
    findings.extend(edges::check()?);
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
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!("tidy: {} findings in {} files", findings.len(), texts.len());
    }
    println!(
        "tidy: {} files, {} functions, nothing to say",
        texts.len(),
        spans.functions()
    );
    Ok(())
}
