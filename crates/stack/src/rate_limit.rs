//! A rate limit: events per second, with a burst.
//!
//! Rule: the state is one instant, the due time of the next event if events were evenly
//! spaced (GCRA). A limit that is not used therefore needs no timer and cannot overflow.

#[cfg(test)]
mod tests;

use fullpipe_pool::{Duration, Instant};

/// Allows `burst` events at once and `per_second` on average.
#[derive(Clone, Debug)]
pub(crate) struct RateLimit {
    interval: Option<Duration>,
    /// Longest time by which an event may precede its due time.
    slack: Duration,
    due: Instant,
}

impl RateLimit {
    /// Returns a limit; `per_second` = 0 allows no event, and `burst` is at least 1.
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        let interval = (per_second > 0).then(|| Duration::from_secs(1) / per_second);
        let slack = interval.unwrap_or(Duration::ZERO) * burst.saturating_sub(1);
        Self {
            interval,
            slack,
            due: Instant::ZERO,
        }
    }

    /// Returns true if an event is allowed now, and then counts the event.
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

    /// Returns the earliest time of the next event, if any is ever allowed.
    pub(crate) fn next_allowed(&self) -> Instant {
        self.due - self.slack
    }
}
