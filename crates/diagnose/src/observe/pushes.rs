//! The meaning of PSH in full segments, and the first segments of a sender.
//!
//! An application's write ends with PSH. Linux also sets PSH at the end of each super-segment and
//! wherever a write ends inside the payload that waits to be sent. Then PSH of a full segment does
//! not show that the sender had no more payload. Two observations prove this: more payload follows a
//! full segment with PSH at once, or after the same time as a segment without PSH.
//!
//! Rule: a partial segment with PSH always ends a write, and is not considered here.

/// Number of observations after which PSH of a full segment no longer counts as the end of a write.
const LEAST: u32 = 2;
/// Two segments left together if the second one followed within this number of nanoseconds.
const TOGETHER: u64 = 30_000;
/// Segments that left together have a smaller gap than the mean one by this factor.
const CLOSER: u64 = 4;
/// A gap inside a super-segment is shorter than the gap before it by this factor.
const SHORTER: u64 = 4;
/// Number of full segments at the beginning of the stream that show long writes.
const BULK: u32 = 3;

/// Evidence about PSH of full segments, and the first segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pushes {
    /// Number of full segments with PSH after which more payload followed at once.
    together: u32,
    /// Number of full segments with PSH after which more payload followed after the same time as
    /// after a segment without PSH.
    alike: u32,
    /// Time before the latest segment, if it followed a segment without PSH.
    last_gap: Option<u64>,
    /// Number of full segments before the first ACK and the first partial segment; `None` if the
    /// capture does not show the beginning of the stream.
    opening: Option<u32>,
    /// Payload of the latest segments that left together, in bytes.
    burst: u64,
    /// Time before these segments in nanoseconds.
    burst_gap: u64,
}

/// A segment and the wait before it.
#[derive(Clone, Copy, Debug)]
pub struct AfterWait {
    /// Time since the previous segment in nanoseconds.
    pub gap: u64,
    /// Time between two segments at the present rate in nanoseconds.
    pub spacing: u64,
    /// True if the path caused this time.
    pub is_train: bool,
    /// Payload of the segment in bytes.
    pub payload: u64,
    /// True if the previous segment was full and had PSH.
    pub after_full_push: bool,
    /// True if the previous segment had PSH.
    pub after_push: bool,
    /// True if an ACK released the segment.
    pub is_clocked: bool,
}

impl Pushes {
    /// Creates the evidence before the first segment. `is_beginning` is true if that segment begins
    /// the stream.
    pub fn new(is_beginning: bool) -> Self {
        Self {
            opening: is_beginning.then_some(0),
            ..Self::default()
        }
    }

    /// Takes a segment that was sent before the first ACK.
    pub const fn on_opening(&mut self, is_full: bool) {
        self.opening = match self.opening {
            Some(count) if is_full => Some(count + 1),
            Some(BULK..) => self.opening,
            Some(_) | None => None,
        };
    }

    /// Takes a segment with new payload that followed another one. Returns the time that a pacer took
    /// for each `mss` bytes before the segment; `None` for a segment of a super-segment, which no pacer
    /// delays.
    pub fn on_sent(&mut self, sent: AfterWait, mss: u64) -> Option<u64> {
        let is_close = sent.gap <= TOGETHER.min(sent.spacing / CLOSER);
        let is_together = sent.is_train || (is_close && !sent.is_clocked);
        if sent.after_full_push && !sent.is_clocked {
            let is_same = self
                .last_gap
                .is_some_and(|last| sent.gap <= last.saturating_add(last / 4));
            self.together += u32::from(is_together);
            self.alike += u32::from(is_same);
        }
        self.last_gap = (!sent.after_push && !sent.is_clocked).then_some(sent.gap);
        // Behind a bottleneck, the segments of a super-segment have gaps, too.
        let is_shorter = !sent.is_clocked && sent.gap.saturating_mul(SHORTER) <= self.burst_gap;
        if (is_together || is_shorter) && self.has_super_segments() {
            self.burst = self.burst.saturating_add(sent.payload);
            return None;
        }
        self.burst_gap = sent.gap;
        let burst = std::mem::replace(&mut self.burst, sent.payload);
        let is_burst = self.has_super_segments() && burst > mss;
        Some(if is_burst {
            sent.gap.saturating_mul(mss) / burst
        } else {
            sent.gap
        })
    }

    /// Payload of the latest segments that left together, in bytes; 0 if the sender sends no
    /// super-segments.
    pub const fn burst(&self) -> u64 {
        if self.has_super_segments() {
            self.burst
        } else {
            0
        }
    }

    /// Returns true if PSH of a full segment does not show that the sender had no more payload.
    pub const fn are_continued(&self) -> bool {
        self.together >= LEAST || self.alike >= LEAST
    }

    /// Returns true if segments leave in super-segments, each of which ends with PSH.
    pub const fn has_super_segments(&self) -> bool {
        self.together >= LEAST
    }

    /// Returns true if the stream began with full segments: the application's writes are long, so
    /// Nagle's algorithm joins none to full segments.
    pub fn is_bulk(&self) -> bool {
        self.opening.is_some_and(|count| count >= BULK)
    }
}
