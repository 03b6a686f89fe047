//! The transmit queue: connections with something to send, and those waiting
//! for ARP to resolve their next hop.
//!
//! Rule: a connection that waits is in the list of its next hop, so a resolved neighbour
//! wakes only its own connections, and waiting connections cost nothing. If connections
//! wait for more neighbours than there are lists, the other neighbours share one list,
//! and any of them wakes it. Nothing is sent from here.

use core::net::IpAddr;

use alloc::vec::Vec;

use crate::queues::Queues;

#[cfg(test)]
mod tests;

/// Index of the queue of connections that may be polled; the lists of neighbours follow
/// it.
pub(crate) const READY: u32 = 0;
/// Most neighbours that have a list of their own.
const MOST_NEIGHBOURS: u32 = 64;

/// Connections that may be polled, and those that wait for a neighbour.
#[derive(Debug)]
pub(crate) struct TransmitQueue {
    queues: Queues,
    /// The neighbour of each list; the last list is shared by all others.
    neighbours: Vec<Option<IpAddr>>,
}

impl TransmitQueue {
    /// Returns an empty queue for the connections below `connections` and at
    /// most `neighbours` neighbours.
    pub(crate) fn new(neighbours: u32, connections: u32) -> Self {
        let lists = neighbours.min(MOST_NEIGHBOURS) + 1;
        Self {
            queues: Queues::new(1 + lists, connections),
            neighbours: alloc::vec![None; lists as usize],
        }
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

    /// Returns the connection queued behind `index`.
    pub(crate) fn next_after(&self, index: u32) -> Option<u32> {
        self.queues.after(index)
    }

    /// Requeues connection `index` at the tail if it has more to send, otherwise
    /// removes it.
    pub(crate) fn requeue(&mut self, index: u32, has_more: bool) {
        self.queues.leave(index);
        if has_more {
            self.queues.join(READY, index);
        }
    }

    /// Moves connection `index` to the list of `neighbour` until that neighbour is
    /// resolved or found unreachable.
    pub(crate) fn wait_for(&mut self, index: u32, neighbour: IpAddr) {
        let shared = self.neighbours.len() - 1;
        let own = &self.neighbours[..shared];
        let list = own
            .iter()
            .position(|known| *known == Some(neighbour))
            .or_else(|| own.iter().position(Option::is_none))
            .unwrap_or(shared);
        self.neighbours[list] = Some(neighbour);
        self.queues.join(1 + list as u32, index);
    }

    /// Requeues the connections of every neighbour for which `is_settled`
    /// returns true.
    pub(crate) fn wake_resolved(&mut self, mut is_settled: impl FnMut(IpAddr) -> bool) {
        let shared = self.neighbours.len() - 1;
        for list in 0..self.neighbours.len() {
            let Some(neighbour) = self.neighbours[list] else {
                continue;
            };
            if list != shared && !is_settled(neighbour) {
                continue;
            }
            self.neighbours[list] = None;
            while let Some(index) = self.queues.first(1 + list as u32) {
                self.queues.join(READY, index);
            }
        }
    }
}
