//! The pool: equal blocks of packet memory, a free list, and the count of blocks by holder (kind of
//! buffer).
//!
//! The one rule: free blocks and held blocks add up to all blocks, and every promise is covered
//! unless overcommitment (more promises than blocks) is allowed. Each block that moves is counted
//! in `usage`, so the counts cannot drift from the free list. A floor is a number of blocks that is
//! guaranteed to a holder.
//!
//! Blocks are chained by index in one table. The order in which a holder uses its
//! blocks, and their content, belong to `stream`.

mod cells;
mod grid;
mod pressure;
#[cfg(test)]
mod tests;
mod usage;

use crate::config::PoolConfig;
use crate::index::NONE;
use crate::ranges::arena::RangeArena;
use alloc::vec::Vec;
use cells::Cells;
use core::ops::Range;
pub(crate) use grid::Grid;
pub use pressure::Pressure;
pub use usage::Holder;
use usage::PoolUsage;

/// The packet memory of one stack: `block_count() x block_size()` bytes, and
/// the nodes of all [`Ranges`](crate::Ranges).
#[derive(Debug)]
pub struct Pool {
    grid: Grid,
    /// Index of the next block, for each block on the free list or in a holder's chain. `links` and
    /// `bytes` grow within their capacity when a block is used for the first time. Creating a large
    /// pool is therefore fast, and blocks that were never used occupy no memory.
    links: Vec<u32>,
    bytes: Vec<u8>,
    first_free: u32,
    usage: PoolUsage,
    cells: Cells,
    aside: Aside,
    pub(crate) ranges: RangeArena,
}

/// Blocks promised by [`Pool::set_aside`].
#[derive(Debug, Default)]
struct Aside {
    for_cells: u32,
    for_windows: u32,
}

impl Aside {
    fn part(&mut self, for_cell: bool) -> &mut u32 {
        if for_cell {
            &mut self.for_cells
        } else {
            &mut self.for_windows
        }
    }
}

impl Pool {
    /// Allocates all the memory that streams and ranges will ever use.
    ///
    /// # Panics
    /// Panics if the configuration contradicts itself; see [`PoolConfig::contradiction`].
    #[inline(never)]
    pub fn new(config: &PoolConfig) -> Self {
        if let Some(words) = config.contradiction() {
            panic!("{words}");
        }
        Self {
            grid: Grid::new(config.block_size),
            links: Vec::with_capacity(config.blocks as usize),
            bytes: Vec::with_capacity(config.blocks as usize * config.block_size as usize),
            first_free: NONE,
            usage: PoolUsage::new(config),
            cells: Cells::new(config),
            aside: Aside::default(),
            ranges: RangeArena::new(config.range_count()),
        }
    }

    /// Returns the heap memory in bytes: of the blocks' content, of the bookkeeping of blocks, and
    /// of the nodes of [`Ranges`](crate::Ranges).
    pub fn heap_bytes(&self) -> [usize; 3] {
        let links = self.links.capacity() * size_of::<u32>();
        [
            self.bytes.capacity(),
            links + self.cells.heap_bytes(),
            self.ranges.heap_bytes(),
        ]
    }

    /// Bytes in one block.
    pub fn block_size(&self) -> u32 {
        self.grid.size()
    }

    /// Returns the grid that divides the offsets of every stream into blocks.
    pub(crate) fn grid(&self) -> Grid {
        self.grid
    }

    /// Blocks in the pool, free and held.
    pub fn block_count(&self) -> u32 {
        self.usage.count()
    }

    /// Blocks that no holder has. Some of them may be promised.
    pub fn free_blocks(&self) -> u32 {
        self.usage.free()
    }

    /// Blocks that `holder` holds.
    pub fn held(&self, holder: Holder) -> u32 {
        self.usage.held(holder)
    }

    /// Blocks promised to all holders (reserved for windows) and not yet taken.
    pub fn promised(&self) -> u32 {
        Holder::ALL
            .iter()
            .map(|&holder| self.promised_to(holder))
            .sum()
    }

    /// Blocks promised to `holder` and not yet taken.
    pub fn promised_to(&self, holder: Holder) -> u32 {
        self.usage.promised(holder)
    }

    /// Blocks that `holder` can take or be promised now, in addition to those already promised to
    /// it. Blocks kept for the floors of other holders do not count.
    pub fn room(&self, holder: Holder) -> u32 {
        self.usage.room(holder)
    }

