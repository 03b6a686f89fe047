//! Tests with segments in every order, and with duplicates.

use std::net::{Ipv4Addr, SocketAddr};

use super::*;
use crate::segment::Tuple;

/// Initial sequence number just below the wrap, so that every test crosses the wrap.
const ISS: u32 = u32::MAX - 1_500;

fn arrivals(segments: &[(u64, u32, u32)]) -> Arrivals {
    let mut arrivals = Arrivals::default();
    let end = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let tuple = Tuple::of(end, end);
    let packet = |seq: u32, flags: TcpFlags, payload_len: u32| Segment {
        tuple,
        seq,
        flags,
        payload_len,
    };
    arrivals.segment(Instant::ZERO, &packet(ISS, TcpFlags::SYN, 0));
    for &(ms, offset, len) in segments {
        let seq = ISS.wrapping_add(1).wrapping_add(offset);
        let at = Instant::ZERO + Duration::from_millis(ms);
        arrivals.segment(at, &packet(seq, TcpFlags::ACK, len));
    }
    arrivals
}

#[test]
fn payload_in_any_order_is_received_once() {
    for order in [
        [0, 1_000, 2_000, 3_000],
        [3_000, 2_000, 1_000, 0],
        [2_000, 0, 3_000, 1_000],
    ] {
        let seen = arrivals(&order.map(|offset| (1, offset, 1_000)));
        assert_eq!((seen.received_again, seen.in_order), (0, 4_000));
        assert!(seen.pieces.is_empty());
    }
}

#[test]
fn repeated_payload_is_counted_byte_by_byte() {
    for (segments, again) in [
        (&[(1, 0, 1_000), (1, 0, 1_000)][..], 1_000),
        (&[(1, 0, 1_000), (1, 500, 1_000)], 500),
        (&[(1, 2_000, 1_000), (1, 1_500, 2_000)], 1_000),
        (
            &[(1, 1_000, 1_000), (1, 3_000, 1_000), (1, 0, 5_000)],
            2_000,
        ),
        (
            &[(1, 1_000, 1_000), (1, 1_000, 1_000), (1, 0, 1_000)],
            1_000,
        ),
    ] {
        assert_eq!(arrivals(segments).received_again, again, "{segments:?}");
    }
}

#[test]
fn the_longest_gap_is_between_two_segments_with_payload() {
    let seen = arrivals(&[(100, 0, 10), (110, 10, 0), (150, 10, 10), (170, 20, 10)]);
    assert_eq!(seen.longest_gap, Duration::from_millis(50));
}

#[test]
fn a_segment_far_outside_the_window_is_ignored() {
    let seen = arrivals(&[(1, 0, 1_000), (2, 3 << 29, 1_000), (3, 1_000, 1_000)]);
    assert_eq!((seen.received_again, seen.in_order), (0, 2_000));
}
