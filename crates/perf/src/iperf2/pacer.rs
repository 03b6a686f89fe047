//! When the next write is due.
//!
//! Rule: writes are spaced by their own size at the rate asked for. A sender
//! that was held up catches up, but by no more than [`CATCH_UP`]: a longer
//! burst would only overflow the queues in its way. It sleeps; it never spins.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::options::Rate;
use crate::stop::POLL;

/// How late a sender may be and still send everything that was due.
const CATCH_UP: Duration = Duration::from_millis(2);

/// The spacing of one stream's writes.
#[derive(Debug)]
pub struct Pacer {
    rate: Option<Rate>,
    due: Instant,
}

impl Pacer {
    /// Writes are due from `start` on, at `rate`; at any time when there is none.
    pub fn new(rate: Option<Rate>, start: Instant) -> Self {
        Self { rate, due: start }
    }

    /// Waits until the next write is due, but no longer than a
    /// [stop](crate::stop::POLL) may go unnoticed. Returns whether it is due.
    pub fn wait(&self) -> bool {
        if self.rate.is_none() {
            return true;
        }
        let ahead = self.due.saturating_duration_since(Instant::now());
        if !ahead.is_zero() {
            thread::sleep(ahead.min(POLL));
        }
        ahead <= POLL
    }

    /// A write of `bytes` was made: the next is due a gap later.
    pub fn wrote(&mut self, bytes: usize) {
        let Some(rate) = self.rate else { return };
        let earliest = Instant::now().checked_sub(CATCH_UP).unwrap_or(self.due);
        self.due = self.due.max(earliest) + gap(rate, bytes);
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
