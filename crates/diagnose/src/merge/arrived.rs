//! Payload of one end that only one of two taps shows, and payload that arrived twice.
//!
//! Rule: bytes are compared, not segments, because offloads join and split those.

use crate::{
    capture::{End, Segment},
    facts::unwrap::Unwrap,
    observe::SegmentLog,
};

/// Ranges of sequence space, in order and apart from each other.
#[derive(Debug, Default)]
struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Returns true if all bytes from `start` to `end` are in the ranges.
    fn has(&self, start: u64, end: u64) -> bool {
        let place = self.0.partition_point(|range| range.1 < end);
        self.0.get(place).is_some_and(|range| range.0 <= start)
    }

    fn add(&mut self, start: u64, end: u64) {
        let first = self.0.partition_point(|range| range.1 < start);
        let last = self.0.partition_point(|range| range.0 <= end);
        let joined = match self.0.get(first..last) {
            Some([one, .., other]) => (one.0.min(start), other.1.max(end)),
            Some([one]) => (one.0.min(start), one.1.max(end)),
            Some([]) | None => (start, end),
        };
        self.0.splice(first..last.max(first), [joined]);
    }
}

/// Payload of a sender as the tap near the receiver shows it.
#[derive(Debug, Default)]
pub struct Arrived {
    /// Segments of which the tap near the sender lacks a byte, by the far tap.
    pub filled: Vec<Segment>,
    /// Segments of which every byte had passed the far tap before.
    pub again: u64,
}

impl Arrived {
    /// Compares the payload of `sender` at both taps.
    pub fn of(near: &SegmentLog, far: &SegmentLog, sender: End) -> Self {
        let initial = near.initial()[sender.index()].unwrap_or(0);
        let range = |space: &mut Unwrap, segment: &Segment| {
            let start = space.count(segment.seq);
            let end = space.count(segment.seq.wrapping_add(segment.payload));
            (start, end)
        };
        let is_data = |one: &Segment| one.from == sender && one.payload > 0;
        let mut seen = Ranges::default();
        let mut space = Unwrap::new(initial);
        for segment in near.captured().filter(is_data) {
            let (start, end) = range(&mut space, &segment);
            seen.add(start, end);
        }
        let mut space = Unwrap::new(initial);
        let mut passed = Ranges::default();
        let mut arrived = Self::default();
        for segment in far.captured().filter(is_data) {
            let (start, end) = range(&mut space, &segment);
            if passed.has(start, end) {
                arrived.again += 1;
            }
            passed.add(start, end);
            if !seen.has(start, end) {
                seen.add(start, end);
                arrived.filled.push(segment);
            }
        }
        arrived
    }
}

#[cfg(test)]
mod tests;
