//! Connections in TIME-WAIT. RFC 9293 §3.6.1, RFC 6191, RFC 1337.
//!
//! Rule: an entry answers segments of its four-tuple with ACKs only. A new incarnation replaces the
//! entry only if the new incarnation cannot accept segments of the old one. An entry holds no
//! packet memory. If the table is full, a new entry replaces the oldest entry.

use core::net::IpAddr;

use fullpipe_pool::Instant;
use fullpipe_tcp::{Segment, SegmentOut, SeqNum, TcpConfig, TimeWait, options::TimestampClock};
use fullpipe_wire::{TcpFlags, TcpOptions};

use super::four_tuple::FourTuple;
use crate::{interface_id::InterfaceId, queues::Queues, slab::Slab};

#[cfg(test)]
mod tests;

/// Index of the only queue of `by_age`.
const ONLY: u32 = 0;

/// A connection in TIME-WAIT.
#[derive(Clone, Debug)]
pub(crate) struct TimeWaitEntry {
    /// Addresses and ports.
    pub(crate) tuple: FourTuple,
    /// The tuple's hash.
    pub(crate) hash: u32,
    /// Sequence numbers and timestamps at the end of the connection.
    pub(crate) wait: TimeWait,
    /// Interface of the connection.
    pub(crate) interface: InterfaceId,
    /// Earliest time of the next challenge ACK. RFC 5961 §7.
    challenge_after: Instant,
}

/// The answer to a segment of a connection in TIME-WAIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeWaitAction {
    /// The peer retransmitted its FIN: acknowledge it and restart the timer.
    Restart,
    /// The segment is old or forged: send an ACK.
    Acknowledge,
    /// A SYN that may open a new incarnation.
    Reuse,
    /// Ignore the segment.
    Ignore,
}

/// All connections in TIME-WAIT.
#[derive(Debug)]
pub(crate) struct TimeWaitTable {
    entries: Slab<TimeWaitEntry>,
    /// Entries, oldest first.
    by_age: Queues,
    /// Entries whose ACK is due: a queue for each interface.
    due: Queues,
}

impl TimeWaitTable {
    /// Allocates a table of `most` entries.
    pub(crate) fn new(most: u32) -> Self {
        Self {
            entries: Slab::new(most),
            by_age: Queues::new(1, most),
            due: Queues::new(1, most),
        }
    }

    /// Adds the queue of one more interface.
    pub(crate) fn add_interface(&mut self) {
        self.due.add_queues(1);
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.entries.heap_bytes() + self.by_age.heap_bytes() + self.due.heap_bytes()
    }

    /// Returns true if the table can never hold an entry (knob `stack.time_wait_entries` is 0).
    pub(crate) fn is_off(&self) -> bool {
        self.entries.capacity() == 0
    }

    /// Returns the oldest entry if the table is full.
    pub(crate) fn oldest_if_full(&self) -> Option<u32> {
        if self.entries.is_full() {
            self.by_age.first(ONLY)
        } else {
            None
        }
    }

    /// Adds an entry.
    ///
    /// # Panics
    /// Panics if the table is full; the caller must have removed the oldest entry.
    pub(crate) fn add(
        &mut self,
        (tuple, hash): (FourTuple, u32),
        interface: InterfaceId,
        wait: TimeWait,
    ) -> u32 {
        let entry = TimeWaitEntry {
            tuple,
            hash,
            wait,
            interface,
            challenge_after: Instant::ZERO,
        };
        let key = self.entries.insert(entry).expect("room was made");
        self.by_age.join(ONLY, key.index);
        key.index
    }

    /// Removes an entry.
    pub(crate) fn remove(&mut self, index: u32) -> TimeWaitEntry {
        self.by_age.leave(index);
        self.due.leave(index);
        self.entries.remove(index)
    }

    /// Returns the entry in slot `index`.
    pub(crate) fn at(&self, index: u32) -> &TimeWaitEntry {
        &self.entries[index]
    }

