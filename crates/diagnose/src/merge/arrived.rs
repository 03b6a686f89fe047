//! Payload of one end that only one of two captures contains, and payload that arrived twice.
//!
//! Rule: bytes are compared, not segments, because offloads join and split segments.

use fullpipe_wire::TcpFlags;

use crate::{
    capture::{End, Segment},
    facts::{ranges::Ranges, unwrap::Unwrap},
    observe::SegmentLog,
};

/// Payload that arrived although the capture at the receiver's side (the far tap) lacks it.
#[derive(Debug)]
pub struct Missed {
    /// Bytes that the far tap shows.
    passed: Ranges,
    /// Bytes that were sent more than once.
    resent: Ranges,
    /// End of the payload that the receiver acknowledged.
    acknowledged: u64,
    /// Converts the sequence numbers of the frames that are given to [`has`](Self::has).
    space: Unwrap,
}

impl Missed {
    /// Compares three things: the payload of `sender` that passed the near tap, the payload that
    /// passed the far tap, and the ACKs of the receiver.
    pub fn of(near: &SegmentLog, far: &SegmentLog, sender: End) -> Self {
        let initial = near.initial()[sender.index()].unwrap_or(0);
        let mut missed = Self {
            passed: Ranges::default(),
            resent: Ranges::default(),
            acknowledged: 0,
            space: Unwrap::new(initial),
        };
        let mut sent = Ranges::default();
        let mut space = Unwrap::new(initial);
        for segment in near.segments() {
            if segment.from == sender && segment.payload > 0 {
                let (start, end) = range(&mut space, segment.seq, segment.payload);
                if sent.has_some(start, end) {
                    missed.resent.add(start, end);
                }
                sent.add(start, end);
            }
        }
        let mut space = Unwrap::new(initial);
        for segment in far.segments() {
            if segment.from == sender && segment.payload > 0 {
                let (start, end) = range(&mut space, segment.seq, segment.payload);
                missed.passed.add(start, end);
            }
        }
        let mut space = Unwrap::new(initial);
        for segment in near.segments() {
            if segment.from != sender && segment.flags.contains(TcpFlags::ACK) {
                missed.acknowledged = missed.acknowledged.max(space.count(segment.ack));
            }
        }
        missed
    }

    /// Returns true if the bytes of a frame arrived and the far tap lacks them. The frame begins at
    /// `seq` and has `payload` bytes. Frames must be given in the order in which they were sent.
    pub fn has(&mut self, seq: u32, payload: u32) -> bool {
        let (start, end) = range(&mut self.space, seq, payload);
        end <= self.acknowledged
            && !self.passed.has_some(start, end)
            && !self.resent.has_some(start, end)
    }
}

/// First byte and end of a segment, counted from the initial number of `space`.
fn range(space: &mut Unwrap, seq: u32, payload: u32) -> (u64, u64) {
    let start = space.count(seq);
    (start, space.count(seq.wrapping_add(payload)))
}

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
    /// Compares what both taps show of the payload that `sender` sent.
    pub fn of(near: &SegmentLog, far: &SegmentLog, sender: End) -> Self {
        let initial = near.initial()[sender.index()].unwrap_or(0);
        let is_data = |one: &Segment| one.from == sender && one.payload > 0;
        let mut seen = Ranges::default();
        let mut space = Unwrap::new(initial);
        for segment in near.captured().filter(is_data) {
            let (start, end) = range(&mut space, segment.seq, segment.payload);
            seen.add(start, end);
        }
        let mut space = Unwrap::new(initial);
        let mut passed = Ranges::default();
        let mut arrived = Self::default();
        for segment in far.captured().filter(is_data) {
            let (start, end) = range(&mut space, segment.seq, segment.payload);
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
