//! Sequence numbers that do not wrap.
//!
//! Rule: a sequence number becomes the position that is nearest to the highest one seen. The
//! distance is less than 2 GiB, because a window has at most 1 GiB (RFC 7323 §2.3).

/// Sequence space of one direction, counted from its initial number.
#[derive(Clone, Copy, Debug)]
pub struct Unwrap {
    /// Highest number seen, as on the wire.
    wire: u32,
    /// Position of the highest number seen, counted from the initial number.
    count: u64,
}

impl Unwrap {
    /// Creates the sequence space in which `initial` is 0.
    pub const fn new(initial: u32) -> Self {
        Self {
            wire: initial,
            count: 0,
        }
    }

    /// Returns the position of the sequence number `wire`; 0 if `wire` is before the initial
    /// number.
    pub fn count(&mut self, wire: u32) -> u64 {
        let ahead = wire.wrapping_sub(self.wire) as i32;
        let count = self.count.saturating_add_signed(i64::from(ahead));
        if ahead > 0 {
            (self.wire, self.count) = (wire, count);
        }
        count
    }
}
