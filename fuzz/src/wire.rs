//! Checks of the packet parsers with arbitrary bytes.
//!
//! The one rule: if a parser accepts a packet, the packet can be written, and parsing the written
//! packet gives the same values. No parser panics.
//!
//! The tests of `fullpipe-wire` compare the parsers with other implementations.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fullpipe_wire::{
    ArpPacket, Checksum, ChecksumPolicy, EthernetHeader, Icmpv4Message, Icmpv6Message, Ipv4Header,
    Ipv6Header, TcpHeader, TcpOptions, UdpHeader,
    ipv6::{FragmentHeader, HeaderChain},
    ndp::{self, NeighbourMessage},
    tcp, udp,
};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

/// Parses an Ethernet II header, writes it, and checks that the bytes are the same.
pub fn ethernet(bytes: &[u8]) {
    let Ok((header, payload)) = EthernetHeader::parse(bytes) else {
        return;
    };
    let mut written = [0; EthernetHeader::LEN];
    header.write(&mut written);
    assert_eq!([&written, payload].concat(), bytes);
}

/// Parses an ARP packet, writes it, and checks that the bytes are the same. Bytes after the packet
/// are ignored.
pub fn arp(bytes: &[u8]) {
    let Ok(packet) = ArpPacket::parse(bytes) else {
        return;
    };
    let mut written = [0; ArpPacket::LEN];
    packet.write(&mut written);
    assert_eq!(written, bytes[..ArpPacket::LEN]);
}

/// Writes a parsed IPv4 packet without its options, and checks that parsing it again gives the same
/// values.
pub fn ipv4(bytes: &[u8]) {
    let _quoted = Ipv4Header::parse_quoted(bytes);
    let _verified = Ipv4Header::parse(bytes, ChecksumPolicy::Verify);
    let Ok((header, payload)) = Ipv4Header::parse(bytes, ChecksumPolicy::Trust) else {
        return;
    };
    let mut written = vec![0; Ipv4Header::LEN];
    header.write(&mut written);
    written.extend(payload);
    let again = Ipv4Header::parse(&written, ChecksumPolicy::Verify);
    let without_options = Ipv4Header {
        header_len: Ipv4Header::LEN as u8,
        total_len: written.len() as u16,
        ..header
    };
    assert_eq!(again, Ok((without_options, payload)));
}

/// Writes a parsed ICMPv4 message, and checks that parsing it again gives the same values and a
/// valid checksum.
pub fn icmpv4(bytes: &[u8]) {
    let _verified = Icmpv4Message::parse(bytes, ChecksumPolicy::Verify);
    let Ok((message, payload)) = Icmpv4Message::parse(bytes, ChecksumPolicy::Trust) else {
        return;
    };
    let mut written = vec![0; Icmpv4Message::LEN];
    message.write(&mut written, Checksum::of(payload));
    written.extend(payload);
    assert_eq!(
        Icmpv4Message::parse(&written, ChecksumPolicy::Verify),
        Ok((message, payload))
    );
}

/// Writes a parsed IPv6 header, and checks that parsing it again gives the same values. Checks that
/// the walk over extension headers ends inside the packet.
pub fn ipv6(bytes: &[u8]) {
    let _quoted = (
        Ipv6Header::parse_quoted(bytes),
        HeaderChain::of_quoted(bytes),
    );
    let Ok((header, payload)) = Ipv6Header::parse(bytes) else {
        return;
    };
    let mut written = vec![0; Ipv6Header::LEN];
    header.write(&mut written);
    let packet = &bytes[..Ipv6Header::LEN + payload.len()];
    assert_eq!([&written, payload].concat(), packet);
    let Ok(chain) = HeaderChain::of(packet) else {
        return;
    };
    assert!(chain.payload_at <= packet.len());
    assert_eq!(packet[chain.named_at], u8::from(chain.protocol));
    if let Some(fragment) = chain.fragment {
        let mut written = [0; FragmentHeader::LEN];
        fragment.write(&mut written);
        let _ = chain.in_first_fragment(packet);
    }
}

/// Writes a parsed ICMPv6 message or message of neighbour discovery, and checks that parsing it
/// again gives the same values and a valid checksum.
pub fn icmpv6(bytes: &[u8]) {
    let ends = (Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED);
    let _verified = Icmpv6Message::parse(bytes, ends, ChecksumPolicy::Verify);
    let Ok((message, payload)) = Icmpv6Message::parse(bytes, ends, ChecksumPolicy::Trust) else {
        return;
    };
    let mut written = vec![0; Icmpv6Message::LEN];
    message.write(&mut written, ends, Checksum::of(payload));
    written.extend(payload);
    assert_eq!(
        Icmpv6Message::parse(&written, ends, ChecksumPolicy::Verify),
        Ok((message, payload))
    );
    let Icmpv6Message::Other { kind, code, rest } = message else {
        return;
    };
    let parse = |rest, body| NeighbourMessage::parse((kind, code), rest, body, ndp::HOP_LIMIT);
    let Ok(message) = parse(rest, payload) else {
        return;
    };
    let mut written = [0; NeighbourMessage::MOST_LEN];
    let len = message.write(&mut written, ends);
    let flags = [written[4], 0, 0, 0];
    assert_eq!(parse(flags, &written[Icmpv6Message::LEN..len]), Ok(message));
}

/// Writes a parsed UDP datagram, and checks that parsing it again gives the same values and a valid
/// checksum.
pub fn udp(bytes: &[u8]) {
    let _quoted = UdpHeader::parse_quoted(bytes);
    let _verified = udp::verify_checksum(bytes, HERE, THERE);
    let Ok((header, payload)) = UdpHeader::parse(bytes) else {
        return;
    };
    let mut written = vec![0; UdpHeader::LEN];
    header.write(&mut written);
    udp::set_checksum(&mut written, HERE, THERE, Checksum::of(payload));
    written.extend(payload);
    assert_eq!(udp::verify_checksum(&written, HERE, THERE), Ok(()));
    assert_eq!(UdpHeader::parse(&written), Ok((header, payload)));
}

/// Writes a parsed TCP segment, and checks that parsing it again gives the same values and a valid
/// checksum.
///
/// Two values are lost: unknown options, and a SACK block for which the other options leave no room
/// once they are aligned.
pub fn tcp(bytes: &[u8]) {
    let _quoted = tcp::QuotedTcp::parse(bytes);
    let _verified = tcp::verify_checksum(bytes, HERE, THERE);
    let Ok((header, text)) = TcpHeader::parse(bytes) else {
        return;
    };
    let mut written = [0; TcpHeader::MAX_LEN];
    let header_len = header.write(&mut written);
    tcp::set_checksum(&mut written[..header_len], HERE, THERE, Checksum::of(text));
    let segment = [&written[..header_len], text].concat();
    assert_eq!(tcp::verify_checksum(&segment, HERE, THERE), Ok(()));

    let (again, text_again) = TcpHeader::parse(&segment).expect("what was just written");
    let kept = header.options.sack_blocks_that_fit();
    assert_eq!(
        again.options.sack.as_slice(),
        &header.options.sack.as_slice()[..kept]
    );
    let options = TcpOptions {
        sack: again.options.sack,
        ..header.options
    };
    assert_eq!(
        again,
        TcpHeader {
            options,
            options_malformed: false,
            ..header
        }
    );
    assert_eq!(text_again, text);
}
