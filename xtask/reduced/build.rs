//! Copies the example with static buffers from the documentation of the crate `fullpipe`, so that the
//! documentation tests of this package run it in a reduced build.
//!
//! Rule: the example is copied as it is. The other examples need features.

use std::{env, fs, path::PathBuf};

/// File with the example.
const SOURCE: &str = "../../crates/stack/src/lib.rs";
/// Headings before and after the example.
const SECTION: [&str; 2] = ["# With static buffers", "# Modules"];

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    let text = fs::read_to_string(SOURCE).expect("the source of the stack");
    let lines = text.lines().filter_map(|line| line.strip_prefix("//!"));
    let docs: Vec<_> = lines
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .skip_while(|line| *line != SECTION[0])
        .take_while(|line| *line != SECTION[1])
        .collect();
    assert!(docs.len() > 10, "{SOURCE} has no section {}", SECTION[0]);
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("example.md"), docs.join("\n")).expect("cargo made the folder");
}
