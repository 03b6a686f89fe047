//! The processor time of a run: that of its rows, and that of their explanations.
//!
//! Rule: it differs from run to run, so no result depends on it, and a report has it only if
//! the caller asks for it.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use cpu_time::ThreadTime;
use serde::Serialize;

/// Processor time so far. Threads add to it.
#[derive(Debug, Default)]
pub struct ProcessorClock {
    /// In nanoseconds.
    rows: AtomicU64,
    explanations: AtomicU64,
}

/// Processor time in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ProcessorTime {
    /// Time of the rows.
    pub rows_s: f64,
    /// Time of the explanations.
    pub explanations_s: f64,
}

impl ProcessorClock {
    /// Calls `work`, which runs a row, in this thread.
    pub(crate) fn of_row<T>(&self, work: impl FnOnce() -> T) -> T {
        timed(&self.rows, work)
    }

    /// Calls `work`, which explains a row, in this thread.
    pub(crate) fn of_explanation<T>(&self, work: impl FnOnce() -> T) -> T {
        timed(&self.explanations, work)
    }

    /// The time so far.
    pub fn total(&self) -> ProcessorTime {
        let secs =
            |nanos: &AtomicU64| Duration::from_nanos(nanos.load(Ordering::Relaxed)).as_secs_f64();
        ProcessorTime {
            rows_s: secs(&self.rows),
            explanations_s: secs(&self.explanations),
        }
    }
}

/// Calls `work`, and adds the processor time of this thread to `sum`. Where the system has no
/// such clock, nothing is added.
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
