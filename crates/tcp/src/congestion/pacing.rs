//! When the next segment may leave.
//!
//! Rule: what leaves pushes the release time on by its length over the rate; a
//! sender that comes late may catch up by one quantum and no more, and a flight
//! that begins in an empty pipe has a burst of ten segments free. So in any
//! stretch of time no more leaves than the rate allows plus a quantum and a
//! burst. The rate is an argument; this file does not choose it.

use fullpipe_pool::{Duration, Instant};

/// Segments that may leave at once when nothing is in flight. RFC 6928's window,
/// so that pacing never makes a short answer slower.
pub const BURST_SEGMENTS: u32 = 10;

/// Largest quantum in bytes: no device takes a larger super-segment.
const QUANTUM_MAX: u32 = 64 << 10;

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// The pacer of one connection. Rates are bytes a second; `u64::MAX` is
/// unlimited.
#[derive(Clone, Debug, Default)]
pub struct SegmentPacer {
    release_at: Instant,
    /// Bytes of the current burst that may still leave free.
    burst: u32,
}

impl SegmentPacer {
    /// Anything may leave.
    pub const fn new() -> Self {
        Self {
            release_at: Instant::ZERO,
            burst: 0,
        }
    }

    /// Bytes that should leave as one: a millisecond of `rate`, at least two
    /// segments, at most 64 KiB.
    pub fn quantum(rate: u64, mss: u32) -> u32 {
        let millisecond = (rate / 1_000).min(QUANTUM_MAX.into()) as u32;
        millisecond.max(2 * mss)
    }

    /// When the next segment may leave: for `next_timeout`.
    pub const fn release_at(&self) -> Instant {
        self.release_at
    }

    /// Whether a segment may leave now.
    pub fn may_send(&self, now: Instant) -> bool {
        self.burst > 0 || self.release_at <= now
    }

    /// Data is about to leave and nothing is in flight: the initial or restart
    /// burst.
    pub fn on_flight_start(&mut self, mss: u32) {
        self.burst = BURST_SEGMENTS * mss;
    }

    /// `bytes` left at `rate`. The release time is at most one quantum of the
    /// rate in the past before they are charged.
    pub fn on_sent(&mut self, bytes: u32, rate: u64, mss: u32, now: Instant) {
        let charged = bytes.saturating_sub(self.burst);
        self.burst = self.burst.saturating_sub(bytes);
        let catch_up = duration_of(Self::quantum(rate, mss), rate);
        let earliest = now - catch_up;
        self.release_at = self.release_at.max(earliest) + duration_of(charged, rate);
    }
}

/// How long `bytes` take at `rate` bytes a second; a rate of 0 counts as 1.
fn duration_of(bytes: u32, rate: u64) -> Duration {
    Duration::from_nanos(u64::from(bytes) * NANOS_PER_SEC / rate.max(1))
}

#[cfg(test)]
mod tests;
