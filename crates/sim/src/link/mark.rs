//! The CE mark of a congested router. RFC 3168 §5.
//!
//! Rule: only a packet whose sender uses ECN is marked. The header checksum of an IPv4 packet is
//! updated incrementally (RFC 1624), so that a wrong checksum stays wrong. IPv6 has no header
//! checksum, and the checksums of TCP and UDP do not cover the mark.

use super::frame::{ETHERNET_HEADER_LEN, IPV4, IPV6};

/// The codepoint CE. Both its bits are set, so it is also the mask of the ECN field.
const CE: u8 = 0b11;
const CHECKSUM: usize = 10;
const IPV4_HEADER_LEN: usize = 20;
const IPV6_HEADER_LEN: usize = 40;

/// Marks the packet in `frame`. Returns false, and changes nothing, if the packet's
/// sender does not use ECN.
pub(super) fn mark(frame: &mut [u8]) -> bool {
    let Some((ethernet, header)) = frame.split_first_chunk_mut::<ETHERNET_HEADER_LEN>() else {
        return false;
    };
    match [ethernet[12], ethernet[13]] {
        IPV4 if header.len() >= IPV4_HEADER_LEN => mark_v4(header),
        IPV6 if header.len() >= IPV6_HEADER_LEN => mark_v6(header),
        _ => false,
    }
}

fn mark_v4(header: &mut [u8]) -> bool {
    if header[1] & CE == 0 {
        return false;
    }
    let before = u16::from_be_bytes([header[0], header[1]]);
    header[1] |= CE;
    let after = u16::from_be_bytes([header[0], header[1]]);
    let sum = u16::from_be_bytes([header[CHECKSUM], header[CHECKSUM + 1]]);
    // HC' = ~(~HC + ~m + m'), RFC 1624 §3.
    let wide = u32::from(!sum) + u32::from(!before) + u32::from(after);
    let folded = (wide & 0xffff) + (wide >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    true
}

/// Marks a packet as [`mark`] does, in its IPv6 header. The ECN field is the two lowest bits of the
/// traffic class: bits 4 and 5 of the header's second byte.
fn mark_v6(header: &mut [u8]) -> bool {
    const SHIFTED: u8 = CE << 4;
    if header[1] & SHIFTED == 0 {
        return false;
    }
    header[1] |= SHIFTED;
    true
}
