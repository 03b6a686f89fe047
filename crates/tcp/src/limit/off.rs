//! The clock of a build without the feature `limit-clock`: it stores only the current reason.
//!
//! Rule: this file has the interface of `clock.rs`, but each time and each number of bytes is 0.

use fullpipe_pool::{
    Duration, Instant,
    record::{Record, RecordReader, RecordWriter},
};

use super::Reason;

/// The current reason, without times.
#[derive(Clone, Debug)]
pub struct Clock<R: Reason, const N: usize> {
    current: R,
}

impl<R: Reason + Record, const N: usize> Record for Clock<R, N> {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        self.current.pack(to);
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        Self {
            current: R::unpack(from),
        }
    }
}

impl<R: Reason, const N: usize> Clock<R, N> {
    /// Creates a clock with `reason`.
    pub const fn start(reason: R, _now: Instant) -> Self {
        Self { current: reason }
    }

    /// Returns the current reason.
    pub const fn current(&self) -> R {
        self.current
    }

    /// Sets the reason. Returns true if the reason changed.
    pub fn set(&mut self, reason: R, _now: Instant) -> bool {
        core::mem::replace(&mut self.current, reason) != reason
    }

    /// Does nothing.
    pub const fn charge_bytes(&mut self, _bytes: u32) {}

    /// Returns zero.
    pub const fn time_at(&self, _reason: R, _now: Instant) -> Duration {
        Duration::ZERO
    }

    /// Returns 0.
    pub const fn bytes(&self, _reason: R) -> u64 {
        0
    }

    /// Returns each reason with a time and a number of bytes of 0.
    pub fn shares(&self, _now: Instant) -> impl Iterator<Item = (R, Duration, u64)> + '_ {
        let reasons = R::all().iter().take(N);
        reasons.map(|&reason| (reason, Duration::ZERO, 0))
    }
}
