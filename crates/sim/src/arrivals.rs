//! The payload that arrives at one end of a flow: gaps and duplicates.
//!
//! Rule: frames are counted as they reach the host's device, before its stack sees them.
//! Checksums are not checked, so a corrupted frame counts like any other.

use std::collections::BTreeMap;

use fullpipe_pool::{Duration, Instant};
use fullpipe_wire::TcpFlags;

use crate::segment::Segment;

#[cfg(test)]
mod tests;

/// A sequence number this many bytes or more ahead of the in-order payload counts as corrupt.
const FARTHEST: i64 = 1 << 30;

/// The payload that arrived at one end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals {
    /// Bytes of payload that arrived although they had arrived before.
    pub received_again: u64,
    /// Longest time between two segments with payload.
    pub longest_gap: Duration,
    /// Time at which the last segment with payload arrived.
    pub last: Option<Instant>,
    /// Sequence number of the first payload byte.
    first_seq: Option<u32>,
    /// Bytes received in order.
    in_order: u64,
    /// Ranges beyond `in_order`: keys are their begins, values their ends. They neither touch nor
    /// overlap.
    pieces: BTreeMap<u64, u64>,
}

impl Arrivals {
    /// Counts a segment that arrives at `at`.
    pub fn segment(&mut self, at: Instant, packet: &Segment) {
        let seq = packet.seq;
        if packet.has(TcpFlags::SYN) {
            self.first_seq = Some(seq.wrapping_add(1));
        }
        let Some(first_seq) = self.first_seq.filter(|_| packet.payload_len > 0) else {
            return;
        };
        if let Some(last) = self.last.replace(at) {
            self.longest_gap = self.longest_gap.max(at.since(last));
        }
        let next = first_seq.wrapping_add(self.in_order as u32);
        let ahead = i64::from(seq.wrapping_sub(next) as i32);
        let begin = self.in_order.checked_add_signed(ahead);
        if let Some(begin) = begin.filter(|_| ahead < FARTHEST) {
            self.add(begin, begin + u64::from(packet.payload_len));
        }
    }

    /// Adds the payload from `begin` to `end`.
    fn add(&mut self, begin: u64, end: u64) {
        let mut again = self.in_order.min(end).saturating_sub(begin);
        let (mut low, mut high) = (begin.max(self.in_order), end.max(self.in_order));
        // Merge every range that touches the new range. Start with the last range whose begin is
        // not beyond the new range's end.
        while let Some((&piece, &piece_end)) = self.pieces.range(..=high).next_back() {
            if piece_end < low {
                break;
            }
            again += piece_end.min(end).saturating_sub(piece.max(begin));
            self.pieces.remove(&piece);
            (low, high) = (low.min(piece), high.max(piece_end));
        }
        self.received_again += again;
        if low <= self.in_order {
            self.in_order = high;
        } else {
            self.pieces.insert(low, high);
        }
    }
}
