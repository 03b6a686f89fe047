//! Cells: equal parts of blocks, each the window of one idle connection.
//!
//! The one rule: the receivers hold a block of cells as long as one of its cells is in use, and a
//! cell in use is never moved. A window in blocks needs no more than promised blocks until payload
//! arrives. A window in a cell occupies its cell from the start.
//!
//! The parent module takes and frees blocks. `stream/cell.rs` stores a stream in its cell;
//! TCP decides which connections get a cell.

use crate::config::PoolConfig;
use crate::index::NONE;
use alloc::vec::Vec;
use core::ops::Range;

/// Smallest cell in bytes. The segments of a smaller window would be mostly headers.
const SMALLEST: u32 = 256;

/// The used cells of one block, and the block's place in the list of blocks with a free cell.
#[derive(Clone, Copy, Debug)]
struct CellBlock {
    /// The block before this one in the list, or `NONE`.
    before: u32,
    /// The block after this one in the list, or `NONE`.
    after: u32,
    /// One bit for each cell in use.
    used: u32,
}

impl CellBlock {
    const UNUSED: Self = Self {
        before: NONE,
        after: NONE,
        used: 0,
    };
}

/// The cells of a pool. The number of a cell is its block's index times the cells in a
/// block, plus its place in the block.
#[derive(Debug)]
pub(super) struct Cells {
    /// Cells in a block; 0 if the pool has none.
    per_block: u32,
    /// Bytes in a cell; 0 if the pool has none.
    size: u32,
    block_size: usize,
    /// State of each block, by index, up to the highest block that ever had cells. The vector is
    /// created with room for every block and never reallocates.
    blocks: Vec<CellBlock>,
    /// Head of the list of blocks with a free cell, or `NONE`.
    first_open: u32,
    in_use: u32,
}

impl Cells {
    pub(super) fn new(config: &PoolConfig) -> Self {
        let size = config.block_size / config.cells.max(1);
        let countable = config.blocks.checked_mul(config.cells).is_some();
        let possible = config.cells > 1 && size >= SMALLEST && countable;
        let (per_block, size, blocks) = if possible {
            (config.cells, size, config.blocks as usize)
        } else {
            (0, 0, 0)
        };
        Self {
            per_block,
            size,
            block_size: config.block_size as usize,
            blocks: Vec::with_capacity(blocks),
            first_open: NONE,
            in_use: 0,
        }
    }

    /// Returns the heap memory in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<CellBlock>()
    }

    pub(super) const fn size(&self) -> u32 {
        self.size
    }

    pub(super) const fn in_use(&self) -> u32 {
        self.in_use
    }

    const fn all_used(&self) -> u32 {
        (1 << self.per_block) - 1
    }

    /// Returns true if a cell is free.
    pub(super) const fn has_free(&self) -> bool {
        self.first_open != NONE
    }

    /// Adds `block` as free cells. The caller takes one of them at once.
    pub(super) fn add(&mut self, block: u32) {
        if self.blocks.len() <= block as usize {
            self.blocks.resize(block as usize + 1, CellBlock::UNUSED);
        }
        self.enlist(block);
    }

    /// Takes a free cell, if there is one.
    pub(super) fn take(&mut self) -> Option<u32> {
        let block = self.first_open;
        let all_used = self.all_used();
        let used = &mut self.blocks.get_mut(block as usize)?.used;
        let place = used.trailing_ones();
        *used |= 1 << place;
        if *used == all_used {
            self.unlist(block);
        }
        self.in_use += 1;
        Some(block * self.per_block + place)
    }

    /// Frees `cell`. If no other cell of its block is in use, returns the block, which the
    /// caller then frees.
    pub(super) fn give_back(&mut self, cell: u32) -> Option<u32> {
        let (block, place) = (cell / self.per_block, cell % self.per_block);
        let all_used = self.all_used();
        let used = &mut self.blocks[block as usize].used;
        let was_full = *used == all_used;
        *used &= !(1 << place);
        let is_free = *used == 0;
        self.in_use -= 1;
        if was_full {
            self.enlist(block);
        }
        if is_free {
            self.unlist(block);
        }
        is_free.then_some(block)
    }

    /// Puts `block` at the head of the list of blocks with a free cell.
    fn enlist(&mut self, block: u32) {
        let after = core::mem::replace(&mut self.first_open, block);
        let state = &mut self.blocks[block as usize];
        (state.before, state.after) = (NONE, after);
        if after != NONE {
            self.blocks[after as usize].before = block;
        }
    }

    /// Removes `block` from the list of blocks with a free cell.
    fn unlist(&mut self, block: u32) {
        let CellBlock { before, after, .. } = self.blocks[block as usize];
        match before {
            NONE => self.first_open = after,
            before => self.blocks[before as usize].after = after,
        }
        if after != NONE {
            self.blocks[after as usize].before = before;
        }
    }

    /// The place of `cell` in the bytes of the pool.
    pub(super) fn byte_range(&self, cell: u32) -> Range<usize> {
        let (block, place) = (cell / self.per_block, cell % self.per_block);
        let first = block as usize * self.block_size + place as usize * self.size as usize;
        first..first + self.size as usize
    }

    /// Checks that each block with both used and free cells is in the list exactly once, and that
    /// no cell is lost.
    ///
    /// # Panics
    /// Panics if a count does not balance; the message names this count.
    pub(super) fn verify(&self) {
        let is_open = |block: &&CellBlock| block.used != 0 && block.used != self.all_used();
        let open = self.blocks.iter().filter(is_open).count();
        let in_use: u32 = self
            .blocks
            .iter()
            .map(|block| block.used.count_ones())
            .sum();
        assert_eq!(in_use, self.in_use, "the count of cells in use is wrong");
        let (mut listed, mut before, mut block) = (0, NONE, self.first_open);
        while block != NONE && listed <= open {
            let state = &self.blocks[block as usize];
            assert_eq!(state.before, before, "block {block} is in the wrong place");
            assert!(is_open(&state), "block {block} has no cell to take");
            (listed, before, block) = (listed + 1, block, state.after);
        }
        assert_eq!(
            listed, open,
            "blocks with a free cell and blocks listed differ"
        );
    }
}
