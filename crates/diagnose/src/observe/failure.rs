//! The way in which a connection failed: it was refused, never answered or reset, or one end
//! vanished.
//!
//! Rule: a failure is named only if the segments of the capture show it. A connection that the end
//! of the capture cut off has not failed, and neither has one that ends with a reset after a FIN
//! and without payload in flight.

use fullpipe_wire::TcpFlags;
use serde::Serialize;

use super::{end_name::end_name, handshake::Handshake};
use crate::capture::{End, Segment};

/// An end has vanished after this number of timeouts, keep-alives and window probes of the other
/// end in a row without a segment from it.
const UNANSWERED: u64 = 3;
/// An end has vanished, or leaves a SYN unanswered, only after a silence of at least this many
/// nanoseconds. A SYN is retransmitted after one second (RFC 6298 §2.1); Linux takes 1.4 s for three
/// timeouts of the shortest kind.
const SILENCE: u64 = 1_000_000_000;

/// The way in which a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ConnectionFailure {
    /// The SYN was answered with a reset.
    Refused {
        /// Time from the last SYN to the reset, in nanoseconds.
        after_ns: u64,
    },
    /// No segment answered the SYN for a second or more.
    Unanswered {
        /// Number of SYNs.
        syns: u64,
    },
    /// An end reset the connection before both ends had sent FIN and everything was acknowledged.
    Reset {
        /// The end that sent the reset.
        #[serde(serialize_with = "end_name")]
        by: End,
        /// Payload and FIN in flight from both ends when the reset passed the tap, in bytes.
        in_flight_bytes: u64,
    },
    /// An end sent nothing more, although the other end asked for an answer several times.
    Vanished {
        /// The end that sent nothing more.
        #[serde(serialize_with = "end_name")]
        end: End,
        /// Number of timeouts, keep-alives and window probes since its last segment. In a handshake,
        /// the number of SYN-ACKs.
        unanswered: u64,
        /// Time since its last segment, in nanoseconds.
        silent_ns: u64,
        /// True if the other end reset the connection at last.
        gave_up: bool,
    },
}

impl ConnectionFailure {
    /// Names of all failures, in tables and JSON.
    pub const NAMES: [&str; 4] = ["refused", "unanswered", "reset", "vanished"];

    /// Name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused { .. } => "refused",
            Self::Unanswered { .. } => "unanswered",
            Self::Reset { .. } => "reset",
            Self::Vanished { .. } => "vanished",
        }
    }
}

/// A reset, and the state of the connection when it passed the tap.
#[derive(Clone, Copy, Debug)]
struct Reset {
    by: End,
    at: u64,
    in_flight_bytes: u64,
    has_fin: bool,
    /// Unanswered timeouts, keep-alives and probes of the end that sent the reset.
    unanswered: u64,
}

/// State of the two directions before a segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outstanding {
    /// Bytes in flight from end A and from end B.
    pub in_flight: [u64; 2],
    /// Unanswered timeouts, keep-alives and probes of end A and of end B.
    pub unanswered: [u64; 2],
}

/// Follows the signs of a failure.
#[derive(Debug, Default)]
pub struct Failures {
    /// Time of the last segment of each end.
    last: [Option<u64>; 2],
    /// Number of SYNs of the client, and time of the last one.
    syns: u64,
    syn_at: u64,
    /// True if a segment without SYN and without RST was seen.
    has_begun: bool,
    has_fin: bool,
    reset: Option<Reset>,
}

impl Failures {
    /// Takes a segment, with the state of the connection before it.
    pub fn on_segment(&mut self, at: u64, segment: &Segment, before: impl FnOnce() -> Outstanding) {
        let from = segment.from;
        let flags = segment.flags;
        if flags.contains(TcpFlags::SYN) && !flags.contains(TcpFlags::ACK) {
            self.syns += 1;
            self.syn_at = at;
        }
        self.has_begun |= !flags.intersects(TcpFlags::SYN | TcpFlags::RST);
        if flags.contains(TcpFlags::RST) && self.reset.is_none() {
            let before = before();
            self.reset = Some(Reset {
                by: from,
                at,
                in_flight_bytes: before.in_flight.iter().sum(),
                has_fin: self.has_fin,
                unanswered: before.unanswered[from.index()],
            });
        }
        self.has_fin |= flags.contains(TcpFlags::FIN);
        self.last[from.index()] = Some(at);
    }

    /// Returns the failure of a connection that ends at `end`. `after` is the state at its end.
    pub fn finish(
        &self,
        end: u64,
        handshake: &Handshake,
        after: Outstanding,
        is_closed: bool,
    ) -> Option<ConnectionFailure> {
        if let Some(client) = handshake.client
            && !handshake.was_answered()
            && !self.has_begun
        {
            return self.handshake(client, end);
        }
        if let Some(client) = handshake.client
            && handshake.done.is_none()
            && handshake.retransmissions[1] >= UNANSWERED
            && self.reset.is_none_or(|reset| reset.by != client)
        {
            return self.vanished(end, client, handshake.retransmissions[1] + 1);
        }
        if let Some(reset) = self.reset {
            let other = reset.by.other();
            if reset.unanswered >= UNANSWERED {
                return self.vanished(reset.at, other, reset.unanswered);
            }
            let is_failure = !reset.has_fin || reset.in_flight_bytes > 0;
            return is_failure.then_some(ConnectionFailure::Reset {
                by: reset.by,
                in_flight_bytes: reset.in_flight_bytes,
            });
        }
        let waits = |one: &End| after.unanswered[one.index()] >= UNANSWERED;
        let waiting = End::BOTH.into_iter().find(waits).filter(|_| !is_closed);
        let other = waiting?.other();
        self.vanished(end, other, after.unanswered[other.other().index()])
    }

    /// The failure of a connection whose SYN had no SYN-ACK.
    fn handshake(&self, client: End, end: u64) -> Option<ConnectionFailure> {
        match self.reset {
            Some(reset) if reset.by != client => Some(ConnectionFailure::Refused {
                after_ns: reset.at.saturating_sub(self.syn_at),
            }),
            Some(_) | None => {
                let is_silent = self.last[client.other().index()].is_none();
                (is_silent && end >= SILENCE)
                    .then_some(ConnectionFailure::Unanswered { syns: self.syns })
            }
        }
    }

    /// `end` has vanished, unless it was silent for a short time only. If none of its segments was
    /// captured, the capture may have only one direction, so nothing shows its silence.
    fn vanished(&self, until: u64, end: End, unanswered: u64) -> Option<ConnectionFailure> {
        let silent_ns = until.saturating_sub(self.last[end.index()]?);
        (silent_ns >= SILENCE).then_some(ConnectionFailure::Vanished {
            end,
            unanswered,
            silent_ns,
            gave_up: self.reset.is_some_and(|reset| reset.by != end),
        })
    }
}
