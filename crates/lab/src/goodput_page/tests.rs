//! Tests of the page for a small experiment with a known limit in each row (scenario).

use fullpipe_scenario::Experiment;

use crate::{RunOptions, goodput_markdown, run};

const FILE: &str = r#"
title = "A buffer and a path"
columns = ["goodput_mbps", "timeouts"]
hosts.near = {}
hosts.far = {}
links.path = { between = ["near", "far"], rate = "10mbit", delay = "10ms" }
workload = { from = "near", to = "far", duration = "2s" }
[matrix]
label = "{buffer}"
buffer = { set = "near.tcp.send_buffer", values = ["4K", "8K", "64K"] }
[peers.other.goodput_mbps]
"8K" = 2.5
"#;

#[test]
fn rows_that_do_not_fill_their_path_are_named_with_their_limit_and_its_proof() {
    let experiment = Experiment::parse("t", "t.toml", FILE).unwrap();
    let options = RunOptions::plain(1);
    let report = run(&experiment, &options).unwrap();
    let page = goodput_markdown(&[&report]);
    let chapter = &page[page.find("## A buffer and a path").unwrap()..];
    let lines: Vec<_> = chapter.lines().collect();
    assert_eq!(
        lines[2],
        "| row | Mbit/s | other Mbit/s | timeouts | limit |"
    );
    assert_eq!(lines[3], "| --- | --- | --- | --- | --- |");
    assert!(
        lines[4].starts_with("| `4K` | ")
            && lines[4].ends_with(" | \u{2013} | 0 | the send buffer |"),
        "{}",
        lines[4]
    );
    assert!(lines[5].contains(" | 2.5 | "), "{}", lines[5]);
    assert!(!lines[6].ends_with("| the send buffer |"), "{}", lines[6]);
    let limits = &lines[10..];
    assert_eq!(limits.len(), 1, "{limits:?}");
    assert!(
        limits[0].starts_with(
            "- **the send buffer** \u{2013} `4K`, `8K`. For example `4K` is limited by the send \
             buffer: tcp.send_buffer = 4096"
        ),
        "{}",
        limits[0]
    );
}
