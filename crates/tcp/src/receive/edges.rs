//! The window's right edge as the peer knew it about a round trip ago.
//!
//! Rule: payload that arrives was sent into a window that was advertised at least a round trip
//! earlier. If the payload passes the right edge of that window, the window limits the peer.
//! `window` and `autotune` decide the size of the window.

use fullpipe_pool::{Duration, Instant, record};

use crate::SeqNum;

/// The right edges of the last two round trips.
#[derive(Clone, Copy, Debug)]
pub struct PastEdges {
    /// Time at which `this_round` was taken; `None` before the first payload.
    since: Option<Instant>,
    this_round: SeqNum,
    last_round: SeqNum,
    /// `last_round` was advertised at least a round trip ago.
    known: bool,
}

record!(PastEdges {
    since,
    this_round,
    last_round,
    known
});

impl PastEdges {
    /// Creates the state before any payload; `next` is the first sequence number
    /// expected.
    pub const fn new(next: SeqNum) -> Self {
        Self {
            since: None,
            this_round: next,
            last_round: next,
            known: false,
        }
    }

    /// Notes that payload arrived while `edge` was advertised. `rtt` is the shortest round-trip
    /// time; without a round-trip time, the past edges stay unknown.
    pub fn on_payload(&mut self, now: Instant, rtt: Option<Duration>, edge: SeqNum) {
        let Some(rtt) = rtt else {
            return;
        };
        let Some(since) = self.since else {
            (self.since, self.this_round) = (Some(now), edge);
            return;
        };
        if now.since(since) >= rtt {
            self.last_round = self.this_round;
            (self.since, self.this_round) = (Some(now), edge);
            self.known = true;
        }
    }

    /// Returns true if the window limits a peer whose payload ends at `end`: the payload passes the
    /// right edge that was advertised one to two round trips ago. The peer then uses at least about
    /// half of its window.
    pub fn limits_peer(&self, end: SeqNum) -> bool {
        self.known && end.after(self.last_round)
    }
}

#[cfg(test)]
mod tests;