    /// Largest number of blocks that `holder` can hold and be promised: the pool's limit without
    /// the floors of the other holders.
    pub fn most(&self, holder: Holder) -> u32 {
        self.usage.most(holder)
    }

    /// Bytes in a cell, which is a part of a block; 0 if `pool.cells` or the size of a
    /// block allows none.
    pub fn cell_size(&self) -> u32 {
        self.cells.size()
    }

    /// Cells in use.
    pub fn cells_in_use(&self) -> u32 {
        self.cells.in_use()
    }

    /// Returns true if new and idle receivers should use only a cell as their window: the pool has
    /// cells, and at least a quarter of its limit is held or promised. Blocks set aside for
    /// handshakes whose window is a cell do not count, because unknown hosts can open any number of
    /// such handshakes.
    pub fn is_short(&self) -> bool {
        self.cells.size() > 0 && self.usage.quarter_is_committed(self.aside.for_cells)
    }

    /// Returns true if a new handshake should get only a cell: the pool [is short](Self::is_short),
    /// or at least an eighth of the receivers' blocks is set aside for handshakes with larger
    /// windows. [`is_short`](Self::is_short) counts the blocks of these larger windows, so without
    /// the bound of an eighth, unknown hosts alone could make the pool short.
    pub fn is_short_for_handshakes(&self) -> bool {
        let most = (self.most(Holder::Receive) / 8).max(1);
        self.is_short() || (self.cells.size() > 0 && self.aside.for_windows >= most)
    }

    /// Blocks that windows larger than a cell should leave free for further cells and for the send
    /// buffers of answers: one block for every eight cells in use, but at most an eighth of the
    /// receivers' blocks.
    pub fn kept_for_cells(&self) -> u32 {
        match self.cells.in_use() {
            0 => 0,
            cells => cells.min(self.most(Holder::Receive)) / 8,
        }
    }

    /// Blocks that a send buffer of more than one block should leave free for the answers of other
    /// connections: half of the blocks that [large windows leave free](Self::kept_for_cells). A
    /// send buffer of more than one block may use the other half.
    pub fn kept_for_answers(&self) -> u32 {
        self.kept_for_cells() / 2
    }

    /// The pressure level of memory: blocks held and promised, against
    /// `pool.pressure_low`, `pool.pressure` and `pool.pressure_high`.
    pub fn pressure(&self) -> Pressure {
        self.usage.pressure()
    }

    /// Largest number of blocks held at one time.
    pub fn peak_blocks(&self) -> u32 {
        self.usage.peak()
    }

    /// Range nodes not in use.
    pub fn free_ranges(&self) -> u32 {
        self.ranges.free()
    }

    /// Range nodes, in use and not.
    pub fn range_count(&self) -> u32 {
        self.ranges.count()
    }

    /// Steps taken along lists and down trees of ranges since the pool was made: a measure of
    /// work that is the same on every machine.
    pub fn ranges_walked(&self) -> u64 {
        self.ranges.walked()
    }

    /// Checks that no block or range is lost or counted twice, that promises are
    /// covered and floors honoured. Walks the free lists.
    ///
    /// # Panics
    /// Panics if a count does not balance; the message names this count.
    pub fn verify(&self) {
        self.usage.verify();
        let unused = self.block_count() - self.links.len() as u32;
        let (mut listed, mut block) = (unused, self.first_free);
        while block != NONE && listed <= self.block_count() {
            listed += 1;
            block = self.links[block as usize];
        }
        assert_eq!(
            listed,
            self.free_blocks(),
            "the free list and the account of free blocks differ"
        );
        self.cells.verify();
        self.ranges.verify();
    }

    /// The block after `block` in its chain.
    pub(crate) fn next(&self, block: u32) -> u32 {
        self.links[block as usize]
    }

    /// Puts `next` after `block`.
    pub(crate) fn link(&mut self, block: u32, next: u32) {
        self.links[block as usize] = next;
    }

    fn byte_range(&self, block: u32) -> Range<usize> {
        let size = self.block_size() as usize;
        let first = block as usize * size;
        first..first + size
    }

    /// The bytes of `block`.
    pub(crate) fn block(&self, block: u32) -> &[u8] {
        &self.bytes[self.byte_range(block)]
    }

    /// The bytes of `block`, to be written.
    pub(crate) fn block_mut(&mut self, block: u32) -> &mut [u8] {
        let range = self.byte_range(block);
        &mut self.bytes[range]
    }

