//! Tests with packets of unusual lengths, fragments, extension headers and copies.

use std::net::SocketAddr;

use fullpipe_diagnose::capture::{CaptureCounters, End, Segment};
use fullpipe_wire::{TcpFlags, TcpHeader, TcpOptions, Timestamps};

use super::{
    conversation::{BEGAN_NS, MSS, framed, frames, packets},
    whole,
    written::{
        CLIENT, CLIENT_6, Captured, Order, SERVER, SERVER_6, Variant, ethernet, ipv4, ipv6, pcap,
        segment,
    },
};

fn data() -> TcpHeader {
    TcpHeader {
        src_port: 40_000,
        dst_port: 80,
        seq: 1_000,
        ack: 2_000,
        flags: TcpFlags::ACK,
        window: 77,
        options: TcpOptions {
            timestamps: Some(Timestamps { value: 5, echo: 6 }),
            ..TcpOptions::NONE
        },
        ..TcpHeader::default()
    }
}

fn body(payload: usize) -> Vec<u8> {
    segment(&data(), payload, (CLIENT.into(), SERVER.into()))
}

fn body_6(payload: usize) -> Vec<u8> {
    segment(&data(), payload, (CLIENT_6.into(), SERVER_6.into()))
}

/// Reads raw IP packets, one per second.
fn raw(packets: Vec<Captured>) -> (Vec<Segment>, CaptureCounters) {
    let read = whole(&pcap(Order::Little, Variant::Nanoseconds, 101, &packets));
    let segments = read.segments.into_iter().map(|(_, segment)| segment);
    (segments.collect(), read.counters)
}

fn one(packet: Vec<u8>) -> (Option<Segment>, CaptureCounters) {
    let (segments, counters) = raw(vec![Captured::whole(BEGAN_NS, packet)]);
    (segments.first().copied(), counters)
}

#[test]
fn payload_is_counted_by_the_headers_and_not_by_the_frame() {
    let mut padded = ipv4(1, true, &body(3));
    padded.extend([0; 11]);
    assert_eq!(one(padded).0.expect("a segment").payload, 3);
    for snap_len in [52, 60, 96, 500] {
        let cut = Captured::whole(BEGAN_NS, ipv4(1, true, &body(1_000))).cut(snap_len);
        let (segments, counters) = raw(vec![cut]);
        assert_eq!(segments[0].payload, 1_000, "{snap_len}");
        assert!(!segments[0].options_cut);
        assert_eq!(counters.snap_len as usize, snap_len);
    }
}

#[test]
fn options_beyond_the_snap_length_are_reported_as_cut() {
    for snap_len in 40..52 {
        let cut = Captured::whole(BEGAN_NS, ipv4(1, true, &body(1_000))).cut(snap_len);
        let (segments, counters) = raw(vec![cut]);
        assert!(segments[0].options_cut, "{snap_len}");
        assert_eq!(segments[0].options.timestamps, None);
        assert_eq!((segments[0].payload, counters.options_cut), (1_000, 1));
    }
}

#[test]
fn only_the_first_fragment_is_a_segment() {
    let mut first = ipv4(9, true, &body(500));
    first[6] = 0x20;
    let mut second = ipv4(9, true, &[0; 64]);
    second[7] = 60;
    let (segments, counters) = raw(vec![
        Captured::whole(BEGAN_NS, first),
        Captured::whole(BEGAN_NS, second),
    ]);
    assert_eq!((segments.len(), counters.fragments), (1, 1));
    assert!(segments[0].is_fragment);
    let fragment = |offset: u16| {
        let [high, low] = offset.to_be_bytes();
        ipv6(44, &[6, 0, high, low, 0, 0, 0, 1], &body_6(64))
    };
    assert!(one(fragment(1)).0.expect("the first").is_fragment);
    assert_eq!(one(fragment(8)).1.fragments, 1);
}

