//! The queue of connections that were refused packet memory.
//!
//! Rule: when more memory is free than at the last offer, each waiting connection is offered
//! memory once, in the order of the refusals. A lasting shortage therefore causes no work, and no
//! connection is passed over. The connection decides how much it takes.

use fullpipe_pool::{Holder, Pool};

use crate::queues::Queues;

#[cfg(test)]
mod tests;

/// Index of the only queue.
const WAITING: u32 = 0;

/// Connections that wait for memory.
#[derive(Debug)]
pub(crate) struct MemoryWaiters {
    queue: Queues,
    /// Smallest room since the last offer: the blocks that a writer or a window could get. Memory
    /// is offered again once the room is larger.
    room_seen: u32,
    /// Number of waiting connections that were not offered the present room yet.
    to_ask: u32,
}

impl MemoryWaiters {
    /// Returns an empty queue for connections with indices below `connections`.
    pub(crate) fn new(connections: u32) -> Self {
        Self {
            queue: Queues::new(1, connections),
            room_seen: 0,
            to_ask: 0,
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.queue.heap_bytes()
    }

    /// Adds connection `index` if it `waits` for memory, and removes it otherwise. `pool`
    /// gives the present room.
    #[inline]
    pub(crate) fn file(&mut self, index: u32, waits: bool, pool: &Pool) {
        if waits {
            self.add(index, pool);
        } else if !self.queue.are_empty() {
            self.queue.leave(index);
        }
    }

    /// Adds connection `index`, unless it waits already.
    fn add(&mut self, index: u32, pool: &Pool) {
        if self.queue.is_empty(WAITING) {
            (self.room_seen, self.to_ask) = (u32::MAX, 0);
        }
        if self.queue.join(WAITING, index) {
            self.room_seen = self.room_seen.min(room(pool));
        }
    }

    /// Returns true if memory should be offered now.
    pub(crate) fn can_ask(&self, pool: &Pool) -> bool {
        !self.queue.is_empty(WAITING) && (self.to_ask > 0 || room(pool) > self.room_seen)
    }

    /// Returns true if no connection waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty(WAITING)
    }

    /// Returns the number of connections to be offered memory now.
    pub(crate) fn count_to_ask(&mut self, pool: &Pool) -> u32 {
        let waiting = self.queue.len(WAITING);
        if waiting == 0 {
            return 0;
        }
        let room = room(pool);
        if room > self.room_seen {
            self.to_ask = waiting;
        }
        self.room_seen = self.room_seen.min(room);
        self.to_ask = self.to_ask.min(waiting);
        self.to_ask
    }

    /// Removes and returns the connection that has waited longest.
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.to_ask = self.to_ask.saturating_sub(1);
        self.queue.take(WAITING)
    }

    /// Stores the room that is left after an offer.
    pub(crate) fn asked(&mut self, pool: &Pool) {
        self.room_seen = room(pool);
    }
}

/// Returns the blocks that a writer or a window could get.
fn room(pool: &Pool) -> u32 {
    let (send, receive) = (pool.room(Holder::Send), pool.room(Holder::Receive));
    send.saturating_add(receive)
}
