//! A hop in the middle of the path. The hop's MTU is smaller than the MTUs of both ends.
//!
//! Rule: the hop drops a packet that is too long and may not be fragmented. The hop then sends the
//! message of RFC 1191 §4 or RFC 4443 §3.2 or, as a black hole, nothing. An IPv4 packet without DF
//! passes unfragmented, because the receiver would reassemble the fragments anyway. No router
//! fragments an IPv6 packet.

use fullpipe_wire::{
    Checksum, EtherType, EthernetHeader, Icmpv4Message, Icmpv6Message, Ipv4Header, Ipv6Header,
    Protocol, UnreachableCode,
};
use serde::{Deserialize, Serialize};

use super::frame::ETHERNET_HEADER_LEN;

/// Bytes of the dropped IPv4 packet's payload that an error quotes. RFC 792.
const QUOTED_PAYLOAD: usize = 8;
/// Longest ICMPv6 error, IPv6 header included: the smallest MTU that IPv6 allows. RFC 4443 §2.4
/// (c).
const MOST_V6: usize = fullpipe_wire::ipv6::MIN_MTU;

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
        frame.len() > usize::from(self.mtu) + ETHERNET_HEADER_LEN && may_not_be_fragmented(frame)
    }

    /// The ICMP message for a frame that was dropped.
    pub(super) fn answer(self, frame: &[u8]) -> Option<Vec<u8>> {
        if self.silent {
            return None;
        }
        let (ethernet, packet) = EthernetHeader::parse(frame).ok()?;
        let answer = match ethernet.ether_type {
            EtherType::Ipv4 => self.answer_v4(packet)?,
            EtherType::Ipv6 => self.answer_v6(packet)?,
            EtherType::Arp | EtherType::Other(_) => return None,
        };
        let mut answer_frame = vec![0; ETHERNET_HEADER_LEN];
        EthernetHeader {
            dst: ethernet.src,
            src: ethernet.dst,
            ..ethernet
        }
        .write(&mut answer_frame);
        answer_frame.extend(answer);
        Some(answer_frame)
    }

    /// The packet with which a router reports that it dropped the IPv4 packet `packet`.
    fn answer_v4(self, packet: &[u8]) -> Option<Vec<u8>> {
        let (dropped, _) = Ipv4Header::parse_quoted(packet).ok()?;
        let quoted = &packet[..(Ipv4Header::LEN + QUOTED_PAYLOAD).min(packet.len())];
        let message = Icmpv4Message::Unreachable {
            code: UnreachableCode::FragmentationNeeded,
            next_hop_mtu: self.mtu,
        };
        let len = Icmpv4Message::LEN + quoted.len();
        // The hop has no address of its own, so the message comes from the packet's destination.
        let header = Ipv4Header::new(dropped.dst, dropped.src, Protocol::Icmp, len);
        let mut answer = vec![0; Ipv4Header::LEN + len];
        header.write(&mut answer);
        let (head, payload) = answer[Ipv4Header::LEN..].split_at_mut(Icmpv4Message::LEN);
        payload.copy_from_slice(quoted);
        message.write(head, Checksum::of(quoted));
        Some(answer)
    }

    /// The packet with which a router reports that it dropped the IPv6 packet `packet`.
    fn answer_v6(self, packet: &[u8]) -> Option<Vec<u8>> {
        let (dropped, _) = Ipv6Header::parse_quoted(packet).ok()?;
        let room = MOST_V6 - Ipv6Header::LEN - Icmpv6Message::LEN;
        let quoted = &packet[..room.min(packet.len())];
        let len = Icmpv6Message::LEN + quoted.len();
        // As in IPv4, the message comes from the packet's destination.
        let (src, dst) = (dropped.dst, dropped.src);
        let header = Ipv6Header::new(src, dst, Protocol::Icmpv6, len);
        let mut answer = vec![0; Ipv6Header::LEN + len];
        header.write(&mut answer);
        let (head, payload) = answer[Ipv6Header::LEN..].split_at_mut(Icmpv6Message::LEN);
        payload.copy_from_slice(quoted);
        let message = Icmpv6Message::PacketTooBig {
            mtu: self.mtu.into(),
        };
        message.write(head, (src, dst), Checksum::of(quoted));
        Some(answer)
    }
}

/// Returns true if `frame` carries an IPv6 packet, or an IPv4 packet with DF.
fn may_not_be_fragmented(frame: &[u8]) -> bool {
    let Ok((ethernet, packet)) = EthernetHeader::parse(frame) else {
        return false;
    };
    match ethernet.ether_type {
        EtherType::Ipv4 => {
            Ipv4Header::parse_quoted(packet).is_ok_and(|(header, _)| header.dont_fragment)
        }
        EtherType::Ipv6 => true,
        EtherType::Arp | EtherType::Other(_) => false,
    }
}
