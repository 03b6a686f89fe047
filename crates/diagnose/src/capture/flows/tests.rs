//! Tests of the beginnings and ends of connections, and of the bounds on memory.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use fullpipe_wire::TcpFlags;

use super::{EndedFlow, FlowEnding, FlowLimits, FlowTable};
use crate::capture::{Analysis, End, FlowKey, Segment};

const SYN: TcpFlags = TcpFlags::SYN;
const ACK: TcpFlags = TcpFlags::ACK;
const FIN: TcpFlags = TcpFlags::FIN;
const RST: TcpFlags = TcpFlags::RST;
const S: i64 = 1_000_000_000;

/// Counts segments.
#[derive(Default)]
struct Count(u64);

impl Analysis for Count {
    type Outcome = u64;

    fn on_segment(&mut self, _: &Segment) {
        self.0 += 1;
    }

    fn conclude(self, _: i64) -> u64 {
        self.0
    }
}

fn key(port: u16) -> FlowKey {
    let a: SocketAddr = "10.0.0.1:80".parse().unwrap();
    let (ip, b) = ("10.0.0.2".parse().unwrap(), port);
    FlowKey::of(a, SocketAddr::new(ip, b)).0
}

fn segment(at_ns: i64, from: End, seq: u32, ack: u32, flags: TcpFlags) -> Segment {
    Segment {
        at_ns,
        from,
        seq,
        ack,
        flags,
        ..Segment::EMPTY
    }
}

/// Gives segments to a table, each with its client port. Returns number, segments and ending of
/// each connection, in the order in which the connections ended.
fn flows(limits: FlowLimits, segments: &[(u16, Segment)]) -> Vec<(u64, u64, FlowEnding)> {
    let mut ended = Vec::new();
    let mut note = |flow: EndedFlow<u64>| {
        assert_eq!(flow.segments, flow.outcome);
        ended.push((flow.number, flow.segments, flow.ending));
    };
    let mut table = FlowTable::new(limits, |_: &FlowKey| Count::default());
    for (port, segment) in segments {
        table.on_segment(key(*port), segment, &mut note);
    }
    table.finish(segments.last().map_or(0, |(_, last)| last.at_ns), note);
    ended
}

#[test]
fn a_syn_with_another_sequence_number_opens_the_next_connection() {
    let opening = |at_ns, isn: u32| {
        [
            segment(at_ns, End::B, isn, 0, SYN),
            segment(at_ns + 1, End::B, isn, 0, SYN),
            segment(at_ns + 2, End::A, 7 * isn, isn + 1, SYN | ACK),
            segment(at_ns + 3, End::A, 7 * isn, isn + 1, SYN | ACK),
            segment(at_ns + 4, End::B, isn + 1, 7 * isn + 1, ACK),
        ]
    };
    let segments = [opening(0, 100), opening(S, 200)].concat();
    let segments: Vec<_> = segments.into_iter().map(|segment| (1, segment)).collect();
    assert_eq!(
        flows(FlowLimits::DEFAULT, &segments),
        [(1, 5, FlowEnding::Replaced), (2, 5, FlowEnding::CaptureEnd)]
    );
    // Keep the server's segments only.
    let answers: Vec<_> = segments
        .into_iter()
        .filter(|(_, s)| s.from == End::A)
        .collect();
    let numbers: Vec<_> = flows(FlowLimits::DEFAULT, &answers)
        .iter()
        .map(|f| f.1)
        .collect();
    assert_eq!(numbers, [2, 2]);
}

#[test]
fn a_syn_after_segments_of_a_connection_that_was_open_before_the_capture_opens_another() {
    let segments = [
        (1, segment(0, End::B, 5_000, 1, ACK)),
        (1, segment(1, End::B, 9, 0, SYN)),
        (1, segment(2, End::A, 70, 10, SYN | ACK)),
    ];
    let ended = flows(FlowLimits::DEFAULT, &segments);
    assert_eq!(
        ended,
        [(1, 1, FlowEnding::Replaced), (2, 2, FlowEnding::CaptureEnd)]
    );
}

#[test]
fn a_closed_connection_ends_after_its_last_segments() {
    let segments = [
        (1, segment(0, End::A, 1, 1, FIN | ACK)),
        (1, segment(S, End::B, 1, 2, FIN | ACK)),
        (1, segment(2 * S, End::A, 2, 2, ACK)),
        (2, segment(3 * S, End::A, 1, 1, RST)),
        (3, segment(12 * S, End::A, 1, 1, ACK)),
        (3, segment(12 * S + 1, End::A, 1, 1, ACK)),
        (3, segment(14 * S, End::A, 1, 1, ACK)),
    ];
    assert_eq!(
        flows(FlowLimits::DEFAULT, &segments),
        [
            (1, 3, FlowEnding::Closed),
            (2, 1, FlowEnding::Reset),
            (3, 3, FlowEnding::CaptureEnd)
        ]
    );
    // Both connections remain in the table until the capture ends, because the capture ends within
    // ten seconds of their last segments.
    let ended = flows(FlowLimits::DEFAULT, &segments[..4]);
    assert_eq!(
        ended,
        [(1, 3, FlowEnding::Closed), (2, 1, FlowEnding::Reset)]
    );
}

