//! Tests that compare fullpipe's headers with those of `smoltcp::wire`, which checks lengths and
//! checksums itself.
//!
//! The one rule: `smoltcp` reads the values that we wrote, our parsers read the
//! bytes that `smoltcp` wrote, and both refuse the same packets.

use std::net::{IpAddr, Ipv4Addr};

use ::smoltcp::phy::ChecksumCapabilities;
use ::smoltcp::wire as theirs;
use fullpipe_wire::*;
use proptest::prelude::*;
use theirs::{TcpControl, TcpSeqNumber};

use crate::strategies::*;

fn flags_of(segment: &theirs::TcpPacket<&[u8]>) -> TcpFlags {
    [
        (segment.fin(), TcpFlags::FIN),
        (segment.syn(), TcpFlags::SYN),
        (segment.rst(), TcpFlags::RST),
        (segment.psh(), TcpFlags::PSH),
        (segment.ack(), TcpFlags::ACK),
        (segment.urg(), TcpFlags::URG),
        (segment.ece(), TcpFlags::ECE),
        (segment.cwr(), TcpFlags::CWR),
        (segment.ns(), TcpFlags::AE),
    ]
    .into_iter()
    .filter_map(|(set, flag)| set.then_some(flag))
    .fold(TcpFlags::NONE, |flags, flag| flags | flag)
}

/// Returns the first three of at most four SACK blocks: `smoltcp` reads no more.
fn first_three(sack: &SackBlocks) -> [Option<(u32, u32)>; 3] {
    let mut blocks = sack.iter().map(|block| (block.left, block.right));
    std::array::from_fn(|_| blocks.next())
}

fn timestamps_of(ts: Timestamps) -> (u32, u32) {
    (ts.value, ts.echo)
}

