//! IPv6 packets made by hand.
//!
//! Rule: the checksums of TCP and ICMPv6 are valid, so the host discards no packet because of a
//! wrong checksum.

use std::net::Ipv6Addr;

use fullpipe_wire::{
    Checksum, Icmpv6Message, Ipv6Header, MacAddress, Protocol, TcpHeader,
    ipv6::FragmentHeader,
    ndp::{self, NeighbourMessage},
    tcp::set_checksum,
};

/// Type of a router advertisement.
const ROUTER_ADVERTISEMENT: u8 = 134;
/// Type of a redirect.
const REDIRECT: u8 = 137;
/// Type and length, in units of 8 bytes, of the option with a prefix.
const PREFIX_OPTION: [u8; 2] = [3, 4];
/// Flags of a prefix: addresses with the prefix are on the link, and hosts may form such addresses.
const ON_LINK_AND_AUTONOMOUS: u8 = 0xc0;
/// Lifetimes in an advertisement: half an hour, in seconds.
const LIFETIME_S: u32 = 1_800;

/// A packet with this payload. `ends` are its source and its destination.
fn packet(ends: (Ipv6Addr, Ipv6Addr), next_header: u8, payload: &[u8]) -> Vec<u8> {
    let header = Ipv6Header {
        next_header,
        hop_limit: ndp::HOP_LIMIT,
        ..Ipv6Header::new(ends.0, ends.1, Protocol::Tcp, payload.len())
    };
    let mut packet = vec![0; Ipv6Header::LEN];
    header.write(&mut packet);
    packet.extend_from_slice(payload);
    packet
}

/// A TCP segment.
pub fn tcp(ends: (Ipv6Addr, Ipv6Addr), header: &TcpHeader) -> Vec<u8> {
    let mut segment = vec![0; header.header_len()];
    header.write(&mut segment);
    set_checksum(&mut segment, ends.0.into(), ends.1.into(), Checksum::new());
    packet(ends, Protocol::Tcp.into(), &segment)
}

/// A fragment of a UDP datagram.
pub fn fragment(ends: (Ipv6Addr, Ipv6Addr), header: FragmentHeader, text: &[u8]) -> Vec<u8> {
    let mut payload = vec![0; FragmentHeader::LEN];
    header.write(&mut payload);
    payload.extend_from_slice(text);
    packet(ends, FragmentHeader::NEXT_HEADER, &payload)
}

/// An ICMPv6 message with this body.
fn icmp(ends: (Ipv6Addr, Ipv6Addr), head: Icmpv6Message, body: &[u8]) -> Vec<u8> {
    let mut message = vec![0; Icmpv6Message::LEN];
    head.write(&mut message, ends, Checksum::of(body));
    message.extend_from_slice(body);
    packet(ends, Protocol::Icmpv6.into(), &message)
}

/// An echo request.
pub fn echo_request(ends: (Ipv6Addr, Ipv6Addr)) -> Vec<u8> {
    icmp(ends, Icmpv6Message::EchoRequest { ident: 1, seq: 1 }, &[])
}

/// A message of neighbour discovery.
pub fn neighbour(ends: (Ipv6Addr, Ipv6Addr), message: NeighbourMessage) -> Vec<u8> {
    let mut bytes = [0; NeighbourMessage::MOST_LEN];
    let len = message.write(&mut bytes, ends);
    packet(ends, Protocol::Icmpv6.into(), &bytes[..len])
}

/// A solicitation for `target` from a host with the MAC address `mac`.
pub fn solicitation(ends: (Ipv6Addr, Ipv6Addr), target: Ipv6Addr, mac: MacAddress) -> Vec<u8> {
    let source_mac = Some(mac);
    neighbour(ends, NeighbourMessage::Solicitation { target, source_mac })
}

/// A router advertisement to all hosts, with one prefix of 64 bits.
pub fn router_advertisement(router: Ipv6Addr, prefix: Ipv6Addr) -> Vec<u8> {
    let [.., high, low] = LIFETIME_S.to_be_bytes();
    let head = Icmpv6Message::Other {
        kind: ROUTER_ADVERTISEMENT,
        code: 0,
        rest: [64, 0, high, low],
    };
    // Reachable time and retransmission timer: 0, because this router does not state them.
    let mut body = vec![0; 8];
    body.extend_from_slice(&PREFIX_OPTION);
    body.extend_from_slice(&[64, ON_LINK_AND_AUTONOMOUS]);
    body.extend_from_slice(&LIFETIME_S.to_be_bytes());
    body.extend_from_slice(&LIFETIME_S.to_be_bytes());
    body.extend_from_slice(&[0; 4]);
    body.extend_from_slice(&prefix.octets());
    let all_hosts = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    icmp((router, all_hosts), head, &body)
}

/// A redirect: says that `destination` is reached through `target`.
pub fn redirect(ends: (Ipv6Addr, Ipv6Addr), target: Ipv6Addr, destination: Ipv6Addr) -> Vec<u8> {
    let head = Icmpv6Message::Other {
        kind: REDIRECT,
        code: 0,
        rest: [0; 4],
    };
    icmp(
        ends,
        head,
        &[target.octets(), destination.octets()].concat(),
    )
}
