//! Handshakes in progress at listeners. RFC 4987 §3.6.
//!
//! Rule: a SYN costs one entry of a fixed table and a reservation of memory within a small share,
//! but no block. If the table or the share is used up, the caller answers the SYN with a cookie or
//! drops it. An entry ends with the ACK that completes the handshake, with a reset, or when the
//! last SYN-ACK remains without an answer. An entry of a deferred listener first waits for the
//! application's decision, and is not answered before.

use core::net::IpAddr;

use fullpipe_pool::{Duration, Instant, Pool};
use fullpipe_tcp::{HalfOpen, Segment, TcpConfig};
use fullpipe_wire::TcpFlags;

use super::four_tuple::FourTuple;
use crate::{
    config::FEWEST_WINDOW_BLOCKS,
    interface_id::InterfaceId,
    link::Station,
    queues::Queues,
    slab::{Key, Slab},
    sources::SourceCounts,
};

#[cfg(test)]
mod tests;

/// Largest timeout count while the peer answers but there is no room for its connection. This
/// bound keeps the interval between SYN-ACKs at a few seconds.
const MAX_BACKOFF: u8 = 3;

/// The answer to a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// SYN-ACK.
    Accept,
    /// Reset.
    Reset,
    /// The application has not decided yet.
    Pending,
}

/// A handshake in progress.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    /// Addresses and ports.
    pub(crate) tuple: FourTuple,
    /// State derived from the SYN.
    pub(crate) half_open: HalfOpen,
    /// Station that sent the SYN's frame.
    pub(crate) station: Station,
    /// Listener of the handshake, which may be closed by now.
    pub(crate) listener: Key,
    /// The tuple's hash.
    pub(crate) hash: u32,
    /// Timeouts of the SYN-ACK, which determine its backoff.
    pub(crate) timeouts: u8,
    /// The answer to the SYN.
    pub(crate) decision: Decision,
}

/// The answer to a segment of a handshake in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandshakeAction {
    /// The handshake is complete.
    Complete,
    /// Send the SYN-ACK again: the last one was lost, or the peer needs it to detect a mismatch.
    RepeatSynAck,
    /// The peer reset the handshake: forget it.
    Abort,
    /// The segment acknowledges a sequence number that was never sent: answer with a reset.
    Reset,
    /// The segment may be forged: answer with a challenge ACK (RFC 5961 §3.2).
    Challenge,
    /// The application has not decided about the SYN, which arrived again: wait.
    Wait,
    /// Discard the segment.
    Discard,
}

/// All handshakes in progress.
#[derive(Debug)]
pub(crate) struct SynCache {
    entries: Slab<Handshake>,
    /// Queue *n* has the entries that the application of listener number *n* has not taken yet. The
    /// next queues, one for each interface, have the entries whose SYN-ACK or reset is due.
    due: Queues,
    /// Number of listeners.
    listeners: u32,
    /// Blocks set aside for advertised windows.
    set_aside: u32,
    /// Largest number of blocks that may be set aside.
    most_set_aside: u32,
    /// Number of handshakes of each remote address.
    sources: SourceCounts,
}

impl SynCache {
    /// Allocates a table of `most` handshakes. Their windows together reserve at most
    /// `most_set_aside` blocks, but the first handshake may reserve more. `sources` bounds the
    /// handshakes of one address. Listeners have numbers below `listeners`.
    pub(crate) fn new(
        most: u32,
        listeners: u32,
        most_set_aside: u32,
        sources: SourceCounts,
    ) -> Self {
        Self {
            set_aside: 0,
            most_set_aside,
            sources,
            entries: Slab::new(most),
            due: Queues::new(listeners + 1, most),
            listeners,
        }
    }

    /// Adds the queue of one more interface.
    pub(crate) fn add_interface(&mut self) {
        self.due.add_queues(1);
    }

    /// Returns the queue of entries whose answer is due at `interface`.
    fn due_at(&self, interface: InterfaceId) -> u32 {
        self.listeners + u32::from(interface.0)
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.entries.heap_bytes() + self.due.heap_bytes() + self.sources.heap_bytes()
    }

    /// Returns true if no further handshake of `ip` can be added.
    pub(crate) fn is_full_for(&self, ip: IpAddr) -> bool {
        self.entries.is_full() || self.sources.full(ip).is_some()
    }

    /// Returns the largest window of the next handshake in blocks: half of the blocks that may
    /// still be set aside, so that handshakes that never complete leave room; at least
    /// `FEWEST_WINDOW_BLOCKS`.
    pub(crate) fn most_blocks(&self) -> u32 {
        let left = self.most_set_aside.saturating_sub(self.set_aside);
        left.div_ceil(2).max(FEWEST_WINDOW_BLOCKS)
    }

    /// Adds a handshake, whose SYN-ACK is due unless its decision is pending, and sets memory aside
    /// for its window; `None` if there is no room or no memory.
    pub(crate) fn add(&mut self, handshake: Handshake, pool: &mut Pool) -> Option<u32> {
        let blocks = handshake.half_open.blocks(pool);
        let within_share = self.set_aside == 0 || self.set_aside + blocks <= self.most_set_aside;
        let ip = handshake.tuple.remote_ip();
        let possible = handshake.half_open.window > 0 && within_share && !self.is_full_for(ip);
        let for_cell = handshake.half_open.fits_cell(pool);
        if !possible || !pool.set_aside(blocks, for_cell) {
            return None;
        }
        self.set_aside += blocks;
        self.sources.add(ip);
        let queue = match handshake.decision {
            Decision::Accept | Decision::Reset => self.due_at(handshake.station.interface),
            Decision::Pending => handshake.listener.index,
        };
        let index = self.entries.insert(handshake)?.index;
        self.due.join(queue, index);
        Some(index)
    }

