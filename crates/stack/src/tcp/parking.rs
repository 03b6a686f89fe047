//! Connections that have something to say to a neighbour whose station address
//! is not known yet.
//!
//! Rule: a connection waits beside its next hop, so that a settled hop wakes
//! its own connections and no others, and the number of connections that wait
//! costs nothing. When more hops are waited for than there are places, the
//! rest share one place and are woken by any hop.

use core::net::IpAddr;

use alloc::vec::Vec;

use crate::ready::Queues;

#[cfg(test)]
mod tests;

/// The queue of connections that may be polled; the places follow it.
pub(crate) const READY: u32 = 0;
/// Hops that have a place of their own, at most.
const MOST_HOPS: u32 = 64;

/// Who wants to send: connections that can, and those that wait for a hop.
#[derive(Debug)]
pub(crate) struct Parking {
    queues: Queues,
    /// The hop of each place; the last place is shared by all others.
    hops: Vec<Option<IpAddr>>,
}

impl Parking {
    /// For the connections below `connections`, and at most `neighbours` hops.
    pub(crate) fn new(neighbours: u32, connections: u32) -> Self {
        let places = neighbours.min(MOST_HOPS) + 1;
        Self {
            queues: Queues::new(1 + places, connections),
            hops: alloc::vec![None; places as usize],
        }
    }

    /// Connection `index` wants to send. One that waits for its hop waits on.
    pub(crate) fn wants(&mut self, index: u32) {
        if self.queues.queue_of(index).is_none() {
            self.queues.join(READY, index);
        }
    }

    /// Connection `index` wants nothing any more.
    pub(crate) fn forget(&mut self, index: u32) {
        self.queues.leave(index);
    }

    /// The connection whose turn it is.
    pub(crate) fn first(&self) -> Option<u32> {
        self.queues.first(READY)
    }

    /// The connection whose turn comes after that of `index`.
    pub(crate) fn after(&self, index: u32) -> Option<u32> {
        self.queues.after(index)
    }

    /// The first connection goes to the end if it wants to go on, else home.
    pub(crate) fn had_its_turn(&mut self, index: u32, wants_more: bool) {
        self.queues.leave(index);
        if wants_more {
            self.queues.join(READY, index);
        }
    }

    /// Connection `index` waits until `hop` has settled.
    pub(crate) fn park(&mut self, index: u32, hop: IpAddr) {
        let shared = self.hops.len() - 1;
        let own = &self.hops[..shared];
        let place = own
            .iter()
            .position(|place| *place == Some(hop))
            .or_else(|| own.iter().position(Option::is_none))
            .unwrap_or(shared);
        self.hops[place] = Some(hop);
        self.queues.join(1 + place as u32, index);
    }

    /// Wakes the connections of every hop that `has_settled`.
    pub(crate) fn wake(&mut self, mut has_settled: impl FnMut(IpAddr) -> bool) {
        let shared = self.hops.len() - 1;
        for place in 0..self.hops.len() {
            let Some(hop) = self.hops[place] else {
                continue;
            };
            if place != shared && !has_settled(hop) {
                continue;
            }
            self.hops[place] = None;
            // As many as there are now: each may come back to the same place.
            for _ in 0..self.queues.len(1 + place as u32) {
                let index = self.queues.first(1 + place as u32).expect("counted");
                self.queues.join(READY, index);
            }
        }
    }
}
