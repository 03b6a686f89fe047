//! Tests that compare fullpipe's headers with those of `etherparse`, whose headers keep every
//! field.
//!
//! The one rule: each of our headers has one counterpart; both write the same bytes
//! (except for the order of TCP options, which is free) and read the same values.

use std::net::{Ipv4Addr, Ipv6Addr};

use ::etherparse as theirs;
use fullpipe_wire::*;
use proptest::prelude::*;
use theirs::{Icmpv4Type, TcpOptionElement as Element};

use crate::strategies::*;

fn ipv4_of(header: &Ipv4Header) -> theirs::Ipv4Header {
    let mut other = theirs::Ipv4Header::new(
        header.payload_len() as u16,
        header.ttl,
        theirs::IpNumber(header.protocol.into()),
        header.src.octets(),
        header.dst.octets(),
    )
    .unwrap();
    other.dscp = theirs::IpDscp::try_new(header.dscp).unwrap();
    other.ecn = theirs::IpEcn::try_new(header.ecn as u8).unwrap();
    other.identification = header.identification;
    other.dont_fragment = header.dont_fragment;
    other.more_fragments = header.more_fragments;
    other.fragment_offset = theirs::IpFragOffset::try_new(header.fragment_offset / 8).unwrap();
    other.header_checksum = other.calc_header_checksum();
    other
}

/// Returns `None` for codes that `etherparse` does not name.
fn icmp_of(message: &Icmpv4Message) -> Option<Icmpv4Type> {
    use theirs::icmpv4::{DestUnreachableHeader as Unreachable, TimeExceededCode as Time};
    let echo = |id, seq| theirs::IcmpEchoHeader { id, seq };
    Some(match *message {
        Icmpv4Message::EchoRequest { ident, seq } => Icmpv4Type::EchoRequest(echo(ident, seq)),
        Icmpv4Message::EchoReply { ident, seq } => Icmpv4Type::EchoReply(echo(ident, seq)),
        Icmpv4Message::Unreachable { code, next_hop_mtu } => {
            Icmpv4Type::DestinationUnreachable(match code {
                UnreachableCode::Network => Unreachable::Network,
                UnreachableCode::Host => Unreachable::Host,
                UnreachableCode::Protocol => Unreachable::Protocol,
                UnreachableCode::Port => Unreachable::Port,
                UnreachableCode::FragmentationNeeded => {
                    Unreachable::FragmentationNeeded { next_hop_mtu }
                }
                UnreachableCode::SourceRouteFailed => Unreachable::SourceRouteFailed,
                UnreachableCode::Other(_) => return None,
            })
        }
        Icmpv4Message::TimeExceeded { code } => Icmpv4Type::TimeExceeded(match code {
            TimeExceededCode::Ttl => Time::TtlExceededInTransit,
            TimeExceededCode::Reassembly => Time::FragmentReassemblyTimeExceeded,
            TimeExceededCode::Other(_) => return None,
        }),
        Icmpv4Message::Other { .. } => return None,
    })
}

fn elements_of(options: &TcpOptions) -> Vec<Element> {
    let mut elements = Vec::new();
    elements.extend(options.mss.map(Element::MaximumSegmentSize));
    elements.extend(options.window_scale.map(Element::WindowScale));
    if options.sack_permitted {
        elements.push(Element::SelectiveAcknowledgementPermitted);
    }
    let mut blocks = options.sack.iter().map(|block| (block.left, block.right));
    if let Some(first) = blocks.next() {
        let others = std::array::from_fn(|_| blocks.next());
        elements.push(Element::SelectiveAcknowledgement(first, others));
    }
    elements.extend(
        options
            .timestamps
            .map(|ts| Element::Timestamp(ts.value, ts.echo)),
    );
    elements
}

fn options_of(header: &theirs::TcpHeader) -> TcpOptions {
    let mut options = TcpOptions::NONE;
    for element in header.options_iterator() {
        match element.expect("our options are well formed") {
            Element::Noop => {}
            Element::MaximumSegmentSize(mss) => options.mss = Some(mss),
            Element::WindowScale(shift) => options.window_scale = Some(shift),
            Element::SelectiveAcknowledgementPermitted => options.sack_permitted = true,
            Element::SelectiveAcknowledgement(first, others) => {
                options.sack = SackBlocks::NONE;
                for (left, right) in std::iter::once(first).chain(others.into_iter().flatten()) {
                    options.sack.push(SackBlock { left, right });
                }
            }
            Element::Timestamp(value, echo) => {
                options.timestamps = Some(Timestamps { value, echo });
            }
        }
    }
    options
}

