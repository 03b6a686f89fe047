//! Charges the time and bytes of a datagram flow to limits (reasons not to send or read more), at
//! both ends, and notes when queues overflow.
//!
//! Rule: at each end, exactly one limit applies at a time. `world/account.rs` reads this limit from
//! the state of the simulated network and infers nothing. The times at an end therefore add up to
//! the duration of the flow. The bytes add up to the bytes sent (at the sender) or read (at the
//! receiver).

#[cfg(test)]
mod tests;

use fullpipe_pool::{Duration, Instant};
use fullpipe_tcp::{Limit, ReceiveLimit, limit::Clock};

/// Time and bytes of both ends by limit, until `at`.
#[derive(Clone, Debug)]
pub struct DatagramAccount {
    sending: Clock<Limit, { Limit::COUNT }>,
    receiving: Clock<ReceiveLimit, { ReceiveLimit::COUNT }>,
    at: Instant,
}

impl DatagramAccount {
    /// An account that begins at `now`.
    pub(crate) fn start(now: Instant) -> Self {
        Self {
            sending: Clock::start(Limit::Application, now),
            receiving: Clock::start(ReceiveLimit::None, now),
            at: now,
        }
    }

    /// Charges the time from `now` on to these limits.
    pub(crate) fn set(&mut self, sending: Limit, receiving: ReceiveLimit, now: Instant) {
        self.sending.set(sending, now);
        self.receiving.set(receiving, now);
        self.at = now;
    }

    /// Extends the account to `now`; the limits have not changed.
    pub(crate) fn pass_to(&mut self, now: Instant) {
        self.at = now;
    }

    /// Counts a datagram of `bytes` that the sender handed to its stack.
    pub(crate) fn sent(&mut self, bytes: u32) {
        self.sending.charge_bytes(bytes);
    }

    /// Counts a datagram of `bytes` that the receiver read.
    pub(crate) fn read(&mut self, bytes: u32) {
        self.receiving.charge_bytes(bytes);
    }

    /// Time and bytes of each of the sender's limits.
    pub fn sender(&self) -> impl Iterator<Item = (Limit, Duration, u64)> + '_ {
        self.sending.shares(self.at)
    }

    /// Time and bytes of each of the receiver's limits.
    pub fn receiver(&self) -> impl Iterator<Item = (ReceiveLimit, Duration, u64)> + '_ {
        self.receiving.shares(self.at)
    }
}

/// A period in which a receive queue or a receive ring was full and dropped entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// Time of the first dropped entry.
    pub from: Instant,
    /// Time at which there was room again after the last drop; `None` if there has been no room
    /// since.
    pub until: Option<Instant>,
    /// Number of dropped entries.
    pub lost: u64,
}

/// The state of a receive queue or a receive ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLevel {
    /// Number of waiting entries.
    pub waiting: u64,
    /// Capacity.
    pub most: u64,
    /// Number of entries dropped for lack of room since the world (the simulated network) began.
    pub lost: u64,
    /// Processor time for each entry.
    pub cost: Duration,
}

/// Computes the capacity with which a queue would have dropped nothing.
///
/// A dropped entry counts as waiting until the processor has been idle for as long as it
/// would have worked on the entry.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueDemand {
    /// Number of dropped entries that would still be waiting if the queue had had room for them.
    owed: u64,
    /// Idle time that has passed since the last entry of `owed` counted as processed.
    idle: Duration,
    lost: u64,
    most: u64,
    open: Option<Overflow>,
}

impl QueueDemand {
    /// Updates the demand with the queue's state at `now`, after the processor was idle for `idle`.
    /// Returns an overflow that has ended. An overflow ends when the queue has room and the
    /// processor has been idle long enough to process the dropped entries.
    pub fn look(&mut self, now: Instant, idle: Duration, found: QueueLevel) -> Option<Overflow> {
        self.work_off(idle, found.cost);
        let fresh = found.lost - self.lost;
        self.lost = found.lost;
        self.owed += fresh;
        // Count a queue that has dropped an entry as full, even if the queue has room now.
        let beside = if fresh > 0 { found.most } else { found.waiting };
        self.most = self.most.max(beside + self.owed);
        if fresh > 0 {
            let open = self.open.get_or_insert(Overflow {
                from: now,
                until: None,
                lost: 0,
            });
            open.until = None;
            open.lost += fresh;
        }
        let open = self.open.as_mut()?;
        if found.waiting < found.most {
            open.until.get_or_insert(now);
        }
        let is_over = open.until.is_some() && self.owed == 0;
        is_over.then(|| self.open.take()).flatten()
    }

    fn work_off(&mut self, idle: Duration, cost: Duration) {
        if self.owed == 0 {
            return;
        }
        self.idle += idle;
        let done = match cost.as_nanos() {
            // If entries cost no time, any idle time processes all of them. Without idle time, none
            // is processed.
            0 if idle.is_zero() => 0,
            0 => self.owed,
            cost => (self.idle.as_nanos() / cost).min(self.owed),
        };
        self.owed -= done;
        self.idle = match self.owed {
            0 => Duration::ZERO,
            _ => self.idle - Duration::from_nanos(cost.as_nanos() * done),
        };
    }

    /// Smallest capacity with which the queue would have dropped nothing so far.
    pub const fn most(&self) -> u64 {
        self.most
    }

    /// The overflow that has not ended.
    pub const fn open(&self) -> Option<Overflow> {
        self.open
    }
}
