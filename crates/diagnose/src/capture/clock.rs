//! Times of a capture, changed so that they never decrease.
//!
//! Rule: segments stay in the order of the capture.
//!
//! - A time up to [`SMALL_STEP_NS`] before the previous time is replaced by the previous time. Such
//!   times are usual: interfaces have queues, and captures of several interfaces are merged.
//! - A time that is further back, or more than [`LEAP_NS`] ahead of the previous time, is accepted
//!   once the next frame's time confirms it: the next time lies between [`SMALL_STEP_NS`] before it
//!   and [`LEAP_NS`] after it. Until then, the previous time is returned. A confirmed step back
//!   means that the clock was set back, so the step is added to all later times.
//! - A frame without a time gets the previous frame's time, or 0 if it is the first frame.

/// Largest step back that needs no confirmation, in nanoseconds: 1 s.
pub(super) const SMALL_STEP_NS: i64 = 1_000_000_000;
/// Largest leap ahead that needs no confirmation, in nanoseconds: 1 day.
const LEAP_NS: i64 = 86_400 * 1_000_000_000;

/// Units that the clock may have, in nanoseconds: 1 s to 1 ms.
const UNITS_NS: [i64; 4] = [1_000_000_000, 100_000_000, 10_000_000, 1_000_000];
/// Number of times that must all be multiples of a unit before it counts as the clock's unit.
const UNIT_TIMES: u64 = 20;

/// Counts of frames with unusual times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeCounters {
    /// Frames without a time.
    pub missing: u64,
    /// Times at most a second before the previous time.
    pub backwards: u64,
    /// Confirmed steps back by more than a second.
    pub steps: u64,
    /// Single times that the next frame's time did not confirm.
    pub absurd: u64,
}

/// The clock of a capture.
#[derive(Debug)]
pub(super) struct Clock {
    /// The last time in the capture that was accepted, before it was changed.
    raw_ns: Option<i64>,
    /// Largest time returned.
    now_ns: i64,
    /// Offset that is added to times of the capture.
    offset_ns: i64,
    /// A time that waits for confirmation.
    suspect_ns: Option<i64>,
    counters: TimeCounters,
    /// Number of frames with a time so far.
    times: u64,
    /// Index in [`UNITS_NS`] of the largest unit of which all times so far are multiples.
    unit: usize,
}

impl Clock {
    pub(super) const fn new() -> Self {
        Self {
            raw_ns: None,
            now_ns: 0,
            offset_ns: 0,
            suspect_ns: None,
            counters: TimeCounters {
                missing: 0,
                backwards: 0,
                steps: 0,
                absurd: 0,
            },
            times: 0,
            unit: 0,
        }
    }

    /// Largest time so far.
    pub(super) const fn now_ns(&self) -> i64 {
        self.now_ns
    }

    pub(super) const fn counters(&self) -> TimeCounters {
        self.counters
    }

    /// Unit of the times, in nanoseconds, if it is a millisecond or more.
    pub(super) fn unit_ns(&self) -> Option<i64> {
        let unit = UNITS_NS.get(self.unit).copied();
        unit.filter(|_| self.times >= UNIT_TIMES)
    }

    /// Returns the time of the next frame.
    pub(super) fn time(&mut self, at_ns: Option<i64>) -> i64 {
        let Some(at_ns) = at_ns else {
            self.counters.missing += 1;
            return self.now_ns;
        };
        self.times += 1;
        while UNITS_NS
            .get(self.unit)
            .is_some_and(|unit| at_ns % unit != 0)
        {
            self.unit += 1;
        }
        let Some(raw_ns) = self.raw_ns else {
            self.raw_ns = Some(at_ns);
            // Earlier frames may have had no time, and got the time 0. Never return a smaller
            // time than theirs.
            self.now_ns = match self.counters.missing {
                0 => at_ns,
                _ => self.now_ns.max(at_ns),
            };
            return self.now_ns;
        };
        let ahead_ns = at_ns.saturating_sub(raw_ns);
        if (0..=LEAP_NS).contains(&ahead_ns) {
            self.counters.absurd += u64::from(self.suspect_ns.take().is_some());
            self.raw_ns = Some(at_ns);
            let moved = at_ns.saturating_add(self.offset_ns);
            self.now_ns = self.now_ns.max(moved);
        } else if (-SMALL_STEP_NS..0).contains(&ahead_ns) {
            self.counters.absurd += u64::from(self.suspect_ns.take().is_some());
            self.counters.backwards += 1;
        } else {
            self.unexpected(raw_ns, at_ns);
        }
        self.now_ns
    }

    /// Handles a step back or a leap ahead: the next frame's time confirms or refutes the step or
    /// leap.
    fn unexpected(&mut self, raw_ns: i64, at_ns: i64) {
        let Some(suspect_ns) = self.suspect_ns else {
            self.suspect_ns = Some(at_ns);
            return;
        };
        let after_ns = at_ns.saturating_sub(suspect_ns);
        if !(-SMALL_STEP_NS..=LEAP_NS).contains(&after_ns) {
            self.counters.absurd += 1;
            self.suspect_ns = Some(at_ns);
            return;
        }
        self.suspect_ns = None;
        if suspect_ns < raw_ns {
            self.counters.steps += 1;
            self.offset_ns = self.now_ns.saturating_sub(suspect_ns);
        }
        self.raw_ns = Some(at_ns.max(suspect_ns));
        let moved = at_ns.max(suspect_ns).saturating_add(self.offset_ns);
        self.now_ns = self.now_ns.max(moved);
    }
}

#[cfg(test)]
mod tests;