    /// Returns an entry with the local address `ip`. The cost grows with the table.
    pub(crate) fn first_at(&self, ip: IpAddr) -> Option<u32> {
        let mut entries = self.entries.iter();
        let found = entries.find(|(_, entry)| entry.tuple.local_ip() == ip);
        found.map(|(index, _)| index)
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> u32 {
        self.entries.len()
    }

    /// Returns the action for `segment` at the entry in slot `index`. Makes an ACK due if the
    /// action requires one and the rate limit of challenge ACKs allows it.
    pub(crate) fn on_segment(
        &mut self,
        index: u32,
        segment: &Segment<'_>,
        now: Instant,
        config: &TcpConfig,
    ) -> TimeWaitAction {
        let action = self.entries[index].action_for(segment);
        let entry = &mut self.entries[index];
        match action {
            TimeWaitAction::Restart => {
                entry.wait.until = now + config.time_wait;
                self.by_age.leave(index);
                self.by_age.join(ONLY, index);
                self.acknowledge(index);
            }
            TimeWaitAction::Acknowledge if now >= entry.challenge_after => {
                entry.challenge_after = now + config.challenge_ack_interval;
                self.acknowledge(index);
            }
            TimeWaitAction::Acknowledge | TimeWaitAction::Reuse | TimeWaitAction::Ignore => {}
        }
        action
    }

    /// Makes an ACK of the entry in slot `index` due.
    pub(crate) fn acknowledge(&mut self, index: u32) {
        let interface = self.entries[index].interface;
        self.due.join(interface.0.into(), index);
    }

    /// Returns the entry whose ACK is due first at `interface`.
    pub(crate) fn first_due(&self, interface: InterfaceId) -> Option<u32> {
        self.due.first(interface.0.into())
    }

    /// Notes that the ACK of entry `index` was sent or dropped.
    pub(crate) fn answered(&mut self, index: u32) {
        self.due.leave(index);
    }
}

impl TimeWaitEntry {
    fn action_for(&self, segment: &Segment<'_>) -> TimeWaitAction {
        // Ignore a reset: it would end the wait early and let old segments into the next
        // incarnation. RFC 1337 §3, F1.
        if segment.has(TcpFlags::RST) {
            return TimeWaitAction::Ignore;
        }
        if segment.has(TcpFlags::SYN) {
            let first = !segment.flags.intersects(TcpFlags::ACK | TcpFlags::FIN);
            let new = first && self.is_new_incarnation(segment);
            return if new {
                TimeWaitAction::Reuse
            } else {
                TimeWaitAction::Acknowledge
            };
        }
        if segment.has(TcpFlags::FIN) && segment.end() == self.wait.rcv_nxt {
            return TimeWaitAction::Restart;
        }
        // All payload was received, so any payload in the segment is old. An ACK with the
        // expected sequence number needs no answer.
        if segment.is_empty() && segment.seq == self.wait.rcv_nxt {
            TimeWaitAction::Ignore
        } else {
            TimeWaitAction::Acknowledge
        }
    }

    /// Returns true if the incarnation that `syn` would open cannot accept segments of the old
    /// incarnation. If the old incarnation used timestamps and `syn` carries one, a later timestamp
    /// is required, or the same timestamp and a later sequence number. Otherwise a later sequence
    /// number is required. RFC 6191 §2.
    fn is_new_incarnation(&self, syn: &Segment<'_>) -> bool {
        let beyond = syn.seq.after(self.wait.rcv_nxt);
        match (self.wait.ts_recent, syn.options.timestamps) {
            (Some(then), Some(stamp)) => {
                let later = SeqNum(stamp.value).after(SeqNum(then));
                later || (beyond && stamp.value == then)
            }
            (Some(_), None) | (None, Some(_)) | (None, None) => beyond,
        }
    }

    /// Returns the ACK with this side's sequence numbers.
    pub(crate) fn acknowledgment(&self, now: Instant) -> SegmentOut {
        let clock = |ts_recent| TimestampClock::new(self.wait.timestamp_offset, ts_recent, now);
        let timestamps = self.wait.ts_recent.map(|recent| clock(recent).option(now));
        SegmentOut {
            window: self.wait.window,
            options: TcpOptions {
                timestamps,
                ..TcpOptions::default()
            },
            ..SegmentOut::bare(self.wait.snd_nxt, self.wait.rcv_nxt, TcpFlags::ACK)
        }
    }
}
