//! Writing at the end of a stream: the send buffer's side.
//!
//! The one rule: a write is cut short only if too few blocks are free. A write never takes a block
//! that is promised to a window, or that is guaranteed to another kind of buffer.

use super::window::Stream;
use crate::pool::Pool;

impl Stream {
    /// Appends as many of `bytes` as the available blocks can hold, and returns the number of bytes
    /// appended. The result 0 means that no block is available or that `bytes` is empty; neither is
    /// an error.
    pub fn append(&mut self, pool: &mut Pool, bytes: &[u8]) -> usize {
        let mut rest = bytes;
        self.append_with(pool, bytes.len(), |space| {
            let (now, later) = rest.split_at(space.len());
            space.copy_from_slice(now);
            rest = later;
            now.len()
        })
    }

    /// Appends up to `max` bytes written in place: `fill` gets one free space after
    /// another and returns the number of bytes that it filled. The write ends when memory
    /// or `max` is used up, or when a space was not filled completely. Returns the bytes
    /// appended.
    ///
    /// # Panics
    /// Panics if `fill` returns more bytes than the space has.
    pub fn append_with(
        &mut self,
        pool: &mut Pool,
        max: usize,
        mut fill: impl FnMut(&mut [u8]) -> usize,
    ) -> usize {
        let mut appended = 0;
        while appended < max {
            let within = pool.grid().within(self.end());
            let fresh = self.is_empty() || within == 0;
            let promised = fresh && self.promised_blocks(pool) > 0;
            let block = if fresh {
                pool.take(self.holder, promised)
            } else {
                Some(self.tail)
            };
            let Some(block) = block else {
                break;
            };
            let space = &mut pool.block_mut(block)[within..];
            let room = space.len().min(max - appended);
            let filled = fill(&mut space[..room]);
            assert!(filled <= room, "{filled} bytes were put into {room}");
            if fresh && filled > 0 {
                self.attach(pool, block);
            } else if fresh {
                pool.give_back(self.holder, block, block, 1);
                pool.promise(self.holder, u32::from(promised));
            }
            self.len += filled as u32;
            appended += filled;
            if filled < room {
                break;
            }
        }
        appended
    }

    /// Returns true if [`append`](Self::append) would take `len` bytes now.
    pub fn has_append_room(&self, pool: &Pool, len: usize) -> bool {
        let within = pool.grid().within(self.end());
        let fits_tail =
            within > 0 && !self.is_empty() && within + len <= pool.grid().size() as usize;
        fits_tail || self.append_room(pool) >= len as u64
    }

    /// Bytes that [`append`](Self::append) would take now.
    pub fn append_room(&self, pool: &Pool) -> u64 {
        let size = u64::from(pool.block_size());
        let blocks = u64::from(self.promised_blocks(pool)) + u64::from(pool.room(self.holder));
        let blocks = blocks.min(u64::from(pool.physical_room(self.holder)));
        let within = pool.grid().within(self.end()) as u64;
        if self.is_empty() {
            // Blocks begin at multiples of the block size, and the next byte lies `within` bytes
            // after such a multiple. The first `within` bytes of the first block stay unused.
            (blocks * size).saturating_sub(within)
        } else {
            blocks * size + if within == 0 { 0 } else { size - within }
        }
    }
}
