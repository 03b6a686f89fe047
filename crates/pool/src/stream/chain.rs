//! The chain of blocks under a stream: finding, adding and dropping blocks.
//!
//! The one rule: sequential work finds its block without a walk from the head. A search for a block
//! starts at the nearest remembered place at or before that block: the head, one of two cursors, or
//! the tail. The search leaves a cursor at the block it found. There are two cursors because a
//! sender in recovery works in two places: on bytes that the peer lacks, and on new bytes.
//!
//! A block is named by its distance from the head. `locate` maps a byte to its block.

use super::cursor::Cursor;
use super::window::Stream;
use crate::index::NONE;
use crate::pool::Pool;

impl Stream {
    /// Number of blocks that hold the bytes `start..end`, a partly used block at either
    /// end included.
    pub(super) fn blocks_up_to(&self, pool: &Pool, end: u64) -> u32 {
        if end <= self.start {
            return 0;
        }
        let grid = pool.grid();
        // The number fits in 32 bits: callers ask only about held or promised blocks, which the
        // pool counts in 32 bits.
        (grid.blocks_before(end) - grid.block_of(self.start)) as u32
    }

    /// Splits `offset` (at or above `start`) into the distance of its block
    /// from the head and the place inside the block.
    pub(super) fn locate(&self, pool: &Pool, offset: u64) -> (u32, usize) {
        let grid = pool.grid();
        let index = grid.block_of(offset) - grid.block_of(self.start);
        (index as u32, grid.within(offset))
    }

    /// The block at distance `index` from the head; the chain must reach it.
    pub(super) fn find(&self, pool: &Pool, index: u32) -> u32 {
        if index == 0 {
            return self.head;
        }
        let mut at = self.nearest(pool, index);
        while at.index < index {
            at = Cursor {
                block: pool.next(at.block),
                index: at.index + 1,
            };
        }
        let moved = if index >= self.high.get().index {
            &self.high
        } else {
            &self.low
        };
        moved.set(at);
        at.block
    }

    /// The nearest remembered place at or before distance `index`. A search begins there.
    pub(super) fn nearest(&self, pool: &Pool, index: u32) -> Cursor {
        let (low, high) = (self.low.get(), self.high.get());
        let mut at = if index >= high.index {
            high
        } else if index >= low.index {
            low
        } else {
            Cursor::NOWHERE
        };
        if at.index == 0 {
            at.block = self.head;
        }
        if index > at.index + 1 && index + 1 == self.held_blocks(pool) {
            at = Cursor {
                block: self.tail,
                index,
            };
        }
        at
    }

    /// Puts `block` at the end of the chain.
    pub(super) fn attach(&mut self, pool: &mut Pool, block: u32) {
        if self.tail == NONE {
            self.head = block;
        } else {
            pool.link(self.tail, block);
        }
        self.tail = block;
    }

    /// Gives the first `dropped` blocks back to the pool; `kept` blocks remain in the
    /// chain.
    pub(super) fn drop_front(&mut self, pool: &mut Pool, dropped: u32, kept: u32) {
        if dropped == 0 {
            return;
        }
        let first = self.head;
        if kept == 0 {
            pool.give_back(self.holder, first, self.tail, dropped);
            (self.head, self.tail) = (NONE, NONE);
        } else {
            let mut last = first;
            for _ in 1..dropped {
                last = pool.next(last);
            }
            self.head = pool.next(last);
            pool.give_back(self.holder, first, last, dropped);
        }
        self.low.set(self.low.get().shifted(dropped, self.head));
        self.high.set(self.high.get().shifted(dropped, self.head));
    }

    pub(super) fn verify_chain(&self, pool: &Pool) {
        let held = self.held_blocks(pool);
        let cursors = [self.low.get(), self.high.get()];
        assert!(
            cursors[0].index <= cursors[1].index,
            "the cursors passed each other"
        );
        if held == 0 {
            assert!(
                self.head == NONE && self.tail == NONE,
                "an empty stream holds blocks"
            );
            assert!(cursors[1].index == 0, "a cursor stands on an empty chain");
            return;
        }
        let mut block = self.head;
        for index in 0..held {
            assert!(
                block != NONE,
                "the chain ends after {index} of {held} blocks"
            );
            for cursor in cursors {
                assert!(
                    cursor.index == 0 || cursor.index != index || cursor.block == block,
                    "a cursor left the chain"
                );
            }
            if index + 1 == held {
                assert!(block == self.tail, "the chain does not end at its tail");
            }
            block = pool.next(block);
        }
        assert!(block == NONE, "the chain is longer than {held} blocks");
        assert!(cursors[1].index < held, "a cursor is beyond the chain");
    }
}
