//! The segments of one direction of a connection: counts, sizes, gaps.
//!
//! Rule: only frames that leave a host are measured, as in a capture at its device. The stack's
//! own counts are not used.

use std::collections::BTreeMap;

use fullpipe_pool::{Duration, Instant};
use fullpipe_wire::{TcpFlags, TcpOptions};

use crate::segment::Segment;

/// Bytes of the timestamps option in a segment, padding included.
const TIMESTAMPS_LEN: u32 = 12;
/// Segment size for a peer without an MSS option. RFC 9293 §3.7.1.
const DEFAULT_MSS: u16 = 536;

/// The segments of one direction of one connection.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    /// Segments, with or without payload.
    pub segments: u64,
    /// Segments with payload.
    pub data_segments: u64,
    /// Bytes of payload, retransmissions included.
    pub payload_bytes: u64,
    /// Bytes of payload, each counted once.
    pub new_payload: u64,
    /// Segments whose payload begins below the highest sequence number sent before.
    pub retransmitted_segments: u64,
    /// Number of segments by payload size.
    sizes: BTreeMap<u32, u64>,
    /// Payload sizes of the segments that end at the highest sequence number sent so far.
    tail: Vec<u32>,
    /// Sequence number after the payload sent so far.
    payload_end: Option<u32>,
    /// The MSS option of this direction's SYN.
    mss: Option<u16>,
    timestamps: bool,
    last_data: Option<Instant>,
    /// Longest time between two segments with payload.
    pub longest_data_gap: Duration,
    last_news: Option<Instant>,
    /// Longest time between two segments with more than one byte of payload. A segment with one
    /// byte may be a zero-window probe.
    pub longest_pause: Duration,
    /// Resets.
    pub resets: u64,
    /// Time at which the last reset left.
    pub last_reset: Option<Instant>,
}

impl Meter {
    /// Counts a segment that leaves at `at`.
    pub(crate) fn segment(&mut self, at: Instant, packet: &Segment) {
        self.segments += 1;
        if packet.has(TcpFlags::RST) {
            self.resets += 1;
            self.last_reset = Some(at);
        }
        if packet.payload_len == 0 {
            return;
        }
        if packet.payload_len > 1
            && let Some(last) = self.last_news.replace(at)
        {
            self.longest_pause = self.longest_pause.max(at.since(last));
        }
        self.data_segments += 1;
        self.payload_bytes += u64::from(packet.payload_len);
        *self.sizes.entry(packet.payload_len).or_default() += 1;
        let end = packet.seq.wrapping_add(packet.payload_len);
        let before = self.payload_end.unwrap_or(packet.seq);
        if (packet.seq.wrapping_sub(before) as i32) < 0 {
            self.retransmitted_segments += 1;
        }
        let beyond = end.wrapping_sub(before) as i32;
        if beyond > 0 {
            self.new_payload += beyond as u64;
            self.tail.clear();
            self.payload_end = Some(end);
        }
        if beyond >= 0 {
            self.tail.push(packet.payload_len);
        }
        if let Some(last) = self.last_data {
            self.longest_data_gap = self.longest_data_gap.max(at.since(last));
        }
        self.last_data = Some(at);
    }

    /// Notes the options of a SYN.
    pub(crate) fn syn(&mut self, options: &TcpOptions) {
        self.mss = options.mss;
        self.timestamps = options.timestamps.is_some();
    }

    /// Payload of a full-sized segment, as the SYNs of both directions and the
    /// sender's `mtu` allow.
    pub fn full_size(&self, other: &Self, mtu: usize) -> u32 {
        let path = mtu.saturating_sub(40) as u32;
        let payload = path.min(u32::from(other.mss.unwrap_or(DEFAULT_MSS)));
        if self.timestamps && other.timestamps {
            payload - TIMESTAMPS_LEN
        } else {
            payload
        }
    }

    /// Returns the number of segments with at least `full_size` bytes, and the number with any
    /// payload. Both numbers exclude the segments at the end of the stream.
    pub fn full_sized(&self, full_size: u32) -> (u64, u64) {
        let count = |sizes: &mut dyn Iterator<Item = (u32, u64)>| {
            sizes.fold((0, 0), |(full, all), (size, number)| {
                (
                    full + if size >= full_size { number } else { 0 },
                    all + number,
                )
            })
        };
        let (full, all) = count(&mut self.sizes.iter().map(|(size, number)| (*size, *number)));
        let (full_tail, tail) = count(&mut self.tail.iter().map(|size| (*size, 1)));
        (full - full_tail, all - tail)
    }
}

#[cfg(test)]
mod tests;
