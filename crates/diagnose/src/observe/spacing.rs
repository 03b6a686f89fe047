//! The time that the path before the tap takes for a segment.
//!
//! It is the least time between segments that passed the tap one after the other. A segment
//! that follows within this time waited for the path, not at the sender.
//!
//! Rule: the least time of [`TRAIN`] segments in a row counts, so that one short gap is not
//! believed. Segments that always follow each other at one time, as from an application or a
//! pacer, show no path: only a run of [`RUN`] segments beside a long gap does.

/// Segments in a row.
const TRAIN: usize = 3;
/// Segments of a run that left their sender at once.
const RUN: usize = 4;
/// Factor by which the gap beside a run is longer.
const LONG: u64 = 4;

/// Spacing of segments at a tap.
#[derive(Clone, Copy, Debug)]
pub struct Spacing {
    /// Times of the last segments.
    last: [u64; TRAIN],
    /// Bytes of the last segments.
    bytes: [u32; TRAIN],
    seen: usize,
    /// Least nanoseconds for a byte.
    per_byte: f64,
    /// Segments of the present run.
    run: usize,
    /// A run ended with a long gap.
    pub is_shown: bool,
}

impl Default for Spacing {
    fn default() -> Self {
        Self {
            last: [0; TRAIN],
            bytes: [0; TRAIN],
            seen: 0,
            per_byte: f64::INFINITY,
            run: 0,
            is_shown: false,
        }
    }
}

impl Spacing {
    /// Time that the path takes for `payload` bytes; 0 while it is unknown.
    pub fn passage(&self, payload: u32) -> u64 {
        match self.per_byte {
            known if known.is_finite() => (known * f64::from(payload)) as u64,
            _ => 0,
        }
    }

    /// Takes new payload at `at`. Returns true if it followed the segment before within
    /// the time that the path takes.
    pub fn on_data(&mut self, at: u64, payload: u32) -> bool {
        let newest = self.last[TRAIN - 1];
        let gap = at.saturating_sub(newest);
        if self.seen >= TRAIN {
            let bytes: u32 = self.bytes[1..].iter().sum::<u32>() + payload;
            let span = at.saturating_sub(self.last[0]);
            self.per_byte = self.per_byte.min(span as f64 / f64::from(bytes.max(1)));
        }
        self.last.rotate_left(1);
        self.bytes.rotate_left(1);
        (self.last[TRAIN - 1], self.bytes[TRAIN - 1]) = (at, payload);
        self.seen += 1;
        let passage = self.passage(payload);
        let follows = self.per_byte.is_finite() && gap <= passage * 3 / 2 + 2_000;
        if follows {
            self.run += 1;
        } else {
            self.is_shown |= self.run >= RUN && gap > LONG * passage;
            self.run = 0;
        }
        follows
    }
}
