//! The transmit queue: connections with something to send, and those waiting
//! for ARP to resolve their next hop.
//!
//! Rule: each entry of the neighbour cache has a list of the connections that wait for this
//! neighbour. A resolved neighbour therefore wakes only the connections in its own list, and
//! waiting connections cost nothing. If the cache has no room for a neighbour, the connections to
//! this neighbour wait in one further list, first in, first out. This file sends nothing.

use crate::queues::Queues;

#[cfg(test)]
mod tests;

/// The queue of connections that may be polled.
pub(crate) const READY: u32 = 0;
/// The list of connections that wait until the cache has room for their neighbour.
const FOR_ROOM: u32 = 1;
/// The list of the cache's first entry. The lists of all other entries follow in the order of the
/// entries.
const FIRST_ENTRY: u32 = 2;

/// Connections that may be polled, and those that wait for a neighbour.
#[derive(Debug)]
pub(crate) struct TransmitQueue {
    queues: Queues,
}

impl TransmitQueue {
    /// Returns an empty queue for connections numbered below `connections` and a cache of
    /// `entries` neighbours.
    pub(crate) fn new(entries: u32, connections: u32) -> Self {
        Self {
            queues: Queues::new(FIRST_ENTRY + entries, connections),
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.queues.heap_bytes()
    }

    /// Adds connection `index` at the tail, unless it is queued already or
    /// waits for its neighbour.
    pub(crate) fn enqueue(&mut self, index: u32) {
        if self.queues.queue_of(index).is_none() {
            self.queues.join(READY, index);
        }
    }

    /// Removes connection `index`, queued or waiting.
    pub(crate) fn remove(&mut self, index: u32) {
        self.queues.leave(index);
    }

    /// Returns the connection to be polled next.
    pub(crate) fn first(&self) -> Option<u32> {
        self.queues.first(READY)
    }

    /// Returns true if exactly one connection is queued.
    pub(crate) fn has_one(&self) -> bool {
        self.queues.len(READY) == 1
    }

    /// Returns the connection queued behind `index`.
    pub(crate) fn next_after(&self, index: u32) -> Option<u32> {
        self.queues.after(index)
    }

    /// Requeues connection `index` at the tail if it has more to send, otherwise
    /// removes it.
    pub(crate) fn requeue(&mut self, index: u32, has_more: bool) {
        if has_more && self.queues.is_alone(READY, index) {
            return;
        }
        self.queues.leave(index);
        if has_more {
            self.queues.join(READY, index);
        }
    }

    /// Moves connection `index` to the list of cache entry `entry`, where it stays until
    /// [`wake`](Self::wake) is called for that entry.
    pub(crate) fn wait_for(&mut self, index: u32, entry: u32) {
        self.queues.join(FIRST_ENTRY + entry, index);
    }

    /// Moves connection `index` to the end of the list that waits for room in the cache.
    pub(crate) fn wait_for_room(&mut self, index: u32) {
        self.queues.join(FOR_ROOM, index);
    }

    /// Returns true if a connection waits for room in the cache.
    pub(crate) fn awaits_room(&self) -> bool {
        !self.queues.is_empty(FOR_ROOM)
    }

    /// Requeues the connections that wait for cache entry `entry`.
    pub(crate) fn wake(&mut self, entry: u32) {
        while let Some(index) = self.queues.first(FIRST_ENTRY + entry) {
            self.queues.join(READY, index);
        }
    }

    /// Requeues at most `count` connections that wait for room in the cache.
    pub(crate) fn wake_for_room(&mut self, count: u32) {
        for _ in 0..count {
            let Some(index) = self.queues.first(FOR_ROOM) else {
                return;
            };
            self.queues.join(READY, index);
        }
    }
}
