//! Test that an explanation names the example impairment of CONTRIBUTING.md, truncated frames.
//!
//! Rule: the impairment exists only in `fullpipe-sim` and `fullpipe-scenario`; no other file of
//! this crate or of `fullpipe-lab` may mention it.

use std::{fs, path::Path};

use fullpipe_explain::{Cause, explain};
use fullpipe_scenario::Experiment;

/// The link truncates so many frames that an end of the truncation helps more than any setting of a
/// host.
const CUT: &str = r#"
title = "Cut frames"
hosts.near = { acquainted = true, set.tcp.send_buffer = "8M", set.tcp.congestion = "bbr", set.tcp.bbr_loss_threshold = 100, set.tcp.rto_min = "10ms", set.tcp.rto_initial = "200ms", set.tcp.initial_window = 32 }
hosts.far = { acquainted = true, set.tcp.receive_buffer = "8M", set.tcp.out_of_order = "8M", set.tcp.initial_receive_window = 1000 }
links.path = { between = ["near", "far"], rate = "1gbit", delay = "1ms", forward.truncation = "20%" }
workload = { from = "near", to = "far", bytes = 3000000 }
rows = [{ label = "20 %" }]
"#;

#[test]
fn an_impairment_that_this_crate_does_not_know_is_named_by_its_own_row() {
    let experiment = Experiment::parse("cut", "cut.toml", CUT).expect("no mistake");
    let found = explain(&experiment.rows[0].setup, 1).expect("the stack is right");
    let words = &found.parts.limited_by;
    assert!(words.contains("truncated frames of link `path`"), "{words}");
    let because = found.parts.because.join(" ");
    assert!(
        because.contains("(path.forward.truncation = 0), the simulated goodput rises by"),
        "{because}"
    );
    assert!(Cause::all().any(|cause| cause.name == "truncation"));
}

#[test]
fn neither_this_crate_nor_the_lab_mentions_it() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![here.join("src"), here.join("../lab/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the source") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).expect("text");
                assert!(!text.contains("truncation"), "{}", path.display());
            }
        }
    }
}
