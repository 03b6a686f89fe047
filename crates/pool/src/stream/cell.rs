//! A stream in a cell. A cell is a part of a block, and holds the window of an idle connection.
//!
//! The one rule: a stream has either a cell or blocks. A window in a cell is no larger than the
//! cell, which is used as a ring: byte `k` of the stream is at `k` modulo the cell's size. The
//! stream takes the cell before it offers a window, so no byte inside the window is refused.
//!
//! Moving from the cell to blocks copies the unread bytes, at most one cell.

use super::window::Stream;
use crate::index::NONE;
use crate::pool::{Holder, Pool};

impl Stream {
    /// Returns true if the window is in a cell.
    pub fn is_in_cell(&self) -> bool {
        self.cell != NONE
    }

    /// Moves an empty stream to a cell and gives back the blocks that it was promised.
    /// Returns true if the stream is in a cell. Returns false, and changes nothing, if the
    /// stream is not empty, its window is larger than a cell, or the pool has no free cell.
    ///
    /// # Panics
    /// Panics if the stream's holder (kind of buffer) is not [`Holder::Receive`].
    pub fn enter_cell(&mut self, pool: &mut Pool) -> bool {
        assert_eq!(self.holder, Holder::Receive, "only receivers have cells");
        if self.is_in_cell() {
            return true;
        }
        let fits = self.reserved_end() - self.start <= u64::from(pool.cell_size());
        if !self.is_empty() || !fits {
            return false;
        }
        let promised = self.promised_blocks(pool);
        pool.unpromise(self.holder, promised);
        match pool.take_cell() {
            Some(cell) => self.cell = cell,
            None => pool.promise(self.holder, promised),
        }
        self.is_in_cell()
    }

    /// Moves the stream from its cell to blocks that back the same window. Returns false,
    /// and changes nothing, if the pool does not have these blocks and `spare` more.
    pub fn leave_cell(&mut self, pool: &mut Pool, spare: u32) -> bool {
        let cell = core::mem::replace(&mut self.cell, NONE);
        if cell == NONE {
            return true;
        }
        let (written, reserved) = (self.end(), self.reserved_end());
        let needed = self.blocks_up_to(pool, reserved);
        let room = pool.room(self.holder);
        if room < needed.saturating_add(spare) || pool.physical_room(self.holder) < needed {
            self.cell = cell;
            return false;
        }
        pool.promise(self.holder, needed);
        self.len = 0;
        self.set_reserved(reserved);
        self.lengthen(pool, written)
            .expect("the free blocks were counted");
        let mut at = self.start;
        while at < written {
            let from = self.within_cell(pool, at);
            let (index, to) = self.locate(pool, at);
            let block = self.find(pool, index);
            let len = (pool.cell_size() as usize - from)
                .min(pool.block_size() as usize - to)
                .min((written - at) as usize);
            pool.copy_from_cell((cell, from), (block, to), len);
            at += len as u64;
        }
        pool.give_back_cell(cell);
        true
    }

    /// Writes `bytes` at `offset` of the stream. The caller has checked that they are inside the
    /// reservation.
    pub(super) fn write_in_cell(&mut self, pool: &mut Pool, offset: u64, bytes: &[u8]) {
        let from = self.within_cell(pool, offset);
        let ring = pool.cell_mut(self.cell);
        let (now, wrapped) = bytes.split_at(bytes.len().min(ring.len() - from));
        ring[from..from + now.len()].copy_from_slice(now);
        ring[..wrapped.len()].copy_from_slice(wrapped);
        self.set_end(self.end().max(offset + bytes.len() as u64));
    }

    /// The place of the byte at `offset` in the ring.
    pub(super) fn within_cell(&self, pool: &Pool, offset: u64) -> usize {
        (offset % u64::from(pool.cell_size())) as usize
    }

    /// Gives back the cell of an empty stream, if the stream has one.
    pub(super) fn drop_cell(&mut self, pool: &mut Pool) {
        let cell = core::mem::replace(&mut self.cell, NONE);
        if cell != NONE {
            pool.give_back_cell(cell);
        }
    }

    pub(super) fn verify_cell(&self, pool: &Pool) {
        if self.is_in_cell() {
            let window = self.reserved_end() - self.start;
            let size = pool.cell_size();
            assert!(
                window <= size.into(),
                "{window} bytes are promised in a cell of {size}"
            );
        }
    }
}
