//! Tests of windows that limit the peer, and of windows that do not.

use super::*;

const RTT: Option<Duration> = Some(Duration::from_millis(10));

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

#[test]
fn a_peer_beyond_the_edge_of_two_round_trips_ago_is_limited_by_its_window() {
    for (per_round, expected) in [(1_000, true), (600, true), (400, false), (10, false)] {
        let mut edges = PastEdges::new(SeqNum(0));
        let mut next = 0;
        for round in 0..10 {
            edges.on_payload(at(round * 10), RTT, SeqNum(next + 1_000));
            next += per_round;
        }
        let limits_peer = edges.limits_peer(SeqNum(next));
        assert_eq!(limits_peer, expected, "{per_round} bytes of 1,000 a round");
    }
}

#[test]
fn without_a_round_trip_time_or_a_second_round_nothing_is_known() {
    let mut edges = PastEdges::new(SeqNum(0));
    for ms in 0..100 {
        edges.on_payload(at(ms), None, SeqNum(100));
    }
    assert!(!edges.limits_peer(SeqNum(1 << 20)));
    edges.on_payload(at(100), RTT, SeqNum(100));
    assert!(!edges.limits_peer(SeqNum(1 << 20)));
    edges.on_payload(at(110), RTT, SeqNum(200));
    assert!(edges.limits_peer(SeqNum(101)));
}
