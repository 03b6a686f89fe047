//! How soon a connection fills its path.
//!
//! Rule: it does once the application has read nine tenths of what the path
//! carries over two round trips; a burst that a queue gives back is shorter.
//! Looked at ten times a round trip. What kept it from it is said elsewhere.

use std::collections::VecDeque;

use fullpipe_pool::{Duration, Instant};

#[cfg(test)]
mod tests;

/// The share of the path's payload that counts as full.
const FULL: f64 = 0.9;
/// Round trips over which it must be seen.
const ROUND_TRIPS: f64 = 2.0;
/// How often in a round trip it is looked at.
const LOOKS: f64 = 10.0;
/// Looks without news after which they become rare: the connection rests.
const PATIENT_LOOKS: u32 = 100;
/// Longest time between two looks then.
const RARE: Duration = Duration::from_millis(100);

/// A connection on its way to filling its path.
#[derive(Debug)]
pub(crate) struct Climb {
    start: Instant,
    rtt_s: f64,
    /// When how many bytes had been read: the last two round trips.
    seen: VecDeque<(Instant, u64)>,
    full_after: Option<Duration>,
    /// Looks in a row that found nothing new.
    idle: u32,
}

impl Climb {
    /// Begins at `start` on a path of a round trip of `rtt_s`.
    pub(crate) fn new(start: Instant, rtt_s: f64) -> Self {
        Self {
            start,
            rtt_s,
            seen: VecDeque::new(),
            full_after: None,
            idle: 0,
        }
    }

    /// Time until the next look; `None` when nothing is left to be seen.
    pub(crate) fn step(&self) -> Option<Duration> {
        let often = Duration::from_micros((self.rtt_s / LOOKS * 1e6).max(1.0) as u64);
        let step = if self.idle < PATIENT_LOOKS {
            often
        } else {
            often.max(RARE)
        };
        self.full_after.is_none().then_some(step)
    }

    /// `bytes` have been read in all; the path carries `path_bps` of text.
    pub(crate) fn look(&mut self, now: Instant, bytes: u64, path_bps: f64) {
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

    /// How long after its start the path was full, if it ever was.
    pub(crate) fn full_after_s(&self) -> Option<f64> {
        self.full_after.map(Duration::as_secs_f64)
    }
}
