//! Records: values in as few bits as they need, so that a connection at rest takes little memory.
//!
//! The one rule: [`Record::unpack`] reads exactly what [`Record::pack`] wrote, field by field in
//! the same order, and the result equals the value that was packed. Nothing is rounded or left out.
//!
//! A record has no field names and no padding. The number 0 takes one bit, and another number seven
//! bits more than its significant bits without the first. `u32::MAX`, which often means that there
//! is no value, takes seven bits. A time and a sequence number are stored
//! as the difference from an earlier one in the same record, because most of them are close. A
//! number that is nearly always the same takes one bit if it is. A connection has several sizes of
//! its segments, most of them equal: a number of 8 to 16 bits that equals the last such number takes
//! seven bits.

use crate::{Duration, Instant};
use core::num::NonZeroU16;
use core::ops::Range;

#[cfg(test)]
mod tests;

/// Bits of the length of a number.
const LENGTH_BITS: u32 = 6;
/// In place of a length: the number is `u32::MAX`.
const NO_VALUE: u64 = 63;
/// In place of a length: the number equals the last number whose length is in [`SIZES`].
const AGAIN: u64 = 62;
/// In place of a length: all 64 bits follow.
const LONG: u32 = 61;
/// Lengths of numbers that often occur twice in a record, without the first significant bit.
const SIZES: Range<u32> = 7..16;
/// Largest difference between two sequence numbers of the same direction that is expected; a larger
/// one means the other direction.
const NEAR: i32 = 1 << 24;

/// A value that can be packed into a record.
pub trait Record: Sized {
    /// Appends the value.
    fn pack(&self, to: &mut RecordWriter<'_>);

    /// Reads a value that [`pack`](Self::pack) wrote.
    fn unpack(from: &mut RecordReader<'_>) -> Self;
}

/// Implements [`Record`] for a struct, given the names of all its fields in the order of the
/// record, or for an enum without fields, given all its variants.
#[macro_export]
macro_rules! record {
    ($record:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::record::Record for $record {
            fn pack(&self, to: &mut $crate::record::RecordWriter<'_>) {
                let Self { $($field),+ } = self;
                $( $crate::record::Record::pack($field, to); )+
            }

            fn unpack(from: &mut $crate::record::RecordReader<'_>) -> Self {
                $( let $field = $crate::record::Record::unpack(from); )+
                Self { $($field),+ }
            }
        }
    };
    ($record:ident($field:ident)) => {
        impl $crate::record::Record for $record {
            fn pack(&self, to: &mut $crate::record::RecordWriter<'_>) {
                let Self($field) = self;
                $crate::record::Record::pack($field, to);
            }

            fn unpack(from: &mut $crate::record::RecordReader<'_>) -> Self {
                Self($crate::record::Record::unpack(from))
            }
        }
    };
    (enum $record:ident { $($variant:ident),+ $(,)? }) => {
        impl $crate::record::Record for $record {
            fn pack(&self, to: &mut $crate::record::RecordWriter<'_>) {
                match self {
                    $( Self::$variant => to.number(Self::$variant as u64), )+
                }
            }

            fn unpack(from: &mut $crate::record::RecordReader<'_>) -> Self {
                let number = from.number();
                $( if number == Self::$variant as u64 { return Self::$variant; } )+
                unreachable!("no variant has this number")
            }
        }
    };
}

/// Values that the next time, sequence number and usual number are compared with.
#[derive(Clone, Copy, Debug, Default)]
struct Earlier<'a> {
    nanos: u64,
    /// One sequence number of each direction.
    numbers: [u32; 2],
    /// Last number whose length is in [`SIZES`].
    size: u64,
    /// The values that the next usual numbers have in most records.
    usual: &'a [u32],
}

impl<'a> Earlier<'a> {
    fn new(usual: &'a [u32]) -> Self {
        Self {
            usual,
            ..Self::default()
        }
    }

    /// Keeps a number that was stored with its length, if the length is in [`SIZES`].
    fn keep_size(&mut self, value: u64, length: u32) {
        if SIZES.contains(&length) {
            self.size = value;
        }
    }

