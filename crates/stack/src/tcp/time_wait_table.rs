//! What is left of closed connections until their last segments have died.
//! RFC 9293 §3.6.1, RFC 6191, RFC 1337.
//!
//! Rule: an entry answers for its four-tuple with ACKs and nothing else, and
//! makes way for a new incarnation only when old segments cannot be taken for
//! new ones. It holds no packet memory. When there is no room the oldest entry
//! is forgotten.

use fullpipe_pool::Instant;
use fullpipe_tcp::{Segment, SegmentOut, SeqNum, TcpConfig, TimeWait, options::TimestampClock};
use fullpipe_wire::{TcpFlags, TcpOptions};

use super::four_tuple::FourTuple;
use crate::{queues::Queues, slab::Slab};

#[cfg(test)]
mod tests;

/// The one queue of each kind.
const ONLY: u32 = 0;

/// What is left of a connection.
#[derive(Clone, Debug)]
pub(crate) struct TimeWaitEntry {
    /// Between whom it was.
    pub(crate) tuple: FourTuple,
    /// The tuple's hash.
    pub(crate) hash: u32,
    /// Where it ended.
    pub(crate) wait: TimeWait,
    /// Segments outside the window are not answered before this. RFC 5961 §7.
    challenge_after: Instant,
}

/// What a segment means to a connection in TIME-WAIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeWaitAction {
    /// The peer's FIN again: our last ACK was lost. Answer, and wait from now.
    Restart,
    /// Something old, or forged: say where this end stands.
    Acknowledge,
    /// A new incarnation may begin.
    Reuse,
    /// It means nothing.
    Ignore,
}

/// All connections in TIME-WAIT.
#[derive(Debug)]
pub(crate) struct TimeWaitTable {
    entries: Slab<TimeWaitEntry>,
    /// Oldest first.
    by_age: Queues,
    /// Those that must send an ACK.
    due: Queues,
}

impl TimeWaitTable {
    /// Room for `most` entries. Allocates here and only here.
    pub(crate) fn new(most: u32) -> Self {
        Self {
            entries: Slab::new(most),
            by_age: Queues::new(1, most),
            due: Queues::new(1, most),
        }
    }

    /// Whether there is no room for any entry at all.
    pub(crate) fn is_off(&self) -> bool {
        self.entries.capacity() == 0
    }

    /// The entry to forget before another one finds room.
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
    /// If there is no room: the caller has forgotten what was in the way.
    pub(crate) fn add(&mut self, tuple: FourTuple, hash: u32, wait: TimeWait) -> u32 {
        let remains = TimeWaitEntry {
            tuple,
            hash,
            wait,
            challenge_after: Instant::ZERO,
        };
        let key = self.entries.insert(remains).expect("room was made");
        self.by_age.join(ONLY, key.index);
        key.index
    }

    /// Forgets an entry.
    pub(crate) fn remove(&mut self, index: u32) -> TimeWaitEntry {
        self.by_age.leave(index);
        self.due.leave(index);
        self.entries.remove(index)
    }

    /// The entry in slot `index`.
    pub(crate) fn at(&self, index: u32) -> &TimeWaitEntry {
        &self.entries[index]
    }

    /// Entries.
    pub(crate) fn len(&self) -> u32 {
        self.entries.len()
    }

    /// What `segment` means to the entry in slot `index`; an answer is made due.
    pub(crate) fn on_segment(
        &mut self,
        index: u32,
        segment: &Segment<'_>,
        now: Instant,
        config: &TcpConfig,
    ) -> TimeWaitAction {
        let verdict = self.entries[index].judge(segment);
        let remains = &mut self.entries[index];
        match verdict {
            TimeWaitAction::Restart => {
                remains.wait.until = now + config.time_wait;
                self.by_age.leave(index);
                self.by_age.join(ONLY, index);
                self.due.join(ONLY, index);
            }
            TimeWaitAction::Acknowledge if now >= remains.challenge_after => {
                remains.challenge_after = now + config.challenge_ack_interval;
                self.due.join(ONLY, index);
            }
            TimeWaitAction::Acknowledge | TimeWaitAction::Reuse | TimeWaitAction::Ignore => {}
        }
        verdict
    }

    /// An ACK is due from the entry in slot `index`, whatever was said before.
    pub(crate) fn acknowledge(&mut self, index: u32) {
        self.due.join(ONLY, index);
    }

    /// The entry whose ACK must leave first.
    pub(crate) fn first_due(&self) -> Option<u32> {
        self.due.first(ONLY)
    }

    /// The ACK of entry `index` has left, or cannot.
    pub(crate) fn answered(&mut self, index: u32) {
        self.due.leave(index);
    }
}

impl TimeWaitEntry {
    fn judge(&self, segment: &Segment<'_>) -> TimeWaitAction {
        // A reset would end the wait early and let old segments into the next
        // incarnation: RFC 1337 §3, F1.
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
        // All text was received, so whatever brings some is old, and an ACK
        // that is in its place says nothing new.
        if segment.is_empty() && segment.seq == self.wait.rcv_nxt {
            TimeWaitAction::Ignore
        } else {
            TimeWaitAction::Acknowledge
        }
    }

    /// Whether segments of the old incarnation cannot pass for segments of the
    /// one that `syn` begins. RFC 6191 §2: by timestamps when both sides use
    /// them, else by sequence numbers.
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

    /// The ACK that says where this end stands.
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
