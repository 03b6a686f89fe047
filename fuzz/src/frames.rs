//! Frames from the stack's only neighbour, well-formed as far as it takes to
//! get past the outer layers.
//!
//! The one rule: what no fuzzer would guess (checksums, addresses, sequence
//! numbers relative to the right ones) is filled in; everything else is the script's.
//!
//! Frames that are arbitrary from the first byte are not made here.

use core::net::Ipv4Addr;

use fullpipe_wire::{
    ArpOperation, ArpPacket, Checksum, Ecn, EtherType, EthernetHeader, Icmpv4Message, Ipv4Header,
    MacAddress, Protocol, TcpFlags, TcpHeader, TcpOptions,
};

use crate::script::Script;

/// Station address of the stack.
pub const OUR_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
/// Address of the stack.
pub const OUR_IP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// Address of its neighbour.
pub const PEER_IP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// The port on which the stack listens.
pub const LISTENING_PORT: u16 = 7;

const PEER_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const IP_START: usize = EthernetHeader::LEN;
const PAYLOAD_START: usize = IP_START + Ipv4Header::LEN;

/// Room for one frame; longer payloads are cut.
pub type Frame = [u8; 2048];

/// The numbers of the stack's last TCP segment: enough to answer it.
#[derive(Clone, Copy, Default)]
pub struct LastSegment {
    /// Port of the stack.
    pub our_port: u16,
    /// Port of the neighbour.
    pub peer_port: u16,
    /// The next sequence number it will use.
    pub next: u32,
    /// Its acknowledgement number.
    pub acked: u32,
}

/// An ARP packet from the neighbour; returns the frame's length.
pub fn arp(frame: &mut Frame, operation: ArpOperation) -> usize {
    ethernet(frame, EtherType::Arp);
    let packet = ArpPacket {
        operation,
        sender_mac: PEER_MAC,
        sender_ip: PEER_IP,
        target_mac: OUR_MAC,
        target_ip: OUR_IP,
    };
    packet.write(&mut frame[IP_START..]);
    IP_START + ArpPacket::LEN
}

/// An IPv4 packet with a scripted payload and scripted fragment fields.
pub fn ip(frame: &mut Frame, script: &mut Script<'_>) -> Option<usize> {
    let protocol = script.byte()?.into();
    let fragment = script.number()?;
    let identification = script.byte()?.into();
    let payload_len = usize::from(script.number()? % 1600);
    let payload = script.bytes(payload_len);
    frame[PAYLOAD_START..][..payload.len()].copy_from_slice(payload);
    let header = Ipv4Header {
        identification,
        more_fragments: fragment & 0x2000 != 0,
        fragment_offset: (fragment & 0x1fff) * 8,
        ..Ipv4Header::new(PEER_IP, OUR_IP, protocol, payload.len())
    };
    Some(ip_header(frame, &header))
}

/// A TCP segment relative to the one the stack sent last, or to its listening port.
pub fn tcp(frame: &mut Frame, script: &mut Script<'_>, last: &LastSegment) -> Option<usize> {
    let ports = script.byte()?;
    let (src_port, dst_port) = match ports {
        0..=127 => (last.peer_port, last.our_port),
        128..=255 => (1000 + u16::from(ports % 8), LISTENING_PORT),
    };
    let flags = TcpFlags::from_bits(script.byte()?.into());
    let (seq, ack) = (near(script, last.acked)?, near(script, last.next)?);
    let header = TcpHeader {
        src_port,
        dst_port,
        flags,
        seq,
        ack,
        window: script.number()?,
        urgent: 0,
        options: options(script)?,
        options_malformed: false,
    };
    let header_len = header.write(&mut frame[PAYLOAD_START..]);
    let text_len = usize::from(script.byte()?) * 6;
    frame[PAYLOAD_START + header_len..][..text_len].fill(b'x');
    Some(ip_header(
        frame,
        &Ipv4Header {
            ecn: Ecn::NotEct,
            ..Ipv4Header::new(PEER_IP, OUR_IP, Protocol::Tcp, header_len + text_len)
        },
    ))
}

/// A number relative to `base`: most near it, the others anywhere on the circle.
fn near(script: &mut Script<'_>, base: u32) -> Option<u32> {
    let by = script.byte()?;
    let near = base.wrapping_add_signed(i32::from(by as i8));
    Some(match by & 7 {
        5 => near.wrapping_add(1 << 31),
        6 => near.wrapping_add(u32::from(script.number()?)),
        7 => near.wrapping_add(u32::from(script.number()?) << 16),
        _ => near,
    })
}

fn options(script: &mut Script<'_>) -> Option<TcpOptions> {
    let len = usize::from(script.byte()? % 41);
    let (options, _problem) = TcpOptions::parse(script.bytes(len));
    Some(options)
}

/// An ICMP message that quotes the packet the stack sent last.
pub fn icmp(frame: &mut Frame, script: &mut Script<'_>, quoted: &[u8]) -> Option<usize> {
    let message = Icmpv4Message::Other {
        kind: script.byte()?,
        code: script.byte()?,
        rest: [0, 0, script.byte()?, script.byte()?],
    };
    let (header, payload) = frame[PAYLOAD_START..].split_at_mut(Icmpv4Message::LEN);
    let quoted = &quoted[..quoted.len().min(Ipv4Header::LEN + 8)];
    payload[..quoted.len()].copy_from_slice(quoted);
    message.write(header, Checksum::of(quoted));
    let payload_len = Icmpv4Message::LEN + quoted.len();
    Some(ip_header(
        frame,
        &Ipv4Header::new(PEER_IP, OUR_IP, Protocol::Icmp, payload_len),
    ))
}

fn ip_header(frame: &mut Frame, header: &Ipv4Header) -> usize {
    ethernet(frame, EtherType::Ipv4);
    header.write(&mut frame[IP_START..]);
    PAYLOAD_START + header.payload_len()
}

fn ethernet(frame: &mut Frame, ether_type: EtherType) {
    EthernetHeader {
        dst: OUR_MAC,
        src: PEER_MAC,
        ether_type,
    }
    .write(frame);
}
