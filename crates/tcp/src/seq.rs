//! Sequence numbers: 32 bits that wrap.
//!
//! Rule: two numbers are comparable only if they are less than 2³¹ apart, which
//! the window limit of RFC 7323 §2.3 guarantees for acceptable segments.
//! Nothing else in the crate does arithmetic on raw sequence numbers.

use core::{
    fmt,
    ops::{Add, AddAssign, Sub},
};

use fullpipe_pool::record::{Record, RecordReader, RecordWriter};

/// A sequence number. RFC 9293 §3.4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SeqNum(pub u32);

impl Record for SeqNum {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        to.sequence(self.0);
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        Self(from.sequence())
    }
}

impl SeqNum {
    /// Returns true if this number comes before `other`.
    pub const fn before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Returns true if this number comes after `other`.
    pub const fn after(self, other: Self) -> bool {
        other.before(self)
    }

    /// Returns true if this number comes before `other` or equals it.
    pub const fn at_or_before(self, other: Self) -> bool {
        !other.before(self)
    }

    /// Returns true if this number comes after `other` or equals it.
    pub const fn at_or_after(self, other: Self) -> bool {
        !self.before(other)
    }

    /// Returns the later of two numbers.
    pub const fn latest(self, other: Self) -> Self {
        if self.before(other) { other } else { self }
    }

    /// Returns the earlier of two numbers.
    pub const fn earliest(self, other: Self) -> Self {
        if self.before(other) { self } else { other }
    }

    /// Returns the bytes from `self` up to `later`; 0 if `later` does not come after `self`.
    pub const fn room_to(self, later: Self) -> u32 {
        if self.before(later) {
            later.0.wrapping_sub(self.0)
        } else {
            0
        }
    }
}

impl Add<u32> for SeqNum {
    type Output = Self;

    fn add(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

impl AddAssign<u32> for SeqNum {
    fn add_assign(&mut self, bytes: u32) {
        *self = *self + bytes;
    }
}

impl Sub<u32> for SeqNum {
    type Output = Self;

    fn sub(self, bytes: u32) -> Self {
        Self(self.0.wrapping_sub(bytes))
    }
}

impl fmt::Display for SeqNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns the stream offset of sequence number `seq`, where offset 0 is the
/// byte `first` and `near` is an offset less than 2³¹ away from the result.
///
/// Stream offsets have 64 bits and never wrap; sequence numbers have 32 bits
/// and wrap. A number before the stream's first byte gives 0.
#[cfg_attr(target_pointer_width = "32", inline(never))]
pub(crate) fn offset_of(seq: SeqNum, first: SeqNum, near: u64) -> u64 {
    let distance = seq.0.wrapping_sub(first.0).wrapping_sub(near as u32) as i32;
    near.saturating_add_signed(distance.into())
}

/// Returns the sequence number of stream offset `offset`.
pub(crate) fn seq_of(offset: u64, first: SeqNum) -> SeqNum {
    first + offset as u32
}

#[cfg(test)]
mod tests;
