//! Checks that segments keep to the pacing rate.
//!
//! Rule: in any period, a sender may send the bytes that the pacing rate allows, plus one quantum.
//! The quantum is the larger of two amounts: the bytes of one millisecond at the rate, and two
//! segments. Each time the sender starts with nothing in flight, it may send ten more segments
//! unpaced. Each tail loss probe is one more unpaced segment, because the probe leaves when its
//! timer ends (RFC 8985 §7.3). If the rate changed since the last payload, the higher rate counts.

use fullpipe_pool::{Duration, Instant};

use super::Violation;

/// Segments that may leave unpaced after a time with nothing in flight.
const BURST_SEGMENTS: u32 = 10;
/// Bound of the accumulated rounding to nanoseconds.
const ROUNDING: Duration = Duration::from_micros(1);

/// The pacing of a connection after it has sent frames. The rate is in bytes per second.
#[derive(Clone, Copy, Debug)]
pub struct PacingState {
    /// The time.
    pub now: Instant,
    /// The pacing rate; `u64::MAX` if there is none.
    pub rate: u64,
    /// Effective segment size.
    pub mss: u32,
    /// Bytes in flight, including those just sent.
    pub in_flight: u32,
    /// Total of payload bytes that the stack has sent, retransmissions included.
    pub sent: u64,
    /// Total of tail loss probes that the host has sent.
    pub probes: u64,
}

/// The checker of one end.
#[derive(Clone, Debug, Default)]
pub struct PaceChecker {
    /// Time that the pacing rate still needs for the bytes sent so far.
    debt: Duration,
    /// Largest quantum, as time at the pacing rate, since `debt` was last zero.
    quantum: Duration,
    at: Instant,
    rate: u64,
    /// Bytes that the sender may still send unpaced.
    free: u32,
    /// Bytes of payload that this checker has seen on the wire.
    seen: u64,
    /// Total of tail loss probes that the host has sent.
    probes: u64,
}

/// Transmission time of `bytes` at `rate`.
fn time_of(bytes: u32, rate: u64) -> Duration {
    if rate == u64::MAX {
        return Duration::ZERO;
    }
    Duration::from_nanos(u64::from(bytes).saturating_mul(1_000_000_000) / rate.max(1))
}

impl PaceChecker {
    /// Checks frames with payloads of these lengths, sent one after another.
    ///
    /// # Errors
    /// Fails if the frames left too early; the error states the missing time.
    pub fn sent(&mut self, payloads: &[u32], pacing: PacingState) -> Result<(), Violation> {
        let PacingState {
            now,
            rate,
            mss,
            in_flight,
            sent,
            probes,
        } = pacing;
        let bytes: u32 = payloads.iter().sum();
        // A segment that waits for ARP counts as sent before this checker sees it. Perhaps nothing
        // was in flight when the segment was sent, so allow a burst.
        let is_unseen = sent != self.seen + u64::from(bytes);
        self.seen = sent;
        let passed = now.since(self.at);
        self.debt = if self.debt > passed {
            self.debt - passed
        } else {
            self.quantum = Duration::ZERO;
            Duration::ZERO
        };
        let slowest = if self.rate == 0 {
            rate
        } else {
            rate.min(self.rate)
        };
        let quantum = time_of(2 * mss, slowest).max(Duration::from_millis(1));
        self.quantum = self.quantum.max(quantum);
        let fastest = rate.max(self.rate);
        (self.at, self.rate) = (now, rate);
        // Nothing was in flight before these frames if only their bytes, and perhaps a FIN, which
        // counts as one byte, are in flight now.
        if is_unseen || in_flight <= bytes + 1 {
            self.free = BURST_SEGMENTS * mss;
        }
        // The count includes probes of other connections. A probe of another connection also allows
        // this connection one unpaced segment. The check is only a little weaker for that.
        if std::mem::replace(&mut self.probes, probes) != probes {
            self.free += mss;
        }
        for &payload in payloads {
            if self.free == 0 && self.debt > self.quantum + ROUNDING {
                return Err(format!(
                    "a segment of {payload} bytes left {} too early for a rate of {fastest} bytes/s: \
                     segments of {payloads:?} bytes left together, {in_flight} bytes are in flight",
                    self.debt - self.quantum,
                ));
            }
            let charged = payload.saturating_sub(self.free);
            self.free = self.free.saturating_sub(payload);
            self.debt += time_of(charged, fastest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
