//! Link headers: finds the IP packet of a frame.
//!
//! Rule: a frame has exactly one IP packet, or a reason for which it has none. Tunnels inside IP
//! are not opened.

use super::{
    frame::Frame,
    link_type::LinkType,
    packet::{Packet, Skipped},
    segment::Passage,
};

/// The protocol after a link header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    Ipv4,
    Ipv6,
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// EtherTypes of VLAN tags: 802.1Q, 802.1ad, and the older numbers of stacked tags.
const VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
/// EtherTypes of MPLS: unicast and multicast.
const MPLS: [u16; 2] = [0x8847, 0x8848];
const PPPOE_SESSION: u16 = 0x8864;
/// Smallest EtherType. A smaller value in the EtherType field is the length of an 802.3 frame.
const ETHERTYPE_MIN: u16 = 0x0600;
/// LLC and SNAP header after which an EtherType follows.
const SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];

/// Largest number of VLAN tags and MPLS labels of a frame that are followed; no real network uses
/// more.
const TAGS_MAX: usize = 16;

const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;

/// Address family of IPv4; it is the same on every system.
const FAMILY_IPV4: u32 = 2;
/// Address families of IPv6 on Linux, on NetBSD and OpenBSD, on FreeBSD, and on macOS.
const FAMILIES_IPV6: [u32; 4] = [10, 24, 28, 30];

/// An IP packet, and the relation of its frame to the capturing host.
type Inner<'a> = (Network, Packet<'a>, Option<Passage>);

/// Returns the IP packet of a frame.
pub(super) fn packet<'a>(frame: &Frame<'a>) -> Result<Inner<'a>, Skipped> {
    let whole = Packet {
        bytes: frame.bytes,
        len: frame.original_len,
    };
    let passage = frame.passage;
    let (network, packet) = match frame.link {
        LinkType::ETHERNET => {
            let (header, rest) = whole.split::<14>()?;
            ether_type(be16(header, 12), rest)?
        }
        LinkType::RAW | LinkType::RAW_BSD | LinkType::RAW_OPENBSD => by_version(whole)?,
        LinkType::IPV4 => (Network::Ipv4, whole),
        LinkType::IPV6 => (Network::Ipv6, whole),
        LinkType::LINUX_SLL => return cooked(whole),
        LinkType::LINUX_SLL2 => return cooked_2(whole),
        LinkType::NULL | LinkType::LOOP => family(whole)?,
        LinkType::PPP | LinkType::PPP_HDLC | LinkType::PPP_PPPD => ppp(whole)?,
        LinkType::PPP_ETHER => pppoe(whole)?,
        LinkType::C_HDLC => {
            let (header, rest) = whole.split::<4>()?;
            ether_type(be16(header, 2), rest)?
        }
        _ => return Err(Skipped::LinkType),
    };
    Ok((network, packet, passage))
}

/// Follows an EtherType through tags to an IP packet.
fn ether_type(first: u16, first_packet: Packet<'_>) -> Result<(Network, Packet<'_>), Skipped> {
    let (mut kind, mut packet) = (first, first_packet);
    for _ in 0..TAGS_MAX {
        match kind {
            IPV4 => return Ok((Network::Ipv4, packet)),
            IPV6 => return Ok((Network::Ipv6, packet)),
            PPPOE_SESSION => return pppoe(packet),
            kind if MPLS.contains(&kind) => return mpls(packet),
            tag if VLAN.contains(&tag) => {
                let (tag, rest) = packet.split::<4>()?;
                (kind, packet) = (be16(tag, 2), rest);
            }
            length if length < ETHERTYPE_MIN => {
                let (llc, rest) = packet.split::<8>()?;
                if !llc.starts_with(&SNAP) {
                    return Err(Skipped::NotTcp);
                }
                (kind, packet) = (be16(llc, 6), rest);
            }
            _ => return Err(Skipped::NotTcp),
        }
    }
    Err(Skipped::NotTcp)
}

