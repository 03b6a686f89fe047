//! Pacing: the time at which the next segment may leave.
//!
//! Rule: each segment moves the release time forward by its length over the rate. A
//! sender that is late may catch up by one quantum (the bytes of a millisecond), and a
//! flight that starts while nothing is in flight may send a burst of ten segments at
//! once. In any interval the bytes sent are therefore at most rate × time, plus a
//! quantum and a burst. Callers pass the rate.

use fullpipe_pool::{Duration, Instant, record};

/// Segments that may leave at once when nothing is in flight: RFC 6928's
/// window, so that pacing does not delay a short response.
pub const BURST_SEGMENTS: u32 = 10;

/// Largest quantum in bytes, unless two segments are larger: no device takes a larger
/// super-segment (a long segment that the device cuts into segments of one MSS).
const QUANTUM_MAX: u32 = 64 << 10;

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// The pacer of one connection. Rates are bytes per second; `u64::MAX` is unlimited.
#[derive(Clone, Debug, Default)]
pub struct SegmentPacer {
    release_at: Instant,
    /// Bytes of the present burst that may still leave at once.
    burst: u32,
}

record!(SegmentPacer { release_at, burst });

impl SegmentPacer {
    /// Creates a pacer that delays nothing.
    pub const fn new() -> Self {
        Self {
            release_at: Instant::ZERO,
            burst: 0,
        }
    }

    /// Returns the bytes that should leave together: a millisecond of `rate`, at most 64
    /// KiB, but at least two segments.
    pub fn quantum(rate: u64, mss: u32) -> u32 {
        let millisecond = (rate / 1_000).min(QUANTUM_MAX.into()) as u32;
        millisecond.max(2 * mss)
    }

    /// Returns the time at which the next segment may leave.
    pub const fn release_at(&self) -> Instant {
        self.release_at
    }

    /// Returns true if a segment may leave now.
    pub fn may_send(&self, now: Instant) -> bool {
        self.burst > 0 || self.release_at <= now
    }

    /// Grants the burst of a flight that starts while nothing is in flight.
    pub fn on_flight_start(&mut self, mss: u32) {
        self.burst = BURST_SEGMENTS * mss;
    }

    /// Charges `bytes` that leave at `rate`. A release time more than one quantum in the
    /// past is first moved to one quantum in the past.
    pub fn on_sent(&mut self, bytes: u32, rate: u64, mss: u32, now: Instant) {
        let charged = bytes.saturating_sub(self.burst);
        self.burst = self.burst.saturating_sub(bytes);
        let catch_up = duration_of(Self::quantum(rate, mss), rate);
        let earliest = now - catch_up;
        self.release_at = self.release_at.max(earliest) + duration_of(charged, rate);
    }
}

/// Returns the time that `bytes` take at `rate` bytes per second; a rate of 0 counts as 1.
fn duration_of(bytes: u32, rate: u64) -> Duration {
    Duration::from_nanos(u64::from(bytes) * NANOS_PER_SEC / rate.max(1))
}

#[cfg(test)]
mod tests;
