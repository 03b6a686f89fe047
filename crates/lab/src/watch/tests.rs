//! The text and the JSON lines show every kind of record.

use fullpipe_pool::Duration;
use fullpipe_scenario::Experiment;

use super::{Watch, events_json_lines, watched_text};
use crate::{Report, RunOptions, run};

const TEXT: &str = r#"
title = "t"
hosts.a = { set.tcp.send_buffer = "16K" }
hosts.b = { set.tcp.receive_buffer = "32K" }
links.wire = { between = ["a", "b"], rate = "10mbit", rtt = "20ms" }
workload = { from = "a", to = "b", bytes = "500K", write = "8K" }
[[rows]]
label = "small buffer"
[[rows]]
label = "slow reader"
set.a.tcp.send_buffer = "256K"
set.workload.read.stall_after = "100ms"
set.workload.read.stall_for = "2s"
"#;

const DATAGRAMS: &str = r#"
title = "t"
[hosts.a]
[hosts.b]
preset = "unet3"
cpu = { call = "200us", receive_packet = "50us" }
device.rx_descriptors = 3
[links.wire]
between = ["a", "b"]
rate = "100mbit"
delay = "1ms"
[workload]
from = "a"
to = "b"
protocol = "udp"
write = 1000
rate = "8mbit"
tick = "10ms"
duration = "1s"
[[rows]]
label = "bursts"
"#;

const ALL: Watch = Watch {
    events: true,
    sockets: Some(Duration::from_millis(100)),
    counters: true,
};

fn report(text: &str) -> Report {
    let experiment = Experiment::parse("t", "t.toml", text).unwrap();
    let options = RunOptions {
        watch: ALL,
        ..RunOptions::plain(1)
    };
    run(&experiment, &options).unwrap()
}

#[test]
fn the_text_uses_names_of_ss_and_nstat_and_each_json_line_is_an_event() {
    let report = report(TEXT);
    let all = watched_text(&report);
    for part in [
        "events of row `small buffer`",
        "a#1          writer blocked: ",
        "skmem:(r0,rb",
        "delivery_rate ",
        "sndbuf_limited:",
        "#a\nIpInReceives  ",
        "zero window advertised",
    ] {
        assert!(all.contains(part), "{part}");
    }
    let lines = events_json_lines(&report);
    let events: usize = report.rows.iter().map(|row| row.watched.events.len()).sum();
    assert_eq!(lines.lines().count(), events);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["row"], "small buffer");
    assert_eq!(first["event"], "opened");
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    assert!(json["rows"][0]["sockets"][0]["skmem"]["tb"].is_number());
}

#[test]
fn udp_sockets_and_full_receive_queues_are_in_the_text() {
    let all = watched_text(&report(DATAGRAMS));
    for part in [
        "UDP sockets of row `bursts`",
        "UNCONN",
        "recv_datagrams:0/1",
        "b#1          receive queue full",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
}
