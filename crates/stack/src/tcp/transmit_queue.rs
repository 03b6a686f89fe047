//! The transmit queues: for each interface, the connections with something to send, and those
//! waiting for ARP to resolve their next hop.
//!
//! Rule: each entry of an interface's neighbour cache has a list of the connections that wait for
//! this neighbour. A resolved neighbour therefore wakes only the connections in its own list, and
//! waiting connections cost nothing. If the cache has no room for a neighbour, the connections to
//! this neighbour wait in one further list, first in, first out. No call searches the connections
//! of another interface. This file sends nothing.

use crate::{interface_id::InterfaceId, queues::Queues};

#[cfg(test)]
mod tests;

/// The queue of connections that may be polled.
const READY: u32 = 0;
/// The list of connections that wait until the cache has room for their neighbour.
const FOR_ROOM: u32 = 1;
/// The list of the cache's first entry. The lists of all other entries follow in the order of the
/// entries.
const FIRST_ENTRY: u32 = 2;

/// Connections that may be polled, and those that wait for a neighbour.
#[derive(Debug)]
pub(crate) struct TransmitQueue {
    queues: Queues,
    /// Number of lists of each interface.
    lists: u32,
}

impl TransmitQueue {
    /// Returns an empty queue of one interface for connections numbered below `connections`, and
    /// caches of `entries` neighbours.
    pub(crate) fn new(entries: u32, connections: u32) -> Self {
        let lists = FIRST_ENTRY + entries;
        Self {
            queues: Queues::new(lists, connections),
            lists,
        }
    }

    /// Returns true if the queue has a list for each entry of a cache of `entries` neighbours.
    pub(crate) const fn is_for(&self, entries: u32) -> bool {
        self.lists == FIRST_ENTRY + entries
    }

    /// Adds the lists of one more interface.
    pub(crate) fn add_interface(&mut self) {
        self.queues.add_queues(self.lists);
    }

    /// Returns the number of a list of `interface`.
    fn list(&self, interface: InterfaceId, list: u32) -> u32 {
        u32::from(interface.0) * self.lists + list
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.queues.heap_bytes()
    }

    /// Adds connection `index` at the tail of the queue of `interface`, unless it is queued already or
    /// waits for its neighbour.
    pub(crate) fn enqueue(&mut self, interface: InterfaceId, index: u32) {
        if self.queues.queue_of(index).is_none() {
            self.queues.join(self.list(interface, READY), index);
        }
    }

    /// Removes connection `index`, queued or waiting.
    pub(crate) fn remove(&mut self, index: u32) {
        self.queues.leave(index);
    }

    /// Returns the connection of `interface` to be polled next.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn first(&self, interface: InterfaceId) -> Option<u32> {
        self.queues.first(self.list(interface, READY))
    }

    /// Returns true if exactly one connection of `interface` is queued.
    pub(crate) fn has_one(&self, interface: InterfaceId) -> bool {
        self.queues.len(self.list(interface, READY)) == 1
    }

    /// Returns the connection queued behind `index`.
    pub(crate) fn next_after(&self, index: u32) -> Option<u32> {
        self.queues.after(index)
    }

    /// Requeues connection `index` of `interface` at the tail if it has more to send, otherwise
    /// removes it.
    pub(crate) fn requeue(&mut self, interface: InterfaceId, index: u32, has_more: bool) {
        let ready = self.list(interface, READY);
        if has_more && self.queues.is_alone(ready, index) {
            return;
        }
        self.queues.leave(index);
        if has_more {
            self.queues.join(ready, index);
        }
    }

    /// Moves connection `index` to the list of entry `entry` of the cache of `interface`, where it
    /// stays until [`wake`](Self::wake) is called for that entry.
    pub(crate) fn wait_for(&mut self, interface: InterfaceId, index: u32, entry: u32) {
        let list = self.list(interface, FIRST_ENTRY + entry);
        self.queues.join(list, index);
    }

    /// Moves connection `index` to the end of the list that waits for room in the cache of
    /// `interface`.
    pub(crate) fn wait_for_room(&mut self, interface: InterfaceId, index: u32) {
        let list = self.list(interface, FOR_ROOM);
        self.queues.join(list, index);
    }

    /// Returns true if a connection waits for room in the cache of `interface`.
    pub(crate) fn awaits_room(&self, interface: InterfaceId) -> bool {
        !self.queues.is_empty(self.list(interface, FOR_ROOM))
    }

    /// Requeues the connections that wait for entry `entry` of the cache of `interface`.
    pub(crate) fn wake(&mut self, interface: InterfaceId, entry: u32) {
        let (from, to) = (
            self.list(interface, FIRST_ENTRY + entry),
            self.list(interface, READY),
        );
        while let Some(index) = self.queues.first(from) {
            self.queues.join(to, index);
        }
    }

    /// Requeues at most `count` connections that wait for room in the cache of `interface`.
    pub(crate) fn wake_for_room(&mut self, interface: InterfaceId, count: u32) {
        let (from, to) = (self.list(interface, FOR_ROOM), self.list(interface, READY));
        for _ in 0..count {
            let Some(index) = self.queues.first(from) else {
                return;
            };
            self.queues.join(to, index);
        }
    }
}
