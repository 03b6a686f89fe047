//! `--limits` as JSON and `--prometheus` as OpenMetrics, about a transfer whose bytes are known.
//!
//! Rule: a test names every key and every metric, so that none changes unnoticed.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::Stdio,
    sync::mpsc,
    thread,
};

use serde_json::Value;

use crate::{
    apart::in_network_namespace,
    ground::{
        Forwarder, PATIENCE, TARGETS, add_targets, connect, payload, serve, target, wait_until,
    },
};

/// Payload from the client to the target.
const UP: usize = 300_000;
/// Payload from the target to the client.
const DOWN: usize = 200_000;

/// Keys of an object of JSON.
fn keys(object: &Value) -> Vec<&str> {
    let object = object.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

/// Samples of the metrics at port 9100, by name with labels.
fn metrics() -> BTreeMap<String, f64> {
    let mut stream = connect(target("127.0.0.1", 9100));
    let request = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    stream.write_all(request).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a header");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("application/openmetrics-text"), "{head}");
    assert!(body.ends_with("# EOF\n"), "{body}");
    let samples = body.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &str| {
        let (name, value) = line.rsplit_once(' ').expect("a value");
        (name.to_string(), value.parse().expect("a number"))
    };
    samples.map(sample).collect()
}

fn check_the_open_flow(report: &Value) {
    assert_eq!(keys(report), ["flows", "schema", "totals"]);
    let flow = &report["flows"][0];
    assert_eq!(
        keys(flow),
        [
            "client",
            "client_limit",
            "down",
            "number",
            "protocol",
            "seconds",
            "target",
            "up"
        ]
    );
    assert_eq!(flow["protocol"], "tcp");
    assert_eq!(flow["target"], "198.51.100.7:80");
    let client = flow["client"].as_str().expect("text");
    assert!(client.starts_with("10.9.0.1:"), "{client}");
    assert!(flow["seconds"].as_f64().expect("a number") > 0.0);
    assert_eq!(keys(&flow["client_limit"]), ["name", "share"]);
    for (direction, bytes) in [("up", UP), ("down", DOWN)] {
        let direction = &flow[direction];
        assert_eq!(
            keys(direction),
            [
                "bytes",
                "waited_for_client_seconds",
                "waited_for_target_seconds",
                "waited_longest_for"
            ]
        );
        assert_eq!(direction["bytes"], bytes);
    }
    let totals = &report["totals"];
    assert_eq!(
        keys(totals),
        [
            "down_bytes",
            "down_waited_for_client_seconds",
            "down_waited_for_target_seconds",
            "opened",
            "refused",
            "tcp_open",
            "udp_open",
            "up_bytes",
            "up_waited_for_client_seconds",
            "up_waited_for_target_seconds",
        ]
    );
    for (key, value) in [
        ("tcp_open", 1),
        ("udp_open", 0),
        ("opened", 1),
        ("refused", 1),
        ("up_bytes", UP),
        ("down_bytes", DOWN),
    ] {
        assert_eq!(totals[key], value, "{key}: {totals}");
    }
}

fn check_the_metrics() {
    let mut samples = metrics();
    for (name, value) in [
        ("flows{protocol=\"tcp\"}", 1),
        ("flows{protocol=\"udp\"}", 0),
        ("flows_opened_total", 1),
        ("flows_refused_total", 1),
        ("bytes_total{direction=\"up\"}", UP),
        ("bytes_total{direction=\"down\"}", DOWN),
    ] {
        let found = samples.remove(&format!("fullpipe_forward_{name}"));
        assert_eq!(found, Some(value as f64), "{name}: {samples:?}");
    }
    for direction in ["up", "down"] {
        for side in ["client", "target"] {
            let name = format!(
                "fullpipe_forward_waited_seconds_total{{direction=\"{direction}\",side=\"{side}\"}}"
            );
            let found = samples.remove(&name).expect("a sample");
            assert!(found >= 0.0, "{name} {found}");
        }
    }
    // The limit that the open flow has had longest is the last sample.
    let rest = Vec::from_iter(samples);
    let [(name, flows)] = &rest[..] else {
        panic!("other metrics: {rest:?}");
    };
    let is_limit = name.starts_with("fullpipe_forward_flows_limited{limit=\"");
    assert!(is_limit && *flows == 1.0, "{name} {flows}");
}

#[test]
#[ignore = "needs root and a TUN device: cargo xtask test"]
fn json_and_openmetrics_report_the_bytes_of_a_known_transfer() {
    in_network_namespace(
        "reports::json_and_openmetrics_report_the_bytes_of_a_known_transfer",
        || {
            add_targets();
            let address = target(TARGETS[0], 80);
            serve(address, |mut client| {
                client.read_exact(&mut vec![0; UP]).expect("every byte");
                client.write_all(&payload(DOWN)).expect("it is open");
                // Open until the client closes.
                let _ = client.read(&mut [0]);
            });
            let flags = "--limits --json --prometheus 127.0.0.1:9100";
            let mut forwarder = Forwarder::start_with(flags, Stdio::piped());
            let stdout = forwarder.0.stdout.take().expect("a pipe");
            let (sender, reports) = mpsc::channel();
            thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    let report: Value = serde_json::from_str(&line).expect("a line is JSON");
                    if sender.send(report).is_err() {
                        return;
                    }
                }
            });
            let mut last = Value::Null;
            let mut await_report = |what: &str, is_it: &dyn Fn(&Value) -> bool| {
                wait_until(what, || {
                    last = reports.recv_timeout(PATIENCE).expect("one a second");
                    is_it(&last)
                });
                last.clone()
            };
            let client = forwarder.as_client(|| {
                let refused = TcpStream::connect_timeout(&target(TARGETS[0], 81), PATIENCE);
                refused.expect_err("nothing listens");
                let mut client = connect(address);
                client.write_all(&payload(UP)).expect("it is open");
                let mut received = vec![0; DOWN];
                client.read_exact(&mut received).expect("every byte");
                assert!(received == payload(DOWN), "a wrong download");
                client
            });
            let report = await_report("the flow is open", &|report| {
                report["flows"][0]["down"]["bytes"] == DOWN
            });
            check_the_open_flow(&report);
            check_the_metrics();
            drop(client);
            let report = await_report("no flow is open", &|report| {
                report["totals"]["tcp_open"] == 0
            });
            assert_eq!(report["flows"], Value::Array(Vec::new()));
            let totals = &report["totals"];
            assert_eq!(
                (&totals["up_bytes"], &totals["down_bytes"]),
                (&UP.into(), &DOWN.into())
            );
        },
    );
}
