//! Handshakes that listeners have begun to answer. RFC 4987 §3.6.
//!
//! Rule: a SYN costs one small entry of a fixed table and a promise of memory
//! from a small share, no block; when either is used up a SYN is dropped, never
//! refused. An entry ends with
//! the ACK that completes it, a reset, or the last unanswered SYN and ACK.

use core::net::IpAddr;

use fullpipe_pool::{Duration, Holder, Instant, Pool};
use fullpipe_tcp::{HalfOpen, Segment, TcpConfig};
use fullpipe_wire::TcpFlags;

use super::four_tuple::FourTuple;
use crate::{
    queues::Queues,
    slab::{Key, Slab},
    sources::SourceCounts,
};

#[cfg(test)]
mod tests;

/// The fewest blocks with which a handshake is of use.
const FEWEST_BLOCKS: u32 = 2;

/// The one queue: entries whose SYN and ACK must leave.
const DUE: u32 = 0;

/// Timeouts that a peer is charged with who answers and cannot be taken: it is
/// asked again every few seconds, for as long as it answers.
const PATIENCE: u8 = 3;

/// A handshake under way.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    /// Between whom.
    pub(crate) tuple: FourTuple,
    /// What the SYN said.
    pub(crate) half_open: HalfOpen,
    /// Who wants it; may be closed by now.
    pub(crate) listener: Key,
    /// The tuple's hash.
    pub(crate) hash: u32,
    /// SYN and ACKs sent without an answer, beyond the first.
    pub(crate) timeouts: u8,
}

/// The answer to a segment of a handshake in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandshakeAction {
    /// The handshake is complete.
    Complete,
    /// Send the SYN-ACK again: it was lost, or the peer has to see it.
    RepeatSynAck,
    /// The peer reset the handshake: forget it.
    Abort,
    /// The segment acknowledges what was never sent: answer with a reset.
    Reset,
    /// Discard the segment.
    Discard,
}

/// All handshakes under way.
#[derive(Debug)]
pub(crate) struct SynCache {
    entries: Slab<Handshake>,
    due: Queues,
    /// Blocks set aside for the windows that were advertised, and the most
    /// that may be.
    set_aside: u32,
    most_set_aside: u32,
    /// Handshakes of each address.
    sources: SourceCounts,
}

impl SynCache {
    /// Room for `most` handshakes, whose windows together promise at most
    /// `most_set_aside` blocks, except that one is always possible; `sources`
    /// bounds what one address may have. Allocates here and only here.
    pub(crate) fn new(most: u32, most_set_aside: u32, sources: SourceCounts) -> Self {
        Self {
            set_aside: 0,
            most_set_aside,
            sources,
            entries: Slab::new(most),
            due: Queues::new(1, most),
        }
    }

    /// Whether no further SYN from `ip` can be answered.
    pub(crate) fn is_full_for(&self, ip: IpAddr) -> bool {
        self.entries.is_full() || self.sources.full(ip).is_some()
    }

    /// Blocks that the next handshake's window may promise: half of what is left
    /// of the share, so that one that never completes leaves room for others.
    pub(crate) fn most_blocks(&self) -> u32 {
        let left = self.most_set_aside.saturating_sub(self.set_aside);
        left.div_ceil(2).max(FEWEST_BLOCKS)
    }

    /// Adds a handshake, whose SYN and ACK are due, and sets memory aside for
    /// its window; `None` when there is no room, or no memory.
    pub(crate) fn add(&mut self, handshake: Handshake, pool: &mut Pool) -> Option<u32> {
        let blocks = handshake.half_open.blocks(pool);
        let within_share = self.set_aside == 0 || self.set_aside + blocks <= self.most_set_aside;
        let ip = handshake.tuple.remote_ip;
        let possible = handshake.half_open.window > 0 && within_share && !self.is_full_for(ip);
        if !possible || !pool.set_aside(Holder::Receive, blocks) {
            return None;
        }
        self.set_aside += blocks;
        self.sources.add(ip);
        let index = self.entries.insert(handshake).ok()?.index;
        self.due.join(DUE, index);
        Some(index)
    }

    /// Ends a handshake, and frees the memory set aside for it.
    pub(crate) fn remove(&mut self, index: u32, pool: &mut Pool) -> Handshake {
        self.due.leave(index);
        let handshake = self.entries.remove(index);
        self.sources.remove(handshake.tuple.remote_ip);
        let blocks = handshake.half_open.blocks(pool);
        self.set_aside -= blocks;
        pool.take_back(Holder::Receive, blocks);
        handshake
    }

    /// The handshake in slot `index`.
    pub(crate) fn at(&self, index: u32) -> &Handshake {
        &self.entries[index]
    }

    /// How many are under way.
    pub(crate) fn len(&self) -> u32 {
        self.entries.len()
    }

    /// SYN and ACK must leave again.
    pub(crate) fn repeat(&mut self, index: u32) {
        self.due.join(DUE, index);
    }

    /// The timer ran out. Whether the peer gets another SYN and ACK; false:
    /// it had its share.
    pub(crate) fn on_timeout(&mut self, index: u32, config: &TcpConfig) -> bool {
        let handshake = &mut self.entries[index];
        if u32::from(handshake.timeouts) >= config.synack_retries {
            return false;
        }
        handshake.timeouts += 1;
        self.repeat(index);
        true
    }

    /// The peer has answered, but there is no room for its connection yet.
    pub(crate) fn keep_waiting(&mut self, index: u32) {
        let timeouts = &mut self.entries[index].timeouts;
        *timeouts = (*timeouts).min(PATIENCE);
    }

    /// When the timer of a handshake runs out whose SYN and ACK left at `now`.
    pub(crate) fn deadline(&self, index: u32, config: &TcpConfig, now: Instant) -> Instant {
        now + backoff(self.entries[index].timeouts, config)
    }

    /// The handshake whose SYN and ACK must leave first.
    pub(crate) fn first_due(&self) -> Option<u32> {
        self.due.first(DUE)
    }

    /// SYN and ACK of handshake `index` have left, or cannot.
    pub(crate) fn answered(&mut self, index: u32) {
        self.due.leave(index);
    }
}

impl Handshake {
    /// What `segment` means. RFC 9293 §3.10.7.4 for SYN-RECEIVED after a
    /// passive open, with RFC 5961 §3 and §4.
    pub(crate) fn judge(&self, segment: &Segment<'_>) -> HandshakeAction {
        let expected = self.half_open.irs + 1;
        if segment.has(TcpFlags::RST) {
            let exact = segment.seq == expected;
            return if exact {
                HandshakeAction::Abort
            } else {
                HandshakeAction::Discard
            };
        }
        if segment.has(TcpFlags::SYN) {
            // The same SYN again, or one of a peer that forgot this one: what
            // it is shown makes the latter send a reset.
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

/// The wait after `timeouts` SYN and ACKs without an answer. RFC 6298 §5.5.
fn backoff(timeouts: u8, config: &TcpConfig) -> Duration {
    (config.rto_initial * (1 << timeouts.min(16))).min(config.rto_max)
}
