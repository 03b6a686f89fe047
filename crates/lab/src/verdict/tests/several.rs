//! Several connections of one host: shared and separate resources.

use fullpipe_scenario::experiment::Experiment;

use crate::{
    run::{RunOptions, run},
    verdict::{Cause, Verdict},
};

const FILE: &str = r#"
title = "t"
hosts.near = { set.tcp.send_buffer = "32K" }
hosts.far = {}
links.path = { between = ["near", "far"], rate = "20mbit", delay = "20ms" }
workload = { from = "near", to = "far", bytes = 2000000, write = 16384 }
flows.first = { count = 8 }
flows.last = { start = "60s" }
rows = [{ label = "row" }]
"#;

fn verdict(changes: &[(&str, &str)]) -> Verdict {
    let mut experiment = Experiment::parse("t", "t.toml", FILE).unwrap();
    for (path, value) in changes {
        experiment.set(path, value).unwrap();
    }
    let mut report = run(&experiment, &RunOptions::plain(1)).unwrap();
    report.rows.remove(0).verdict
}

#[test]
fn windows_that_fill_the_path_together_leave_it_the_bound_whoever_rests_meanwhile() {
    // 32 KiB every 40 ms are 6.5 Mbit/s, and eight connections would use more than the
    // path has. The ninth starts when the path has long been idle.
    let verdict = verdict(&[("last.bytes", "20000")]);
    assert_eq!(verdict.limit, Cause::Path, "{}", verdict.parts.line());
    assert!(verdict.parts.line().contains("shared by 9 connections"));
    assert!(verdict.changes.is_empty());
}

#[test]
fn windows_that_do_not_are_each_connections_own() {
    let verdict = verdict(&[("first.count", "2")]);
    assert_eq!(verdict.limit, Cause::SendBuffer, "{}", verdict.parts.line());
    assert!(verdict.parts.line().contains("for each connection"));
}

#[test]
fn a_processor_that_all_share_binds_before_what_each_may_send() {
    let verdict = verdict(&[("near.cpu.send_packet", "1ms"), ("last.bytes", "20000")]);
    assert_eq!(verdict.limit, Cause::Cpu, "{}", verdict.parts.line());
    assert!(verdict.parts.line().contains("shared by 9 connections"));
}
