//! Cuts one frame of a stack into segments for the wire, as a network card with
//! segmentation offload (TSO) does.
//!
//! Rule: each segment equals one that the stack would have made. Each segment has its own sequence
//! number, identification, length and checksums; FIN and PSH are only on the last segment, CWR is
//! only on the first (RFC 3168 §6.1.2). All other fields are repeated. The stack chooses the
//! segment size.

use std::net::Ipv4Addr;

use fullpipe::device::{TxChecksum, TxMeta};
use fullpipe_wire::{Checksum, EthernetHeader, Ipv4Header, TcpFlags, tcp::set_checksum};

/// Offset of the IP header in the frame.
const IP_AT: usize = EthernetHeader::LEN;
const TCP_AT: usize = IP_AT + Ipv4Header::LEN;
/// Offset of the sequence number in the frame.
const SEQ_AT: usize = TCP_AT + 4;
/// Offset of the TCP flags in the frame.
const FLAGS_AT: usize = TCP_AT + 13;

/// The frames that go on the wire for `frame`, in order.
///
/// # Panics
/// Panics if the stack asks to cut something other than a TCP segment over IPv4 without options.
pub fn cut(frame: &[u8], meta: TxMeta) -> Vec<Vec<u8>> {
    let size = usize::from(meta.segment_size);
    assert_eq!(frame[IP_AT], 0x45, "an IPv4 header without options");
    assert_ne!(
        meta.checksum,
        TxChecksum::Complete,
        "the sum of a frame to be cut is left to the device"
    );
    let (head, payload) = frame.split_at(meta.header_len.into());
    let count = payload.len().div_ceil(size);
    payload
        .chunks(size)
        .enumerate()
        .map(|(number, piece)| segment(head, piece, number, size, number + 1 == count))
        .collect()
}

/// Segment `number` of a frame whose headers are `head`.
fn segment(head: &[u8], piece: &[u8], number: usize, size: usize, is_last: bool) -> Vec<u8> {
    let mut frame = [head, piece].concat();
    let seq = number_at(head, SEQ_AT).wrapping_add((number * size) as u32);
    frame[SEQ_AT..SEQ_AT + 4].copy_from_slice(&seq.to_be_bytes());
    let mut flags = TcpFlags::from_bits(u16::from(frame[FLAGS_AT]));
    if number > 0 {
        flags = flags.without(TcpFlags::CWR);
    }
    if !is_last {
        flags = flags.without(TcpFlags::FIN.union(TcpFlags::PSH));
    }
    frame[FLAGS_AT] = flags.bits() as u8;
    let identification = (number_at(head, IP_AT + 2) & 0xffff) as u16;
    seal(&mut frame, identification.wrapping_add(number as u16));
    frame
}

/// Writes the length, the identification and the checksums of a TCP segment over
/// plain IPv4.
pub(super) fn seal(frame: &mut [u8], identification: u16) {
    let total_len = (frame.len() - IP_AT) as u16;
    let ip = &mut frame[IP_AT..TCP_AT];
    ip[2..4].copy_from_slice(&total_len.to_be_bytes());
    ip[4..6].copy_from_slice(&identification.to_be_bytes());
    ip[10..12].fill(0);
    let sum = Checksum::of(ip).finish();
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let [src, dst] = [12, 16].map(|at| Ipv4Addr::from_bits(number_at(frame, IP_AT + at)));
    let head_len = usize::from(frame[TCP_AT + 12] >> 4) * 4;
    let (head, payload) = frame[TCP_AT..].split_at_mut(head_len);
    set_checksum(head, src.into(), dst.into(), Checksum::of(payload));
}

/// The 32 bits at `at`.
pub(super) fn number_at(frame: &[u8], at: usize) -> u32 {
    frame[at..at + 4]
        .iter()
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Computes a checksum that was left to the device.
pub(super) fn complete(frame: &mut [u8], checksum: TxChecksum) {
    match checksum {
        TxChecksum::Complete => {}
        TxChecksum::Partial { start, offset } => {
            let covered = &mut frame[usize::from(start)..];
            // Write 0xffff in place of 0. In UDP, 0 would mean that there is no checksum (RFC 768).
            // In TCP both representations of zero are valid.
            let sum = match Checksum::of(covered).finish() {
                0 => u16::MAX,
                sum => sum,
            };
            let field = usize::from(offset);
            covered[field..field + 2].copy_from_slice(&sum.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests;
