//! `cargo xtask docs`: writes the pages that are generated from tables in the code.
//!
//! The one rule: a page contains only text from tables in the code; to change a page, change the
//! table.
//!
//! The crate with the table generates the text of the page.

use std::fs;
use std::io::ErrorKind;

use anyhow::{Context, Result, bail};

use xtask::repository;

use crate::{api, capi};

/// Write the pages that are generated from the code: docs/knobs.md, docs/experiment.schema.json, docs/api,
/// crates/capi/include/fullpipe.h.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask docs             write the pages
  cargo xtask docs --check     only check whether the pages are up to date")]
pub struct DocsArguments {
    /// Write nothing; fail when a page is out of date
    #[arg(long)]
    check: bool,
}

/// Returns each page's path below the root, with its text.
fn pages() -> Result<Vec<(&'static str, String)>> {
    let mut pages = vec![
        ("docs/knobs.md", fullpipe_lab::knobs_markdown()),
        ("docs/experiment.schema.json", fullpipe_lab::schema()),
        (capi::HEADER, capi::header()?),
    ];
    pages.extend(api::listings()?);
    Ok(pages)
}

/// Writes the pages or, with `--check`, names those that are out of date.
///
/// # Errors
/// Fails if a page can't be written, or is out of date under `--check`.
pub fn run(arguments: &DocsArguments) -> Result<()> {
    let stale = stale()?;
    if arguments.check && !stale.is_empty() {
        bail!("out of date: {}; run `cargo xtask docs`", stale.join(", "));
    }
    for (path, text) in pages()? {
        if !stale.contains(&path) {
            println!("{path}: up to date");
            continue;
        }
        let file = repository::root().join(path);
        let folder = file.parent().expect("a page lies in a folder");
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&file, text))
            .with_context(|| format!("writing {path}"))?;
        println!("{path}: written");
    }
    Ok(())
}

/// Returns the pages whose file differs from the generated text, or does not exist.
///
/// # Errors
/// Fails if a page exists and can't be read.
pub fn stale() -> Result<Vec<&'static str>> {
    let mut stale = Vec::new();
    for (path, text) in pages()? {
        let written = match fs::read_to_string(repository::root().join(path)) {
            Ok(written) => written,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| format!("reading {path}")),
        };
        if written != text {
            stale.push(path);
        }
    }
    Ok(stale)
}
