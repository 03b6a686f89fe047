//! Writes the frames of the peers, with TCP segments or other packets.
//!
//! The one rule: each function writes one whole frame or packet. The caller determines its contents
//! and the time of its arrival.

use core::net::{IpAddr, Ipv4Addr};

use fullpipe::device::Medium;
use fullpipe_wire::{
    ArpOperation, ArpPacket, Checksum, Ecn, EtherType, EthernetHeader, Icmpv4Message, Ipv4Header,
    MacAddress, Protocol, TcpHeader, UdpHeader, tcp, udp,
};

use crate::script::Script;

/// Station address of the stack.
pub const OUR_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
/// Address of the stack.
pub const OUR_IP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// Address of the honest client.
pub const FRIEND_IP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 77);
/// Address of the router.
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 254);

/// Returns the MAC address of a neighbour.
pub fn mac_of(ip: Ipv4Addr) -> MacAddress {
    MacAddress([2, 0, 0, 0, 1, ip.octets()[3]])
}

/// Returns a frame with the packet of `from`.
pub fn frame(medium: Medium, from: Ipv4Addr, packet: &[u8]) -> Vec<u8> {
    match medium {
        Medium::Ip => packet.to_vec(),
        Medium::Ethernet => {
            let is_near = from.octets()[..3] == OUR_IP.octets()[..3];
            let src = mac_of(if is_near { from } else { GATEWAY });
            ethernet(src, OUR_MAC, EtherType::Ipv4, packet)
        }
    }
}

fn ethernet(src: MacAddress, dst: MacAddress, ether_type: EtherType, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; EthernetHeader::LEN];
    let header = EthernetHeader {
        dst,
        src,
        ether_type,
    };
    header.write(&mut frame);
    frame.extend(payload);
    frame
}

/// Returns a frame with an ARP packet.
pub fn arp(operation: ArpOperation, sender: (MacAddress, Ipv4Addr), target: Ipv4Addr) -> Vec<u8> {
    let mut payload = vec![0; ArpPacket::LEN];
    let packet = ArpPacket {
        operation,
        sender_mac: sender.0,
        sender_ip: sender.1,
        target_mac: OUR_MAC,
        target_ip: target,
    };
    packet.write(&mut payload);
    ethernet(sender.0, OUR_MAC, EtherType::Arp, &payload)
}

/// Returns an IPv4 packet to the stack.
pub fn ip(from: Ipv4Addr, protocol: Protocol, payload: &[u8]) -> Vec<u8> {
    packet(
        Ipv4Header::new(from, OUR_IP, protocol, payload.len()),
        payload,
    )
}

fn packet(header: Ipv4Header, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; Ipv4Header::LEN];
    header.write(&mut packet);
    packet.extend(payload);
    packet
}

/// Returns a packet with a TCP segment and its checksum.
pub fn segment(from: Ipv4Addr, header: &TcpHeader, payload: &[u8], ecn: Ecn) -> Vec<u8> {
    let mut bytes = vec![0; TcpHeader::MAX_LEN];
    let len = header.write(&mut bytes);
    bytes.truncate(len);
    let (src, dst) = (IpAddr::V4(from), IpAddr::V4(OUR_IP));
    tcp::set_checksum(&mut bytes, src, dst, Checksum::of(payload));
    bytes.extend(payload);
    let header = Ipv4Header {
        ecn,
        ..Ipv4Header::new(from, OUR_IP, Protocol::Tcp, bytes.len())
    };
    packet(header, &bytes)
}

/// Returns a packet with a UDP datagram.
pub fn datagram(from: Ipv4Addr, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; UdpHeader::LEN];
    let header = UdpHeader {
        src_port: ports.0,
        dst_port: ports.1,
        len: (UdpHeader::LEN + payload.len()) as u16,
    };
    header.write(&mut bytes);
    let (src, dst) = (IpAddr::V4(from), IpAddr::V4(OUR_IP));
    udp::set_checksum(&mut bytes, src, dst, Checksum::of(payload));
    bytes.extend(payload);
    ip(from, Protocol::Udp, &bytes)
}

/// Returns a packet with an ICMP message.
pub fn icmp(from: Ipv4Addr, message: Icmpv4Message, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; Icmpv4Message::LEN];
    message.write(&mut bytes, Checksum::of(payload));
    bytes.extend(payload);
    ip(from, Protocol::Icmp, &bytes)
}

/// Returns the packet in fragments of `size` bytes, rounded to a multiple of eight, with the
/// identification `id`.
pub fn fragments(whole: &[u8], size: usize, id: u16) -> Vec<Vec<u8>> {
    let (header, payload) = Ipv4Header::parse_quoted(whole).expect("the packet is valid");
    let size = (size / 8).max(1) * 8;
    let count = payload.len().div_ceil(size);
    let pieces = payload.chunks(size).enumerate().map(|(at, piece)| {
        let new = Ipv4Header::new(header.src, header.dst, header.protocol, piece.len());
        let header = Ipv4Header {
            identification: id,
            dont_fragment: false,
            more_fragments: at + 1 < count,
            fragment_offset: (at * size) as u16,
            ecn: header.ecn,
            ..new
        };
        packet(header, piece)
    });
    pieces.collect()
}

/// Returns a fragment with fields and payload from the script (the fuzzer's input). Its
/// identification differs from those of [`fragments`], so it never becomes a part of their packets.
pub fn any_fragment(script: &mut Script<'_>, from: Ipv4Addr) -> Option<Vec<u8>> {
    let protocol = [Protocol::Tcp, Protocol::Udp, Protocol::Icmp][usize::from(script.byte()? % 3)];
    let fields = script.number()?;
    let identification = u16::from(script.byte()? % 4);
    let payload_len = usize::from(script.byte()?) * 4;
    let payload = script.bytes(payload_len);
    let header = Ipv4Header {
        identification,
        dont_fragment: false,
        more_fragments: fields & 0x2000 != 0,
        fragment_offset: (fields & 0x1fff) * 8,
        ..Ipv4Header::new(from, OUR_IP, protocol, payload.len())
    };
    Some(packet(header, payload))
}

/// Returns the sender and the TCP segment of a packet for the model; `None` if the stack must
/// discard the packet, or if the packet contains no whole segment.
pub fn read_segment(packet: &[u8], vouched: bool) -> Option<(Ipv4Addr, TcpHeader, &[u8])> {
    let policy = fullpipe_wire::ChecksumPolicy::Verify;
    let (header, payload) = Ipv4Header::parse(packet, policy).ok()?;
    if header.protocol != Protocol::Tcp || header.is_fragment() || header.dst != OUR_IP {
        return None;
    }
    let (src, dst) = (IpAddr::V4(header.src), IpAddr::V4(header.dst));
    if !vouched && tcp::verify_checksum(payload, src, dst).is_err() {
        return None;
    }
    let (segment, bytes) = TcpHeader::parse(payload).ok()?;
    Some((header.src, segment, bytes))
}
