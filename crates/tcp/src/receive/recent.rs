//! The ranges of out-of-order payload that changed last: the order of SACK blocks.
//!
//! Rule: each entry is exactly one range of the reassembly queue; the newest comes first, so an ACK
//! needs no search. `reassembly.rs` has the queue with all ranges.

use fullpipe_pool::record;

use core::ops::Range;

use fullpipe_wire::SackBlocks;

use crate::SeqNum;

/// An unused place: an empty range.
const UNUSED: (SeqNum, SeqNum) = (SeqNum(0), SeqNum(0));

/// Number of places: none if no ACK carries SACK blocks.
const MOST: usize = match cfg!(feature = "sack") {
    true => SackBlocks::CAPACITY,
    false => 0,
};

/// At most four ranges of sequence numbers, the most recently changed first. RFC 2018 §4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecentRanges([(SeqNum, SeqNum); MOST]);

record!(RecentRanges(value));

impl RecentRanges {
    /// No range.
    pub const NONE: Self = Self([UNUSED; MOST]);

    /// Returns the ranges, newest first.
    pub fn iter(&self) -> impl Iterator<Item = Range<SeqNum>> {
        let used = |(start, end): &(SeqNum, SeqNum)| start != end;
        self.0
            .into_iter()
            .take_while(used)
            .map(|(start, end)| start..end)
    }

    /// Returns the number of ranges.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Adds `range` as the newest and removes the ranges inside it. If there is no room,
    /// removes the oldest.
    pub fn add(&mut self, range: Range<SeqNum>) {
        self.remove(&range);
        if let [.., last] = &mut self.0[..] {
            *last = (range.start, range.end);
            self.0.rotate_right(1);
        }
    }

    /// Adds `range` as the oldest, unless it is already in the list or there is no room.
    pub fn add_oldest(&mut self, range: Range<SeqNum>) {
        let len = self.len();
        let known = self.iter().any(|known| known == range);
        if let Some(place) = self.0.get_mut(len).filter(|_| !known) {
            *place = (range.start, range.end);
        }
    }

    /// Removes the ranges inside `range`.
    pub fn remove(&mut self, range: &Range<SeqNum>) {
        let kept =
            |known: &Range<SeqNum>| known.start.before(range.start) || known.end.after(range.end);
        let mut left = Self::NONE;
        for (place, known) in left.0.iter_mut().zip(self.iter().filter(kept)) {
            *place = (known.start, known.end);
        }
        *self = left;
    }
}

#[cfg(test)]
mod tests;
