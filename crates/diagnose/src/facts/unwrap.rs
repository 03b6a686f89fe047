//! Sequence numbers that do not wrap.
//!
//! Rule: of all numbers that are the same on the wire, the one nearest to the highest seen is meant.
//! It lies at most 2 GiB before or behind it; RFC 9293 allows no larger window.

/// Sequence space of one direction, counted from its initial number.
#[derive(Clone, Copy, Debug)]
pub struct Unwrap {
    /// Highest number seen, as on the wire.
    wire: u32,
    /// The same, counted from the initial number.
    count: u64,
}

impl Unwrap {
    /// A sequence space in which `initial` is 0.
    pub const fn new(initial: u32) -> Self {
        Self {
            wire: initial,
            count: 0,
        }
    }

    /// Returns the count of `wire`; 0 for a number before the initial one.
    pub fn count(&mut self, wire: u32) -> u64 {
        let ahead = wire.wrapping_sub(self.wire) as i32;
        let count = self.count.saturating_add_signed(i64::from(ahead));
        if ahead > 0 {
            (self.wire, self.count) = (wire, count);
        }
        count
    }
}
