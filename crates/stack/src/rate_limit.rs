//! How often something may happen: so many times a second, and a burst.
//!
//! Rule: the limit is one instant (when the next event would be due if events
//! came evenly), so it costs nothing while idle and cannot overflow. It does
//! not know what it limits.

#[cfg(test)]
mod tests;

use fullpipe_pool::{Duration, Instant};

/// Allows `burst` events at once and `per_second` on average.
#[derive(Clone, Debug)]
pub(crate) struct RateLimit {
    interval: Option<Duration>,
    /// How far ahead of the even spacing events may run.
    slack: Duration,
    due: Instant,
}

impl RateLimit {
    /// `per_second` = 0 allows nothing; `burst` is at least 1.
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        let interval = (per_second > 0).then(|| Duration::from_secs(1) / per_second);
        let slack = interval.unwrap_or(Duration::ZERO) * burst.saturating_sub(1);
        Self {
            interval,
            slack,
            due: Instant::ZERO,
        }
    }

    /// Whether an event may happen now; if so it is counted.
    pub(crate) fn allow(&mut self, now: Instant) -> bool {
        let Some(interval) = self.interval else {
            return false;
        };
        if now < self.next_allowed() {
            return false;
        }
        self.due = self.due.max(now) + interval;
        true
    }

    /// The earliest moment at which an event may happen, unless none ever may.
    pub(crate) fn next_allowed(&self) -> Instant {
        self.due - self.slack
    }
}
