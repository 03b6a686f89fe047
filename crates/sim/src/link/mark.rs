//! The CE mark of a congested router. RFC 3168 §5.
//!
//! Rule: only a packet whose sender uses ECN is marked. Its header checksum is
//! updated incrementally (RFC 1624), so that a wrong checksum stays wrong.

use super::frame::ETHERNET_HEADER_LEN;

const IPV4: [u8; 2] = [0x08, 0x00];
/// The codepoint CE in the second byte of the header. Both bits of CE are set, so CE is also
/// the mask of the ECN field.
const CE: u8 = 0b11;
const CHECKSUM: usize = 10;
const IPV4_HEADER_LEN: usize = 20;

/// Marks the packet in `frame`. Returns false, and changes nothing, if the packet's
/// sender does not use ECN.
pub(super) fn mark(frame: &mut [u8]) -> bool {
    if frame.len() < ETHERNET_HEADER_LEN + IPV4_HEADER_LEN || frame[12..14] != IPV4 {
        return false;
    }
    let header = &mut frame[ETHERNET_HEADER_LEN..];
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
