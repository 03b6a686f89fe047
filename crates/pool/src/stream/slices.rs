//! Reading a stream: its bytes as slices of its blocks.
//!
//! The one rule: reading changes nothing in a stream except its cursors (remembered places in the
//! chain of blocks), which have interior mutability. Reading, sending and retransmitting therefore
//! need only `&Stream`.

use super::window::Stream;
use crate::index::NONE;
use crate::pool::Pool;
use core::iter::FusedIterator;
use core::ops::Range;

/// The bytes of a range of a stream, one slice for each block. Made by
/// [`Stream::slices`].
#[derive(Clone, Debug)]
pub struct Slices<'a> {
    pool: &'a Pool,
    /// The block with the next bytes; for a stream in a cell (a part of a block), the cell.
    block: u32,
    in_cell: bool,
    within: usize,
    left: u64,
}

impl<'a> Iterator for Slices<'a> {
    type Item = &'a [u8];

    #[cfg_attr(target_pointer_width = "64", inline)]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.left == 0 {
            return None;
        }
        let bytes = if self.in_cell {
            self.pool.cell(self.block)
        } else {
            self.pool.block(self.block)
        };
        let bytes = &bytes[self.within..];
        let taken = bytes
            .len()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= taken as u64;
        self.within = 0;
        if !self.in_cell {
            self.block = self.pool.next(self.block);
        }
        Some(&bytes[..taken])
    }
}

impl FusedIterator for Slices<'_> {}

impl Slices<'_> {
    /// Bytes not yet returned.
    pub fn remaining(&self) -> u64 {
        self.left
    }
}

impl Stream {
    /// The bytes of `range`, block by block. A hole is a part of the range that was not written.
    /// Its bytes are the previous content of the blocks.
    ///
    /// # Panics
    /// Panics if the range is not inside `start..end`.
    pub fn slices<'a>(&self, pool: &'a Pool, range: Range<u64>) -> Slices<'a> {
        assert!(
            self.start <= range.start && range.start <= range.end && range.end <= self.end(),
            "{range:?} is outside the stream {}..{}",
            self.start,
            self.end()
        );
        if range.is_empty() {
            return Slices {
                pool,
                block: NONE,
                in_cell: false,
                within: 0,
                left: 0,
            };
        }
        let (block, within) = if self.is_in_cell() {
            (self.cell, self.within_cell(pool, range.start))
        } else {
            let (index, within) = self.locate(pool, range.start);
            (self.find(pool, index), within)
        };
        Slices {
            pool,
            block,
            in_cell: self.is_in_cell(),
            within,
            left: range.end - range.start,
        }
    }

    /// Copies bytes from `offset` on into `out`. Returns the number of bytes
    /// copied.
    ///
    /// # Panics
    /// Panics if `offset` is not inside `start..=end`.
    pub fn read_at(&self, pool: &Pool, offset: u64, out: &mut [u8]) -> usize {
        let end = self.end().min(offset.saturating_add(out.len() as u64));
        let mut filled = 0;
        for slice in self.slices(pool, offset..end) {
            out[filled..filled + slice.len()].copy_from_slice(slice);
            filled += slice.len();
        }
        filled
    }
}
