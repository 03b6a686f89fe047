//! Sequence numbers that do not wrap.
//!
//! Rule: a number on the wire means the one nearest to the highest seen, so it
//! may lie 2 GiB before or behind it; RFC 9293 allows no window beyond that.

/// One direction's sequence space, counted from its initial number.
#[derive(Clone, Copy, Debug)]
pub struct Unwrap {
    /// The highest seen, as it is on the wire.
    wire: u32,
    /// The same, counted from the initial number.
    count: u64,
}

impl Unwrap {
    /// A space that begins with `initial`, which is 0.
    pub const fn new(initial: u32) -> Self {
        Self {
            wire: initial,
            count: 0,
        }
    }

    /// What `wire` counts; 0 for what lies before the beginning.
    pub fn count(&mut self, wire: u32) -> u64 {
        let ahead = wire.wrapping_sub(self.wire) as i32;
        let count = self.count.saturating_add_signed(i64::from(ahead));
        if ahead > 0 {
            (self.wire, self.count) = (wire, count);
        }
        count
    }
}
