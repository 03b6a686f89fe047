//! The spacing of a stream's writes at a requested rate (`-b`).
//!
//! Rule: the gap after a write is the write's size divided by the rate in bits per second, or 1
//! divided by the rate in packets per second. A late sender first sends a burst: at most the data
//! that the requested rate carries in the time [`BURST`], because a larger burst would overflow
//! queues on the path. Then the sender is a third faster than requested until it has caught up. The
//! pacer sleeps between writes; it does not busy-wait.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::options::Rate;
use crate::stop::POLL;

/// Largest burst of a late sender, as time at the requested rate.
const BURST: Duration = Duration::from_millis(1);
/// Gap between writes of a late sender, as a share of the ordinary gap.
const CATCH_UP_SPACING: f64 = 0.75;
/// Largest delay that a sender makes up for; a longer delay counts as this delay.
const LAG_MAX: Duration = Duration::from_secs(1);

/// Times of one stream's writes.
#[derive(Debug)]
pub struct WritePacer {
    rate: Option<Rate>,
    /// Due time of the next write at the requested rate.
    due: Instant,
    /// Earliest time of the next write, even for a late sender.
    earliest: Instant,
}

impl WritePacer {
    /// Returns a pacer whose first write is due at `start`. Without a rate every
    /// write is due at once.
    pub fn new(rate: Option<Rate>, start: Instant) -> Self {
        Self {
            rate,
            due: start,
            earliest: start,
        }
    }

    /// Waits until the next write is due, but at most for [`POLL`]. Returns true if it is
    /// due.
    pub fn wait(&self) -> bool {
        if self.rate.is_none() {
            return true;
        }
        let next = self.due.max(self.earliest);
        let ahead = next.saturating_duration_since(Instant::now());
        if !ahead.is_zero() {
            thread::sleep(ahead.min(POLL));
        }
        ahead <= POLL
    }

    /// Records a write of `bytes`: the next write is due one gap later.
    pub fn wrote(&mut self, bytes: usize) {
        if let Some(rate) = self.rate {
            self.advance(rate.time_of(bytes), Instant::now());
        }
    }

    fn advance(&mut self, gap: Duration, now: Instant) {
        let at_least = |past: Duration| now.checked_sub(past).unwrap_or(now);
        self.due = self.due.max(at_least(LAG_MAX)) + gap;
        self.earliest = self.earliest.max(at_least(BURST)) + gap.mul_f64(CATCH_UP_SPACING);
    }
}

#[cfg(test)]
mod tests;
