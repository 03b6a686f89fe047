//! Cuts one frame of a stack into segments for the wire, as a network card with
//! segmentation offload (TSO) does.
//!
//! Rule: each segment equals one that the stack would have made. It has its own sequence number,
//! length and checksums, and in IPv4 its own identification; FIN and PSH are only on the last
//! segment, CWR is only on the first (RFC 3168 §6.1.2). All other fields are repeated. The stack
//! chooses the segment size.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fullpipe::device::{TxChecksum, TxMeta};
use fullpipe_wire::{
    Checksum, EthernetHeader, Ipv4Header, Ipv6Header, TcpFlags, tcp::set_checksum,
};

/// Offset of the IP header in the frame.
const IP_AT: usize = EthernetHeader::LEN;
/// First byte of an IPv4 header without options.
const PLAIN_V4: u8 = 0x45;
/// Offset of the sequence number in the TCP header.
const SEQ: usize = 4;
/// Offset of the flags in the TCP header.
const FLAGS: usize = 13;

/// The offset of the TCP header in a frame whose IP header has neither options nor extension
/// headers.
pub(super) fn tcp_at(frame: &[u8]) -> usize {
    match frame[IP_AT] >> 4 {
        6 => IP_AT + Ipv6Header::LEN,
        _ => IP_AT + Ipv4Header::LEN,
    }
}

/// The frames that go on the wire for `frame`, in order.
///
/// # Panics
/// Panics if the stack asks to cut something other than a TCP segment after an IPv4 header without
/// options or an IPv6 header without extension headers.
pub fn cut(frame: &[u8], meta: TxMeta) -> Vec<Vec<u8>> {
    let size = usize::from(meta.segment_size);
    let is_v6 = frame[IP_AT] >> 4 == 6 && frame[IP_AT + 6] == 6;
    assert!(
        is_v6 || frame[IP_AT] == PLAIN_V4,
        "an IP header without options"
    );
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
    let tcp = tcp_at(head);
    let seq = number_at(head, tcp + SEQ).wrapping_add((number * size) as u32);
    frame[tcp + SEQ..tcp + SEQ + 4].copy_from_slice(&seq.to_be_bytes());
    let mut flags = TcpFlags::from_bits(u16::from(frame[tcp + FLAGS]));
    if number > 0 {
        flags = flags.without(TcpFlags::CWR);
    }
    if !is_last {
        flags = flags.without(TcpFlags::FIN.union(TcpFlags::PSH));
    }
    frame[tcp + FLAGS] = flags.bits() as u8;
    let identification = (number_at(head, IP_AT + 2) & 0xffff) as u16;
    seal(&mut frame, identification.wrapping_add(number as u16));
    frame
}

/// Writes the length and the checksums of a TCP segment over plain IP, and in IPv4 the
/// identification.
pub(super) fn seal(frame: &mut [u8], identification: u16) {
    let tcp = tcp_at(frame);
    let addresses = match tcp - IP_AT {
        Ipv6Header::LEN => seal_v6(frame),
        _ => seal_v4(frame, identification),
    };
    let [src, dst] = addresses;
    let head_len = usize::from(frame[tcp + 12] >> 4) * 4;
    let (head, payload) = frame[tcp..].split_at_mut(head_len);
    set_checksum(head, src, dst, Checksum::of(payload));
}

/// Writes the length, the identification and the checksum of the IPv4 header, and returns the
/// addresses.
fn seal_v4(frame: &mut [u8], identification: u16) -> [IpAddr; 2] {
    let total_len = (frame.len() - IP_AT) as u16;
    let ip = &mut frame[IP_AT..IP_AT + Ipv4Header::LEN];
    ip[2..4].copy_from_slice(&total_len.to_be_bytes());
    ip[4..6].copy_from_slice(&identification.to_be_bytes());
    ip[10..12].fill(0);
    let sum = Checksum::of(ip).finish();
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    [12, 16].map(|at| Ipv4Addr::from_bits(number_at(frame, IP_AT + at)).into())
}

/// Writes the length of the IPv6 header, and returns the addresses.
fn seal_v6(frame: &mut [u8]) -> [IpAddr; 2] {
    let payload_len = (frame.len() - IP_AT - Ipv6Header::LEN) as u16;
    frame[IP_AT + 4..IP_AT + 6].copy_from_slice(&payload_len.to_be_bytes());
    [8, 24].map(|at| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&frame[IP_AT + at..IP_AT + at + 16]);
        Ipv6Addr::from(octets).into()
    })
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