/// Converts one of our headers to the form that `smoltcp` writes. The writer of `smoltcp` sets
/// at most one of SYN, FIN, RST and PSH, and sends SACK only with ACK.
fn repr_of<'a>(header: &TcpHeader, data: &'a [u8]) -> theirs::TcpRepr<'a> {
    let control = [
        (TcpFlags::SYN, TcpControl::Syn),
        (TcpFlags::FIN, TcpControl::Fin),
        (TcpFlags::RST, TcpControl::Rst),
        (TcpFlags::PSH, TcpControl::Psh),
    ]
    .into_iter()
    .find_map(|(flag, control)| header.flags.contains(flag).then_some(control))
    .unwrap_or(TcpControl::None);
    let has_ack = header.flags.contains(TcpFlags::ACK);
    theirs::TcpRepr {
        src_port: header.src_port,
        dst_port: header.dst_port,
        control,
        seq_number: TcpSeqNumber(header.seq as i32),
        ack_number: has_ack.then_some(TcpSeqNumber(header.ack as i32)),
        window_len: header.window,
        window_scale: header.options.window_scale,
        max_seg_size: header.options.mss,
        sack_permitted: header.options.sack_permitted,
        sack_ranges: first_three(&header.options.sack),
        timestamp: header
            .options
            .timestamps
            .map(|ts| theirs::TcpTimestampRepr::new(ts.value, ts.echo)),
        payload: data,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn ethernet_and_arp_are_the_same_to_both(header in ethernet(), packet in arp()) {
        let mut bytes = [0; EthernetHeader::LEN];
        header.write(&mut bytes);
        let frame = theirs::EthernetFrame::new_checked(&bytes[..]).unwrap();
        prop_assert_eq!(frame.dst_addr().0, header.dst.0);
        prop_assert_eq!(frame.src_addr().0, header.src.0);
        prop_assert_eq!(u16::from(frame.ethertype()), u16::from(header.ether_type));

        let repr = theirs::ArpRepr::EthernetIpv4 {
            operation: match packet.operation {
                ArpOperation::Request => theirs::ArpOperation::Request,
                ArpOperation::Reply => theirs::ArpOperation::Reply,
            },
            source_hardware_addr: theirs::EthernetAddress(packet.sender_mac.0),
            source_protocol_addr: packet.sender_ip,
            target_hardware_addr: theirs::EthernetAddress(packet.target_mac.0),
            target_protocol_addr: packet.target_ip,
        };
        let (mut ours, mut written) = ([0; ArpPacket::LEN], [0; ArpPacket::LEN]);
        packet.write(&mut ours);
        repr.emit(&mut theirs::ArpPacket::new_unchecked(&mut written[..]));
        prop_assert_eq!(ours, written);
        let read = theirs::ArpRepr::parse(&theirs::ArpPacket::new_checked(&ours[..]).unwrap());
        prop_assert_eq!(read, Ok(repr));
    }

    #[test]
    fn what_we_write_as_ipv4_they_read((header, payload) in ipv4_with_payload()) {
        let bytes = packet(&header, &payload);
        let read = theirs::Ipv4Packet::new_checked(&bytes[..]).unwrap();
        prop_assert!(read.verify_checksum());
        let seen = Ipv4Header {
            dscp: read.dscp(),
            ecn: [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(read.ecn())],
            total_len: read.total_len(),
            identification: read.ident(),
            dont_fragment: read.dont_frag(),
            more_fragments: read.more_frags(),
            fragment_offset: read.frag_offset(),
            ttl: read.hop_limit(),
            protocol: u8::from(read.next_header()).into(),
            src: read.src_addr(),
            dst: read.dst_addr(),
            header_len: read.header_len(),
        };
        prop_assert_eq!(seen, header);
        prop_assert_eq!(read.payload(), &payload[..]);
    }

    #[test]
    fn what_they_write_as_ipv4_we_read(
        src: Ipv4Addr, dst: Ipv4Addr, protocol: u8, ttl: u8, payload in payload(),
    ) {
        let repr = theirs::Ipv4Repr {
            src_addr: src,
            dst_addr: dst,
            next_header: protocol.into(),
            payload_len: payload.len(),
            hop_limit: ttl,
        };
        let mut bytes = vec![0; 20 + payload.len()];
        let mut written = theirs::Ipv4Packet::new_unchecked(&mut bytes);
        repr.emit(&mut written, &ChecksumCapabilities::default());
        bytes[20..].copy_from_slice(&payload);
        let (header, rest) = Ipv4Header::parse(&bytes, ChecksumPolicy::Verify).unwrap();
        let expected = Ipv4Header {
            ttl,
            dont_fragment: true,
            ..Ipv4Header::new(src, dst, protocol.into(), payload.len())
        };
        prop_assert_eq!((header, rest), (expected, &payload[..]));
    }

    /// Our parser also refuses a wrong version, which `smoltcp` checks one step
    /// later, and a fragment that ends past the largest datagram.
    #[test]
    fn both_refuse_the_same_ipv4_packets(
        bytes in mutated(ipv4_with_payload().prop_map(|(header, payload)| packet(&header, &payload))),
    ) {
        let accepted = theirs::Ipv4Packet::new_checked(&bytes[..]).is_ok_and(|read| {
            let end = usize::from(read.frag_offset()) + read.payload().len();
            read.version() == 4 && read.verify_checksum() && end <= 65_535
        });
        let ours = Ipv4Header::parse(&bytes, ChecksumPolicy::Verify);
        prop_assert_eq!(ours.is_ok(), accepted, "{:?}", ours);
    }

    #[test]
    fn echoes_are_the_same_to_both(asks: bool, ident: u16, seq_no: u16, data in payload()) {
        let (repr, message) = if asks {
            (
                theirs::Icmpv4Repr::EchoRequest { ident, seq_no, data: &data },
                Icmpv4Message::EchoRequest { ident, seq: seq_no },
            )
        } else {
            (
                theirs::Icmpv4Repr::EchoReply { ident, seq_no, data: &data },
                Icmpv4Message::EchoReply { ident, seq: seq_no },
            )
        };
        let caps = ChecksumCapabilities::default();
        let ours = icmp(&message, &data);
        let mut written = vec![0; repr.buffer_len()];
        repr.emit(&mut theirs::Icmpv4Packet::new_unchecked(&mut written), &caps);
        prop_assert_eq!(&ours, &written);
        let read = theirs::Icmpv4Packet::new_checked(&ours[..]).unwrap();
        prop_assert_eq!(theirs::Icmpv4Repr::parse(&read, &caps), Ok(repr));
    }

    #[test]
    fn errors_quote_the_packet_the_same_way((ip, data) in ipv4_with_payload(), port: bool) {
        let header = theirs::Ipv4Repr {
            src_addr: ip.src,
            dst_addr: ip.dst,
            next_header: u8::from(ip.protocol).into(),
            payload_len: data.len(),
            hop_limit: ip.ttl,
        };
        let (repr, expected) = if port {
            let reason = theirs::Icmpv4DstUnreachable::PortUnreachable;
            let code = UnreachableCode::Port;
            (
                theirs::Icmpv4Repr::DstUnreachable { reason, header, data: &data },
                Icmpv4Message::Unreachable { code, next_hop_mtu: 0 },
            )
        } else {
            let reason = theirs::Icmpv4TimeExceeded::TtlExpired;
            let code = TimeExceededCode::Ttl;
            (
                theirs::Icmpv4Repr::TimeExceeded { reason, header, data: &data },
                Icmpv4Message::TimeExceeded { code },
            )
        };
        let mut bytes = vec![0; repr.buffer_len()];
        repr.emit(
            &mut theirs::Icmpv4Packet::new_unchecked(&mut bytes),
            &ChecksumCapabilities::default(),
        );
        let (message, quoted) = Icmpv4Message::parse(&bytes, ChecksumPolicy::Verify).unwrap();
        prop_assert_eq!(message, expected);
        let (inner, start) = Ipv4Header::parse_quoted(quoted).unwrap();
        prop_assert_eq!((inner.src, inner.dst, start), (ip.src, ip.dst, &data[..]));
    }

    #[test]
    fn udp_is_the_same_to_both(
        ports: (u16, u16), src: Ipv4Addr, dst: Ipv4Addr, payload in payload(),
    ) {
        let ours = datagram(ports, src, dst, &payload);
        let repr = theirs::UdpRepr { src_port: ports.0, dst_port: ports.1 };
        let mut written = vec![0; ours.len()];
        repr.emit(
            &mut theirs::UdpPacket::new_unchecked(&mut written),
            &src.into(),
            &dst.into(),
            payload.len(),
            |place| place.copy_from_slice(&payload),
            &ChecksumCapabilities::default(),
        );
        prop_assert_eq!(&ours, &written);
        let read = theirs::UdpPacket::new_checked(&ours[..]).unwrap();
        prop_assert!(read.verify_checksum(&src.into(), &dst.into()));
    }

    #[test]
    fn both_refuse_the_same_datagrams(
        bytes in mutated(payload().prop_map(|payload| {
            datagram((7, 9), Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, &payload)
        })),
    ) {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let read = theirs::UdpPacket::new_checked(&bytes[..]);
        prop_assert_eq!(UdpHeader::parse(&bytes).is_ok(), read.is_ok());
        if let Ok(read) = read {
            let valid = read.verify_checksum(&address.into(), &address.into());
            prop_assert_eq!(udp::verify_checksum(&bytes, address, address).is_ok(), valid);
        }
    }

    #[test]
    fn what_we_write_as_tcp_they_read(
        header in tcp(), src: Ipv4Addr, dst: Ipv4Addr, data in payload(),
    ) {
        let bytes = segment(&header, src, dst, &data);
        let read = theirs::TcpPacket::new_checked(&bytes[..]).unwrap();
        prop_assert!(read.verify_checksum(&src.into(), &dst.into()));
        prop_assert_eq!((read.src_port(), read.dst_port()), (header.src_port, header.dst_port));
        prop_assert_eq!(read.seq_number().0 as u32, header.seq);
        prop_assert_eq!(read.ack_number().0 as u32, header.ack);
        prop_assert_eq!(flags_of(&read), header.flags);
        prop_assert_eq!((read.window_len(), read.urgent_at()), (header.window, header.urgent));
        prop_assert_eq!(read.payload(), &data[..]);
        let seen = read.options_summary().unwrap();
        let options = header.options;
        prop_assert_eq!(seen.max_segment_size, options.mss);
        prop_assert_eq!(seen.window_scale, options.window_scale);
        prop_assert_eq!(seen.sack_permitted, options.sack_permitted);
        prop_assert_eq!(seen.sack_ranges, first_three(&options.sack));
        prop_assert_eq!(seen.timestamp, options.timestamps.map(timestamps_of));
    }

    #[test]
    fn what_they_write_as_tcp_we_read(
        header in tcp(), src: Ipv4Addr, dst: Ipv4Addr, data in payload(),
    ) {
        let repr = repr_of(&header, &data);
        let mut bytes = vec![0; repr.buffer_len()];
        if repr.header_len() > TcpHeader::MAX_LEN {
            return Ok(());
        }
        repr.emit(
            &mut theirs::TcpPacket::new_unchecked(&mut bytes),
            &src.into(),
            &dst.into(),
            &ChecksumCapabilities::default(),
        );
        prop_assert_eq!(tcp::verify_checksum(&bytes, src.into(), dst.into()), Ok(()));
        let (seen, rest) = TcpHeader::parse(&bytes).unwrap();
        let wrote_sack = repr.ack_number.is_some() && !repr.sack_permitted;
        let expected_sack = if wrote_sack { repr.sack_ranges } else { [None; 3] };
        prop_assert!(!seen.options_malformed);
        prop_assert_eq!((seen.seq, rest), (header.seq, &data[..]));
        prop_assert_eq!(seen.options.mss, header.options.mss);
        prop_assert_eq!(seen.options.window_scale, header.options.window_scale);
        prop_assert_eq!(seen.options.sack_permitted, header.options.sack_permitted);
        prop_assert_eq!(seen.options.timestamps, header.options.timestamps);
        prop_assert_eq!(first_three(&seen.options.sack), expected_sack);
    }

    #[test]
    fn both_refuse_the_same_segments(
        bytes in mutated((tcp(), payload()).prop_map(|(header, data)| {
            segment(&header, Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, &data)
        })),
    ) {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let read = theirs::TcpPacket::new_checked(&bytes[..]);
        prop_assert_eq!(TcpHeader::parse(&bytes).is_ok(), read.is_ok());
        if let Ok(read) = read {
            let valid = read.verify_checksum(&address.into(), &address.into());
            prop_assert_eq!(tcp::verify_checksum(&bytes, address, address).is_ok(), valid);
        }
    }
}
