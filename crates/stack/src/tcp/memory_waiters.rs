//! The queue of connections and UDP sockets that were refused packet memory.
//!
//! Rule: when more memory is free than at the last offer, each waiting connection or socket is
//! offered memory once, in the order of the refusals. A lasting shortage therefore causes no work,
//! and none is passed over. A connection decides how much it takes. The offer to a UDP socket is an
//! event: the application tries again, and the socket waits again if it is refused again.
//!
//! Each block that became free pays for some hundred offers, which are made at once. The further ones are
//! spread over time, so the cost of a freed block does not grow with the number of connections.

use fullpipe_pool::{Duration, Holder, Instant, Pool};

use crate::queues::Queues;

#[cfg(test)]
mod tests;

/// Index of the only queue.
const WAITING: u32 = 0;
/// Offers made at once for each block that was added to the room. The room counts most blocks twice:
/// for a writer and for a window.
const OFFERS_PER_BLOCK: u32 = 256;
/// Offers made in each [`PERIOD`] in which no block becomes free.
const OFFERS_PER_PERIOD: u32 = 64;
const PERIOD: Duration = Duration::from_millis(1);

/// A connection or a socket that waits for memory, with the index of its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// A connection.
    Tcp(u32),
    /// A UDP socket.
    Udp(u32),
}

/// Connections and UDP sockets that wait for memory.
#[derive(Debug)]
pub(crate) struct MemoryWaiters {
    /// Connections by their index, then UDP sockets.
    queue: Queues,
    connections: u32,
    /// Smallest room since the last offer: the blocks that a writer or a window could get. Memory
    /// is offered again once the room is larger.
    room_seen: u32,
    /// Number of waiters that were not offered the present room yet.
    to_ask: u32,
    /// Number of offers that may be made at once.
    allowed: u32,
    /// Time at which more offers are allowed.
    resume: Instant,
}

impl MemoryWaiters {
    /// Returns an empty queue for connections with indices below `connections` and UDP sockets
    /// with indices below `sockets`.
    pub(crate) fn new(connections: u32, sockets: u32) -> Self {
        Self {
            queue: Queues::new(1, connections + sockets),
            connections,
            room_seen: 0,
            to_ask: 0,
            allowed: 0,
            resume: Instant::ZERO,
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.queue.heap_bytes()
    }

    /// Adds connection `index` if it `waits` for memory, and removes it otherwise. `pool`
    /// gives the present room.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn file(&mut self, index: u32, waits: bool, pool: &Pool) {
        if waits {
            self.add(index, pool);
        } else if !self.queue.are_empty() {
            self.queue.leave(index);
        }
    }

    /// Adds UDP socket `index` if it `waits` for memory, and removes it otherwise.
    #[cfg(feature = "udp")]
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn file_udp(&mut self, index: u32, waits: bool, pool: &Pool) {
        self.file(self.connections + index, waits, pool);
    }

    /// Returns true if UDP socket `index` waits for memory.
    #[cfg(feature = "udp")]
    pub(crate) fn has_udp(&self, index: u32) -> bool {
        self.queue.queue_of(self.connections + index).is_some()
    }

    /// Adds waiter `index`, unless it waits already. A waiter that is refused again may take less
    /// than the room of its first refusal, so each refusal lowers `room_seen`.
    fn add(&mut self, index: u32, pool: &Pool) {
        if self.queue.is_empty(WAITING) {
            (self.room_seen, self.to_ask, self.allowed) = (u32::MAX, 0, 0);
        }
        self.queue.join(WAITING, index);
        self.room_seen = self.room_seen.min(room(pool));
    }

    /// Returns true if memory should be offered now.
    pub(crate) fn can_ask(&self, pool: &Pool) -> bool {
        !self.queue.is_empty(WAITING)
            && (self.to_ask.min(self.allowed) > 0 || room(pool) > self.room_seen)
    }

    /// Returns the time of the next offers, if those to be made at once have been made.
    pub(crate) fn next_offer(&self) -> Option<Instant> {
        let is_delayed = !self.is_empty() && self.to_ask > 0 && self.allowed == 0;
        is_delayed.then_some(self.resume)
    }

    /// Returns true if none waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty(WAITING)
    }

    /// Returns the number of waiters to be offered memory now.
    pub(crate) fn count_to_ask(&mut self, pool: &Pool, now: Instant) -> u32 {
        let waiting = self.queue.len(WAITING);
        if waiting == 0 {
            return 0;
        }
        let room = room(pool);
        if room > self.room_seen {
            self.to_ask = waiting;
            self.allow(
                (room - self.room_seen).saturating_mul(OFFERS_PER_BLOCK),
                now,
            );
        }
        self.room_seen = self.room_seen.min(room);
        self.to_ask = self.to_ask.min(waiting);
        if self.next_offer().is_some_and(|at| at <= now) {
            self.allow(OFFERS_PER_PERIOD, now);
        }
        self.to_ask.min(self.allowed)
    }

    /// Allows `more` offers at once.
    fn allow(&mut self, more: u32, now: Instant) {
        self.allowed = self.allowed.saturating_add(more).min(self.to_ask);
        self.resume = now + PERIOD;
    }

    /// Removes and returns the connection or the socket that has waited longest.
    pub(crate) fn take(&mut self) -> Option<Waiter> {
        self.to_ask = self.to_ask.saturating_sub(1);
        self.allowed = self.allowed.saturating_sub(1);
        let index = self.queue.take(WAITING)?;
        Some(match index.checked_sub(self.connections) {
            None => Waiter::Tcp(index),
            Some(socket) => Waiter::Udp(socket),
        })
    }

    /// Stores the room that is left after an offer.
    pub(crate) fn asked(&mut self, pool: &Pool) {
        self.room_seen = room(pool);
    }
}

/// Returns the blocks that a writer or a window could get.
#[cfg_attr(target_pointer_width = "32", inline(never))]
fn room(pool: &Pool) -> u32 {
    let (send, receive) = (pool.room(Holder::Send), pool.room(Holder::Receive));
    send.saturating_add(receive)
}
