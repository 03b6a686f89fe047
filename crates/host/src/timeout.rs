//! The bound of a wait, which another thread may change.
//!
//! Rule: zero nanoseconds stand for no bound.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// A timeout of a socket; without one at first.
#[derive(Debug, Default)]
pub(crate) struct Timeout(AtomicU64);

impl Timeout {
    /// Sets it; `None` waits for ever.
    pub(crate) fn set(&self, timeout: Option<Duration>) {
        let nanos = timeout.map_or(0, |timeout| (timeout.as_nanos() as u64).max(1));
        self.0.store(nanos, Ordering::Relaxed);
    }

    /// The timeout; `None` waits for ever.
    pub(crate) fn get(&self) -> Option<Duration> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(Duration::from_nanos(nanos)),
        }
    }
}
