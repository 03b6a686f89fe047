//! The header that the kernel puts before each frame when checksums are left out
//! or segments are merged (`struct virtio_net_hdr`).
//!
//! Rule: it is read and written here only, for every kind of device. Its numbers
//! are in the machine's byte order.

use fullpipe::device::{RxMeta, TxChecksum, TxMeta};

/// Its length in bytes.
pub(crate) const VNET_LEN: usize = 10;
/// Largest IP packet, which is also the largest frame that is cut.
pub(crate) const PACKET_MAX: usize = u16::MAX as usize;
/// In its first byte: the checksum field holds the pseudo-header's sum only.
const NEEDS_CHECKSUM: u8 = 1;
/// In its first byte: the checksum was verified.
const CHECKSUM_VALID: u8 = 2;
/// In its second byte: the frame is cut into TCP segments over IPv4.
const CUT_TCP4: u8 = 1;
/// The bit of that byte that says that CWR is among the flags.
const CUT_ECN: u8 = 0x80;

/// The header before a frame that is sent.
pub(crate) fn write(meta: TxMeta) -> [u8; VNET_LEN] {
    let mut head = [0; VNET_LEN];
    match meta.checksum {
        TxChecksum::Complete => {}
        TxChecksum::Partial { start, offset } => {
            head[0] = NEEDS_CHECKSUM;
            head[6..8].copy_from_slice(&start.to_ne_bytes());
            head[8..10].copy_from_slice(&offset.to_ne_bytes());
        }
    }
    if meta.segment_size > 0 {
        head[1] = CUT_TCP4;
        head[2..4].copy_from_slice(&meta.header_len.to_ne_bytes());
        head[4..6].copy_from_slice(&meta.segment_size.to_ne_bytes());
    }
    head
}

/// Reads the header before a received frame.
pub(crate) fn read(head: &[u8; VNET_LEN], frame: &[u8]) -> RxMeta {
    RxMeta {
        // A checksum that is not complete yet comes from this machine's memory.
        checksum_verified: head[0] & (NEEDS_CHECKSUM | CHECKSUM_VALID) != 0,
        merged: merged(head, frame),
    }
}

/// Segments merged into `frame`; 0 for a frame as it was on the wire.
///
/// The header says where the TCP header begins and how much payload each segment
/// has. Its length of headers is not used: it only says how much of the frame
/// lies together in the kernel's memory.
fn merged(head: &[u8; VNET_LEN], frame: &[u8]) -> u16 {
    let &[
        _,
        kind,
        _,
        _,
        size_low,
        size_high,
        start_low,
        start_high,
        ..,
    ] = head;
    let size = usize::from(u16::from_ne_bytes([size_low, size_high]));
    let tcp = usize::from(u16::from_ne_bytes([start_low, start_high]));
    let Some(offset) = frame.get(tcp + 12).filter(|_| kind & !CUT_ECN == CUT_TCP4) else {
        return 0;
    };
    let headers = tcp + usize::from(offset >> 4) * 4;
    let payload = frame.len().saturating_sub(headers);
    payload
        .checked_div(size)
        .map_or(0, |_| payload.div_ceil(size).min(u16::MAX.into()) as u16)
}

#[cfg(test)]
mod tests;
