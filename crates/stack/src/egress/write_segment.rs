//! Writes TCP segments into frames.
//!
//! Rule: payload is copied once, from packet memory to the device's memory. The same pass
//! computes the checksum unless the device does. The connection decides the content of a
//! segment.

use fullpipe_tcp::SegmentOut;
use fullpipe_wire::{
    Checksum, Ecn, Protocol, TcpHeader,
    tcp::{CHECKSUM_OFFSET, set_checksum},
};

use crate::{
    counters::Counters,
    device::TxChecksum,
    ip::{IpSender, Outgoing},
    tcp::FourTuple,
};

/// The layout of a segment that was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrittenSegment {
    /// Bytes of header and payload.
    pub(super) len: usize,
    /// Bytes of header.
    pub(super) header_len: usize,
    /// State of the checksum; `start` is counted from the TCP header.
    pub(super) checksum: TxChecksum,
    /// The ECN codepoint of the segment's packet.
    pub(super) ecn: Ecn,
    /// Routers must not fragment the packet.
    pub(super) dont_fragment: bool,
}

/// Writes header and payload to the start of `room`. The payload is summed as
/// it is copied, unless the device completes the checksum (`offload`).
pub(super) fn write_segment<'a>(
    room: &mut [u8],
    tuple: &FourTuple,
    segment: &SegmentOut,
    payload: impl Iterator<Item = &'a [u8]>,
    offload: bool,
) -> WrittenSegment {
    let header = TcpHeader {
        src_port: tuple.local_port,
        dst_port: tuple.remote_port,
        seq: segment.seq.0,
        ack: segment.ack.0,
        flags: segment.flags,
        window: segment.window,
        urgent: segment.urgent,
        options: segment.options,
        options_malformed: false,
    };
    let header_len = header.write(room);
    let (head, room) = room.split_at_mut(header_len);
    let (mut sum, mut filled) = (Checksum::new(), 0);
    for slice in payload {
        let place = &mut room[filled..filled + slice.len()];
        if offload {
            place.copy_from_slice(slice);
        } else {
            sum.copy(place, slice);
        }
        filled += slice.len();
    }
    let len = header_len + filled;
    let (src, dst) = (tuple.local_ip(), tuple.remote_ip());
    let checksum = if offload {
        let mut pseudo = Checksum::new();
        pseudo.add_pseudo_header(src, dst, Protocol::Tcp.into(), len as u32);
        head[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 2].copy_from_slice(&pseudo.sum().to_be_bytes());
        TxChecksum::Partial {
            start: 0,
            offset: CHECKSUM_OFFSET as u16,
        }
    } else {
        set_checksum(head, src, dst, sum);
        TxChecksum::Complete
    };
    WrittenSegment {
        len,
        header_len,
        checksum,
        ecn: segment.ecn,
        dont_fragment: segment.dont_fragment,
    }
}

/// Writes the IP header in front of a segment.
pub(super) fn write_ip(
    sender: &mut IpSender,
    packet: &mut [u8],
    tuple: &FourTuple,
    written: &WrittenSegment,
    counters: &mut Counters,
) -> usize {
    let outgoing = Outgoing {
        src: tuple.local_ip(),
        dst: tuple.remote_ip(),
        protocol: Protocol::Tcp,
        ports: (tuple.local_port, tuple.remote_port),
        payload_len: written.len,
        ecn: written.ecn,
        dont_fragment: written.dont_fragment,
    };
    sender.write_header(packet, &outgoing, counters)
}

/// Returns `checksum` with `start` increased by `before` bytes.
pub(super) fn shifted(checksum: TxChecksum, before: usize) -> TxChecksum {
    match checksum {
        TxChecksum::Complete => TxChecksum::Complete,
        TxChecksum::Partial { start, offset } => TxChecksum::Partial {
            start: start + before as u16,
            offset,
        },
    }
}

/// Computes the checksum that was left to the device. A packet that waits for ARP is stored with a
/// complete checksum.
pub(super) fn complete(packet: &mut [u8], checksum: TxChecksum) {
    match checksum {
        TxChecksum::Complete => {}
        TxChecksum::Partial { start, offset } => {
            let covered = &mut packet[usize::from(start)..];
            let sum = Checksum::of(covered).finish();
            let field = usize::from(offset);
            // Send 0xffff in place of 0, because a UDP checksum of 0 would mean that there is none.
            // RFC 768.
            let sum = if sum == 0 { u16::MAX } else { sum };
            covered[field..field + 2].copy_from_slice(&sum.to_be_bytes());
        }
    }
}
