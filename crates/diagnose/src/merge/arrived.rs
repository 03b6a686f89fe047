//! Payload of one end that only one of two captures contains, and payload that arrived twice.
//!
//! Rule: bytes are compared, not segments, because offloads join and split segments.

use crate::{
    capture::{End, Segment},
    facts::{ranges::Ranges, unwrap::Unwrap},
    observe::SegmentLog,
};

/// The payload of a sender as the tap near the receiver, the far tap, shows it. A tap is the
/// place of a capture.
#[derive(Debug, Default)]
pub struct Arrived {
    /// Segments of the far tap with a byte that the tap near the sender lacks. Times are the
    /// far tap's.
    pub filled: Vec<Segment>,
    /// Number of segments whose bytes had all passed the far tap before.
    pub again: u64,
}

impl Arrived {
    /// Compares the payload that `sender` sent at both taps.
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
