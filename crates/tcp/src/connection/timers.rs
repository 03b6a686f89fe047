//! The deadlines of a connection.
//!
//! Rule: a deadline only says *when*; what happens then is decided by who set
//! it. All of them share the one entry that the connection has in its host's
//! timer wheel.

use fullpipe_pool::Instant;

/// A point in time, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// Not set.
    pub const NEVER: Self = Self(Instant::from_nanos(u64::MAX));

    /// Whether it is set.
    pub fn is_set(self) -> bool {
        self != Self::NEVER
    }

    /// Sets it to `at`.
    pub fn set(&mut self, at: Instant) {
        self.0 = at;
    }

    /// Sets it to `at` unless it is set.
    pub fn set_once(&mut self, at: Instant) {
        if !self.is_set() {
            self.set(at);
        }
    }

    /// Unsets it.
    pub fn clear(&mut self) {
        *self = Self::NEVER;
    }

    /// Unsets it and says true if it has come.
    pub fn take_if_due(&mut self, now: Instant) -> bool {
        let due = self.0 <= now && self.is_set();
        if due {
            self.clear();
        }
        due
    }

    /// The point in time, if set.
    pub fn get(self) -> Option<Instant> {
        self.is_set().then_some(self.0)
    }
}

/// Every deadline of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Timers {
    /// SYN, text or FIN is unacknowledged: send it again. RFC 6298.
    pub retransmit: Deadline,
    /// Nothing was heard of the last segments: probe. RFC 8985 §7.
    pub tail: Deadline,
    /// What was overtaken has had its time to arrive. RFC 8985 §6.2.
    pub reordering: Deadline,
    /// The pacer lets the next segment leave.
    pub pacing: Deadline,
    /// Text has waited long enough for a fuller frame.
    pub deferral: Deadline,
    /// The window is too small to send and nothing is in flight: probe it, or
    /// send into it. RFC 9293 §3.8.6.1 and §3.8.6.2.1.
    pub persist: Deadline,
    /// An ACK has waited long enough. RFC 9293 §3.8.6.3.
    pub ack: Deadline,
    /// A cork has held less than a segment for long enough.
    pub cork: Deadline,
    /// Nothing was heard for long: probe the peer. RFC 9293 §3.8.4.
    pub keepalive: Deadline,
    /// TIME-WAIT, or FIN-WAIT-2 that nobody waits for, is over.
    pub linger: Deadline,
}

impl Timers {
    /// None set.
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

    /// The first of them.
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
