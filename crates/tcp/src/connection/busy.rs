//! The time for which a connection has been busy: some payload, or FIN, is not acknowledged.
//!
//! Rule: busy means the same as in `tcpi_busy_time` of Linux. The clock runs whichever limit the
//! connection has, and takes eight bytes per connection.

use fullpipe_pool::{Duration, Instant, record};

/// Flag in [`BusyClock`] that is set while the clock runs.
const RUNS: u64 = 1 << 63;

/// Clock of the busy time. The value of a stopped clock is the busy time so far. The value of a
/// running clock is the flag [`RUNS`] and a difference: the present time minus the busy time. Both
/// times grow while the clock runs, so the difference is constant.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BusyClock(u64);

record!(BusyClock(value));

impl BusyClock {
    /// Starts or stops the clock, unless it is in the state `busy` already.
    pub(super) fn set(&mut self, busy: bool, now: Instant) {
        if busy != (self.0 & RUNS != 0) {
            let total = self.total(now);
            self.0 = if busy {
                RUNS + (now.as_nanos() - total.as_nanos())
            } else {
                total.as_nanos()
            };
        }
    }

    /// Returns the busy time as of `now`.
    pub(super) fn total(self, now: Instant) -> Duration {
        if self.0 & RUNS == 0 {
            return Duration::from_nanos(self.0);
        }
        now.since(Instant::from_nanos(self.0 & !RUNS))
    }
}

#[cfg(test)]
mod tests;
