//! `cargo xtask footprint`: flash and RAM of the TCP/IP stack on a microcontroller, part by part.
//!
//! The one rule: every figure is measured. Flash is counted in a linked program. RAM is the size of
//! a TCP/IP stack that was built. The depth of the call stack is measured while the program runs in
//! an emulator.
//!
//! The programs are in `xtask/footprint`, a workspace of its own.

mod flash;
mod page;
mod ram;
mod sets;
mod toolchain;

#[cfg(test)]
mod tests;

use std::fs;

use anyhow::{Context, Result, bail};

use page::Page;
use sets::SETS;
use xtask::repository;

/// The page with the figures.
const PAGE: &str = "docs/footprint.md";

/// Measure flash and RAM on a Cortex-M3 and RAM on this machine; write docs/footprint.md.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask footprint             measure, and write docs/footprint.md
  cargo xtask footprint --check     measure, and fail if a figure differs by more than 2 %
  cargo xtask footprint --symbols   the largest functions of each set of features")]
pub struct FootprintArguments {
    /// Write nothing; fail if a figure differs from docs/footprint.md by more than 2 %
    #[arg(long)]
    check: bool,
    /// Print the 60 largest functions of each set of features, and write nothing
    #[arg(long)]
    symbols: bool,
}

/// Measures, and writes or checks the page.
///
/// # Errors
/// Fails if a program is missing or fails, or a figure has changed under `--check`.
pub fn run(arguments: &FootprintArguments) -> Result<()> {
    let toolchain = toolchain::Toolchain::prepare()?;
    if arguments.symbols {
        for set in &SETS {
            let image = toolchain.build(set.features, "flash")?;
            println!("{}\n{}", set.name, flash::largest(&toolchain, &image)?);
        }
        return Ok(());
    }
    let page = Page::measured(&toolchain)?.text();
    let file = repository::root().join(PAGE);
    if !arguments.check {
        print!("{page}");
        return fs::write(&file, page).with_context(|| format!("writing {PAGE}"));
    }
    let written = fs::read_to_string(&file).with_context(|| format!("reading {PAGE}"))?;
    let changed = page::differences(&written, &page);
    if changed.is_empty() {
        println!("{PAGE}: every figure is within 2 %");
        return Ok(());
    }
    bail!(
        "{PAGE} differs from the new figures; run `cargo xtask footprint` to write them:\n{}",
        changed.join("\n")
    );
}
