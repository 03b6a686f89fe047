//! Frames from the stack's only neighbour. Their outer headers are valid, so that the stack accepts
//! them.
//!
//! The one rule: this file fills in the values that a fuzzer would not guess: checksums, addresses,
//! and sequence numbers near the right ones. The script (the fuzzer's input) determines all other
//! values.
//!
//! Completely arbitrary frames are not made here.

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
/// Address of the neighbour.
pub const PEER_IP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// The port on which the stack listens.
pub const LISTENING_PORT: u16 = 7;

const PEER_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const IP_START: usize = EthernetHeader::LEN;
const PAYLOAD_START: usize = IP_START + Ipv4Header::LEN;

/// Buffer for one frame.
pub type Frame = [u8; 2048];

/// Ports and numbers of the stack's last TCP segment, from which an answer can be made.
#[derive(Clone, Copy, Default)]
pub struct LastSegment {
    /// Port of the stack.
    pub our_port: u16,
    /// Port of the neighbour.
    pub peer_port: u16,
    /// The next sequence number that the stack will use.
    pub next: u32,
    /// The acknowledgment number of the segment.
    pub acked: u32,
}

/// Writes an ARP packet from the neighbour, and returns the frame's length.
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

/// Writes an IPv4 packet with payload and fragment fields from the script, and returns the frame's
/// length.
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

/// Writes a TCP segment that answers the stack's last segment or is sent to its listening port, and
/// returns the frame's length.
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

/// Returns a sequence number: usually one near `base`, sometimes any other.
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

/// Writes an ICMP message that quotes the stack's last packet, and returns the frame's length.
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
