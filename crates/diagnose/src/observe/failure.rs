//! The way in which a connection failed: it was refused, never answered or reset, or one end
//! vanished.
//!
//! Rule: a failure is named only if the segments of the capture show it. A connection that is open
//! when the capture ends has failed only if one end answered nothing although the other end asked
//! several times. A connection has not failed if it survived its reset, or if the reset came after
//! a FIN and nothing was in flight.

use fullpipe_wire::TcpFlags;
use serde::Serialize;

use super::{end_name::end_name, handshake::Handshake};
use crate::capture::{End, Resets, Segment};

/// An end has vanished after this number of timeouts, keep-alives and window probes of the other
/// end in a row without a segment from it.
const UNANSWERED: u64 = 3;
/// An end has vanished, or leaves a SYN unanswered, only after a silence of at least this many
/// nanoseconds. A SYN is retransmitted after one second (RFC 6298 §2.1); Linux takes 1.4 s for three
/// timeouts of the shortest kind.
const SILENCE: u64 = 1_000_000_000;
/// Time after which the first SYN is retransmitted, in nanoseconds. RFC 6298 §2.1.
const FIRST_TIMEOUT: u64 = 1_000_000_000;
/// Longest retransmission timeout of Linux, in nanoseconds (`TCP_RTO_MAX`).
const LONGEST_TIMEOUT: u64 = 120_000_000_000;

/// The way in which a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ConnectionFailure {
    /// The SYN was answered with a reset.
    Refused {
        /// Time from the last SYN before the reset to the reset, in nanoseconds.
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
        /// Payload in flight from both ends when the reset passed the tap, in bytes. Payload that
        /// the reset itself acknowledges is not in flight.
        in_flight_bytes: u64,
        /// True if a FIN was in flight.
        fin_in_flight: bool,
    },
    /// An end sent nothing more, although the other end asked for an answer several times.
    Vanished {
        /// The end that sent nothing more.
        #[serde(serialize_with = "end_name")]
        end: End,
        /// Number of timeouts, keep-alives and window probes since its last segment; of SYN-ACKs if
        /// `in_handshake`.
        unanswered: u64,
        /// True if the end did not acknowledge the SYN-ACK.
        in_handshake: bool,
        /// Time of its last segment, in nanoseconds from the first segment of the connection.
        last_ns: u64,
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
    /// Time from the last SYN of the client.
    since_syn: u64,
    in_flight_bytes: u64,
    fin_in_flight: bool,
    has_fin: bool,
    /// Unanswered timeouts, keep-alives and probes of the end that sent the reset.
    unanswered: u64,
}

/// State of the two directions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outstanding {
    /// Payload in flight from end A and from end B, in bytes.
    pub in_flight: [u64; 2],
    /// For each end, true if its FIN is in flight.
    pub has_fin: [bool; 2],
    /// Unanswered timeouts, keep-alives and probes of end A and of end B.
    pub unanswered: [u64; 2],
}

/// Follows the signs of a failure.
#[derive(Debug, Default)]
pub struct Failures {
    /// Time of the last segment of each end.
    last: [Option<u64>; 2],
    /// Longest time between two segments of each end since the other end's last segment.
    interval: [Option<u64>; 2],
    /// Number of SYNs of the client, and time of the last one.
    syns: u64,
    syn_at: u64,
    /// The end that sent the last SYN-ACK.
    server: Option<End>,
    /// Number of SYN-ACKs since the client's last segment.
    syn_acks: u64,
    /// True if a segment without SYN and without RST was seen.
    has_begun: bool,
    has_fin: bool,
    resets: Resets,
    reset: Option<Reset>,
}

