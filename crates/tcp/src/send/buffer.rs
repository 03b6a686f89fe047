//! Writing into the send buffer.
//!
//! Rule: a write is cut short by a lack of free blocks or by the buffer's size, never at a segment
//! boundary. The cause of a cut write is stored, because it is the sender's limit once the buffer
//! has drained.
//!
//! While idle connections have cells (parts of a block), the pool keeps some blocks for answers.
//! The first block of a buffer may be one of these, but further blocks may not, except those of an
//! atomic write into an empty buffer. Otherwise a few peers that do not read would hold all the
//! memory that the answers to other peers need.

use fullpipe_pool::Pool;

use super::half::{BlockedWrite, SendHalf};
use crate::Limit;

/// Conditions on which a blocked writer is woken.
#[derive(Clone, Copy, Debug)]
pub struct WakePolicy {
    /// A write is accepted whole or not at all.
    pub atomic: bool,
    /// Room in bytes that the application asked to wait for; 0 for the stack's choice.
    pub low_water: u32,
    /// Bytes of a full segment.
    pub mss: u32,
}

impl SendHalf {
    /// Returns the bytes that a write could take now, given a buffer of
    /// `capacity` bytes and packet memory, and the tighter of these two bounds.
    pub fn write_room(&self, capacity: u32, atomic: bool, pool: &Pool) -> (u32, Limit) {
        let held = self.stream.len().min(u32::MAX.into()) as u32;
        let buffer = capacity.saturating_sub(held);
        let memory = self.memory_room(atomic, pool).min(u32::MAX.into()) as u32;
        if memory < buffer {
            (memory, Limit::Memory)
        } else {
            (buffer, Limit::SendBuffer)
        }
    }

    /// Returns the bytes that packet memory has for a write. An `atomic` write into an
    /// empty buffer may use all blocks, because it may need more than one to be accepted at
    /// all.
    fn memory_room(&self, atomic: bool, pool: &Pool) -> u64 {
        let all = self.stream.append_room(pool);
        let kept = pool.kept_for_answers();
        if kept == 0 {
            return all;
        }
        let size = u64::from(pool.block_size());
        let further = match self.stream.is_empty() {
            true if atomic => 0,
            true => all.div_ceil(size).saturating_sub(1),
            false => all / size,
        };
        all - size * further.min(kept.into())
    }

    /// Accepts as much of `payload` as there is room for; if `atomic`, all of it or
    /// nothing. Returns the bytes accepted.
    pub fn write(&mut self, payload: &[u8], capacity: u32, atomic: bool, pool: &mut Pool) -> usize {
        let (room, by) = self.write_room(capacity, atomic, pool);
        let mut take = payload.len().min(room as usize);
        if atomic && take < payload.len() {
            take = 0;
        }
        let taken = self.stream.append(pool, &payload[..take]);
        debug_assert_eq!(taken, take, "append_room promised the room");
        self.push.on_write(self.payload_end(), self.snd_nxt);
        let missing = (payload.len() - taken).min(u32::MAX as usize) as u32;
        self.blocked = (missing > 0).then_some(BlockedWrite {
            wanted: missing,
            by,
            woken: false,
        });
        taken
    }

    /// Lets `fill` write in place, slice by slice, as far as there is room. `fill` returns
    /// the number of bytes that it wrote; the write ends when this is less than the slice.
    /// Returns the bytes written.
    pub fn write_with(
        &mut self,
        capacity: u32,
        pool: &mut Pool,
        fill: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> usize {
        let (room, by) = self.write_room(capacity, false, pool);
        let written = self.stream.append_with(pool, room as usize, fill);
        self.push.on_write(self.payload_end(), self.snd_nxt);
        // A writer that filled all the room is assumed to have more to write.
        self.blocked = (written == room as usize).then_some(BlockedWrite {
            wanted: 1,
            by,
            woken: false,
        });
        written
    }

    /// Returns true if a blocked writer should be woken.
    ///
    /// A wake-up for each freed byte would cost a context switch per segment. The writer therefore
    /// waits until a third of the buffer is free, or less if the sender is about to run out of
    /// payload.
    pub fn should_wake(&self, capacity: u32, wake: WakePolicy, pool: &Pool) -> bool {
        let Some(BlockedWrite {
            wanted,
            woken: false,
            ..
        }) = self.blocked
        else {
            return false;
        };
        let (room, _) = self.write_room(capacity, wake.atomic, pool);
        if wake.atomic {
            return room >= wanted;
        }
        let mss = wake.mss;
        let reachable = room.saturating_add(self.stream.len() as u32).min(capacity);
        if wake.low_water > 0 {
            return room >= wake.low_water.min(reachable);
        }
        let third = (reachable / 3).max(1);
        room >= third || (self.unsent() < 2 * mss && room >= mss.min(third))
    }
}
