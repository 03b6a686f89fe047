//! Packets made by hand, and a scripted peer that uses them.
//!
//! Rule: the IP, TCP and ICMP checksums are valid, so the host discards no packet because of a
//! wrong checksum. A [`ScriptedPeer`] stores only numbers that it chose itself and numbers that it
//! read from the host's segments.

use std::net::Ipv4Addr;

use fullpipe_wire::{
    Checksum, Icmpv4Message, Ipv4Header, Protocol, TcpFlags, TcpHeader, TcpOptions,
    UnreachableCode, tcp::set_checksum,
};

use super::arena::{Arena, CLIENT, HOST, STRANGER, tcp_of};

/// An IP packet with this header and payload.
pub fn packet(header: Ipv4Header, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; Ipv4Header::LEN + payload.len()];
    header.write(&mut packet);
    packet[Ipv4Header::LEN..].copy_from_slice(payload);
    packet
}

/// A TCP segment from `src` to the host.
pub fn tcp(src: Ipv4Addr, header: &TcpHeader, payload: &[u8]) -> Vec<u8> {
    let mut segment = vec![0; header.header_len() + payload.len()];
    let len = header.write(&mut segment);
    segment[len..].copy_from_slice(payload);
    set_checksum(
        &mut segment[..len],
        src.into(),
        HOST.into(),
        Checksum::of(payload),
    );
    let ip = Ipv4Header::new(src, HOST, Protocol::Tcp, segment.len());
    packet(ip, &segment)
}

/// A fragment of a UDP datagram to the host.
pub fn fragment(
    src: Ipv4Addr,
    identification: u16,
    offset: u16,
    more: bool,
    text: &[u8],
) -> Vec<u8> {
    let ip = Ipv4Header {
        identification,
        fragment_offset: offset,
        more_fragments: more,
        ..Ipv4Header::new(src, HOST, Protocol::Udp, text.len())
    };
    packet(ip, text)
}

/// An echo request to the host.
pub fn echo_request(src: Ipv4Addr) -> Vec<u8> {
    let mut message = vec![0; Icmpv4Message::LEN];
    Icmpv4Message::EchoRequest { ident: 1, seq: 1 }.write(&mut message, Checksum::new());
    let ip = Ipv4Header::new(src, HOST, Protocol::Icmp, message.len());
    packet(ip, &message)
}

/// An ICMP error about a segment that the host may have sent to the client.
pub fn icmp(code: UnreachableCode, quoted: &TcpHeader) -> Vec<u8> {
    let mut segment = vec![0; quoted.header_len()];
    quoted.write(&mut segment);
    let ip = Ipv4Header::new(HOST, CLIENT, Protocol::Tcp, 1_480);
    let mut quote = vec![0; Ipv4Header::LEN];
    ip.write(&mut quote);
    quote.extend_from_slice(&segment[..8]);
    let message = Icmpv4Message::Unreachable {
        code,
        next_hop_mtu: 68,
    };
    let mut icmp = vec![0; Icmpv4Message::LEN];
    message.write(&mut icmp, Checksum::of(&quote));
    icmp.extend_from_slice(&quote);
    let ip = Ipv4Header::new(STRANGER, HOST, Protocol::Icmp, icmp.len());
    packet(ip, &icmp)
}

/// A peer of the host that sends only the segments of a script.
#[derive(Clone, Copy, Debug)]
pub struct ScriptedPeer {
    /// The peer's port.
    pub port: u16,
    /// The host's port.
    pub at: u16,
    /// Sequence number of the peer's first payload byte.
    pub first: u32,
    /// Sequence number of the host's first payload byte. `open` does not acknowledge this byte.
    pub una: u32,
    /// Sequence number after everything that the host has sent.
    pub seen: u32,
}

impl ScriptedPeer {
    /// Opens a connection to the host's port `at`.
    pub fn open(arena: &mut Arena, port: u16, at: u16, mss: u16, window: u16) -> Option<Self> {
        let syn = TcpHeader {
            src_port: port,
            dst_port: at,
            seq: 999,
            flags: TcpFlags::SYN,
            window,
            options: TcpOptions {
                mss: Some(mss),
                sack_permitted: true,
                ..TcpOptions::NONE
            },
            ..TcpHeader::default()
        };
        arena.inject(&tcp(STRANGER, &syn, &[]));
        let replies = arena.replies();
        let answer =
            replies
                .iter()
                .filter_map(|packet| tcp_of(packet))
                .find(|(_, header, _)| {
                    header.dst_port == port && header.flags.contains(TcpFlags::SYN | TcpFlags::ACK)
                })?;
        let scripted = Self {
            port,
            at,
            first: 1_000,
            una: answer.1.seq.wrapping_add(1),
            seen: answer.1.seq.wrapping_add(1),
        };
        scripted.ack(arena, scripted.una, window, TcpOptions::NONE);
        Some(scripted)
    }

    /// A segment's header with these numbers.
    pub fn header(&self, seq: u32, ack: u32, window: u16) -> TcpHeader {
        TcpHeader {
            src_port: self.port,
            dst_port: self.at,
            seq,
            ack,
            flags: TcpFlags::ACK,
            window,
            ..TcpHeader::default()
        }
    }

    /// Sends an ACK.
    pub fn ack(&self, arena: &mut Arena, ack: u32, window: u16, options: TcpOptions) {
        let header = TcpHeader {
            options,
            ..self.header(self.first, ack, window)
        };
        arena.inject(&tcp(STRANGER, &header, &[]));
    }

    /// Records the host's segments; returns true if one of them carried payload.
    pub fn record_replies(&mut self, replies: &[Vec<u8>]) -> bool {
        let mut spoke = false;
        for packet in replies {
            let Some((_, header, len)) = tcp_of(packet) else {
                continue;
            };
            if header.dst_port == self.port && len > 0 {
                spoke = true;
                let end = header.seq.wrapping_add(len as u32);
                if end.wrapping_sub(self.seen) < 1 << 31 {
                    self.seen = end;
                }
            }
        }
        spoke
    }
}