    /// Promises `blocks` more to receivers, all or none, for a stream that does not exist
    /// yet. `for_cell` says that the window of this stream will be at most a cell. Blocks [kept for
    /// answers](Self::kept_for_answers) stay free. Returns true if the blocks were promised. In
    /// this case, the caller must later end the promise with [`take_back`](Self::take_back), also
    /// if the stream is never created.
    pub fn set_aside(&mut self, blocks: u32, for_cell: bool) -> bool {
        let had = blocks.saturating_add(self.kept_for_answers()) <= self.room(Holder::Receive);
        if had {
            self.promise(Holder::Receive, blocks);
            *self.aside.part(for_cell) += blocks;
        }
        had
    }

    /// Takes back what [`set_aside`](Self::set_aside) promised with the same arguments.
    pub fn take_back(&mut self, blocks: u32, for_cell: bool) {
        *self.aside.part(for_cell) -= blocks;
        self.unpromise(Holder::Receive, blocks);
    }

    /// Promises `blocks` more to `holder`; the caller has checked `room`.
    pub(crate) fn promise(&mut self, holder: Holder, blocks: u32) {
        self.usage.promise(holder, blocks);
    }

    /// Takes a promise of `blocks` back from `holder`.
    pub(crate) fn unpromise(&mut self, holder: Holder, blocks: u32) {
        self.usage.unpromise(holder, blocks);
    }

    /// Free blocks that `holder` can take now, whether they were promised to it or not. Without
    /// overcommitment, this number is never less than the holder's promise.
    pub(crate) fn physical_room(&self, holder: Holder) -> u32 {
        self.usage.physical_room(holder)
    }

    /// Moves one free block to `holder` and marks it as the end of a chain. If
    /// `promised`, the block counts against the holder's promise; otherwise there must be
    /// [`room`](Self::room) for it. Returns `None` if there is no room, or if the pool is
    /// overcommitted and no block is left for the promise.
    pub(crate) fn take(&mut self, holder: Holder, promised: bool) -> Option<u32> {
        if self.usage.physical_room(holder) == 0 || (!promised && self.usage.room(holder) == 0) {
            return None;
        }
        let block = self.first_free;
        let block = if block == NONE {
            self.links.push(NONE);
            let used = self.links.len() * self.block_size() as usize;
            self.bytes.resize(used, 0);
            self.links.len() as u32 - 1
        } else {
            self.first_free = core::mem::replace(&mut self.links[block as usize], NONE);
            block
        };
        self.usage.take(holder, promised);
        Some(block)
    }

    /// Takes a free cell for the receivers, from a block of cells or from a new block if the
    /// receivers have room for one. Otherwise returns `None`.
    pub(crate) fn take_cell(&mut self) -> Option<u32> {
        if self.cells.size() > 0 && !self.cells.has_free() {
            let block = self.take(Holder::Receive, false)?;
            self.cells.add(block);
        }
        self.cells.take()
    }

    /// Frees `cell`, and its block if no other cell of this block is in use.
    pub(crate) fn give_back_cell(&mut self, cell: u32) {
        if let Some(block) = self.cells.give_back(cell) {
            self.give_back(Holder::Receive, block, block, 1);
        }
    }

    /// The bytes of `cell`.
    pub(crate) fn cell(&self, cell: u32) -> &[u8] {
        &self.bytes[self.cells.byte_range(cell)]
    }

    /// The bytes of `cell`, to be written.
    pub(crate) fn cell_mut(&mut self, cell: u32) -> &mut [u8] {
        &mut self.bytes[self.cells.byte_range(cell)]
    }

    /// Copies `len` bytes at `from` in a cell to `to` in a block.
    pub(crate) fn copy_from_cell(
        &mut self,
        (cell, from): (u32, usize),
        (block, to): (u32, usize),
        len: usize,
    ) {
        let from = self.cells.byte_range(cell).start + from;
        let to = self.byte_range(block).start + to;
        self.bytes.copy_within(from..from + len, to);
    }

    /// Frees the chain of `count` blocks from `head` to `tail`.
    pub(crate) fn give_back(&mut self, holder: Holder, head: u32, tail: u32, count: u32) {
        self.links[tail as usize] = self.first_free;
        self.first_free = head;
        self.usage.give_back(holder, count);
    }
}
