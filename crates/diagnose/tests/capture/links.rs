//! Tests that the same transfer is read behind every link header.

use fullpipe_diagnose::capture::{LinkType, Passage, Segment};

use super::{
    conversation::{framed, packets},
    read, whole,
    written::{Order, Variant, ethernet, pcap},
};

/// A link type, its name, and the header before an IPv4 packet.
type Link = (u32, &'static str, Vec<u8>);

fn tagged(tags: &[u8]) -> Vec<u8> {
    [&ethernet(0x8100, &[])[..12], tags, &[8, 0]].concat()
}

fn links() -> Vec<Link> {
    let cooked = |kind: u8| [&[0, kind, 0, 1, 0, 6][..], &[2; 8], &[8, 0]].concat();
    let cooked_2 = [&[8, 0, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6][..], &[2; 8]].concat();
    vec![
        (1, "Ethernet", ethernet(0x0800, &[])),
        (1, "VLAN", tagged(&[0x81, 0, 0x20, 7])),
        (1, "QinQ", tagged(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 7])),
        (
            1,
            "MPLS",
            [&ethernet(0x8847, &[])[..], &[0, 1, 0, 64, 0, 2, 1, 64]].concat(),
        ),
        (
            1,
            "802.3 with SNAP",
            [
                &ethernet(0, &[])[..12],
                &[2, 0, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0],
            ]
            .concat(),
        ),
        (
            1,
            "PPPoE",
            [&ethernet(0x8864, &[])[..], &[0x11, 0, 0, 7, 2, 0, 0, 0x21]].concat(),
        ),
        (113, "cooked, sent", cooked(4)),
        (113, "cooked, received", cooked(0)),
        (276, "cooked 2", cooked_2),
        (101, "raw", vec![]),
        (12, "raw of BSD", vec![]),
        (14, "raw of OpenBSD", vec![]),
        (228, "IPv4", vec![]),
        (0, "loopback, little endian", vec![2, 0, 0, 0]),
        (0, "loopback, big endian", vec![0, 0, 0, 2]),
        (108, "loopback of OpenBSD", vec![0, 0, 0, 2]),
        (9, "PPP", vec![0, 0x21]),
        (9, "PPP with address", vec![0xff, 3, 0, 0x21]),
        (9, "PPP, short protocol", vec![0x21]),
        (50, "PPP in HDLC", vec![0xff, 3, 0, 0x21]),
        (51, "PPPoE session", vec![0x11, 0, 0, 7, 2, 0, 0, 0x21]),
        (166, "pppd", vec![1, 3, 0, 0x21]),
        (104, "Cisco HDLC", vec![0x0f, 0, 8, 0]),
        (
            1 | 0x1400_0000,
            "Ethernet with frame check sequence",
            ethernet(0x0800, &[]),
        ),
    ]
}

#[test]
fn every_link_header_leads_to_the_same_segments() {
    let bare = |segment: &Segment| Segment {
        frame_len: 0,
        passage: None,
        ..*segment
    };
    let mut reference: Option<Vec<Segment>> = None;
    for (number, name, header) in links() {
        let frames = packets(10).into_iter();
        let frames: Vec<_> = frames
            .map(|packet| framed(packet, |bytes| [&header, bytes].concat()))
            .collect();
        let read = whole(&pcap(Order::Little, Variant::Nanoseconds, number, &frames));
        let segments: Vec<_> = read
            .segments
            .iter()
            .map(|(_, segment)| bare(segment))
            .collect();
        assert_eq!(segments.len(), frames.len(), "{name}: {:?}", read.counters);
        assert_eq!(
            &segments,
            reference.get_or_insert(segments.clone()),
            "{name}"
        );
    }
}

#[test]
fn a_cooked_capture_says_who_sent_a_frame() {
    let passages = links()
        .into_iter()
        .filter(|(number, ..)| [113, 276].contains(number));
    let passages = passages.map(|(number, _, header)| {
        let frame = framed(packets(0).remove(0), |bytes| [&header, bytes].concat());
        let read = whole(&pcap(Order::Big, Variant::Microseconds, number, &[frame]));
        read.segments[0].1.passage
    });
    let wanted = [Passage::Sent, Passage::Received, Passage::Sent].map(Some);
    assert_eq!(passages.collect::<Vec<_>>(), wanted);
}

#[test]
fn frames_with_an_unknown_link_header_are_counted_and_named() {
    let frames = packets(3);
    let read = whole(&pcap(Order::Little, Variant::Nanoseconds, 147, &frames));
    assert_eq!(read.segments.len(), 0);
    assert_eq!(read.counters.other_links, frames.len() as u64);
    assert_eq!(read.counters.unread_links, [LinkType(147)]);
}

#[test]
fn every_cut_of_every_link_header_is_counted() {
    for (number, name, header) in links() {
        let packet = packets(1).remove(3);
        for snap_len in 0..header.len() + 40 {
            let frame = framed(packet.clone(), |bytes| [&header, bytes].concat()).cut(snap_len);
            let file = pcap(Order::Little, Variant::Nanoseconds, number, &[frame]);
            let counters = read(&file).expect("a capture").counters;
            assert_eq!(
                counters.header_cut, 1,
                "{name} cut to {snap_len}: {counters:?}"
            );
        }
    }
}
