//! Connections that packet memory refused something: who hears first that
//! there is room again.
//!
//! Rule: when there is more room than when they were asked last, everybody who
//! waits is asked once, in the order in which they were refused; so a shortage
//! costs nothing while it lasts, and nobody is passed over. How much each takes
//! is its own affair.

use fullpipe_pool::{Holder, Pool};

use crate::queues::Queues;

#[cfg(test)]
mod tests;

/// The one queue.
const WAITING: u32 = 0;

/// Connections that wait for memory.
#[derive(Debug)]
pub(crate) struct MemoryWaiters {
    queue: Queues,
    /// The least room there has been since somebody was asked.
    room_seen: u32,
    /// How many of those who wait have not been asked about the room there is.
    to_ask: u32,
}

impl MemoryWaiters {
    /// For the connections below `connections`.
    pub(crate) fn new(connections: u32) -> Self {
        Self {
            queue: Queues::new(1, connections),
            room_seen: 0,
            to_ask: 0,
        }
    }

    /// Connection `index` was refused memory, given the room there is now, or
    /// does not wait for any.
    pub(crate) fn file(&mut self, index: u32, waits: bool, pool: &Pool) {
        if !waits {
            return self.queue.leave(index);
        }
        if self.queue.is_empty(WAITING) {
            (self.room_seen, self.to_ask) = (u32::MAX, 0);
        }
        if self.queue.join(WAITING, index) {
            self.room_seen = self.room_seen.min(room(pool));
        }
    }

    /// Whether somebody who waits should be asked now.
    pub(crate) fn can_ask(&self, pool: &Pool) -> bool {
        !self.queue.is_empty(WAITING) && (self.to_ask > 0 || room(pool) > self.room_seen)
    }

    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty(WAITING)
    }

    /// How many are to be asked now, given the room there is.
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

    /// Takes the connection that waits longest, to be asked.
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.to_ask = self.to_ask.saturating_sub(1);
        self.queue.take(WAITING)
    }

    /// Some were asked, and took what they took.
    pub(crate) fn asked(&mut self, pool: &Pool) {
        self.room_seen = room(pool);
    }
}

/// Blocks that a writer or a window could get.
fn room(pool: &Pool) -> u32 {
    let (send, receive) = (pool.room(Holder::Send), pool.room(Holder::Receive));
    send.saturating_add(receive)
}
