//! Tests that the text and the JSON lines show every kind of record.

use fullpipe_pool::Duration;
use fullpipe_scenario::Experiment;

use super::{Watch, events_json_lines, watched_text};
use crate::{Report, RunOptions, run, template};

/// Settings for a stream: the writer waits for its send buffer, and the reader stops until its
/// window is full.
const STREAM: &[(&str, &str)] = &[
    ("workload.bytes", "1M"),
    ("workload.read.stall_after", "100ms"),
    ("workload.read.stall_for", "2s"),
];

/// Settings for bursts of eight datagrams, with a receive queue of one datagram. The receiver takes
/// ten times as long for each datagram as the link does.
const DATAGRAMS: &[(&str, &str)] = &[
    ("workload.protocol", "udp"),
    ("workload.write", "1000"),
    ("workload.rate", "8mbit"),
    ("workload.tick", "8ms"),
    ("workload.duration", "1s"),
    ("receiver.cpu.call", "900us"),
    ("receiver.udp.receive_queue", "1"),
];

const ALL: Watch = Watch {
    events: true,
    sockets: Some(Duration::from_millis(100)),
    counters: true,
};

/// Runs the template of `lab new`, with `settings` in every row (scenario).
fn report(settings: &[(&str, &str)]) -> Report {
    let mut experiment = Experiment::parse("t", "t.toml", &template("t")).unwrap();
    for (path, value) in settings {
        experiment.set(path, value).unwrap();
    }
    let options = RunOptions {
        watch: ALL,
        ..RunOptions::quick(1)
    };
    run(&experiment, &options).unwrap()
}

#[test]
fn the_text_uses_names_of_ss_and_nstat_and_each_json_line_is_an_event() {
    let report = report(STREAM);
    let all = watched_text(&report);
    for part in [
        "events of row `unchanged`",
        "events of row `64 KB send buffer`",
        "sender#1     writer blocked: ",
        "skmem:(r0,rb",
        "delivery_rate ",
        "sndbuf_limited:",
        "#sender\nIpInReceives  ",
        "zero window advertised",
    ] {
        assert!(all.contains(part), "{part}");
    }
    let lines = events_json_lines(&report);
    let events: usize = report.rows.iter().map(|row| row.watched.events.len()).sum();
    assert_eq!(lines.lines().count(), events);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["row"], "unchanged");
    assert_eq!(first["event"], "opened");
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    assert!(json["rows"][0]["sockets"][0]["skmem"]["tb"].is_number());
}

#[test]
fn udp_sockets_and_full_receive_queues_are_in_the_text() {
    let all = watched_text(&report(DATAGRAMS));
    for part in [
        "UDP sockets of row `unchanged`",
        "UNCONN",
        "recv_datagrams:0/1",
        "receiver#1   receive queue full",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
}
