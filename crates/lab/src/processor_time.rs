//! Processor time of a run, separately for its rows (scenarios) and for the rows' explanations.
//!
//! Rule: processor time differs from run to run, so no result depends on it. A report contains the
//! processor time only if the caller requests it.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use cpu_time::ThreadTime;
use serde::Serialize;

/// Processor time so far, as the sum over all threads.
#[derive(Debug, Default)]
pub struct ProcessorClock {
    /// Time of the rows, in nanoseconds.
    rows: AtomicU64,
    explanations: AtomicU64,
}

/// Processor time in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ProcessorTime {
    /// Processor time of the rows.
    pub rows_s: f64,
    /// Processor time of the explanations.
    pub explanations_s: f64,
}

impl ProcessorClock {
    /// Runs a row by calling `work` in this thread, and adds the processor time of the call.
    pub(crate) fn of_row<T>(&self, work: impl FnOnce() -> T) -> T {
        timed(&self.rows, work)
    }

    /// Explains a row by calling `work` in this thread, and adds the processor time of the call.
    pub(crate) fn of_explanation<T>(&self, work: impl FnOnce() -> T) -> T {
        timed(&self.explanations, work)
    }

    /// Returns the time so far.
    pub fn total(&self) -> ProcessorTime {
        let secs =
            |nanos: &AtomicU64| Duration::from_nanos(nanos.load(Ordering::Relaxed)).as_secs_f64();
        ProcessorTime {
            rows_s: secs(&self.rows),
            explanations_s: secs(&self.explanations),
        }
    }
}

/// Calls `work`, and adds the thread's processor time during the call to `sum`. Adds nothing if the
/// operating system has no clock for processor time.
fn timed<T>(sum: &AtomicU64, work: impl FnOnce() -> T) -> T {
    let start = ThreadTime::try_now().ok();
    let result = work();
    let spent = start.and_then(|start| start.try_elapsed().ok());
    let nanos = spent.unwrap_or_default().as_nanos() as u64;
    sum.fetch_add(nanos, Ordering::Relaxed);
    result
}

#[cfg(test)]
mod tests;