#[test]
fn extension_headers_of_ipv6_are_followed() {
    let hop_by_hop = [43, 0, 1, 4, 0, 0, 0, 0];
    let routing = [
        60, 2, 4, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    let options = [51, 0, 1, 4, 0, 0, 0, 0];
    let authentication = [6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let all = [&hop_by_hop[..], &routing, &options, &authentication].concat();
    let frame = ethernet(0x86dd, &ipv6(0, &all, &body_6(100)));
    let frames = [Captured::whole(BEGAN_NS, frame)];
    let read = whole(&pcap(Order::Little, Variant::Nanoseconds, 1, &frames));
    let (key, segment) = read.segments[0];
    assert_eq!((segment.payload, segment.from), (100, End::B));
    assert_eq!(key.b, SocketAddr::new(CLIENT_6.into(), 40_000));
    assert_eq!(
        one(ipv6(59, &[], &body_6(1))).1.not_tcp,
        1,
        "no next header"
    );
    assert_eq!(one(ipv6(50, &[], &body_6(1))).1.not_tcp, 1, "encrypted");
}

#[test]
fn a_length_of_zero_means_the_length_of_the_frame() {
    let mut offloaded = ipv4(1, true, &body(40_000));
    offloaded[2..4].fill(0);
    let big = ipv6(6, &[], &body_6(200_000));
    let jumbo_len = (8 + body_6(100_000).len()) as u32;
    let option = [&[6, 0, 0xc2, 4][..], &jumbo_len.to_be_bytes()].concat();
    let jumbo = ipv6(0, &option, &body_6(100_000));
    for (packet, payload) in [(offloaded, 40_000), (big, 200_000), (jumbo, 100_000)] {
        let (segment, counters) = one(packet);
        assert_eq!(segment.expect("a segment").payload, payload);
        assert_eq!(counters.big_packets, 1);
    }
}

#[test]
fn a_length_beyond_the_frame_is_believed_if_the_headers_checksum_is_right() {
    let mut short = Captured::whole(BEGAN_NS, ipv4(1, true, &body(1_000)));
    short.bytes.truncate(100);
    short.original = 100;
    assert_eq!(raw(vec![short.clone()]).0[0].payload, 1_000);
    short.bytes[3] ^= 1;
    assert_eq!(raw(vec![short]).1.malformed, 1);
}

#[test]
fn headers_that_contradict_themselves_are_malformed() {
    let good = ipv4(1, true, &body(10));
    let changed = |at: usize, value: u8| {
        let mut packet = good.clone();
        packet[at] = value;
        packet
    };
    for (name, packet) in [
        ("IP header below 20 bytes", changed(0, 0x44)),
        (
            "total length below the header",
            [&[0x45, 0, 0, 19], &good[4..]].concat(),
        ),
        ("TCP header below 20 bytes", changed(32, 0x40)),
        ("TCP header beyond the packet", changed(32, 0xf0)),
        (
            "no room for a TCP header",
            [&[0x45, 0, 0, 30], &good[4..]].concat(),
        ),
        (
            "IPv6 length beyond the frame",
            ipv6(6, &[], &body_6(10))[..60].to_vec(),
        ),
    ] {
        let (segment, counters) = one(packet);
        assert_eq!((segment, counters.malformed), (None, 1), "{name}");
    }
    assert_eq!(one(changed(9, 17)).1.not_tcp, 1);
}

#[test]
fn copies_of_a_mirror_port_are_dropped_and_retransmissions_are_kept() {
    let frames = frames(50);
    let mut mirrored = Vec::new();
    for frame in &frames {
        let mut copy = frame.clone();
        copy.at_ns += 40_000;
        copy.bytes[0] ^= 2; // changes the MAC address, as the next hop does
        copy.bytes[22] -= 1; // decreases the time to live, as a hop does
        mirrored.extend([frame.clone(), copy]);
    }
    let file = |frames: &[Captured]| pcap(Order::Little, Variant::Nanoseconds, 1, frames);
    let once = whole(&file(&frames));
    let twice = whole(&file(&mirrored));
    assert_eq!(twice.segments, once.segments);
    assert_eq!(twice.counters.duplicates, frames.len() as u64);

    let packets = packets(5);
    let mut again = packets[3].clone();
    again.at_ns += 40_000;
    again.bytes[4] ^= 1; // changes the identification
    let (segments, counters) = raw(vec![packets[3].clone(), again]);
    assert_eq!((segments.len(), counters.duplicates), (2, 0));
    assert_eq!(segments[0].payload, MSS as u32);
}

#[test]
fn times_that_go_back_are_counted_and_never_decrease() {
    let mut frames = frames(20);
    frames[10].at_ns -= 5_000_000;
    for frame in &mut frames[30..] {
        frame.at_ns -= 3_600_000_000_000;
    }
    let read = whole(&pcap(Order::Little, Variant::Nanoseconds, 1, &frames));
    let times = read.segments.iter().map(|(_, segment)| segment.at_ns);
    assert!(times.is_sorted());
    assert_eq!(
        (read.counters.times.backwards, read.counters.times.steps),
        (1, 1)
    );
    let span_ns = read.counters.ended_ns - read.counters.began_ns;
    assert!(span_ns < 60_000_000, "an hour was added: {span_ns}");
}

#[test]
fn a_frame_keeps_its_length_behind_the_link_header() {
    let packet = packets(1).remove(3);
    let frame = framed(packet, |bytes| ethernet(0x0800, bytes)).cut(70);
    let read = whole(&pcap(Order::Little, Variant::Nanoseconds, 1, &[frame]));
    assert_eq!(read.segments[0].1.frame_len as usize, 14 + 20 + 32 + MSS);
}
