//! Tests of the counts, with segments as in a capture.

use std::net::{Ipv4Addr, SocketAddr};

use fullpipe_wire::{TcpOptions, Timestamps};

use super::*;
use crate::segment::Tuple;

fn send(meter: &mut Meter, at_ms: u64, seq: u32, payload_len: u32) {
    let anyone = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
    let packet = Segment {
        tuple: Tuple::of(anyone, anyone),
        seq,
        flags: TcpFlags::ACK,
        payload_len,
    };
    meter.segment(Instant::from_millis(at_ms), &packet);
}

#[test]
fn the_end_of_the_stream_does_not_count_as_a_small_segment() {
    let mut meter = Meter::default();
    let start = u32::MAX - 1_500; // the sequence space wraps
    for (number, payload_len) in [1_000, 1_000, 400, 1_000, 77].into_iter().enumerate() {
        let seq = start.wrapping_add([0, 1_000, 2_000, 2_400, 3_400][number]);
        send(&mut meter, number as u64, seq, payload_len);
    }
    assert_eq!(meter.full_sized(1_000), (3, 4));
    send(&mut meter, 9, start.wrapping_add(3_400), 77); // the end again
    assert_eq!(meter.full_sized(1_000), (3, 4));
    assert_eq!(meter.retransmitted_segments, 1);
    send(&mut meter, 9, start.wrapping_add(2_000), 400);
    assert_eq!(meter.full_sized(1_000), (3, 5));
    assert_eq!(meter.retransmitted_segments, 2);
}

#[test]
fn a_gap_is_the_time_between_segments_with_payload() {
    let mut meter = Meter::default();
    for (at_ms, payload_len) in [(0, 0), (5, 10), (8, 10), (100, 0), (120, 10)] {
        let seq = meter.payload_end.unwrap_or(0);
        send(&mut meter, at_ms, seq, payload_len);
    }
    assert_eq!(meter.longest_data_gap, Duration::from_millis(112));
}

#[test]
fn the_full_size_is_what_the_peer_the_mtu_and_the_options_leave() {
    let syn = |mss, timestamps: bool| {
        let timestamps = timestamps.then_some(Timestamps { value: 1, echo: 0 });
        let options = TcpOptions {
            mss,
            timestamps,
            ..TcpOptions::NONE
        };
        let mut meter = Meter::default();
        meter.syn(&options);
        meter
    };
    for (own, peer, mtu, expected) in [
        (syn(Some(1_460), true), syn(Some(1_460), true), 1_500, 1_448),
        (
            syn(Some(1_460), true),
            syn(Some(1_460), false),
            1_500,
            1_460,
        ),
        (syn(Some(1_460), false), syn(Some(500), false), 1_500, 500),
        (syn(Some(1_460), false), syn(None, false), 1_500, 536),
        (syn(Some(1_460), false), syn(Some(1_460), false), 576, 536),
    ] {
        assert_eq!(own.full_size(&peer, mtu), expected);
    }
}

#[test]
fn probes_of_a_closed_window_do_not_end_a_pause() {
    let mut meter = Meter::default();
    for (at_ms, seq, payload_len) in [
        (0, 0, 1_000),
        (10, 1_000, 1_000),
        (300, 2_000, 1),
        (700, 2_000, 1),
        (6_010, 2_000, 1_000),
        (6_020, 3_000, 1_000),
    ] {
        send(&mut meter, at_ms, seq, payload_len);
    }
    assert_eq!(meter.longest_pause, Duration::from_secs(6));
    assert_eq!(meter.longest_data_gap, Duration::from_millis(5_310));
}
