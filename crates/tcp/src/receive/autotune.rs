//! The size that the receive buffer should have: dynamic right-sizing.
//!
//! Rule: the bytes that the application reads in a round trip are the bytes that the peer sent in a
//! round trip. A buffer of twice this size lets the peer send as many bytes again while the
//! application reads the first half. If the peer's rate grows, it will have grown further when the
//! window update arrives. For this reason twice the growth since the round before is added to the
//! bytes read, and the sum is doubled. `connection/buffers.rs` decides how connections share
//! memory.
//!
//! A receiver that sends no payload has round-trip times only from the handshake and from the
//! peer's timestamp echoes (RFC 7323 §4.1). The age of an echo is the time since this side sent the
//! echoed timestamp. If the sender pauses, this age is longer than the round-trip time; it is never
//! shorter. The length of the next round is therefore the shortest echo age of this round, but at
//! most twice the length of this round.

use fullpipe_pool::{Duration, Instant, record};

/// Segments added to the size that the rate needs, so that a small window can grow.
const SPARE_SEGMENTS: u32 = 16;

/// Bytes read in each round trip.
#[derive(Clone, Copy, Debug, Default)]
pub struct RightSizing {
    /// Start of this round; `None` before the first read.
    since: Option<Instant>,
    /// Bytes read in this round.
    read: u32,
    /// Bytes read in the round before.
    read_before: u32,
    /// Length of a round.
    length: Duration,
    /// Shortest age of an echoed timestamp in this round.
    shortest: Option<Duration>,
}

record!(RightSizing {
    since,
    read,
    read_before,
    length,
    shortest
});

impl RightSizing {
    /// Processes payload with an echoed timestamp of age `echo_age`.
    pub fn on_payload(&mut self, echo_age: Option<Duration>) {
        let Some(age) = echo_age else {
            return;
        };
        self.shortest = Some(self.shortest.map_or(age, |shortest| shortest.min(age)));
    }

    /// Processes a read of `bytes`. `min_rtt` is the shortest round-trip time of this
    /// side's own samples, `mss` a full segment. At the end of a round, returns the size
    /// in bytes that the buffer should have.
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
