//! The header (`struct virtio_net_hdr`) before each frame to or from the kernel. A device uses the
//! header if checksums may be left out or segments may be merged.
//!
//! Rule: only this file reads and writes the header, for every kind of device. The header's
//! numbers are in the machine's byte order.

use fullpipe::device::{RxMeta, TxChecksum, TxMeta};

/// Length of the header in bytes.
pub(crate) const VNET_LEN: usize = 10;
/// Largest IP packet, and largest frame that the kernel segments, in bytes.
pub(crate) const PACKET_MAX: usize = u16::MAX as usize;
/// First byte: the checksum field holds only the sum of the pseudo-header.
const NEEDS_CHECKSUM: u8 = 1;
/// First byte: the checksum was verified.
const CHECKSUM_VALID: u8 = 2;
/// Second byte: the frame is to be cut into TCP segments over IPv4.
const CUT_TCP4: u8 = 1;
/// Second byte: the frame is to be cut into TCP segments over IPv6.
const CUT_TCP6: u8 = 4;
/// Second byte, added to `CUT_TCP4` or `CUT_TCP6`: the TCP header has the flag CWR.
const CUT_ECN: u8 = 0x80;

/// Offsets of the TCP header in a frame with IPv6, without and with an Ethernet header. The stack
/// writes neither options of IPv4 nor extension headers of IPv6, so the offset tells the version of
/// IP.
const TCP6_AT: [u16; 2] = [40, 54];

/// Returns the header for a frame that is sent.
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
        head[1] = match meta.checksum {
            TxChecksum::Partial { start, .. } if TCP6_AT.contains(&start) => CUT_TCP6,
            TxChecksum::Partial { .. } | TxChecksum::Complete => CUT_TCP4,
        };
        head[2..4].copy_from_slice(&meta.header_len.to_ne_bytes());
        head[4..6].copy_from_slice(&meta.segment_size.to_ne_bytes());
    }
    head
}

/// Reads the header before a received frame.
pub(crate) fn read(head: &[u8; VNET_LEN], frame: &[u8]) -> RxMeta {
    RxMeta {
        // An incomplete checksum needs no check: the frame comes from this machine, so no wire has
        // damaged it.
        checksum_verified: head[0] & (NEEDS_CHECKSUM | CHECKSUM_VALID) != 0,
        merged: merged(head, frame),
        ..RxMeta::default()
    }
}

/// Number of segments merged into `frame`; 0 for a frame as it was on the wire.
///
/// The header gives the offset of the TCP header and the payload size of each segment. The field
/// for the header length is not used, because it only says how much of the frame is contiguous in
/// the kernel's memory.
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
    let is_merged = [CUT_TCP4, CUT_TCP6].contains(&(kind & !CUT_ECN));
    let Some(offset) = frame.get(tcp + 12).filter(|_| is_merged) else {
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
