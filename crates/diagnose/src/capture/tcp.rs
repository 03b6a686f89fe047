//! The TCP header of a captured packet. RFC 9293 §3.1.
//!
//! Rule: a segment needs the first 20 bytes of its header. Options are read as far as they were
//! captured. Checksums are not verified, because the segments of a host that offloads checksums are
//! captured with wrong checksums.

use std::net::SocketAddr;

use fullpipe_wire::{TcpFlags, TcpOptions};

use super::{
    duplicates::Fingerprint,
    ip::IpPacket,
    packet::Skipped,
    segment::{FlowKey, Segment},
};

const HEADER: usize = 20;

/// Reads the segment of an IP packet. The caller fills in the frame's time, length and passage.
pub(super) fn segment(packet: &IpPacket<'_>) -> Result<(FlowKey, Segment, Fingerprint), Skipped> {
    let (header, after) = packet.segment.split::<HEADER>()?;
    let be16 = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let be32 = |at: usize| u32::from_be_bytes(*header[at..].first_chunk().expect("of 20 bytes"));
    let header_len = usize::from(header[12] >> 4) * 4;
    let options_len = header_len.checked_sub(HEADER).ok_or(Skipped::Malformed)?;
    let payload = after.without(options_len as u32)?.len;
    let captured = after.bytes.len().min(options_len);
    let (options, read) = match captured {
        0 => (TcpOptions::NONE, Ok(())),
        _ => TcpOptions::parse(&after.bytes[..captured]),
    };
    let source = SocketAddr::new(packet.source, be16(0));
    let destination = SocketAddr::new(packet.destination, be16(2));
    let (key, from) = FlowKey::of(source, destination);
    let segment = Segment {
        from,
        seq: be32(4),
        ack: be32(8),
        flags: TcpFlags::from_bits(be16(12)),
        window: be16(14),
        urgent: be16(18),
        payload,
        options,
        options_cut: captured < options_len || read.is_err(),
        is_fragment: packet.is_fragment,
        ecn: packet.ecn,
        ttl: packet.ttl,
        ip_id: packet.id,
        ..Segment::EMPTY
    };
    let words = [
        u64::from(be32(0)) << 32 | u64::from(payload),
        u64::from(be32(4)) << 32 | u64::from(be32(8)),
        u64::from(be32(12)) << 32 | u64::from(be32(16)),
        options.timestamps.map_or(0, |timestamps| {
            u64::from(timestamps.value) << 32 | u64::from(timestamps.echo)
        }),
        options.sack.as_slice().first().map_or(0, |block| {
            u64::from(block.left) << 32 | u64::from(block.right)
        }),
    ];
    let fingerprint = Fingerprint {
        hash: words.into_iter().fold(0, Fingerprint::mixed),
        id: packet.id.unwrap_or(0),
        has_payload: payload > 0,
    };
    Ok((key, segment, fingerprint))
}
