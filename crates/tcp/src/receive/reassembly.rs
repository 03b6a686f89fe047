//! Reassembly: arriving payload is written to its place in the stream.
//!
//! Rule: payload is trimmed to the bytes that were advertised and not yet received, written at its
//! final offset, and only then counted. Payload for which there is no memory counts as not
//! received, and is never acknowledged.

use core::ops::Range;

use fullpipe_pool::Pool;
use fullpipe_wire::{SackBlock, SackBlocks};

use super::{half::ReceiveHalf, recent::RecentRanges};
use crate::{DiscardReason, SeqNum};

/// Result of the arrival of payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// `rcv_nxt` advanced.
    InOrder {
        /// Bytes that became readable.
        bytes: u32,
        /// A hole was filled: payload behind it became readable too.
        filled: bool,
    },
    /// Stored behind a hole.
    OutOfOrder,
    /// Discarded.
    Discarded(DiscardReason),
}

/// Bounds on the out-of-order payload of one connection.
#[derive(Clone, Copy, Debug)]
pub struct OutOfOrderLimits {
    /// Separate pieces.
    pub pieces: u32,
    /// Bytes of payload.
    pub bytes: u32,
}

impl ReceiveHalf {
    /// Stores the payload of a segment, which starts at `seq`.
    pub fn on_payload(
        &mut self,
        seq: SeqNum,
        payload: &[u8],
        out_of_order_limits: OutOfOrderLimits,
        pool: &mut Pool,
    ) -> Arrival {
        let next = self.next_offset();
        if self.fits_next(seq, payload.len(), next)
            && self.stream.write_at(pool, next, payload).is_ok()
        {
            debug_assert_eq!(self.offset_of(seq), next);
            self.rcv_nxt += payload.len() as u32;
            return Arrival::InOrder {
                bytes: payload.len() as u32,
                filled: false,
            };
        }
        // Cut off the bytes before the start of the stream, which were never payload and have no
        // offset.
        let before = u64::from(seq.room_to(self.seq_of(next))).saturating_sub(next) as usize;
        let Some(payload) = payload
            .get(before..)
            .filter(|payload| before == 0 || !payload.is_empty())
        else {
            return Arrival::Discarded(DiscardReason::Duplicate);
        };
        let from = self.offset_of(seq + before as u32);
        let to = from + payload.len() as u64;
        // Use the lower of the advertised edge and the edge that memory backs. The two edges
        // differ only in an overcommitted pool, which has promised more memory than it has.
        let edge = self
            .offset_of(self.rcv_adv)
            .min(self.stream.reserved_end().max(next));
        if to <= next {
            self.note_duplicate(from..to);
            return Arrival::Discarded(DiscardReason::Duplicate);
        }
        let kept = from.max(next)..to.min(edge);
        if kept.is_empty() {
            return Arrival::Discarded(DiscardReason::NoMemory);
        }
        self.note_duplicate(from..next);
        let piece = &payload[(kept.start - from) as usize..(kept.end - from) as usize];
        if kept.start == next {
            self.take_next(kept, piece, pool)
        } else {
            self.keep(kept, piece, out_of_order_limits, pool)
        }
    }

    /// Returns true if `len` bytes at `seq` are the next in order, nothing waits behind a
    /// hole, and the window has room for all of these bytes, so none is trimmed. `next` is the
    /// stream offset of the next byte.
    fn fits_next(&self, seq: SeqNum, len: usize, next: u64) -> bool {
        seq == self.rcv_nxt
            && len > 0
            && len <= self.window_left() as usize
            && next + len as u64 <= self.stream.reserved_end()
            && !self.has_hole()
            && !self.fin_received
    }

    /// Stores the next bytes in order. If they fill a hole, payload behind the hole
    /// becomes readable.
    fn take_next(&mut self, kept: Range<u64>, payload: &[u8], pool: &mut Pool) -> Arrival {
        let start = kept.start;
        // In an overcommitted pool, take only the part of the payload that has memory, because
        // there might never be memory for all of it.
        let mut end = kept.end.min(self.stream.writable_end(pool));
        let fitting = end.saturating_sub(start) as usize;
        let written = self.stream.write_at(pool, start, &payload[..fitting]);
        if fitting == 0 || written.is_err() {
            return Arrival::Discarded(DiscardReason::NoMemory);
        }
        let mut filled = false;
        while let Some(waiting) = self.ranges.first(pool)
            && waiting.start <= end
        {
            self.note_duplicate(waiting.start..end.min(waiting.end));
            self.ranges.remove_below(pool, waiting.end);
            self.recent.remove(&self.numbers(&waiting));
            self.out_of_order -= (waiting.end - waiting.start) as u32;
            end = end.max(waiting.end);
            filled = true;
        }
        self.rcv_nxt = self.seq_of(end);
        Arrival::InOrder {
            bytes: (end - start) as u32,
            filled,
        }
    }

