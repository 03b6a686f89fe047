//! The time for which a segment occupies the path before the tap (the place of the capture).
//!
//! This time is the shortest time between consecutive segments at the tap. A segment that follows
//! the previous one within about this time waited for the path, and not at the sender. A pacer at
//! less than four fifths of the path's rate makes longer gaps.
//!
//! Rule: the time is averaged over [`TRAIN`] consecutive segments, so a single short gap does not
//! count. If all segments follow each other at equal times, an application or a pacer may cause the
//! spacing. Only a run of [`RUN`] segments that a long gap follows proves that the path causes the
//! spacing.

/// Number of consecutive segments over which the spacing is averaged.
const TRAIN: usize = 3;
/// Smallest number of segments of a run. The sender sent the segments of a run at once.
const RUN: usize = 4;
/// The gap after a run is long if it is at least this many times the spacing inside the run.
const LONG: u64 = 4;

/// Spacing of segments at a tap.
#[derive(Clone, Copy, Debug)]
pub struct Spacing {
    /// Times of the last segments.
    last: [u64; TRAIN],
    /// Bytes of the last segments.
    bytes: [u32; TRAIN],
    seen: usize,
    /// Smallest time per byte, in nanoseconds.
    per_byte: f64,
    /// Number of segments in the current run.
    run: usize,
    /// True if a run ended with a long gap, so the path causes the spacing.
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
    /// Time for which the path is occupied by `payload` bytes; 0 while unknown.
    pub fn passage(&self, payload: u32) -> u64 {
        match self.per_byte {
            known if known.is_finite() => (known * f64::from(payload)) as u64,
            _ => 0,
        }
    }

    /// Takes new payload at `at`. Returns true if the payload followed the previous segment so
    /// closely that it waited for the path.
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
        let follows = self.per_byte.is_finite() && gap <= passage * 5 / 4 + 2_000;
        if follows {
            self.run += 1;
        } else {
            self.is_shown |= self.run >= RUN && gap > LONG * passage;
            self.run = 0;
        }
        follows
    }
}
