//! Checks that the example `echo_simulated` prints the output that the README shows.
//!
//! Rule: the committed file equals the example's output. `UPDATE_SNAPSHOTS=1`
//! writes it anew.

use std::{env, fs};

// The example's `main` is not called here.
#[allow(dead_code)]
#[path = "../examples/echo_simulated.rs"]
mod echo_simulated;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/echo_simulated.txt");

#[test]
fn the_example_prints_what_the_readme_shows() {
    let printed = echo_simulated::largest_limits();
    if env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(FILE, &printed).expect("the file is writable");
    }
    let committed = fs::read_to_string(FILE).unwrap_or_default();
    assert_eq!(printed, committed, "UPDATE_SNAPSHOTS=1 writes {FILE} anew");
}
