//! The stream itself: its offsets, and how its front moves.
//!
//! The one rule: the call that moves an offset gives back to the pool every block and
//! every promise that the new offsets no longer need.
//!
//! `chain.rs` finds blocks, `append.rs` and `reserve.rs` write bytes, and `slices.rs` reads them.

use super::cursor::Cursor;
use crate::index::NONE;
use crate::pool::{Holder, Pool};
use crate::record::{Record, RecordReader, RecordWriter};
use core::cell::Cell;

/// A window of a byte stream in the pool.
///
/// A send buffer uses [`append`](Self::append), [`slices`](Self::slices) and
/// [`advance`](Self::advance). A receive buffer uses [`reserve`](Self::reserve) for the
/// window that it advertises, [`write_at`](Self::write_at) for payload that arrives, and
/// [`read_at`](Self::read_at) and `advance` for payload that is read.
///
/// Offsets are counted from the beginning of the byte stream and never wrap.
#[derive(Debug)]
pub struct Stream {
    pub(super) start: u64,
    /// Bytes from `start` to the highest byte written. A stream holds less than 4 GiB.
    pub(super) len: u32,
    /// Bytes from `start` to the highest byte reserved; at most `len` when nothing beyond
    /// the bytes written is reserved.
    pub(super) reach: u32,
    /// First block of the chain, or `NONE`.
    pub(super) head: u32,
    /// Last block of the chain, or `NONE`.
    pub(super) tail: u32,
    /// The lower of the two places in the chain where work was last done.
    pub(super) low: Cell<Cursor>,
    /// The higher of the two places in the chain where work was last done.
    pub(super) high: Cell<Cursor>,
    /// The cell (a part of a block) that holds the window; `NONE` if the window is in blocks.
    pub(super) cell: u32,
    pub(super) holder: Holder,
}

/// The record leaves out the cursors, which only shorten searches.
impl Record for Stream {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        let Self {
            start,
            len,
            reach,
            head,
            tail,
            low: _,
            high: _,
            cell,
            holder,
        } = self;
        start.pack(to);
        len.pack(to);
        (i64::from(*reach) - i64::from(*len)).pack(to);
        // Most streams at rest have no block, and `NONE` plus 1 is 0.
        [head, tail, cell]
            .map(|index| index.wrapping_add(1))
            .pack(to);
        holder.pack(to);
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        let (start, len) = (u64::unpack(from), u32::unpack(from));
        let reach = (i64::from(len) + i64::unpack(from)) as u32;
        let [head, tail, cell] = <[u32; 3]>::unpack(from).map(|index| index.wrapping_sub(1));
        Self {
            start,
            len,
            reach,
            head,
            tail,
            cell,
            ..Self::new(Holder::unpack(from))
        }
    }
}

impl Stream {
    /// An empty stream at offset 0. Its blocks count for `holder` (a kind of buffer).
    pub const fn new(holder: Holder) -> Self {
        Self {
            start: 0,
            len: 0,
            reach: 0,
            head: NONE,
            tail: NONE,
            low: Cell::new(Cursor::NOWHERE),
            high: Cell::new(Cursor::NOWHERE),
            cell: NONE,
            holder,
        }
    }

    /// The holder for which the stream's blocks count.
    pub fn holder(&self) -> Holder {
        self.holder
    }

    /// Offset of the first byte held.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Offset one past the highest byte written.
    pub fn end(&self) -> u64 {
        self.start + self.len()
    }

    /// Bytes from the first held to the highest written, including holes (bytes that were not
    /// written).
    pub fn len(&self) -> u64 {
        self.len.into()
    }

    /// Returns true if no byte is held.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Offset up to which bytes are written or reserved.
    pub fn reserved_end(&self) -> u64 {
        self.start + u64::from(self.reach.max(self.len))
    }

    /// Moves the end of the bytes written to `end`, which is not below `start`.
    pub(super) fn set_end(&mut self, end: u64) {
        self.len = (end - self.start) as u32;
    }

    /// Reserves the bytes below `end`, and no others.
    pub(super) fn set_reserved(&mut self, end: u64) {
        self.reach = end.saturating_sub(self.start).min(u32::MAX.into()) as u32;
    }

    /// Moves the start to `start`, which is not above the end.
    fn set_start(&mut self, start: u64) {
        let moved = (start - self.start) as u32;
        self.start = start;
        self.len -= moved;
        self.reach = self.reach.saturating_sub(moved);
    }

    /// Blocks the stream holds; none if it is in a cell.
    pub fn held_blocks(&self, pool: &Pool) -> u32 {
        if self.is_in_cell() {
            return 0;
        }
        self.blocks_up_to(pool, self.end())
    }

    /// Blocks the stream was promised and has not yet taken; none if it is in a cell.
    pub fn promised_blocks(&self, pool: &Pool) -> u32 {
        if self.is_in_cell() || self.reach <= self.len {
            return 0;
        }
        self.blocks_up_to(pool, self.reserved_end()) - self.held_blocks(pool)
    }

    /// Blocks that the stream holds or was promised; none if it is in a cell.
    pub fn backing_blocks(&self, pool: &Pool) -> u32 {
        if self.is_in_cell() {
            return 0;
        }
        self.blocks_up_to(pool, self.reserved_end())
    }

    /// Drops `n` bytes at the front and gives the blocks that become unused back to the pool. If a
    /// block is freed although its later bytes are reserved, the pool promises the stream another
    /// block for them.
    ///
    /// # Panics
    /// Panics if the stream is shorter than `n`.
    pub fn advance(&mut self, pool: &mut Pool, n: u64) {
        assert!(
            n <= self.len(),
            "advancing by {n} over {} bytes",
            self.len()
        );
        let start = self.start + n;
        let grid = pool.grid();
        let (first_block, block) = (grid.block_of(self.start), grid.block_of(start));
        let empties = n == self.len();
        if self.is_in_cell() || (block == first_block && !empties) {
            self.set_start(start);
            return;
        }
        let (held, dropped) = (self.held_blocks(pool), (block - first_block) as u32);
        self.set_start(start);
        if !empties {
            return self.drop_front(pool, dropped, held - dropped);
        }
        self.drop_front(pool, held, 0);
        // Needs no check of the room: a held block becomes a promised one only if the stream
        // becomes empty inside a block whose later bytes are reserved, and that block was just
        // freed.
        let is_reserved = self.reach > 0 && held > dropped;
        pool.promise(self.holder, u32::from(is_reserved));
    }

    /// Moves an empty stream to `offset`.
    ///
    /// # Panics
    /// Panics if the stream holds bytes, a reservation or a cell, because the blocks of these would
    /// be lost.
    pub fn restart(&mut self, offset: u64) {
        assert!(
            self.is_empty() && self.reach == 0 && !self.is_in_cell(),
            "a stream in use cannot be moved"
        );
        self.start = offset;
    }

    /// Gives every block and promise back to the pool. The stream is then empty at its
    /// former end and can be used again.
    pub fn release(&mut self, pool: &mut Pool) {
        self.unreserve(pool, self.end());
        self.advance(pool, self.len());
        self.drop_cell(pool);
    }

    /// Checks that the length of the chain agrees with the offsets and that the cursors
    /// are on the chain. Walks the chain.
    ///
    /// # Panics
    /// Panics if one of these checks fails; the message names the contradiction.
    pub fn verify(&self, pool: &Pool) {
        self.verify_cell(pool);
        self.verify_chain(pool);
    }
}
