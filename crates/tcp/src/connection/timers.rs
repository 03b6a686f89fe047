//! The timers of a connection.
//!
//! Rule: a timer is only a deadline; its owner decides what happens when it passes. A
//! connection has one entry in its host's timer wheel, for its first deadline.

use fullpipe_pool::{
    Instant, record,
    record::{Record, RecordReader, RecordWriter},
};

/// A point in time, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Record for Deadline {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        self.get().pack(to);
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        Option::unpack(from).map_or(Self::NEVER, Self)
    }
}

impl Deadline {
    /// Not set.
    pub const NEVER: Self = Self(Instant::from_nanos(u64::MAX));

    /// Returns true if the deadline is set.
    pub fn is_set(self) -> bool {
        self != Self::NEVER
    }

    /// Sets the deadline to `at`.
    pub fn set(&mut self, at: Instant) {
        self.0 = at;
    }

    /// Sets the deadline to `at` unless it is set already.
    pub fn set_once(&mut self, at: Instant) {
        if !self.is_set() {
            self.set(at);
        }
    }

    /// Clears the deadline.
    pub fn clear(&mut self) {
        *self = Self::NEVER;
    }

    /// If the deadline has passed, clears it and returns true; otherwise returns false.
    pub fn take_if_due(&mut self, now: Instant) -> bool {
        let due = self.0 <= now && self.is_set();
        if due {
            self.clear();
        }
        due
    }

    /// Returns the deadline, if it is set.
    pub fn get(self) -> Option<Instant> {
        self.is_set().then_some(self.0)
    }
}

/// Timers of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// SYN, payload or FIN is unacknowledged: retransmit. RFC 6298.
    pub retransmit: Deadline,
    /// The last segments of a flight are unacknowledged: probe. RFC 8985 §7.
    pub tail: Deadline,
    /// RACK waits for the reordering window of an overtaken segment. RFC 8985 §6.2.
    pub reordering: Deadline,
    /// The pacer delays the next segment.
    pub pacing: Deadline,
    /// Payload waits for a fuller frame.
    pub deferral: Deadline,
    /// The window is too small and nothing is in flight: probe it, or send into
    /// it. RFC 9293 §3.8.6.1 and §3.8.6.2.1.
    pub persist: Deadline,
    /// An ACK is delayed. RFC 9293 §3.8.6.3.
    pub ack: Deadline,
    /// A cork delays less than a segment (knob `tcp.cork_timeout`).
    pub cork: Deadline,
    /// No segment has arrived for long: probe the peer. RFC 9293 §3.8.4.
    pub keepalive: Deadline,
    /// The connection is in TIME-WAIT, or an orphan (closed by its application) in
    /// FIN-WAIT-2.
    pub linger: Deadline,
}

record!(Timers {
    retransmit,
    tail,
    reordering,
    pacing,
    deferral,
    persist,
    ack,
    cork,
    keepalive,
    linger
});

impl Timers {
    /// No timer is set.
    pub const NONE: Self = Self {
        retransmit: Deadline::NEVER,
        tail: Deadline::NEVER,
        reordering: Deadline::NEVER,
        pacing: Deadline::NEVER,
        deferral: Deadline::NEVER,
        persist: Deadline::NEVER,
        ack: Deadline::NEVER,
        cork: Deadline::NEVER,
        keepalive: Deadline::NEVER,
        linger: Deadline::NEVER,
    };

    /// Returns true if no timer is set, except the two that run for a long time.
    pub fn are_at_rest(&self) -> bool {
        let long = Self {
            keepalive: self.keepalive,
            linger: self.linger,
            ..Self::NONE
        };
        *self == long
    }

    /// Returns the first deadline.
    pub fn next(&self) -> Option<Instant> {
        let Self {
            retransmit,
            tail,
            reordering,
            pacing,
            deferral,
            persist,
            ack,
            cork,
            keepalive,
            linger,
        } = *self;
        [
            tail, reordering, pacing, deferral, persist, ack, cork, keepalive, linger,
        ]
        .into_iter()
        .fold(retransmit, Deadline::min)
        .get()
    }
}
