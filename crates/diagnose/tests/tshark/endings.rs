//! Compares the numbers of connections that end in different ways, or fail, with those of tshark
//! and tcptrace.
//!
//! Rule: `examples/captures/endings.sh` says what each connection does; its server port names it.

use std::{collections::HashMap, net::SocketAddr, path::Path, process::Command};

use fullpipe_diagnose::{
    capture::{End, EndedFlow, FlowKey, FlowLimits, FlowTable},
    observe::{ConnectionFailure, ConnectionObserver, ObservedConnection},
};

use super::{LIMIT, apart::apart_within, numbers::unpacked, reader, tshark};

/// The connections of a capture with the ICMP errors about them, in the order of their beginning.
fn flows(path: &Path) -> Vec<EndedFlow<ObservedConnection>> {
    let mut reader = reader(path);
    let mut table = FlowTable::new(FlowLimits::DEFAULT, |_: &FlowKey| ConnectionObserver::new());
    let mut all = Vec::new();
    while let Some(found) = reader.next_frame() {
        if let Some((key, segment)) = found {
            table.on_segment(key, &segment, |flow| all.push(flow));
        } else if let Some((key, returned)) = reader.take_returned() {
            table.on_returned(&key, returned);
        }
    }
    table.finish(reader.now_ns(), |flow| all.push(flow));
    all.sort_by_key(|flow| flow.number);
    all
}

/// Payload without retransmissions, and retransmitted segments, of one direction.
type Numbers = (u64, u64);

/// The numbers of tshark by the ports of the sender and the receiver.
fn of_tshark(path: &Path) -> HashMap<(u16, u16), Numbers> {
    let again = "tcp.analysis.retransmission || tcp.analysis.out_of_order";
    let fields = ["tcp.srcport", "tcp.dstport", "tcp.len"];
    let mut all = HashMap::new();
    // A keep-alive has no payload of its own.
    let filters = [
        "tcp && !icmp && !tcp.analysis.keep_alive".to_string(),
        format!("!icmp && ({again})"),
    ];
    for (place, filter) in filters.iter().enumerate() {
        for line in tshark(path, &fields, filter) {
            let mut parts = line.split(',').map(|part| part.parse::<u64>().unwrap());
            let mut next = || parts.next().unwrap();
            let ports = (next() as u16, next() as u16);
            let len = next();
            let numbers: &mut Numbers = all.entry(ports).or_default();
            match place {
                0 => numbers.0 += len,
                _ => *numbers = (numbers.0 - len, numbers.1 + 1),
            }
        }
    }
    all
}

/// The numbers of tcptrace for both directions of each connection, in the order of their beginning.
fn of_tcptrace(path: &Path) -> Vec<[Numbers; 2]> {
    let output = Command::new("tcptrace")
        .args(["-l", "-n"])
        .arg(path)
        .output();
    let text = String::from_utf8(output.expect("tcptrace is installed").stdout).unwrap();
    // The first heading, "TCP connection info", has no connection.
    let connections = text.split("TCP connection ").skip(2);
    let pair = |text: &str, name: &str| {
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        let halves = line.expect("a line with this name").split(name).skip(1);
        let values = halves.map(|half| half.split_whitespace().next().unwrap().parse().unwrap());
        values.collect::<Vec<u64>>()
    };
    connections
        .map(|text| {
            let bytes = pair(text, "unique bytes sent:");
            let again = pair(text, "rexmt data pkts:");
            [(bytes[0], again[0]), (bytes[1], again[1])]
        })
        .collect()
}

#[test]
#[ignore = "needs tshark and tcptrace: cargo xtask test"]
fn ends_and_failures_have_the_numbers_of_tshark_and_tcptrace() {
    apart_within(
        LIMIT,
        "endings::ends_and_failures_have_the_numbers_of_tshark_and_tcptrace",
        &[],
        || {
            let capture = unpacked("endings.pcap.gz");
            let flows = flows(&capture.0);
            let theirs = of_tshark(&capture.0);
            let traced = of_tcptrace(&capture.0);
            assert_eq!((flows.len(), traced.len()), (12, 12));
            for (flow, traced) in flows.iter().zip(traced) {
                let client = flow.outcome.client.expect("a SYN was captured");
                let port = |end: End| SocketAddr::port(&flow.key.address(end));
                for (from, traced) in [client, client.other()].into_iter().zip(traced) {
                    let ports = (port(from), port(from.other()));
                    let sent = &flow.outcome.directions[from.index()];
                    let own = (sent.payload_bytes, sent.retransmissions.total());
                    let shark = theirs.get(&ports).copied().unwrap_or_default();
                    assert_eq!(own, shark, "{ports:?}: tshark");
                    assert_eq!(own, traced, "{ports:?}: tcptrace");
                    let is_cut = flow.outcome.failure.is_some();
                    assert!(
                        is_cut || sent.acknowledged_bytes == sent.payload_bytes,
                        "{ports:?}: {} of {} acknowledged",
                        sent.acknowledged_bytes,
                        sent.payload_bytes
                    );
                    assert_eq!(sent.missing_bytes, 0, "{ports:?}");
                }
            }
        },
    );
}

#[test]
fn failures_of_kernel_connections_are_named() {
    let capture = unpacked("endings.pcap.gz");
    let named: Vec<_> = flows(&capture.0)
        .iter()
        .map(|flow| {
            let client = flow.outcome.client.expect("a SYN was captured");
            let port = flow.key.address(client.other()).port();
            let failure = flow.outcome.failure.map(ConnectionFailure::name);
            let mut returned = flow.returned.into_iter().flatten();
            (port, failure, returned.next().map(|one| one.reason.name()))
        })
        .filter(|(_, failure, _)| failure.is_some())
        .collect();
    assert_eq!(
        named,
        [
            (5004, Some("reset"), None),
            (5009, Some("vanished"), None),
            (81, Some("refused"), None),
            (82, Some("unanswered"), Some("host")),
            (83, Some("unanswered"), None),
        ]
    );
}