    fn next_usual(&mut self) -> u32 {
        match self.usual {
            [] => 0,
            [next, rest @ ..] => {
                self.usual = rest;
                *next
            }
        }
    }
}

/// Writes a record into bytes.
#[derive(Debug)]
pub struct RecordWriter<'a> {
    bytes: &'a mut [u8],
    /// Bits written so far, also those for which `bytes` had no room.
    bits: usize,
    earlier: Earlier<'a>,
}

impl<'a> RecordWriter<'a> {
    /// Starts a record in `bytes`, whose content is lost. `usual` has the values that the
    /// [usual numbers](Self::usual) of most records have, in the order of the record.
    pub fn new(bytes: &'a mut [u8], usual: &'a [u32]) -> Self {
        bytes.fill(0);
        Self {
            bytes,
            bits: 0,
            earlier: Earlier::new(usual),
        }
    }

    /// Returns the length of the record in bytes; `None` if `bytes` is too short for it.
    pub fn finish(self) -> Option<usize> {
        let len = self.bits.div_ceil(8);
        (len <= self.bytes.len()).then_some(len)
    }

    /// Appends the lowest `count` bits of `value`.
    fn put(&mut self, mut value: u64, mut count: u32) {
        while count > 0 {
            let shift = (self.bits % 8) as u32;
            let taken = count.min(8 - shift);
            if let Some(byte) = self.bytes.get_mut(self.bits / 8) {
                let low = value as u8 & (u8::MAX >> (8 - taken));
                *byte |= low << shift;
            }
            value >>= taken;
            count -= taken;
            self.bits += taken as usize;
        }
    }

    /// Appends a number.
    #[inline(never)]
    pub fn number(&mut self, value: u64) {
        self.put(u64::from(value != 0), 1);
        if value != 0 {
            // The first significant bit is always 1 and not stored.
            let rest = u64::BITS - 1 - value.leading_zeros();
            if value == u32::MAX.into() {
                self.put(NO_VALUE, LENGTH_BITS);
            } else if value == self.earlier.size {
                self.put(AGAIN, LENGTH_BITS);
            } else if rest >= LONG {
                self.put(LONG.into(), LENGTH_BITS);
                self.put(value, u64::BITS);
            } else {
                self.put(rest.into(), LENGTH_BITS);
                self.put(value, rest);
                self.earlier.keep_size(value, rest);
            }
        }
    }

    /// Appends a number that most records have in common.
    #[inline(never)]
    pub fn usual(&mut self, value: u32) {
        let usual = self.earlier.next_usual();
        self.number((value ^ usual).into());
    }

    /// Appends a time, compared with the last one that was appended.
    #[inline(never)]
    fn time(&mut self, at: Instant) {
        let nanos = at.as_nanos();
        self.put(u64::from(nanos != 0), 1);
        if nanos != 0 {
            (nanos.wrapping_sub(self.earlier.nanos) as i64).pack(self);
            self.earlier.nanos = nanos;
        }
    }

    /// Appends a sequence number, compared with an earlier one of the same direction.
    #[inline(never)]
    pub fn sequence(&mut self, number: u32) {
        self.put(u64::from(number != 0), 1);
        if number != 0 {
            let [first, _] = self.earlier.numbers;
            let is_near = (number.wrapping_sub(first) as i32).unsigned_abs() < NEAR as u32;
            let direction = usize::from(first != 0 && !is_near);
            self.put(direction as u64, 1);
            let earlier = &mut self.earlier.numbers[direction];
            let difference = number.wrapping_sub(*earlier) as i32;
            *earlier = number;
            i64::from(difference).pack(self);
        }
    }
}

/// Reads a record.
#[derive(Debug)]
pub struct RecordReader<'a> {
    bytes: &'a [u8],
    bits: usize,
    earlier: Earlier<'a>,
}

impl<'a> RecordReader<'a> {
    /// Starts at the beginning of a record that was written with the same `usual`.
    pub fn new(bytes: &'a [u8], usual: &'a [u32]) -> Self {
        Self {
            bytes,
            bits: 0,
            earlier: Earlier::new(usual),
        }
    }

