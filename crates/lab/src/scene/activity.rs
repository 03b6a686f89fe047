//! When connections were at work, and how many at once.
//!
//! Rule: a connection is at work from its start to the end of its own measurement, but
//! for the beginning that was left out. Whether it had anything to do is not known here.

use fullpipe_pool::{Duration, Instant};

use super::{Ended, over};

/// When connections were at work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activity {
    /// Share of the time that was measured in which any was.
    pub share: f64,
    /// How many were at once on average over that time.
    pub at_once: f64,
    /// Share of all text that was read then, not in the beginning that was left out.
    pub text_share: f64,
}

impl Activity {
    /// Of connections that were measured for `secs`, after `omitted`.
    pub(super) fn of(ended: &[Ended<'_>], omitted: Instant, secs: f64) -> Self {
        let mut spans: Vec<_> = ended
            .iter()
            .map(|end| {
                let start = Instant::ZERO + end.plan.start;
                let over = (start + end.elapsed).max(omitted);
                (start.max(omitted), over)
            })
            .collect();
        spans.sort_unstable();
        let mut any = Duration::ZERO;
        let mut all = Duration::ZERO;
        let mut until = Instant::ZERO;
        for (from, to) in spans {
            all += to - from;
            let later = until.max(to);
            any += later - from.max(until);
            until = later;
        }
        let sum = |of: &dyn Fn(&Ended<'_>) -> u64| ended.iter().map(of).sum::<u64>() as f64;
        let text = sum(&|end| end.facts.bytes);
        Self {
            share: over(any.as_secs_f64(), secs),
            at_once: over(all.as_secs_f64(), any.as_secs_f64()),
            text_share: if text > 0.0 {
                sum(&|end| end.counted.0) / text
            } else {
                1.0
            },
        }
    }
}
