//! Connections that packet memory refused something: who hears first that
//! there is room again.
//!
//! Rule: they are asked in the order in which they were refused, and only when
//! there is more room than when they were asked last, so a shortage costs
//! nothing while it lasts. How much each takes is its own affair.

use fullpipe_pool::{Holder, Pool};

use crate::ready::Queues;

/// The one queue.
const WAITING: u32 = 0;

/// Connections that wait for memory.
#[derive(Debug)]
pub(crate) struct Waiters {
    queue: Queues,
    /// The least room there has been since the last one was asked.
    room_seen: u32,
    /// The last one that was asked got what it wanted: ask the next.
    goes_on: bool,
}

impl Waiters {
    /// For the connections below `connections`.
    pub(crate) fn new(connections: u32) -> Self {
        Self {
            queue: Queues::new(1, connections),
            room_seen: 0,
            goes_on: false,
        }
    }

    /// Connection `index` waits for memory, or does not.
    pub(crate) fn file(&mut self, index: u32, waits: bool) {
        if waits {
            self.queue.join(WAITING, index);
        } else {
            self.queue.leave(index);
        }
    }

    /// Whether somebody who waits may get what it wants now.
    pub(crate) fn may_go_on(&self, pool: &Pool) -> bool {
        !self.queue.is_empty(WAITING) && (self.goes_on || room(pool) > self.room_seen)
    }

    /// Notes the room there is while everybody waits on.
    pub(crate) fn note(&mut self, pool: &Pool) {
        self.room_seen = self.room_seen.min(room(pool));
    }

    /// How many wait.
    pub(crate) fn len(&self) -> u32 {
        self.queue.len(WAITING)
    }

    /// Takes the connection that waits longest, to be asked.
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.queue.take(WAITING)
    }

    /// Some were asked; `satisfied` of them wait no longer.
    pub(crate) fn asked(&mut self, satisfied: u32, pool: &Pool) {
        self.goes_on = satisfied > 0;
        self.room_seen = room(pool);
    }
}

/// Blocks that a writer or a window could get.
fn room(pool: &Pool) -> u32 {
    pool.room(Holder::Send)
        .saturating_add(pool.room(Holder::Receive))
}