impl Failures {
    /// Takes a segment, with the state of the connection after it.
    pub fn on_segment(&mut self, at: u64, segment: &Segment, after: impl FnOnce() -> Outstanding) {
        let from = segment.from;
        let flags = segment.flags;
        let is_syn = flags.contains(TcpFlags::SYN);
        if is_syn && flags.contains(TcpFlags::ACK) {
            self.server = Some(from);
            self.syn_acks += 1;
        } else if self.server != Some(from) {
            self.syn_acks = 0;
        }
        if is_syn && !flags.contains(TcpFlags::ACK) {
            self.syns += 1;
            self.syn_at = at;
        }
        self.has_begun |= !flags.intersects(TcpFlags::SYN | TcpFlags::RST);
        if self.resets.on_segment(segment) {
            self.reset = self.resets.is_reset().then(|| {
                let after = after();
                Reset {
                    by: from,
                    at,
                    since_syn: at.saturating_sub(self.syn_at),
                    in_flight_bytes: after.in_flight.iter().sum(),
                    fin_in_flight: after.has_fin != [false; 2],
                    has_fin: self.has_fin,
                    unanswered: after.unanswered[from.index()],
                }
            });
        }
        self.has_fin |= flags.contains(TcpFlags::FIN);
        let [own, other] = [from, from.other()].map(End::index);
        let last = self.last[own].replace(at);
        let interval = last.map(|last| at.saturating_sub(last));
        self.interval[own] = match self.last[other] > last {
            true => None,
            false => self.interval[own].max(interval),
        };
    }

    /// Returns true if a reset passed and the connection has not survived it.
    pub const fn is_reset(&self) -> bool {
        self.resets.is_reset()
    }

    /// Returns the time at which the end that waits for an answer surely waited no longer; `None` for
    /// a failure that a reset ended. Nothing shows when the end gave up, but it would have asked again
    /// after twice the longest interval (RFC 6298 §5.5), and at the latest after 120 s.
    pub fn given_up_at(&self, failure: &ConnectionFailure, client: Option<End>) -> Option<u64> {
        let waiting = match failure {
            ConnectionFailure::Unanswered { .. } => client?,
            ConnectionFailure::Vanished {
                end,
                gave_up: false,
                ..
            } => end.other(),
            ConnectionFailure::Vanished { gave_up: true, .. }
            | ConnectionFailure::Refused { .. }
            | ConnectionFailure::Reset { .. } => return None,
        };
        let place = waiting.index();
        let wait = self.interval[place].map_or(FIRST_TIMEOUT, |interval| 2 * interval);
        Some(self.last[place]? + wait.min(LONGEST_TIMEOUT))
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
            && self.syn_acks > UNANSWERED
            && self.reset.is_none_or(|reset| reset.by != client)
        {
            return self.vanished(end, client, self.syn_acks, true);
        }
        if let Some(reset) = self.reset {
            let other = reset.by.other();
            if reset.unanswered >= UNANSWERED {
                return self.vanished(reset.at, other, reset.unanswered, false);
            }
            let is_failure = !reset.has_fin || reset.in_flight_bytes > 0 || reset.fin_in_flight;
            return is_failure.then_some(ConnectionFailure::Reset {
                by: reset.by,
                in_flight_bytes: reset.in_flight_bytes,
                fin_in_flight: reset.fin_in_flight,
            });
        }
        let waits = |one: &End| after.unanswered[one.index()] >= UNANSWERED;
        let waiting = End::BOTH.into_iter().find(waits).filter(|_| !is_closed);
        let other = waiting?.other();
        self.vanished(end, other, after.unanswered[other.other().index()], false)
    }

    /// The failure of a connection whose SYN had no SYN-ACK.
    fn handshake(&self, client: End, end: u64) -> Option<ConnectionFailure> {
        match self.reset {
            Some(reset) if reset.by != client => Some(ConnectionFailure::Refused {
                after_ns: reset.since_syn,
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
    fn vanished(
        &self,
        until: u64,
        end: End,
        unanswered: u64,
        in_handshake: bool,
    ) -> Option<ConnectionFailure> {
        let last_ns = self.last[end.index()]?;
        let silent_ns = until.saturating_sub(last_ns);
        (silent_ns >= SILENCE).then_some(ConnectionFailure::Vanished {
            end,
            unanswered,
            in_handshake,
            last_ns,
            silent_ns,
            gave_up: self.reset.is_some_and(|reset| reset.by != end),
        })
    }
}
