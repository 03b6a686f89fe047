//! IPv4 and IPv6 headers of captured packets: finds the TCP segment of a packet. RFC 791, RFC 8200.
//!
//! Rule: lengths come from the headers. A length of 0 means that the captured packet is longer than
//! the field can express; the length of the frame is then used instead. A length beyond the end of
//! the frame is accepted if the checksum of the IPv4 header is right.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fullpipe_wire::{Checksum, Ecn};

use super::packet::{Packet, Skipped};

const TCP: u8 = 6;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;
const HOST_IDENTITY: u8 = 139;
const SHIM6: u8 = 140;

/// Largest number of extension headers of a packet that are read.
const EXTENSIONS_MAX: usize = 16;

/// Hop-by-hop option for a payload length of more than 16 bits. RFC 2675.
const JUMBO: u8 = 0xc2;

/// A TCP segment inside its IP packet.
pub(super) struct IpPacket<'a> {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// The bytes from the TCP header to the end of the packet.
    pub segment: Packet<'a>,
    pub ecn: Ecn,
    pub ttl: u8,
    pub id: Option<u16>,
    /// True if the segment is in the first fragment of its packet.
    pub is_fragment: bool,
    /// True if the packet's length field is 0, or if a jumbo option replaces it.
    pub is_big: bool,
}

/// Reads an IPv4 header.
pub(super) fn ipv4(packet: Packet<'_>) -> Result<IpPacket<'_>, Skipped> {
    const HEADER: usize = 20;
    const MORE_FRAGMENTS: u16 = 0x2000;
    const OFFSET: u16 = 0x1fff;
    let (header, _) = packet.split::<HEADER>()?;
    let header_len = u32::from(header[0] & 0x0f) * 4;
    if header[0] >> 4 != 4 || header_len < HEADER as u32 {
        return Err(Skipped::Malformed);
    }
    let total_len = u32::from(be16(header, 2));
    let is_big = total_len == 0;
    let len = if is_big { packet.len } else { total_len };
    if len > packet.len && !has_right_checksum(packet, header_len) {
        return Err(Skipped::Malformed);
    }
    let segment = packet.cut_to(len).without(header_len)?;
    let fragment = be16(header, 6);
    if header[9] != TCP {
        return Err(Skipped::NotTcp);
    }
    if fragment & OFFSET != 0 {
        return Err(Skipped::Fragment);
    }
    let address = |at: usize| {
        let four: [u8; 4] = *header[at..].first_chunk().expect("a header has 20 bytes");
        IpAddr::V4(Ipv4Addr::from(four))
    };
    Ok(IpPacket {
        source: address(12),
        destination: address(16),
        segment,
        ecn: ecn(header[1]),
        ttl: header[8],
        id: Some(be16(header, 4)),
        is_fragment: fragment & MORE_FRAGMENTS != 0,
        is_big,
    })
}

/// Returns true if the whole header was captured and its checksum is right.
fn has_right_checksum(packet: Packet<'_>, header_len: u32) -> bool {
    let header = packet.bytes.get(..header_len as usize);
    header.is_some_and(|header| Checksum::of(header).is_valid())
}

/// Reads an IPv6 header and the extension headers after it.
pub(super) fn ipv6(packet: Packet<'_>) -> Result<IpPacket<'_>, Skipped> {
    let (header, rest) = packet.split::<40>()?;
    if header[0] >> 4 != 6 {
        return Err(Skipped::Malformed);
    }
    let payload_len = u32::from(be16(header, 4));
    let is_big = payload_len == 0;
    let len = if is_big { rest.len } else { payload_len };
    if len > rest.len {
        return Err(Skipped::Malformed);
    }
    let address = |at: usize| {
        let sixteen: [u8; 16] = *header[at..].first_chunk().expect("a header has 40 bytes");
        IpAddr::V6(Ipv6Addr::from(sixteen))
    };
    let (segment, is_fragment) = extensions(header[6], rest.cut_to(len), TCP)?;
    Ok(IpPacket {
        source: address(8),
        destination: address(24),
        segment,
        // The traffic class spans two bytes; take its low half, which is in the second byte.
        ecn: ecn(header[1] >> 4),
        ttl: header[7],
        id: None,
        is_fragment,
        is_big,
    })
}

/// Skips extension headers up to the header `wanted`; `first` is the number of the first header. The
/// second value returned is true if the packet is a first fragment.
pub(super) fn extensions(
    first: u8,
    rest: Packet<'_>,
    wanted: u8,
) -> Result<(Packet<'_>, bool), Skipped> {
    const UNITS: u32 = 8;
    const MORE_FRAGMENTS: u16 = 1;
    let (mut next, mut packet, mut is_fragment) = (first, rest, false);
    for _ in 0..EXTENSIONS_MAX {
        let len = match next {
            _ if next == wanted => return Ok((packet, is_fragment)),
            FRAGMENT => {
                let (header, _) = packet.split::<8>()?;
                let offset = be16(header, 2);
                if offset & !0b111 != 0 {
                    return Err(Skipped::Fragment);
                }
                is_fragment |= offset & MORE_FRAGMENTS != 0;
                UNITS
            }
            AUTHENTICATION => (u32::from(packet.split::<2>()?.0[1]) + 2) * 4,
            HOP_BY_HOP => {
                let (header, _) = packet.split::<8>()?;
                if let [JUMBO, 4, jumbo @ ..] = &header[2..] {
                    let jumbo = u32::from_be_bytes(*jumbo.first_chunk().expect("four of eight"));
                    if jumbo > packet.len {
                        return Err(Skipped::Malformed);
                    }
                    packet = packet.cut_to(jumbo);
                }
                (u32::from(header[1]) + 1) * UNITS
            }
            ROUTING | DESTINATION_OPTIONS | MOBILITY | HOST_IDENTITY | SHIM6 => {
                (u32::from(packet.split::<2>()?.0[1]) + 1) * UNITS
            }
            _ => return Err(Skipped::NotTcp),
        };
        next = packet.split::<1>()?.0[0];
        packet = packet.without(len)?;
    }
    Err(Skipped::Malformed)
}

/// The ECN codepoint: the low two bits of a traffic class.
const fn ecn(traffic_class: u8) -> Ecn {
    match traffic_class & 0b11 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}
