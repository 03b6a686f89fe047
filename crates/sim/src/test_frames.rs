//! Frames of both IP versions for the tests of links, devices and readers.
//!
//! Rule: the link and IP headers are valid, checksums included; the addresses are always the same.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fullpipe_wire::{
    Ecn, EtherType, EthernetHeader, Ipv4Header, Ipv6Header, MacAddress, Protocol, TcpHeader,
};

use crate::ids::Family;

/// Both IP versions.
pub const FAMILIES: [Family; 2] = [Family::V4, Family::V6];
/// Offset of the IP header in a frame.
const IP_AT: usize = EthernetHeader::LEN;

/// Addresses of the sender and of the receiver.
pub fn addresses(family: Family) -> [IpAddr; 2] {
    [1, 2].map(|host| match family {
        Family::V4 => Ipv4Addr::new(10, 0, 0, host).into(),
        Family::V6 => Ipv6Addr::from_bits(0xfd << 120 | u128::from(host)).into(),
    })
}

/// Offset of the TCP header in a frame of this version.
pub const fn tcp_at(family: Family) -> usize {
    IP_AT + family.header_len()
}

/// A frame of `len` bytes whose IP payload is zeros. It may not be fragmented.
pub fn packet(family: Family, len: usize, ecn: Ecn) -> Vec<u8> {
    let mut frame = vec![0; len];
    let payload_len = len - tcp_at(family);
    let (link, packet) = frame.split_at_mut(IP_AT);
    let ether_type = match addresses(family) {
        [IpAddr::V4(src), IpAddr::V4(dst)] => {
            let header = Ipv4Header {
                ecn,
                dont_fragment: true,
                identification: u16::MAX,
                ..Ipv4Header::new(src, dst, Protocol::Tcp, payload_len)
            };
            header.write(packet);
            EtherType::Ipv4
        }
        [IpAddr::V6(src), IpAddr::V6(dst)] => {
            let header = Ipv6Header {
                ecn,
                ..Ipv6Header::new(src, dst, Protocol::Tcp, payload_len)
            };
            header.write(packet);
            EtherType::Ipv6
        }
        _ => unreachable!("both addresses have the same version"),
    };
    EthernetHeader {
        dst: MacAddress([2, 0, 0, 0, 0, 1]),
        src: MacAddress([2, 0, 0, 0, 0, 0]),
        ether_type,
    }
    .write(link);
    frame
}

/// A frame with a TCP segment, whose checksum field is 0.
pub fn segment(family: Family, header: &TcpHeader, payload: &[u8], ecn: Ecn) -> Vec<u8> {
    let payload_at = tcp_at(family) + header.header_len();
    let mut frame = packet(family, payload_at + payload.len(), ecn);
    header.write(&mut frame[tcp_at(family)..]);
    frame[payload_at..].copy_from_slice(payload);
    frame
}

/// The ECN field of a frame, after a check of the IPv4 header's checksum.
pub fn ecn_of(frame: &[u8]) -> Ecn {
    use fullpipe_wire::ChecksumPolicy::Verify;
    let packet = &frame[IP_AT..];
    match packet[0] >> 4 {
        6 => Ipv6Header::parse(packet).expect("a header").0.ecn,
        _ => Ipv4Header::parse(packet, Verify).expect("a header").0.ecn,
    }
}
