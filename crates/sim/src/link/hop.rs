//! A hop in the middle of the path with a smaller MTU than both ends.
//!
//! Rule: the hop drops a packet that is too long and has DF set. It then sends the message of
//! RFC 1191 §4 or, as a black hole, nothing. A packet without DF passes unfragmented, because
//! the receiver would reassemble the fragments anyway.

use fullpipe_wire::{
    Checksum, EthernetHeader, Icmpv4Message, Ipv4Header, Protocol, UnreachableCode,
};
use serde::{Deserialize, Serialize};

use super::frame::ETHERNET_HEADER_LEN;

/// Bytes of the dropped packet's payload that an error quotes. RFC 792.
const QUOTED_PAYLOAD: usize = 8;

/// A hop with a smaller MTU than the link around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    /// Largest IP packet in bytes that the hop carries.
    pub mtu: u16,
    /// The hop drops packets without a message.
    pub silent: bool,
}

impl Hop {
    /// Returns true if `frame` is dropped.
    pub(super) fn stops(self, frame: &[u8]) -> bool {
        frame.len() > usize::from(self.mtu) + ETHERNET_HEADER_LEN
            && header_of(frame).is_some_and(|header| header.dont_fragment)
    }

    /// The ICMP message for a frame that was dropped.
    pub(super) fn answer(self, frame: &[u8]) -> Option<Vec<u8>> {
        if self.silent {
            return None;
        }
        let (ethernet, packet) = EthernetHeader::parse(frame).ok()?;
        let quoted = &packet[..(Ipv4Header::LEN + QUOTED_PAYLOAD).min(packet.len())];
        let dropped = header_of(frame)?;
        let message = Icmpv4Message::Unreachable {
            code: UnreachableCode::FragmentationNeeded,
            next_hop_mtu: self.mtu,
        };
        let len = Icmpv4Message::LEN + quoted.len();
        // The hop has no address of its own, so the message comes from the packet's destination.
        let header = Ipv4Header::new(dropped.dst, dropped.src, Protocol::Icmp, len);
        let mut answer = vec![0; ETHERNET_HEADER_LEN + Ipv4Header::LEN + len];
        let (link, rest) = answer.split_at_mut(ETHERNET_HEADER_LEN);
        EthernetHeader {
            dst: ethernet.src,
            src: ethernet.dst,
            ..ethernet
        }
        .write(link);
        header.write(rest);
        let (head, payload) = rest[Ipv4Header::LEN..].split_at_mut(Icmpv4Message::LEN);
        payload.copy_from_slice(quoted);
        message.write(head, Checksum::of(quoted));
        Some(answer)
    }
}

fn header_of(frame: &[u8]) -> Option<Ipv4Header> {
    let (_, packet) = EthernetHeader::parse(frame).ok()?;
    Ipv4Header::parse_quoted(packet)
        .ok()
        .map(|(header, _)| header)
}
