//! Handshakes that listeners have begun to answer. RFC 4987 §3.6.
//!
//! Rule: a SYN costs one small entry of a fixed table and no packet memory;
//! when the table is full a SYN is dropped, never refused. An entry ends with
//! the ACK that completes it, a reset, or the last unanswered SYN and ACK.

use fullpipe_pool::{Duration, Instant};
use fullpipe_tcp::{HalfOpen, Segment, TcpConfig};
use fullpipe_wire::TcpFlags;

use super::tuple::FourTuple;
use crate::{
    ready::Queues,
    slab::{Key, Slab},
};

#[cfg(test)]
mod tests;

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

/// What a segment means to a handshake under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It completes the handshake.
    Complete,
    /// It shows that our SYN and ACK were lost, or must be shown them.
    Repeat,
    /// It ends the handshake.
    End,
    /// It acknowledges what was never sent: a reset is due.
    Refuse,
    /// It means nothing.
    Ignore,
}

/// All handshakes under way.
#[derive(Debug)]
pub(crate) struct SynCache {
    entries: Slab<Handshake>,
    due: Queues,
}

impl SynCache {
    /// Room for `most` handshakes. Allocates here and only here.
    pub(crate) fn new(most: u32) -> Self {
        Self {
            entries: Slab::new(most),
            due: Queues::new(1, most),
        }
    }

    /// Whether no further SYN can be answered.
    pub(crate) fn is_full(&self) -> bool {
        self.entries.is_full()
    }

    /// Adds a handshake, whose SYN and ACK are due; `None` when there is no room.
    pub(crate) fn add(&mut self, handshake: Handshake) -> Option<u32> {
        let index = self.entries.insert(handshake).ok()?.index;
        self.due.join(DUE, index);
        Some(index)
    }

    /// Ends a handshake.
    pub(crate) fn remove(&mut self, index: u32) -> Handshake {
        self.due.leave(index);
        self.entries.remove(index)
    }

    /// The handshake in slot `index`.
    pub(crate) fn at(&self, index: u32) -> &Handshake {
        &self.entries[index]
    }

    /// How many may be under way.
    pub(crate) fn capacity(&self) -> u32 {
        self.entries.capacity()
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
        if u32::from(handshake.timeouts) >= config.syn_retries {
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
    pub(crate) fn judge(&self, segment: &Segment<'_>) -> Verdict {
        let expected = self.half_open.irs + 1;
        if segment.has(TcpFlags::RST) {
            let exact = segment.seq == expected;
            return if exact { Verdict::End } else { Verdict::Ignore };
        }
        if segment.has(TcpFlags::SYN) {
            // The same SYN again, or one of a peer that forgot this one: what
            // it is shown makes the latter send a reset.
            return Verdict::Repeat;
        }
        if !self.half_open.is_in_window(segment) {
            return Verdict::Repeat;
        }
        if self.half_open.is_completed_by(segment) {
            return Verdict::Complete;
        }
        if self.half_open.refuses(segment) {
            Verdict::Refuse
        } else {
            Verdict::Ignore
        }
    }
}

/// The wait after `timeouts` SYN and ACKs without an answer. RFC 6298 §5.5.
fn backoff(timeouts: u8, config: &TcpConfig) -> Duration {
    (config.rto_initial * (1 << timeouts.min(16))).min(config.rto_max)
}