fn flags_of(header: &theirs::TcpHeader) -> TcpFlags {
    [
        (header.fin, TcpFlags::FIN),
        (header.syn, TcpFlags::SYN),
        (header.rst, TcpFlags::RST),
        (header.psh, TcpFlags::PSH),
        (header.ack, TcpFlags::ACK),
        (header.urg, TcpFlags::URG),
        (header.ece, TcpFlags::ECE),
        (header.cwr, TcpFlags::CWR),
        (header.ns, TcpFlags::AE),
    ]
    .into_iter()
    .filter_map(|(set, flag)| set.then_some(flag))
    .fold(TcpFlags::NONE, |flags, flag| flags | flag)
}

/// Converts a header of `etherparse` to ours.
fn tcp_from(header: &theirs::TcpHeader) -> TcpHeader {
    TcpHeader {
        src_port: header.source_port,
        dst_port: header.destination_port,
        seq: header.sequence_number,
        ack: header.acknowledgment_number,
        flags: flags_of(header),
        window: header.window_size,
        urgent: header.urgent_pointer,
        options: options_of(header),
        options_malformed: false,
    }
}

/// Converts our header to one of `etherparse`. Returns `None` if `etherparse` needs more room for
/// the options than a header has.
fn tcp_of(header: &TcpHeader) -> Option<theirs::TcpHeader> {
    let has = |flag| header.flags.contains(flag);
    let mut other =
        theirs::TcpHeader::new(header.src_port, header.dst_port, header.seq, header.window);
    other.acknowledgment_number = header.ack;
    other.fin = has(TcpFlags::FIN);
    other.syn = has(TcpFlags::SYN);
    other.rst = has(TcpFlags::RST);
    other.psh = has(TcpFlags::PSH);
    other.ack = has(TcpFlags::ACK);
    other.urg = has(TcpFlags::URG);
    other.ece = has(TcpFlags::ECE);
    other.cwr = has(TcpFlags::CWR);
    other.ns = has(TcpFlags::AE);
    other.urgent_pointer = header.urgent;
    other.set_options(&elements_of(&header.options)).ok()?;
    Some(other)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn ethernet_is_the_same_to_both(header in ethernet()) {
        let other = theirs::Ethernet2Header {
            source: header.src.0,
            destination: header.dst.0,
            ether_type: theirs::EtherType(header.ether_type.into()),
        };
        let mut bytes = [0; EthernetHeader::LEN];
        header.write(&mut bytes);
        prop_assert_eq!(bytes, other.to_bytes());
        prop_assert_eq!(theirs::Ethernet2Header::from_slice(&bytes).unwrap().0, other);
    }

    #[test]
    fn arp_is_the_same_to_both(packet in arp()) {
        let other = theirs::ArpEthIpv4Packet {
            operation: match packet.operation {
                ArpOperation::Request => theirs::ArpOperation::REQUEST,
                ArpOperation::Reply => theirs::ArpOperation::REPLY,
            },
            sender_mac: packet.sender_mac.0,
            sender_ipv4: packet.sender_ip.octets(),
            target_mac: packet.target_mac.0,
            target_ipv4: packet.target_ip.octets(),
        };
        let mut bytes = [0; ArpPacket::LEN];
        packet.write(&mut bytes);
        prop_assert_eq!(bytes, other.to_bytes());
        prop_assert_eq!(ArpPacket::parse(&other.to_bytes()), Ok(packet));
    }

    #[test]
    fn ipv4_is_the_same_to_both((header, payload) in ipv4_with_payload()) {
        let other = ipv4_of(&header);
        let bytes = packet(&header, &payload);
        prop_assert_eq!(&bytes[..20], &other.to_bytes()[..]);
        prop_assert_eq!(theirs::Ipv4Header::from_slice(&bytes).unwrap().0, other);
    }

    #[test]
    fn their_ipv4_options_are_skipped(
        (header, payload) in ipv4_with_payload(), words in 1..=10usize,
    ) {
        let mut other = ipv4_of(&header);
        other.options = (&[0x9e; 40][..words * 4]).try_into().unwrap();
        other.set_payload_len(payload.len()).unwrap();
        other.header_checksum = other.calc_header_checksum();
        let bytes = [&other.to_bytes()[..], &payload].concat();
        let expected = Ipv4Header {
            header_len: (20 + 4 * words) as u8,
            total_len: bytes.len() as u16,
            ..header
        };
        let back = Ipv4Header::parse(&bytes, ChecksumPolicy::Verify);
        prop_assert_eq!(back, Ok((expected, &payload[..])));
    }

    #[test]
    fn icmp_is_the_same_to_both(message in icmpv4(), payload in payload()) {
        let bytes = icmp(&message, &payload);
        let (read, rest) = theirs::Icmpv4Header::from_slice(&bytes).unwrap();
        if let Some(kind) = icmp_of(&message) {
            let written = theirs::Icmpv4Header::with_checksum(kind, &payload);
            prop_assert_eq!(&bytes[..8], &written.to_bytes()[..]);
            prop_assert_eq!((read, rest), (written, &payload[..]));
        }
    }

    #[test]
    fn udp_is_the_same_to_both(ports: (u16, u16), (ip, _) in ipv4_with_payload(), payload in payload()) {
        let bytes = datagram(ports, ip.src, ip.dst, &payload);
        let other =
            theirs::UdpHeader::with_ipv4_checksum(ports.0, ports.1, &ipv4_of(&ip), &payload).unwrap();
        prop_assert_eq!(&bytes[..8], &other.to_bytes()[..]);
        prop_assert_eq!(theirs::UdpHeader::from_slice(&bytes).unwrap().0, other);
    }

    #[test]
    fn udp_over_ipv6_sums_to_the_same(
        ports: (u16, u16), src: Ipv6Addr, dst: Ipv6Addr, payload in payload(),
    ) {
        let mut bytes = [0; UdpHeader::LEN];
        let len = (UdpHeader::LEN + payload.len()) as u16;
        UdpHeader { src_port: ports.0, dst_port: ports.1, len }.write(&mut bytes);
        udp::set_checksum(&mut bytes, src.into(), dst.into(), Checksum::of(&payload));
        let other = theirs::UdpHeader { checksum: 0, ..theirs::UdpHeader::from_bytes(bytes) };
        let sum = other.calc_checksum_ipv6_raw(src.octets(), dst.octets(), &payload).unwrap();
        prop_assert_eq!(&bytes[6..], sum.to_be_bytes());
    }

    #[test]
    fn what_we_write_as_tcp_they_read(
        header in tcp(), src: Ipv4Addr, dst: Ipv4Addr, data in payload(),
    ) {
        let bytes = segment(&header, src, dst, &data);
        let (read, rest) = theirs::TcpHeader::from_slice(&bytes).unwrap();
        prop_assert_eq!(tcp_from(&read), header);
        prop_assert_eq!(rest, &data[..]);
        let sum = read.calc_checksum_ipv4_raw(src.octets(), dst.octets(), &data).unwrap();
        prop_assert_eq!(read.checksum, sum);
    }

    #[test]
    fn what_they_write_as_tcp_we_read(
        header in tcp(), src: Ipv4Addr, dst: Ipv4Addr, data in payload(),
    ) {
        let Some(mut written) = tcp_of(&header) else { return Ok(()) };
        written.checksum =
            written.calc_checksum_ipv4_raw(src.octets(), dst.octets(), &data).unwrap();
        let bytes = [&written.to_bytes()[..], &data].concat();
        prop_assert_eq!(TcpHeader::parse(&bytes), Ok((header, &data[..])));
        prop_assert_eq!(tcp::verify_checksum(&bytes, src.into(), dst.into()), Ok(()));
    }

    #[test]
    fn both_refuse_the_same_segments(
        bytes in mutated((tcp(), payload()).prop_map(|(header, data)| {
            segment(&header, Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, &data)
        })),
    ) {
        let theirs = theirs::TcpHeader::from_slice(&bytes);
        let ours = TcpHeader::parse(&bytes);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok());
        if let (Ok((ours, data)), Ok((theirs, rest))) = (ours, theirs) {
            prop_assert_eq!(data, rest);
            prop_assert_eq!(ours.flags, flags_of(&theirs));
            if theirs.options_iterator().all(|element| element.is_ok()) {
                prop_assert_eq!(ours, tcp_from(&theirs));
            }
        }
    }
}

/// RFC 2018 has one SACK option in a segment. Of two, the last one counts, as on Linux.
#[test]
fn of_two_sack_options_the_last_one_counts() {
    let sack = |block: [u8; 8]| [&[1, 1, 5, 10][..], &block].concat();
    let mut bytes = segment(
        &TcpHeader::default(),
        Ipv4Addr::LOCALHOST,
        Ipv4Addr::LOCALHOST,
        &[],
    );
    bytes.extend(sack([0, 0, 0, 1, 0, 0, 0, 2]));
    bytes.extend(sack([0, 0, 0, 5, 0, 0, 0, 9]));
    bytes[12] = 11 << 4; // header length: 44 bytes
    let (ours, _) = TcpHeader::parse(&bytes).unwrap();
    let (theirs, _) = theirs::TcpHeader::from_slice(&bytes).unwrap();
    assert_eq!(
        ours.options.sack.as_slice(),
        [SackBlock { left: 5, right: 9 }]
    );
    assert_eq!(ours, tcp_from(&theirs));
}