#[test]
fn idle_connections_and_those_beyond_the_limit_end() {
    let limits = FlowLimits {
        open_max: 2,
        ..FlowLimits::DEFAULT
    };
    let hours = 3_600 * S;
    let segments = [
        (1, segment(0, End::A, 1, 1, ACK)),
        (2, segment(1, End::A, 1, 1, ACK)),
        (1, segment(2, End::A, 1, 1, ACK)),
        (3, segment(3, End::A, 1, 1, ACK)),
        (3, segment(4 * hours, End::A, 1, 1, ACK)),
    ];
    assert_eq!(
        flows(limits, &segments),
        [
            (2, 1, FlowEnding::Crowded),
            (1, 2, FlowEnding::Idle),
            (3, 1, FlowEnding::Idle),
            (4, 1, FlowEnding::CaptureEnd)
        ]
    );
}

#[test]
fn a_million_connections_hold_only_those_that_are_open() {
    let limits = FlowLimits {
        open_max: 1_000,
        ..FlowLimits::DEFAULT
    };
    let mut table = FlowTable::new(limits, |_: &FlowKey| Count::default());
    let mut ended = 0;
    for number in 0..1_000_000_u32 {
        let (a, b) = (number.to_be_bytes(), "10.0.0.1:80".parse().unwrap());
        let (key, from) = FlowKey::of(SocketAddr::from((a, 1)), b);
        let syn = segment(i64::from(number), from, number, 0, SYN);
        table.on_segment(key, &syn, |_| ended += 1);
    }
    assert_eq!((table.flows.len(), ended), (1_000, 999_000));
    assert!(table.open.oldest().is_some() && table.closed.oldest().is_none());
}

#[test]
fn a_syn_after_both_fins_opens_another_connection_even_with_the_same_sequence_number() {
    let segments = [
        (1, segment(0, End::B, 9, 0, SYN)),
        (1, segment(1, End::A, 1, 10, FIN | ACK)),
        (1, segment(2, End::B, 10, 2, FIN | ACK)),
        (1, segment(3, End::B, 9, 0, SYN)),
    ];
    let ended = flows(FlowLimits::DEFAULT, &segments);
    assert_eq!(
        ended,
        [(1, 3, FlowEnding::Closed), (2, 1, FlowEnding::CaptureEnd)]
    );
}

/// Comparisons of [`Counted`] keys.
static COMPARED: AtomicU64 = AtomicU64::new(0);

/// A key that counts how often it is compared.
struct Counted(FlowKey);

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        COMPARED.fetch_add(1, Relaxed);
        self.0 == other.0
    }
}

impl Eq for Counted {}

impl std::hash::Hash for Counted {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// Each connection has another port, and an IPv6 address with which the port once gave the same hash.
#[test]
fn connections_made_to_collide_are_found_with_few_comparisons() {
    const COUNT: u16 = 10_000;
    let mut table = std::collections::HashMap::new();
    for port in 1..=COUNT {
        let ip = std::net::Ipv6Addr::from((0xfd_u128 << 120) | u128::from(port ^ 0x5555));
        let server = "[fd00::1]:443".parse().unwrap();
        let (key, _) = FlowKey::of(SocketAddr::new(ip.into(), port), server);
        table.insert(Counted(key), ());
    }
    assert_eq!(table.len(), usize::from(COUNT));
    let compared = COMPARED.load(Relaxed);
    assert!(compared < COUNT.into(), "{compared} comparisons");
}

/// End A sends a reset that its peer does not accept, and both go on (RFC 5961 §3.2).
#[test]
fn a_connection_that_survives_a_reset_stays_open() {
    let segments = [
        (1, segment(0, End::A, 1, 1, ACK)),
        (1, segment(S, End::A, 9_000, 1, RST)),
        (1, segment(S + 1, End::B, 1, 1, ACK)),
        (1, segment(2 * S, End::A, 1, 1, ACK)),
        (1, segment(30 * S, End::A, 1, 1, ACK)),
    ];
    assert_eq!(
        flows(FlowLimits::DEFAULT, &segments),
        [(1, 5, FlowEnding::CaptureEnd)]
    );
    // A segment that the reset overtook does not show that the end goes on.
    let late = (1, segment(S + 1_000, End::A, 1, 1, ACK));
    assert_eq!(
        flows(FlowLimits::DEFAULT, &[segments[0], segments[1], late]),
        [(1, 3, FlowEnding::Reset)]
    );
}
