//! Segments read in two ways, intact and damaged.

use std::net::Ipv4Addr;

use fullpipe_pool::Instant;
use fullpipe_wire::{EtherType, Ipv4Header, MacAddress, Protocol, Timestamps};

use super::*;
use crate::packet::Packet;

fn frame() -> Vec<u8> {
    let mut tcp = TcpHeader {
        src_port: 50_000,
        dst_port: 5_001,
        seq: 0x8765_4321,
        flags: TcpFlags::ACK,
        ..TcpHeader::default()
    };
    tcp.options.timestamps = Some(Timestamps { value: 1, echo: 2 });
    let body = [0; 100];
    let len = Ipv4Header::LEN + tcp.header_len() + body.len();
    let [src, dst] = [1, 2].map(|host| Ipv4Addr::new(10, 0, 0, host));
    let ip = Ipv4Header::new(src, dst, Protocol::Tcp, len - Ipv4Header::LEN);
    let mut frame = vec![0; EthernetHeader::LEN + len];
    let ethernet = EthernetHeader {
        dst: MacAddress([2; 6]),
        src: MacAddress([4; 6]),
        ether_type: EtherType::Ipv4,
    };
    ethernet.write(&mut frame);
    ip.write(&mut frame[EthernetHeader::LEN..]);
    tcp.write(&mut frame[EthernetHeader::LEN + Ipv4Header::LEN..]);
    frame
}

fn by_parser(frame: &[u8]) -> Option<Segment> {
    let tcp = Packet::parse(Instant::ZERO, frame).tcp?;
    Some(tcp.fixed())
}

#[test]
fn a_segment_is_what_the_parser_finds_whatever_bits_are_wrong() {
    let whole = frame();
    assert_eq!(
        Segment::read(&whole).map(|segment| segment.payload_len),
        Some(100)
    );
    for bit in 0..70 * 8 {
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

#[test]
fn the_reversed_tuple_is_that_of_the_opposite_direction() {
    let [one, other] = [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], u16::from(host))));
    let forward = Tuple::of(one, other).expect("IPv4");
    assert_eq!(forward.reversed(), Tuple::of(other, one).expect("IPv4"));
    assert_ne!(forward.reversed(), forward);
}
