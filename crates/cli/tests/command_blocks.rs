//! Tests that the commands shown in `README.md` and in some pages of `docs` print the output shown
//! there.
//!
//! Rule: a block that begins with `$ fullpipe` contains this command, the command's output, and
//! nothing else. `UPDATE_SNAPSHOTS=1 cargo test -p fullpipe-cli --test command_blocks` rewrites the
//! blocks.

use std::{env, fs, path::Path, process::Command};

const FENCE: &str = "```";
const PROMPT: &str = "$ fullpipe ";

/// Splits a command line at spaces that are not between double quotes.
fn arguments(line: &str) -> Vec<String> {
    let mut arguments = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => arguments.push(String::new()),
            _ => arguments.last_mut().unwrap().push(letter),
        }
    }
    arguments
}

fn output(line: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fullpipe"))
        .args(arguments(line))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the page with each block's output replaced by the current output.
fn written(page: &str) -> String {
    let mut text = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        text += line;
        text.push('\n');
        let Some(command) = line.strip_prefix(PROMPT) else {
            continue;
        };
        text += output(command).trim_end();
        text.push('\n');
        let end = lines.find(|line| *line == FENCE);
        text += end.expect("a block ends");
        text.push('\n');
    }
    text
}

/// Pages with command blocks, relative to the repository's root.
const PAGES: [&str; 5] = [
    "README.md",
    "docs/diagnosis.md",
    "docs/experiments.md",
    "docs/iperf.md",
    "docs/verdicts.md",
];

#[test]
fn every_block_is_what_the_command_prints() {
    for name in PAGES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(name);
        let page = fs::read_to_string(&path).unwrap();
        let today = written(&page);
        if env::var_os("UPDATE_SNAPSHOTS").is_some() {
            fs::write(&path, &today).unwrap();
            continue;
        }
        for (is, should) in page.lines().zip(today.lines()) {
            assert_eq!(is, should, "{name} is out of date");
        }
        assert_eq!(page.lines().count(), today.lines().count(), "{name}");
    }
}

/// The README shows the present output of the command that it recommends to try first.
#[test]
fn the_readme_shows_what_the_example_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let printed = fs::read_to_string(root.join("crates/sim/examples/echo_simulated.txt")).unwrap();
    assert!(readme.contains(&printed), "README.md is out of date");
}
