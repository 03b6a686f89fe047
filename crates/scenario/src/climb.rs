//! Time that a connection takes to fill its path.
//!
//! Rule: the path counts as full when the application has read at nine tenths of the path's rate
//! for two round trips. Shorter periods are ignored, because they may be bursts out of a queue. The
//! rate is checked ten times per round trip.

use std::collections::VecDeque;

use fullpipe_pool::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Share of the path's payload rate from which on the path counts as full.
const FULL: f64 = 0.9;
/// Round trips for which the connection must reach [`FULL`].
const ROUND_TRIPS: f64 = 2.0;
/// Number of checks in a round trip.
const LOOKS: f64 = 10.0;
/// After this many checks without progress, the connection counts as idle and is checked less
/// often.
const PATIENT_LOOKS: u32 = 100;
/// Longest time between two checks of an idle connection.
const RARE: Duration = Duration::from_millis(100);

/// A connection that has not yet filled its path.
#[derive(Debug)]
pub struct Climb {
    start: Instant,
    rtt_s: f64,
    /// Checks in the last two round trips: the time of the check, and the bytes read until that
    /// time.
    seen: VecDeque<(Instant, u64)>,
    full_after: Option<Duration>,
    /// Consecutive checks without progress.
    idle: u32,
}

impl Climb {
    /// Starts measuring at `start`, on a path whose round trip takes `rtt_s`.
    pub fn new(start: Instant, rtt_s: f64) -> Self {
        Self {
            start,
            rtt_s,
            seen: VecDeque::new(),
            full_after: None,
            idle: 0,
        }
    }

    /// Time until the next check; `None` if the path is full.
    pub fn step(&self) -> Option<Duration> {
        let often = Duration::from_micros((self.rtt_s / LOOKS * 1e6).max(1.0) as u64);
        let step = if self.idle < PATIENT_LOOKS {
            often
        } else {
            often.max(RARE)
        };
        self.full_after.is_none().then_some(step)
    }

    /// Records that `bytes` have been read in total by `now`, on a path that carries `path_bps`
    /// bit/s of payload.
    pub fn look(&mut self, now: Instant, bytes: u64, path_bps: f64) {
        if self.full_after.is_some() {
            return;
        }
        let is_news = self.seen.back().is_none_or(|(_, before)| bytes > *before);
        self.idle = if is_news { 0 } else { self.idle + 1 };
        self.seen.push_back((now, bytes));
        let secs_since = |at: Instant| now.since(at).as_secs_f64();
        let long = self.rtt_s * ROUND_TRIPS;
        while let Some(&(next, _)) = self.seen.get(1)
            && secs_since(next) >= long
        {
            self.seen.pop_front();
        }
        let (at, before) = self.seen[0];
        let read_bits = (bytes - before) as f64 * 8.0;
        if secs_since(at) >= long && read_bits >= FULL * path_bps * secs_since(at) {
            self.full_after = Some(now.since(self.start));
        }
    }

    /// Time from the start until the path was full; `None` if the path was never full.
    pub fn full_after_s(&self) -> Option<f64> {
        self.full_after.map(Duration::as_secs_f64)
    }
}
