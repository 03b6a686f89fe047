//! The time in which connections were active, and the mean number of connections that were active
//! at the same time.
//!
//! Rule: a connection is active from its start to the end of its own measurement. The beginning of
//! the run, which results exclude (`omit`), does not count. An idle connection counts as active.

use fullpipe_pool::{Duration, Instant};

use super::ended::{Ended, over};

/// Time in which connections were active.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activity {
    /// Share of the measured time in which any connection was active.
    pub share: f64,
    /// Mean number of active connections in the time in which any was active.
    pub at_once: f64,
    /// Share of the delivered payload that was delivered after the excluded beginning.
    pub payload_share: f64,
}

impl Activity {
    /// Returns the activity of connections that were measured for `secs` seconds from `omitted`
    /// on.
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
        let payload = sum(&|end| end.facts.bytes);
        Self {
            share: over(any.as_secs_f64(), secs),
            at_once: over(all.as_secs_f64(), any.as_secs_f64()),
            payload_share: if payload > 0.0 {
                sum(&|end| end.counted.0) / payload
            } else {
                1.0
            },
        }
    }
}
