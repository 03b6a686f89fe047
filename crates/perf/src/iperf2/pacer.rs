//! When the next write is due.
//!
//! Rule: writes are spaced by their own size at the rate asked for. A sender
//! that was held up catches up, but gently: [`BURST`] worth at once, and from
//! there a third faster than asked, because a longer burst would only overflow
//! the queues in its way. It sleeps; it never spins.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::options::Rate;
use crate::stop::POLL;

/// How much of what it missed a sender may send at once.
const BURST: Duration = Duration::from_millis(1);
/// The spacing while catching up, as a share of the ordinary one.
const HURRY: f64 = 0.75;
/// What a sender missed longer ago than this is missed for good.
const FORGIVEN: Duration = Duration::from_secs(1);

/// The spacing of one stream's writes.
#[derive(Debug)]
pub struct Pacer {
    rate: Option<Rate>,
    /// When the next write is due at the rate asked for.
    due: Instant,
    /// Not before this, however late we are.
    earliest: Instant,
}

impl Pacer {
    /// Writes are due from `start` on, at `rate`; at any time when there is none.
    pub fn new(rate: Option<Rate>, start: Instant) -> Self {
        Self {
            rate,
            due: start,
            earliest: start,
        }
    }

    /// Waits until the next write is due, but no longer than a
    /// [stop](crate::stop::POLL) may go unnoticed. Returns whether it is due.
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

    /// A write of `bytes` was made: the next is due a gap later.
    pub fn wrote(&mut self, bytes: usize) {
        if let Some(rate) = self.rate {
            self.advance(gap(rate, bytes), Instant::now());
        }
    }

    fn advance(&mut self, gap: Duration, now: Instant) {
        let at_least = |past: Duration| now.checked_sub(past).unwrap_or(now);
        self.due = self.due.max(at_least(FORGIVEN)) + gap;
        self.earliest = self.earliest.max(at_least(BURST)) + gap.mul_f64(HURRY);
    }
}

/// The time that a write of `bytes` takes at `rate`.
pub fn gap(rate: Rate, bytes: usize) -> Duration {
    let seconds = match rate {
        Rate::Bits(rate_bps) => bytes as f64 * 8.0 / rate_bps as f64,
        Rate::Packets(per_second) => 1.0 / per_second as f64,
    };
    Duration::from_secs_f64(seconds)
}

#[cfg(test)]
mod tests;
