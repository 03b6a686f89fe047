//! The time that the path before the tap takes for a segment.
//!
//! It is the least time between segments that passed the tap one after the other. A segment
//! that follows within this time waited for the path, not at the sender.
//!
//! Rule: the least time of [`TRAIN`] segments in a row counts, so that one short gap is not
//! believed.

/// Segments in a row.
const TRAIN: usize = 3;

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
}

impl Default for Spacing {
    fn default() -> Self {
        Self {
            last: [0; TRAIN],
            bytes: [0; TRAIN],
            seen: 0,
            per_byte: f64::INFINITY,
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

    /// Rate of segments at the least spacing, in bytes a second.
    pub fn rate(&self) -> f64 {
        1e9 / self.per_byte.max(1e-6)
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
        self.per_byte.is_finite() && gap <= self.passage(payload) * 3 / 2 + 2_000
    }
}
