//! Tests that `Segment` and `Packet::parse` read the same fields, from intact and from damaged
//! frames.

use fullpipe_pool::Instant;
use fullpipe_wire::{Ecn, Timestamps};

use super::*;
use crate::ids::Family;
use crate::packet::Packet;
use crate::test_frames::{self, FAMILIES};

fn frame(family: Family) -> Vec<u8> {
    let mut tcp = TcpHeader {
        src_port: 50_000,
        dst_port: 5_001,
        seq: 0x8765_4321,
        flags: TcpFlags::ACK,
        ..TcpHeader::default()
    };
    tcp.options.timestamps = Some(Timestamps { value: 1, echo: 2 });
    test_frames::segment(family, &tcp, &[0; 100], Ecn::NotEct)
}

fn by_parser(frame: &[u8]) -> Option<Segment> {
    let tcp = Packet::parse(Instant::ZERO, frame).tcp?;
    Some(tcp.fixed())
}

#[test]
fn a_segment_is_what_the_parser_finds_whatever_bits_are_wrong() {
    for family in FAMILIES {
        let whole = frame(family);
        assert_eq!(
            Segment::read(&whole).map(|segment| segment.payload_len),
            Some(100)
        );
        for bit in 0..(50 + family.header_len()) * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Segment::read(&damaged), by_parser(&damaged), "bit {bit}");
        }
        for len in 0..whole.len() {
            assert_eq!(
                Segment::read(&whole[..len]),
                by_parser(&whole[..len]),
                "{len} bytes"
            );
        }
    }
}

#[test]
fn the_reversed_tuple_is_that_of_the_opposite_direction() {
    let [one, other] = [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], u16::from(host))));
    let forward = Tuple::of(one, other);
    assert_eq!(forward.reversed(), Tuple::of(other, one));
    assert_ne!(forward.reversed(), forward);
}
