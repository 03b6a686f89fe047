//! What leaves keeps to the pacing rate.
//!
//! Rule: each byte takes as long as the rate in force when it left says. In any
//! stretch of time no more leaves than that time allows, plus one quantum (a
//! millisecond, or two segments), plus ten segments for each flight that began
//! in an empty pipe. Where two rates were in force in one turn of the host, the
//! faster one counts.

use fullpipe_pool::{Duration, Instant};

use super::Violation;

/// Segments that are free when nothing is in flight.
const BURST_SEGMENTS: u32 = 10;
/// What rounding to nanoseconds may add up to.
const ROUNDING: Duration = Duration::from_micros(1);

/// How a connection paces, after it has sent. Bytes and bytes a second.
#[derive(Clone, Copy, Debug)]
pub struct PacingState {
    /// The time.
    pub now: Instant,
    /// The rate in force; `u64::MAX` is none.
    pub rate: u64,
    /// Effective segment size.
    pub mss: u32,
    /// On the way, what was just sent included.
    pub in_flight: u32,
    /// Bytes of text that the stack has ever sent, each time it did.
    pub sent: u64,
}

/// The watch over one end.
#[derive(Clone, Debug, Default)]
pub struct PaceChecker {
    /// Time that what has left takes and that has not passed yet.
    debt: Duration,
    /// The longest quantum since there was no debt.
    quantum: Duration,
    at: Instant,
    rate: u64,
    /// Bytes of the burst that are still free.
    free: u32,
    /// Bytes of text that have been seen to leave.
    seen: u64,
}

/// How long `bytes` take at `rate`.
fn time_of(bytes: u32, rate: u64) -> Duration {
    if rate == u64::MAX {
        return Duration::ZERO;
    }
    Duration::from_nanos(u64::from(bytes).saturating_mul(1_000_000_000) / rate.max(1))
}

impl PaceChecker {
    /// Frames with texts of these lengths have left, one after the other.
    ///
    /// # Errors
    /// By how much they left too early.
    pub fn sent(&mut self, texts: &[u32], pacing: PacingState) -> Result<(), Violation> {
        let PacingState {
            now,
            rate,
            mss,
            in_flight,
            sent,
        } = pacing;
        let bytes: u32 = texts.iter().sum();
        // What waits for a neighbour's address was sent when it was not seen, and
        // a flight may have begun with it.
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
        // FIN counts one. Nothing else was on its way: a flight has begun.
        if is_unseen || in_flight <= bytes + 1 {
            self.free = BURST_SEGMENTS * mss;
        }
        for &text in texts {
            if self.free == 0 && self.debt > self.quantum + ROUNDING {
                return Err(format!(
                    "{text} bytes left {} early at {fastest} bytes a second: {texts:?} were sent \
                     together, {in_flight} are in flight",
                    self.debt - self.quantum,
                ));
            }
            let charged = text.saturating_sub(self.free);
            self.free = self.free.saturating_sub(text);
            self.debt += time_of(charged, fastest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
