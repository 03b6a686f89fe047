//! What a connection looks like from the wire: segments, sizes, gaps.
//!
//! Rule: only what leaves a host is measured, as a capture at its device would
//! show it; nothing is asked of the stack. So a stack cannot flatter itself.

use std::collections::BTreeMap;

use fullpipe_pool::{Duration, Instant};
use fullpipe_wire::TcpFlags;

use crate::packet::TcpPacket;

/// Bytes of the timestamps option as it is sent, padding included.
const TIMESTAMPS_LEN: u32 = 12;
/// What may be sent to a peer that names no MSS. RFC 9293 §3.7.1.
const DEFAULT_MSS: u16 = 536;

/// One direction of one connection.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    /// Segments, whatever they carry.
    pub segments: u64,
    /// Segments with text.
    pub data_segments: u64,
    /// Bytes of text, retransmissions counted each time.
    pub payload_bytes: u64,
    /// The same, each counted once.
    pub new_payload: u64,
    /// Segments with text that begins below what was sent before.
    pub retransmitted_segments: u64,
    /// How many segments had how many bytes of text.
    sizes: BTreeMap<u32, u64>,
    /// Sizes of the segments that ended the stream as far as it goes.
    tail: Vec<u32>,
    /// Behind the text sent so far.
    payload_end: Option<u32>,
    /// The MSS option of this direction's SYN.
    mss: Option<u16>,
    timestamps: bool,
    last_data: Option<Instant>,
    /// Longest time between two segments with text.
    pub longest_data_gap: Duration,
    last_news: Option<Instant>,
    /// Longest time between two segments with more than the byte of text that a
    /// probe of a closed window has.
    pub longest_pause: Duration,
    /// Resets.
    pub resets: u64,
    /// When the last of them left.
    pub last_reset: Option<Instant>,
}

impl Meter {
    /// Counts a segment that leaves at `at`.
    pub fn segment(&mut self, at: Instant, packet: &TcpPacket) {
        self.segments += 1;
        let header = &packet.header;
        if packet.has(TcpFlags::SYN) {
            self.mss = header.options.mss;
            self.timestamps = header.options.timestamps.is_some();
        }
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
        let end = header.seq.wrapping_add(packet.payload_len);
        let before = self.payload_end.unwrap_or(header.seq);
        if (header.seq.wrapping_sub(before) as i32) < 0 {
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

    /// Text in a full-sized segment, as the SYNs of `self` and of the other
    /// direction and the sender's `mtu` allow.
    pub fn full_size(&self, other: &Self, mtu: usize) -> u32 {
        let path = mtu.saturating_sub(40) as u32;
        let text = path.min(u32::from(other.mss.unwrap_or(DEFAULT_MSS)));
        if self.timestamps && other.timestamps {
            text - TIMESTAMPS_LEN
        } else {
            text
        }
    }

    /// Segments that were sent full of `full_size` bytes, and all segments with
    /// text, both without those that ended the stream.
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