    fn take(&mut self, count: u32) -> u64 {
        let (mut value, mut have) = (0, 0);
        while have < count {
            let shift = (self.bits % 8) as u32;
            let taken = (count - have).min(8 - shift);
            let byte = self.bytes.get(self.bits / 8).copied().unwrap_or_default();
            let low = (byte >> shift) & (u8::MAX >> (8 - taken));
            value |= u64::from(low) << have;
            have += taken;
            self.bits += taken as usize;
        }
        value
    }

    /// Reads a number.
    #[inline(never)]
    pub fn number(&mut self) -> u64 {
        if self.take(1) == 0 {
            return 0;
        }
        match self.take(LENGTH_BITS) {
            NO_VALUE => u32::MAX.into(),
            AGAIN => self.earlier.size,
            rest if rest == u64::from(LONG) => self.take(u64::BITS),
            rest => {
                let value = self.take(rest as u32) | 1 << rest;
                self.earlier.keep_size(value, rest as u32);
                value
            }
        }
    }

    /// Reads a number that most records have in common.
    #[inline(never)]
    pub fn usual(&mut self) -> u32 {
        let usual = self.earlier.next_usual();
        self.number() as u32 ^ usual
    }

    #[inline(never)]
    fn time(&mut self) -> Instant {
        if self.take(1) == 0 {
            return Instant::ZERO;
        }
        let difference = i64::unpack(self);
        self.earlier.nanos = self.earlier.nanos.wrapping_add(difference as u64);
        Instant::from_nanos(self.earlier.nanos)
    }

    /// Reads a sequence number.
    #[inline(never)]
    pub fn sequence(&mut self) -> u32 {
        if self.take(1) == 0 {
            return 0;
        }
        let direction = self.take(1) as usize;
        let difference = i64::unpack(self);
        let earlier = &mut self.earlier.numbers[direction];
        *earlier = earlier.wrapping_add(difference as u32);
        *earlier
    }
}

/// Returns a number that is small if `difference` is close to 0.
const fn zigzag(difference: i64) -> u64 {
    ((difference << 1) ^ (difference >> 63)) as u64
}

/// Returns the difference of which [`zigzag`] made `number`.
const fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

macro_rules! numbers {
    ($($number:ty),+) => { $(
        impl Record for $number {
            fn pack(&self, to: &mut RecordWriter<'_>) {
                to.number(u64::from(*self));
            }

            fn unpack(from: &mut RecordReader<'_>) -> Self {
                from.number() as $number
            }
        }
    )+ };
}

numbers!(u8, u16, u32, u64);

impl Record for NonZeroU16 {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        self.get().pack(to);
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        Self::new(u16::unpack(from)).expect("the number that was packed is not 0")
    }
}

impl Record for bool {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        to.put(u64::from(*self), 1);
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        from.take(1) != 0
    }
}

/// A number of either sign, small if it is close to 0.
impl Record for i64 {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        to.number(zigzag(*self));
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        unzigzag(from.number())
    }
}

impl Record for Instant {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        to.time(*self);
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        from.time()
    }
}

impl Record for Duration {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        to.number(self.as_nanos());
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        Self::from_nanos(from.number())
    }
}

impl<T: Record> Record for Option<T> {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        self.is_some().pack(to);
        if let Some(value) = self {
            value.pack(to);
        }
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        bool::unpack(from).then(|| T::unpack(from))
    }
}

impl<T: Record> Record for Range<T> {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        self.start.pack(to);
        self.end.pack(to);
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        T::unpack(from)..T::unpack(from)
    }
}

impl<T: Record, const N: usize> Record for [T; N] {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        for value in self {
            value.pack(to);
        }
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        core::array::from_fn(|_| T::unpack(from))
    }
}

impl<A: Record, B: Record> Record for (A, B) {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        self.0.pack(to);
        self.1.pack(to);
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        (A::unpack(from), B::unpack(from))
    }
}

impl<A: Record, B: Record, C: Record> Record for (A, B, C) {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        self.0.pack(to);
        self.1.pack(to);
        self.2.pack(to);
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        (A::unpack(from), B::unpack(from), C::unpack(from))
    }
}
