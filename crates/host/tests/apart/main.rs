//! Tests that [`apart`] ends a test that hangs, with all processes that the test started.

#[path = "mod.rs"]
mod harness;

use std::{
    env, fs,
    os::unix::process::parent_id,
    panic,
    path::PathBuf,
    process::{self, Command},
    thread,
    time::Duration,
};

/// File with the process id of a child of the test that hangs; process `parent` runs that test.
fn note(parent: u32) -> PathBuf {
    env::temp_dir().join(format!("fullpipe-apart-{parent}.txt"))
}

fn hang() {
    let mut child = Command::new("sleep").arg("1000").spawn().expect("sleep");
    fs::write(note(parent_id()), child.id().to_string()).expect("a folder for this");
    child.wait().expect("it is our child");
}

/// Returns true if the process is alive: a killed process has no command line.
fn is_alive(process: &str) -> bool {
    fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|line| !line.is_empty())
}

#[test]
fn a_test_that_hangs_is_ended_with_what_it_started() {
    let test = "a_test_that_hangs_is_ended_with_what_it_started";
    let note = note(process::id());
    // On a slow machine, the test may not start its child before the first limit.
    let child = [3, 20, 90].into_iter().find_map(|seconds| {
        let limit = Duration::from_secs(seconds);
        let outcome = panic::catch_unwind(|| harness::apart_within(limit, test, &[], hang));
        assert!(outcome.is_err(), "it failed");
        fs::read_to_string(&note).ok()
    });
    let child = child.expect("it has started");
    fs::remove_file(note).expect("it is ours");
    for _ in 0..3_000 {
        if !is_alive(&child) {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("process {child} is left behind");
}

#[test]
fn a_test_that_passes_passes() {
    harness::apart("a_test_that_passes_passes", &[], || ());
}