/// Skips MPLS labels. RFC 3032 §2.1.
fn mpls(mut packet: Packet<'_>) -> Result<(Network, Packet<'_>), Skipped> {
    const BOTTOM_OF_STACK: u8 = 1;
    for _ in 0..TAGS_MAX {
        let (label, rest) = packet.split::<4>()?;
        packet = rest;
        if label[2] & BOTTOM_OF_STACK != 0 {
            return by_version(packet);
        }
    }
    Err(Skipped::NotTcp)
}

/// Reads the IP version from the packet's first four bits.
fn by_version(packet: Packet<'_>) -> Result<(Network, Packet<'_>), Skipped> {
    match packet.bytes.first().map(|byte| byte >> 4) {
        Some(4) => Ok((Network::Ipv4, packet)),
        Some(6) => Ok((Network::Ipv6, packet)),
        Some(_) => Err(Skipped::NotTcp),
        None => Err(Skipped::HeaderCut),
    }
}

/// Reads an address family whose byte order is unknown. The smaller of the two possible values
/// is the family.
fn family(packet: Packet<'_>) -> Result<(Network, Packet<'_>), Skipped> {
    let (header, rest) = packet.split::<4>()?;
    let (big, little) = (u32::from_be_bytes(*header), u32::from_le_bytes(*header));
    match big.min(little) {
        FAMILY_IPV4 => Ok((Network::Ipv4, rest)),
        family if FAMILIES_IPV6.contains(&family) => Ok((Network::Ipv6, rest)),
        _ => Err(Skipped::NotTcp),
    }
}

/// Reads PPP, with or without address and control fields, and with a protocol field of one or
/// two bytes. RFC 1661 §2, RFC 1662 §3.1.
fn ppp(packet: Packet<'_>) -> Result<(Network, Packet<'_>), Skipped> {
    const CONTROL: u8 = 0x03;
    // Reject packets of fewer than four bytes, because their form is ambiguous.
    packet.split::<4>()?;
    let with_address = match packet.bytes {
        // The address is 0xff. Linux's pppd writes the direction, 0 or 1, in its place.
        [0xff | 0 | 1, CONTROL, ..] => packet.split::<2>()?.1,
        _ => packet,
    };
    let is_short = with_address.bytes.first().is_some_and(|byte| byte & 1 == 1);
    let (protocol, rest) = if is_short {
        let (protocol, rest) = with_address.split::<1>()?;
        (protocol[0].into(), rest)
    } else {
        let (protocol, rest) = with_address.split::<2>()?;
        (be16(protocol, 0), rest)
    };
    match protocol {
        PPP_IPV4 => Ok((Network::Ipv4, rest)),
        PPP_IPV6 => Ok((Network::Ipv6, rest)),
        _ => Err(Skipped::NotTcp),
    }
}

/// A PPPoE session. RFC 2516 §4.
fn pppoe(packet: Packet<'_>) -> Result<(Network, Packet<'_>), Skipped> {
    let (header, rest) = packet.split::<6>()?;
    if header[0] != 0x11 || header[1] != 0 {
        return Err(Skipped::NotTcp);
    }
    ppp(rest)
}

/// Linux cooked capture. Its packet type gives the frame's relation to the capturing host.
fn cooked(packet: Packet<'_>) -> Result<Inner<'_>, Skipped> {
    let (header, rest) = packet.split::<16>()?;
    let (network, packet) = ether_type(be16(header, 14), rest)?;
    Ok((network, packet, passage(be16(header, 0))))
}

fn cooked_2(packet: Packet<'_>) -> Result<Inner<'_>, Skipped> {
    let (header, rest) = packet.split::<20>()?;
    let (network, packet) = ether_type(be16(header, 0), rest)?;
    Ok((network, packet, passage(header[10].into())))
}

/// The relation of a frame to the capturing host, by its packet type in `linux/if_packet.h`.
pub(super) const fn passage(packet_type: u16) -> Option<Passage> {
    match packet_type {
        0..=2 => Some(Passage::Received),
        3 => Some(Passage::Overheard),
        4 => Some(Passage::Sent),
        _ => None,
    }
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}
