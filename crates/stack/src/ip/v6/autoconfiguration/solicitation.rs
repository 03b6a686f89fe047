//! The times of router solicitations. RFC 4861 §6.3.7, RFC 7559.
//!
//! Rule: after the first solicitation the interval doubles, until a default router announces
//! itself. The parent writes the messages.

use fullpipe_pool::{Duration, Instant, Rng};

/// Time until the second solicitation.
const FIRST_INTERVAL: Duration = Duration::from_secs(4);
/// Longest time between two solicitations.
const LONGEST_INTERVAL: Duration = Duration::from_secs(3_600);

/// The times of router solicitations.
#[derive(Debug)]
pub(super) struct Solicitation {
    interval: Duration,
    due: Option<Instant>,
}

impl Solicitation {
    /// Returns the state before the first solicitation.
    pub(super) const fn new() -> Self {
        Self {
            interval: FIRST_INTERVAL,
            due: None,
        }
    }

    /// Makes the first solicitation due.
    pub(super) const fn begin(&mut self, now: Instant) {
        self.due = Some(now);
        self.interval = FIRST_INTERVAL;
    }

    /// Returns the time of the next solicitation.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Notes that a solicitation was sent.
    pub(super) fn on_sent(&mut self, rng: &mut Rng, now: Instant) {
        // Hosts that started at the same time drift apart by up to a tenth of the interval.
        let percent = rng.between(90, 110) as u32;
        self.due = Some(now + self.interval * percent / 100);
        let doubled = self.interval * 2;
        self.interval = doubled.min(LONGEST_INTERVAL);
    }

    /// Notes that a default router announced itself.
    pub(super) const fn on_router(&mut self) {
        self.due = None;
    }
}
