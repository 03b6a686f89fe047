//! The longest wait of a socket's calls, which another thread may change.
//!
//! Rule: zero nanoseconds mean no limit.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// A timeout of a socket; none at first.
#[derive(Debug, Default)]
pub(crate) struct Timeout(AtomicU64);

impl Timeout {
    /// Sets the timeout; `None` is no limit.
    pub(crate) fn set(&self, timeout: Option<Duration>) {
        let nanos = timeout.map_or(0, |timeout| (timeout.as_nanos() as u64).max(1));
        self.0.store(nanos, Ordering::Relaxed);
    }

    /// The timeout; `None` is no limit.
    pub(crate) fn get(&self) -> Option<Duration> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(Duration::from_nanos(nanos)),
        }
    }
}
