//! Tests of round trips of fullpipe's own headers, and of random bytes.
//!
//! The one rule: no bytes make a parser panic, and everything a parser returns lies
//! inside its input.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fullpipe_wire::*;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::strategies::*;

fn every_parser(bytes: &[u8]) {
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let within = |rest: &[u8]| assert!(bytes.as_ptr_range().end >= rest.as_ptr_range().end);
    if let Ok((_, rest)) = EthernetHeader::parse(bytes) {
        within(rest);
    }
    let _ = ArpPacket::parse(bytes);
    for policy in [ChecksumPolicy::Verify, ChecksumPolicy::Trust] {
        if let Ok((header, payload)) = Ipv4Header::parse(bytes, policy) {
            within(payload);
            assert_eq!(payload.len(), header.payload_len());
        }
        if let Ok((_, payload)) = Icmpv4Message::parse(bytes, policy) {
            assert_eq!(payload.len() + Icmpv4Message::LEN, bytes.len());
        }
    }
    if let Ok((_, quoted)) = Ipv4Header::parse_quoted(bytes) {
        within(quoted);
    }
    version_6(bytes);
    if let Ok((header, payload)) = UdpHeader::parse(bytes) {
        within(payload);
        assert_eq!(usize::from(header.len), payload.len() + UdpHeader::LEN);
    }
    let _ = UdpHeader::parse_quoted(bytes);
    let _ = udp::verify_checksum(bytes, address, address);
    if let Ok((header, data)) = TcpHeader::parse(bytes) {
        within(data);
        let mut again = [0; TcpHeader::MAX_LEN];
        let header_len = header.write(&mut again);
        let (reread, _) = TcpHeader::parse(&again[..header_len]).unwrap();
        assert_eq!(reread.flags, header.flags);
        assert_eq!(reread.options.timestamps, header.options.timestamps);
        assert!(!reread.options_malformed);
    }
    let _ = tcp::QuotedTcp::parse(bytes);
    let _ = tcp::verify_checksum(bytes, address, address);
    let _ = TcpOptions::parse(bytes);
}

/// Calls the parsers of IPv6 with any bytes.
fn version_6(bytes: &[u8]) {
    let _ = Ipv6Header::parse_quoted(bytes);
    let _ = ipv6::HeaderChain::of_quoted(bytes);
    if let Ok((header, payload)) = Ipv6Header::parse(bytes) {
        assert_eq!(usize::from(header.payload_len), payload.len());
        let packet = &bytes[..Ipv6Header::LEN + payload.len()];
        if let Ok(chain) = ipv6::HeaderChain::of(packet) {
            assert!(chain.payload_at <= packet.len());
            assert_eq!(packet[chain.named_at], u8::from(chain.protocol));
            let _ = chain.in_first_fragment(packet);
        }
    }
    let ends = (Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
    if let Ok((message, body)) = Icmpv6Message::parse(bytes, ends, ChecksumPolicy::Trust) {
        assert_eq!(body.len() + Icmpv6Message::LEN, bytes.len());
        for kind in [135, 136] {
            let _ = ndp::NeighbourMessage::parse((kind, 0), [0xff; 4], body, ndp::HOP_LIMIT);
        }
        let mut again = [0; Icmpv6Message::LEN];
        message.write(&mut again, ends, Checksum::of(body));
    }
}

/// Returns an IPv6 packet with a chain of extension headers of the numbers `kinds`, each of 8
/// bytes.
fn chained(kinds: &[u8], contents: &[u8]) -> Vec<u8> {
    let ends = (Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
    let mut payload = Vec::new();
    for (place, _) in kinds.iter().enumerate() {
        payload.push(kinds.get(place + 1).copied().unwrap_or(6));
        payload.push(0);
        payload.extend(contents.iter().copied().chain([0; 6]).take(6));
    }
    payload.extend(contents);
    let header = Ipv6Header {
        next_header: kinds.first().copied().unwrap_or(6),
        ..Ipv6Header::new(ends.0, ends.1, Protocol::Tcp, payload.len())
    };
    let mut bytes = vec![0; Ipv6Header::LEN];
    header.write(&mut bytes);
    bytes.extend(payload);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..120)) {
        every_parser(&bytes);
    }

    #[test]
    fn slightly_damaged_packets_never_panic(
        bytes in mutated(prop_oneof![
            (tcp(), payload()).prop_map(|(header, data)| {
                segment(&header, Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, &data)
            }),
            ipv4_with_payload().prop_map(|(header, payload)| packet(&header, &payload)),
            (icmpv4(), payload()).prop_map(|(message, payload)| icmp(&message, &payload)),
        ]),
    ) {
        every_parser(&bytes);
    }

    #[test]
    fn damaged_extension_headers_never_panic(
        bytes in mutated(
            (vec(prop::sample::select(vec![0u8, 6, 43, 44, 59, 60]), 0..12), payload())
                .prop_map(|(kinds, contents)| chained(&kinds, &contents))
        ),
    ) {
        version_6(&bytes);
    }

    #[test]
    fn link_headers_are_read_back(ethernet in ethernet(), arp in arp(), payload in payload()) {
        let mut frame = vec![0; EthernetHeader::LEN];
        ethernet.write(&mut frame);
        frame.extend(&payload);
        prop_assert_eq!(EthernetHeader::parse(&frame), Ok((ethernet, &payload[..])));

        let mut bytes = vec![0; ArpPacket::LEN];
        arp.write(&mut bytes);
        bytes.extend(&payload);
        prop_assert_eq!(ArpPacket::parse(&bytes), Ok(arp));
    }

    #[test]
    fn ipv4_is_read_back_without_padding(
        (header, payload) in ipv4_with_payload(), padding in 0..50usize,
    ) {
        let mut bytes = packet(&header, &payload);
        bytes.resize(bytes.len() + padding, 0xee);
        let back = Ipv4Header::parse(&bytes, ChecksumPolicy::Verify);
        prop_assert_eq!(back, Ok((header, &payload[..])));
    }

    #[test]
    fn icmp_is_read_back(message in icmpv4(), payload in payload()) {
        let bytes = icmp(&message, &payload);
        let back = Icmpv4Message::parse(&bytes, ChecksumPolicy::Verify);
        prop_assert_eq!(back, Ok((message, &payload[..])));
    }

    #[test]
    fn tcp_is_read_back_and_valid(
        header in tcp(), src: Ipv4Addr, dst: Ipv4Addr, data in payload(),
    ) {
        let bytes = segment(&header, src, dst, &data);
        prop_assert_eq!(TcpHeader::parse(&bytes), Ok((header, &data[..])));
        prop_assert_eq!(tcp::verify_checksum(&bytes, src.into(), dst.into()), Ok(()));
    }

    #[test]
    fn udp_is_read_back_and_valid(
        ports: (u16, u16), src: Ipv4Addr, dst: Ipv4Addr, payload in payload(),
    ) {
        let bytes = datagram(ports, src, dst, &payload);
        let (header, back) = UdpHeader::parse(&bytes).unwrap();
        prop_assert_eq!((header.src_port, header.dst_port), ports);
        prop_assert_eq!(back, &payload[..]);
        prop_assert_eq!(udp::verify_checksum(&bytes, src.into(), dst.into()), Ok(()));
    }
}
