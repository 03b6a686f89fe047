//! Every type and code of ICMP errors, and the segment that is found in them.

use super::{ReturnedSegment, Unreachable, error};
use crate::capture::{End, FlowKey, link::Network, packet::Packet};

use Unreachable::{Host, Network as NoRoute, Port, Prohibited, Protocol, TimeExceeded};

/// Codes 0 to 15 of destination unreachable. RFC 792; RFC 1812 §5.2.7.1.
const IPV4: [Option<Unreachable>; 16] = [
    Some(NoRoute),
    Some(Host),
    Some(Protocol),
    Some(Port),
    None, // fragmentation needed: a path MTU message
    Some(NoRoute),
    Some(NoRoute),
    Some(Host),
    Some(Host),
    Some(Prohibited),
    Some(Prohibited),
    Some(NoRoute),
    Some(Host),
    Some(Prohibited),
    Some(Prohibited),
    Some(Prohibited),
];

/// Codes 0 to 8 of destination unreachable. RFC 4443 §3.1, RFC 7112 §5, RFC 8883.
const IPV6: [Option<Unreachable>; 9] = [
    Some(NoRoute),
    Some(Prohibited),
    Some(NoRoute),
    Some(Host),
    Some(Port),
    Some(Prohibited),
    Some(Prohibited),
    None,
    None,
];

#[test]
fn every_type_and_code_has_its_reason_or_none() {
    for kind in 0..=255 {
        for code in 0..=255 {
            let place = usize::from(code);
            let expected = match (kind, code) {
                (3, _) => IPV4.get(place).copied().flatten(),
                (11, 0) => Some(TimeExceeded),
                _ => None,
            };
            assert_eq!(Unreachable::of_ipv4(kind, code), expected, "{kind}/{code}");
            let expected = match (kind, code) {
                (1, _) => IPV6.get(place).copied().flatten(),
                (3, 0) => Some(TimeExceeded),
                (4, 1) => Some(Protocol),
                _ => None,
            };
            assert_eq!(Unreachable::of_ipv6(kind, code), expected, "{kind}/{code}");
        }
    }
}

/// Port 1 of host `from` to port 2 of host `to`, eight bytes of a TCP header.
const PORTS: [u8; 8] = [0, 1, 0, 2, 0, 0, 0, 0];

fn ipv4(protocol: u8, offset: u16, hosts: [u8; 2], rest: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, 0, 0];
    packet.extend(offset.to_be_bytes());
    packet.extend([64, protocol, 0, 0]);
    packet.extend([10, 0, 0, hosts[0], 10, 0, 0, hosts[1]]);
    packet.extend(rest);
    packet
}

fn ipv6(next: u8, hosts: [u8; 2], rest: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, 0, next, 64];
    for host in hosts {
        packet.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
    }
    packet.extend(rest);
    packet
}

/// An ICMP error of `kind` and `code` that returns `packet`.
fn icmp(kind: u8, code: u8, packet: &[u8]) -> Vec<u8> {
    [&[kind, code, 0, 0, 0, 0, 0, 0], packet].concat()
}

fn read(network: Network, bytes: &[u8]) -> Option<(FlowKey, ReturnedSegment)> {
    let len = bytes.len() as u32;
    error(network, Packet { bytes, len }, 7)
}

#[test]
fn the_error_has_its_time_and_the_end_whose_segment_it_returns() {
    for (hosts, from) in [([1, 2], End::A), ([2, 1], End::B)] {
        let expected = Some(ReturnedSegment {
            at_ns: 7,
            from,
            reason: Host,
        });
        let segment = ipv4(6, 0, hosts, &PORTS);
        let found = read(Network::Ipv4, &ipv4(1, 0, [9, 1], &icmp(3, 1, &segment)));
        assert_eq!(found.map(|(_, returned)| returned), expected);
        let segment = ipv6(6, hosts, &PORTS);
        let found = read(Network::Ipv6, &ipv6(58, [9, 1], &icmp(1, 3, &segment)));
        assert_eq!(found.map(|(_, returned)| returned), expected);
    }
}

/// Eight bytes in the middle of a segment are no ports, and those in the middle of an ICMP error are
/// no type.
#[test]
fn fragments_other_than_the_first_give_nothing() {
    const MORE: u16 = 0x2000;
    for (outer, inner, is_read) in [(0, 0, true), (0, MORE, true), (0, 5, false), (5, 0, false)] {
        let segment = ipv4(6, inner, [1, 2], &PORTS);
        let packet = ipv4(1, outer, [9, 1], &icmp(3, 1, &segment));
        let found = read(Network::Ipv4, &packet);
        assert_eq!(found.is_some(), is_read, "{outer} {inner}");
    }
    for (offset, is_read) in [(0_u8, true), (1, true), (8, false)] {
        let fragment = [&[6, 0, 0, offset, 0, 0, 0, 9], &PORTS[..]].concat();
        let segment = ipv6(44, [1, 2], &fragment);
        let found = read(Network::Ipv6, &ipv6(58, [9, 1], &icmp(1, 3, &segment)));
        assert_eq!(found.is_some(), is_read, "{offset}");
    }
}

#[test]
fn errors_about_other_protocols_and_cut_ones_give_nothing() {
    let datagram = ipv4(17, 0, [1, 2], &PORTS);
    let packet = ipv4(1, 0, [9, 1], &icmp(3, 1, &datagram));
    assert_eq!(read(Network::Ipv4, &packet), None);
    let segment = ipv4(6, 0, [1, 2], &PORTS);
    let packet = ipv4(1, 0, [9, 1], &icmp(3, 1, &segment));
    for len in 0..packet.len() - 4 {
        assert_eq!(read(Network::Ipv4, &packet[..len]), None, "{len} bytes");
    }
}