    /// Stores bytes behind a hole.
    fn keep(
        &mut self,
        kept: Range<u64>,
        payload: &[u8],
        out_of_order_limits: OutOfOrderLimits,
        pool: &mut Pool,
    ) -> Arrival {
        if self.ranges.count() >= out_of_order_limits.pieces && !self.touches_last(&kept, pool) {
            return Arrival::Discarded(DiscardReason::TooManyHoles);
        }
        if self.out_of_order.saturating_add(payload.len() as u32) > out_of_order_limits.bytes {
            return Arrival::Discarded(DiscardReason::OutOfOrderFull);
        }
        match self.ranges.insert(pool, kept.clone()) {
            Err(_) => return Arrival::Discarded(DiscardReason::NoRange),
            Ok(inserted) => {
                self.recent.add(self.numbers(&inserted.merged));
                if let Some(overlap) = inserted.overlap {
                    self.note_duplicate(overlap);
                }
                self.out_of_order += inserted.new_bytes as u32;
                if inserted.new_bytes == 0 {
                    return Arrival::Discarded(DiscardReason::Duplicate);
                }
            }
        }
        if self.stream.write_at(pool, kept.start, payload).is_err() {
            // Happens only in an overcommitted pool. The ranges that existed before this segment
            // cannot be restored, so the whole queue is discarded. RFC 2018 §8 allows this for
            // payload that is not acknowledged.
            self.forget_out_of_order(pool);
            return Arrival::Discarded(DiscardReason::NoMemory);
        }
        Arrival::OutOfOrder
    }

    pub(super) fn forget_out_of_order(&mut self, pool: &mut Pool) {
        self.ranges.clear(pool);
        self.recent = RecentRanges::NONE;
        self.out_of_order = 0;
    }

    /// Returns the sequence numbers of a range of the stream.
    pub(super) fn numbers(&self, range: &Range<u64>) -> Range<SeqNum> {
        self.seq_of(range.start)..self.seq_of(range.end)
    }

    /// Returns true if `kept` continues the highest piece, as the next segment of a burst
    /// does. `kept` then needs no further range.
    fn touches_last(&self, kept: &Range<u64>, pool: &Pool) -> bool {
        self.ranges
            .last(pool)
            .is_some_and(|last| last.start <= kept.start && kept.start <= last.end)
    }

    /// Notes that `len` bytes from `seq`, all before `rcv_nxt`, arrived again.
    /// The next ACK reports them (RFC 2883 §4.1.1). Touches neither the stream
    /// nor the ranges.
    pub fn note_repeated(&mut self, seq: SeqNum, len: u32) {
        let (from, to) = (self.offset_of(seq), self.offset_of(seq + len));
        self.note_duplicate(from..to.min(self.next_offset()));
    }

    fn note_duplicate(&mut self, range: Range<u64>) {
        if !range.is_empty() {
            self.duplicate = self.numbers(&range);
        }
    }

    /// Stores the sequence number of the peer's FIN. Returns false if another number was stored
    /// before.
    pub fn note_fin(&mut self, seq: SeqNum) -> bool {
        *self.fin.get_or_insert(seq) == seq
    }

    /// Processes the peer's FIN if everything before it has arrived. Returns true the
    /// first time only.
    pub fn take_fin(&mut self, pool: &mut Pool) -> bool {
        if self.fin_received || self.fin != Some(self.rcv_nxt) {
            return false;
        }
        self.forget_beyond_readable(pool);
        self.rcv_nxt += 1;
        self.rcv_adv = self.rcv_adv.latest(self.rcv_nxt);
        self.fin_received = true;
        true
    }

    /// Returns at most `most` blocks for the next ACK: a duplicate first (RFC
    /// 2883), then the range that changed last, then the others. A duplicate is
    /// reported once.
    pub fn sack_blocks(&mut self, most: usize, pool: &Pool) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        let block = |range: Range<SeqNum>, this: &Self| SackBlock {
            left: range.start.0,
            right: this.end_with_fin(range.end).0,
        };
        if most == 0 {
            return blocks;
        }
        if self.has_duplicate() {
            blocks.push(block(self.duplicate.clone(), self));
            self.duplicate = self.irs..self.irs;
        }
        self.recall_others(most - blocks.len(), pool);
        for range in self.recent.iter().take(most - blocks.len()) {
            blocks.push(block(range, self));
        }
        blocks
    }

    /// Adds to `recent` the ranges that it lacks, lowest first, until it has `most` ranges or lacks
    /// none. Takes at most `most` steps along the list of ranges.
    fn recall_others(&mut self, most: usize, pool: &Pool) {
        let wanted = most.min(self.ranges.count() as usize);
        if self.recent.len() >= wanted {
            return;
        }
        for range in self.ranges.iter(pool).take(wanted) {
            self.recent.add_oldest(self.numbers(&range));
            if self.recent.len() >= wanted {
                return;
            }
        }
    }

    /// Returns `end`, plus one if the FIN follows at `end`. SACK may be the only way for
    /// the peer to learn that its FIN arrived.
    fn end_with_fin(&self, end: SeqNum) -> SeqNum {
        if self.fin == Some(end) { end + 1 } else { end }
    }

    /// Returns true if the next ACK has SACK blocks to report.
    pub fn has_sack_to_report(&self) -> bool {
        self.has_duplicate() || self.has_hole()
    }

    /// Returns true if payload that arrived twice was not reported yet.
    fn has_duplicate(&self) -> bool {
        self.duplicate.start != self.duplicate.end
    }
}

#[cfg(test)]
mod tests;