    /// Removes a handshake and frees the memory set aside for it.
    pub(crate) fn remove(&mut self, index: u32, pool: &mut Pool) -> Handshake {
        self.due.leave(index);
        let handshake = self.entries.remove(index);
        self.sources.remove(handshake.tuple.remote_ip());
        let blocks = handshake.half_open.blocks(pool);
        self.set_aside -= blocks;
        pool.take_back(blocks, handshake.half_open.fits_cell(pool));
        handshake
    }

    /// Removes and returns the oldest request of listener `listener` that the application has not
    /// taken: a handshake whose decision is pending.
    pub(crate) fn take_request(&mut self, listener: u32) -> Option<u32> {
        self.due.take(listener)
    }

    /// Returns the key of handshake `index`.
    pub(crate) fn key(&self, index: u32) -> Key {
        self.entries.key(index)
    }

    /// Returns the handshake `key` if its decision is pending.
    pub(crate) fn pending(&self, key: Key) -> Option<&Handshake> {
        let handshake = self.entries.get(key)?;
        (handshake.decision == Decision::Pending).then_some(handshake)
    }

    /// Makes the answer `decision` to the SYN of handshake `index` due.
    pub(crate) fn decide(&mut self, index: u32, decision: Decision) {
        self.entries[index].decision = decision;
        self.repeat(index);
    }

    /// Returns the handshake in slot `index`.
    pub(crate) fn at(&self, index: u32) -> &Handshake {
        &self.entries[index]
    }

    /// Returns the handshake in slot `index` for changes.
    pub(crate) fn at_mut(&mut self, index: u32) -> &mut Handshake {
        &mut self.entries[index]
    }

    /// Returns a handshake with the local address `ip`. The cost grows with the table.
    pub(crate) fn first_at(&self, ip: IpAddr) -> Option<u32> {
        let mut entries = self.entries.iter();
        let found = entries.find(|(_, handshake)| handshake.tuple.local_ip() == ip);
        found.map(|(index, _)| index)
    }

    /// Returns the number of handshakes in progress.
    pub(crate) fn len(&self) -> u32 {
        self.entries.len()
    }

    /// Makes the SYN-ACK due again.
    pub(crate) fn repeat(&mut self, index: u32) {
        let queue = self.due_at(self.entries[index].station.interface);
        self.due.join(queue, index);
    }

    /// Makes the SYN-ACK due again after a timeout; returns false after `tcp.synack_retries`
    /// timeouts.
    pub(crate) fn on_timeout(&mut self, index: u32, config: &TcpConfig) -> bool {
        let handshake = &mut self.entries[index];
        if u32::from(handshake.timeouts) >= config.synack_retries {
            return false;
        }
        handshake.timeouts += 1;
        self.repeat(index);
        true
    }

    /// Bounds the backoff of a handshake that the peer has completed, but whose connection has no
    /// room yet.
    pub(crate) fn keep_waiting(&mut self, index: u32) {
        let timeouts = &mut self.entries[index].timeouts;
        *timeouts = (*timeouts).min(MAX_BACKOFF);
    }

    /// Returns the deadline of a handshake whose SYN-ACK left at `now`.
    pub(crate) fn deadline(&self, index: u32, config: &TcpConfig, now: Instant) -> Instant {
        now + backoff(self.entries[index].timeouts, config)
    }

    /// Returns the handshake whose SYN-ACK or reset is due first at `interface`.
    pub(crate) fn first_due(&self, interface: InterfaceId) -> Option<u32> {
        self.due.first(self.due_at(interface))
    }

    /// Notes that the SYN-ACK or reset of handshake `index` was sent or dropped.
    pub(crate) fn answered(&mut self, index: u32) {
        self.due.leave(index);
    }
}

impl Handshake {
    /// Returns the action for `segment`: RFC 9293 §3.10.7.4 in SYN-RECEIVED after
    /// a passive open, with RFC 5961 §3 and §4.
    pub(crate) fn action_for(&self, segment: &Segment<'_>) -> HandshakeAction {
        if self.decision != Decision::Accept {
            return self.unanswered_action_for(segment);
        }
        let expected = self.half_open.irs + 1;
        if segment.has(TcpFlags::RST) {
            return if segment.seq == expected {
                HandshakeAction::Abort
            } else if self.half_open.is_in_window(segment) {
                HandshakeAction::Challenge
            } else {
                HandshakeAction::Discard
            };
        }
        if segment.has(TcpFlags::SYN) {
            // The segment is the same SYN again, or a SYN of a restarted peer. Repeat the
            // SYN-ACK, which makes a restarted peer send a reset.
            return HandshakeAction::RepeatSynAck;
        }
        if !self.half_open.is_in_window(segment) {
            return HandshakeAction::RepeatSynAck;
        }
        if self.half_open.is_completed_by(segment) {
            return HandshakeAction::Complete;
        }
        if self.half_open.refuses(segment) {
            HandshakeAction::Reset
        } else {
            HandshakeAction::Discard
        }
    }
}

impl Handshake {
    /// Returns the action for `segment` while the SYN has no answer. Nothing is sent, so that an
    /// off-path attacker learns nothing.
    fn unanswered_action_for(&self, segment: &Segment<'_>) -> HandshakeAction {
        if segment.has(TcpFlags::RST) && segment.seq == self.half_open.irs + 1 {
            HandshakeAction::Abort
        } else if segment.has(TcpFlags::SYN) {
            HandshakeAction::Wait
        } else {
            HandshakeAction::Discard
        }
    }
}

/// Returns the timeout after `timeouts` retransmissions. RFC 6298 §5.5.
fn backoff(timeouts: u8, config: &TcpConfig) -> Duration {
    (config.rto_initial * (1 << timeouts.min(16))).min(config.rto_max)
}
