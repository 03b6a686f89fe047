//! Writing into the send buffer.
//!
//! Rule: a write is cut by free blocks and by the buffer's size, never by
//! segments. What did not fit is remembered with its cause, because that cause
//! is the sender's limit once the buffer has drained.

use fullpipe_pool::Pool;

use super::SendHalf;
use crate::Limit;

/// Why the last write was refused or cut short, and what it wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockedWrite {
    /// Bytes the writer still wanted to write.
    pub wanted: u32,
    /// [`Limit::SendBuffer`] or [`Limit::Memory`].
    pub by: Limit,
    /// The writer was told that there is room again, and has not written since.
    pub woken: bool,
}

/// When a blocked writer is woken.
#[derive(Clone, Copy, Debug)]
pub struct WakePolicy {
    /// Its write is taken whole or not at all.
    pub atomic: bool,
    /// Room in bytes that it asked to wait for; 0 leaves it to us.
    pub low_water: u32,
    /// Bytes of a full segment.
    pub mss: u32,
}

impl SendHalf {
    /// Bytes that a write could take now: what the buffer of `capacity` bytes
    /// and packet memory both have room for, with the one that is tighter.
    pub fn write_room(&self, capacity: u32, pool: &Pool) -> (u32, Limit) {
        let held = self.stream.len().min(u32::MAX.into()) as u32;
        let buffer = capacity.saturating_sub(held);
        let memory = self.stream.append_room(pool).min(u32::MAX.into()) as u32;
        if memory < buffer {
            (memory, Limit::Memory)
        } else {
            (buffer, Limit::SendBuffer)
        }
    }

    /// Takes as much of `text` as there is room for; all of it or nothing when
    /// `atomic`. Returns bytes taken.
    pub fn write(&mut self, text: &[u8], capacity: u32, atomic: bool, pool: &mut Pool) -> usize {
        let (room, by) = self.write_room(capacity, pool);
        let mut take = text.len().min(room as usize);
        if atomic && take < text.len() {
            take = 0;
        }
        let taken = self.stream.append(pool, &text[..take]);
        debug_assert_eq!(taken, take, "append_room promised the room");
        let missing = (text.len() - taken).min(u32::MAX as usize) as u32;
        self.blocked = (missing > 0).then_some(BlockedWrite {
            wanted: missing,
            by,
            woken: false,
        });
        taken
    }

    /// Lets `fill` write in place, slice by slice, up to the room there is.
    /// `fill` returns how many bytes of the slice it wrote; fewer than all end
    /// the write. Returns bytes written.
    pub fn write_with(
        &mut self,
        capacity: u32,
        pool: &mut Pool,
        fill: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> usize {
        let (room, by) = self.write_room(capacity, pool);
        let written = self.stream.append_with(pool, room as usize, fill);
        // A writer that filled all the room would have gone on.
        self.blocked = (written == room as usize).then_some(BlockedWrite {
            wanted: 1,
            by,
            woken: false,
        });
        written
    }

    /// Whether a blocked writer should be woken, given what it could write now.
    ///
    /// Waking for every freed byte costs a switch per segment, so a third of
    /// the buffer is awaited, unless the sender is about to run dry.
    pub fn should_wake(&self, capacity: u32, wake: WakePolicy, pool: &Pool) -> bool {
        let Some(BlockedWrite {
            wanted,
            woken: false,
            ..
        }) = self.blocked
        else {
            return false;
        };
        let (room, _) = self.write_room(capacity, pool);
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
