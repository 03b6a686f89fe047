//! Reservations and writing inside them: the receive buffer's side.
//!
//! The one rule: a reservation stays backed until the stream gives it back. The reservation
//! covers the blocks that `start..reserved_end` touches: blocks already in the chain, and blocks
//! that the pool promises until they are taken or given back.
//!
//! A [`Ranges`](crate::Ranges) records which bytes of the window have arrived.

use super::window::Stream;
use crate::pool::Pool;
use core::fmt;

/// An overcommitted pool, which promised more blocks than it has, had no block for bytes inside a
/// reservation. Nothing was written; the bytes count as not received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoBlock;

impl fmt::Display for NoBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("more blocks are reserved than the pool has, and no block is free")
    }
}

impl core::error::Error for NoBlock {}

impl Stream {
    /// Reserves blocks for `start..end`. Returns the offset up to which blocks now back the stream:
    /// it is less than `end` if the pool cannot promise enough, and greater if more was reserved
    /// before. A call never decreases this offset. A stream in a cell (a part of a block) stays in
    /// the cell, so the result is at most the cell's end.
    pub fn reserve(&mut self, pool: &mut Pool, end: u64) -> u64 {
        if end <= self.reserved_end() {
            return self.reserved_end();
        }
        if self.is_in_cell() {
            let cell_end = self.start + u64::from(pool.cell_size());
            self.set_reserved(self.reserved_end().max(end.min(cell_end)));
            return self.reserved_end();
        }
        let size = u64::from(pool.block_size());
        let first = pool.grid().block_of(self.start);
        let backed = u64::from(self.blocks_up_to(pool, self.reserved_end()));
        let wanted = pool.grid().blocks_before(end) - first - backed;
        let granted = pool
            .room(self.holder)
            .min(u32::try_from(wanted).unwrap_or(u32::MAX));
        pool.promise(self.holder, granted);
        let grid_end = (first + backed + u64::from(granted)).saturating_mul(size);
        self.set_reserved(self.reserved_end().max(end.min(grid_end)));
        self.reserved_end()
    }

    /// Gives back the promise above `end`; bytes written above `end` keep their blocks.
    pub fn unreserve(&mut self, pool: &mut Pool, end: u64) {
        let promised = self.promised_blocks(pool);
        // Written bytes keep their blocks; `reserved_end` accounts for them.
        self.set_reserved(end.min(self.start + u64::from(self.reach)));
        pool.unpromise(self.holder, promised - self.promised_blocks(pool));
    }

    /// Writes `bytes` in their final place, at `offset`. Bytes between the highest byte written so
    /// far and `offset` become a hole. Its bytes keep the values that they had before in their
    /// blocks.
    ///
    /// # Errors
    /// Returns [`NoBlock`] only when the pool is overcommitted; nothing has changed.
    ///
    /// # Panics
    /// Panics if the bytes are not inside `start..reserved_end`: the caller must trim segments to
    /// the window it advertised.
    pub fn write_at(&mut self, pool: &mut Pool, offset: u64, bytes: &[u8]) -> Result<(), NoBlock> {
        let end = offset + bytes.len() as u64;
        assert!(
            self.start <= offset && end <= self.reserved_end(),
            "{offset}..{end} is outside the reservation {}..{}",
            self.start,
            self.reserved_end()
        );
        if bytes.is_empty() {
            return Ok(());
        }
        if self.is_in_cell() {
            self.write_in_cell(pool, offset, bytes);
            return Ok(());
        }
        self.lengthen(pool, end)?;
        let (index, mut within) = self.locate(pool, offset);
        let mut block = self.find(pool, index);
        let mut rest = bytes;
        loop {
            let space = &mut pool.block_mut(block)[within..];
            let (now, later) = rest.split_at(rest.len().min(space.len()));
            space[..now.len()].copy_from_slice(now);
            if later.is_empty() {
                return Ok(());
            }
            (rest, within, block) = (later, 0, pool.next(block));
        }
    }

    /// Returns the offset up to which [`write_at`](Self::write_at) would find blocks now:
    /// `reserved_end`, or less if the pool is overcommitted.
    pub fn writable_end(&self, pool: &Pool) -> u64 {
        if self.is_in_cell() {
            return self.reserved_end();
        }
        let size = u64::from(pool.block_size());
        let blocks = u64::from(self.held_blocks(pool)) + u64::from(pool.physical_room(self.holder));
        let grid_end = (pool.grid().block_of(self.start) + blocks).saturating_mul(size);
        self.reserved_end().min(grid_end)
    }

    /// Extends the chain to `end`, completely or not at all.
    pub(super) fn lengthen(&mut self, pool: &mut Pool, end: u64) -> Result<(), NoBlock> {
        if end <= self.end() {
            return Ok(());
        }
        let missing = self.blocks_up_to(pool, end) - self.held_blocks(pool);
        if missing > pool.physical_room(self.holder) {
            return Err(NoBlock);
        }
        for _ in 0..missing {
            let block = pool.take(self.holder, true);
            self.attach(pool, block.expect("the missing blocks were counted"));
        }
        self.set_end(end);
        Ok(())
    }
}
