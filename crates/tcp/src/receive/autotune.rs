//! How large the receive buffer should be: dynamic right-sizing.
//!
//! Rule: what the application read in a round trip is what the peer sent in one,
//! and twice that lets it send as much again while this is read. A peer whose
//! rate grows has grown further by the time it hears of the window, so what was
//! added since the round before counts twice more. How memory is shared is not
//! known here.
//!
//! A receiver that sends no text has no round-trip times but the handshake's and
//! the echoes of its timestamps (RFC 7323 §4.1). A sender that pauses makes those
//! too long, never too short, so the shortest of a round counts, and a round is
//! at most twice as long as the one before.

use fullpipe_pool::{Duration, Instant};

/// Segments beyond what the rate asks for, so that a small window can grow.
const SPARE_SEGMENTS: u32 = 16;

/// What is read, round trip by round trip.
#[derive(Clone, Copy, Debug, Default)]
pub struct RightSizing {
    /// When this round began; `None` before the first text was read.
    since: Option<Instant>,
    /// Bytes read in it.
    read: u32,
    /// Bytes read in the one before.
    read_before: u32,
    /// Its length.
    length: Duration,
    /// The shortest echo that arrived in it.
    shortest: Option<Duration>,
}

impl RightSizing {
    /// Text arrived that echoes a timestamp of so long ago.
    pub fn on_payload(&mut self, echo_age: Option<Duration>) {
        let Some(age) = echo_age else {
            return;
        };
        self.shortest = Some(self.shortest.map_or(age, |shortest| shortest.min(age)));
    }

    /// The application read `bytes`. `min_rtt` is the shortest round trip known
    /// otherwise, `mss` a full segment. At the end of a round: the buffer that
    /// would be right, in bytes.
    pub fn on_read(
        &mut self,
        bytes: u32,
        now: Instant,
        min_rtt: Option<Duration>,
        mss: u32,
    ) -> Option<u32> {
        self.read = self.read.saturating_add(bytes);
        let Some(since) = self.since else {
            (self.since, self.length) = (Some(now), min_rtt.or(self.shortest)?);
            return None;
        };
        if now.since(since) < self.length {
            return None;
        }
        let more = self.read.saturating_sub(self.read_before);
        let goal = self.read.saturating_add(more.saturating_mul(2));
        let longest = (self.length * 2).max(Duration::from_millis(1));
        *self = Self {
            since: Some(now),
            read: 0,
            read_before: self.read,
            length: self
                .shortest
                .unwrap_or(self.length)
                .min(longest)
                .max(min_rtt.unwrap_or_default()),
            shortest: None,
        };
        Some(
            goal.saturating_mul(2)
                .saturating_add(mss.saturating_mul(SPARE_SEGMENTS)),
        )
    }
}

#[cfg(test)]
mod tests;
