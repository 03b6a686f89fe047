//! Tests of the conformance scripts. Each script sends segments to the stack, in virtual time, and
//! states the segments that an RFC requires in answer.
//!
//! Rule: a script states what the RFC requires, and is written without looking at the stack's
//! output. Each file below `scripts/` is one test; the first line of a script cites the section
//! that the script checks.
//!
//! The language is described in `scripts/README.md`. This file only finds scripts and reports.

mod play;
#[path = "../port/mod.rs"]
mod port;
mod script;
mod segment;

use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/scripts");
    let mut files = Vec::new();
    find(&root, &mut files);
    files.sort();
    let trials = files.into_iter().map(|file| {
        let name = file
            .strip_prefix(&root)
            .expect("found below the root")
            .with_extension("")
            .to_string_lossy()
            .replace(['/', '-'], "::");
        Trial::test(format!("conformance::{name}"), move || run(&file))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

/// Collects every `.tcp` file below `folder`.
fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "tcp") {
            files.push(path);
        }
    }
}

fn run(file: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(file)?;
    if !text.starts_with("# RFC ") {
        return Err(format!("{}: the first line cites no RFC", file.display()).into());
    }
    let outcome = script::parse(&text).and_then(|script| play::play(&script));
    outcome
        .map_err(|mistake| format!("{}:{}: {}", file.display(), mistake.line, mistake.what).into())
}
