//! Timestamps: this side's clock, which the peer echoes, and the peer's last timestamp,
//! which this side echoes. RFC 7323 §3 to §5.
//!
//! Rule: the clock ticks once a millisecond and starts at an arbitrary value; only
//! differences have a meaning. Timestamps are compared like sequence numbers.

use fullpipe_pool::{Duration, Instant, record};
use fullpipe_wire::Timestamps;

use crate::SeqNum;

/// A peer that was silent for this long may have wrapped its clock, so its timestamps no
/// longer show that a segment is old. RFC 7323 §5.5.
const TS_RECENT_VALID: Duration = Duration::from_secs(24 * 86_400);

/// Both timestamps of a connection.
#[derive(Clone, Copy, Debug)]
pub struct TimestampClock {
    /// Added to the milliseconds of `now`, so that the clock does not reveal
    /// the uptime of this host.
    offset: u32,
    ts_recent: u32,
    ts_recent_at: Instant,
}

record!(TimestampClock {
    offset,
    ts_recent,
    ts_recent_at
});

impl TimestampClock {
    /// Creates a clock that starts at `offset`; the peer's SYN carried
    /// `ts_recent`.
    pub const fn new(offset: u32, ts_recent: u32, now: Instant) -> Self {
        Self {
            offset,
            ts_recent,
            ts_recent_at: now,
        }
    }

    /// Returns the option of a segment that is sent at `now`.
    pub const fn option(&self, now: Instant) -> Timestamps {
        Timestamps {
            value: self.value(now),
            echo: self.ts_recent,
        }
    }

    /// Returns TSval at `now`.
    pub const fn value(&self, now: Instant) -> u32 {
        (now.as_millis() as u32).wrapping_add(self.offset)
    }

    /// Returns the age of the timestamp that the peer echoed as `echo`; `None`
    /// if this side cannot have sent it.
    pub fn age(&self, echo: u32, now: Instant) -> Option<Duration> {
        let age_ms = self.value(now).wrapping_sub(echo);
        (age_ms < 1 << 30).then(|| Duration::from_millis(age_ms.into()))
    }

    /// PAWS: returns true if a segment with TSval `value` is an old duplicate.
    /// RFC 7323 §5.3.
    pub fn is_old(&self, value: u32, now: Instant) -> bool {
        SeqNum(value).before(SeqNum(self.ts_recent))
            && now.since(self.ts_recent_at) < TS_RECENT_VALID
    }

    /// Sets TS.Recent to `value`, unless `value` [is old](Self::is_old). RFC 7323 §4.3; the caller
    /// checks SEG.SEQ ≤ Last.ACK.sent.
    pub fn remember(&mut self, value: u32, now: Instant) {
        if !self.is_old(value, now) {
            self.ts_recent = value;
            self.ts_recent_at = now;
        }
    }

    /// Returns TS.Recent.
    pub const fn ts_recent(&self) -> u32 {
        self.ts_recent
    }
}

#[cfg(test)]
mod tests;
