//! The time and bytes of a datagram flow by limit, at either end, and overflows of
//! queues.
//!
//! Rule: each end is in exactly one state at a time, and the state is read from the
//! world, never inferred. The times therefore add up to the duration of the flow, and the
//! bytes to those sent and read. `world/account.rs` reads the states.

#[cfg(test)]
mod tests;

use fullpipe_pool::{Duration, Instant};
use fullpipe_tcp::limit::{Clock, Reason};

/// The limit of a sender of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramSendLimit {
    /// Every due datagram has been handed to the device.
    Application,
    /// The processor is working while a datagram waits.
    Processor,
    /// The device's queue is full because the link is busy, or the neighbour's
    /// address is being resolved.
    Device,
    /// Every datagram has been sent.
    Closing,
}

/// The limit of a receiver of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramReceiveLimit {
    /// No datagram waits, and the queues have room.
    None,
    /// The processor is working while a datagram waits.
    Processor,
    /// The receive queue is full.
    ReceiveQueue,
    /// The receive ring is full.
    Descriptors,
}

impl DatagramSendLimit {
    const ALL: [Self; 4] = [
        Self::Application,
        Self::Processor,
        Self::Device,
        Self::Closing,
    ];

    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Processor => "processor",
            Self::Device => "device",
            Self::Closing => "closing",
        }
    }
}

impl DatagramReceiveLimit {
    const ALL: [Self; 4] = [
        Self::None,
        Self::Processor,
        Self::ReceiveQueue,
        Self::Descriptors,
    ];

    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Processor => "processor",
            Self::ReceiveQueue => "receive_queue",
            Self::Descriptors => "descriptors",
        }
    }
}

impl Reason for DatagramSendLimit {
    fn index(self) -> usize {
        self as usize
    }

    fn all() -> &'static [Self] {
        &Self::ALL
    }
}

impl Reason for DatagramReceiveLimit {
    fn index(self) -> usize {
        self as usize
    }

    fn all() -> &'static [Self] {
        &Self::ALL
    }
}

/// Time and bytes of both ends by limit, until `at`.
#[derive(Clone, Debug)]
pub struct DatagramAccount {
    sending: Clock<DatagramSendLimit, 4>,
    receiving: Clock<DatagramReceiveLimit, 4>,
    at: Instant,
}

impl DatagramAccount {
    /// An account that begins at `now`.
    pub(crate) fn start(now: Instant) -> Self {
        Self {
            sending: Clock::start(DatagramSendLimit::Application, now),
            receiving: Clock::start(DatagramReceiveLimit::None, now),
            at: now,
        }
    }

    /// Charges the time from `now` on to these limits.
    pub(crate) fn set(
        &mut self,
        sending: DatagramSendLimit,
        receiving: DatagramReceiveLimit,
        now: Instant,
    ) {
        self.sending.set(sending, now);
        self.receiving.set(receiving, now);
        self.at = now;
    }

    /// Extends the account to `now`; the limits have not changed.
    pub(crate) fn pass_to(&mut self, now: Instant) {
        self.at = now;
    }

    /// Counts a datagram of `bytes` that was handed over.
    pub(crate) fn sent(&mut self, bytes: u32) {
        self.sending.charge_bytes(bytes);
    }

    /// Counts a datagram of `bytes` that was read.
    pub(crate) fn read(&mut self, bytes: u32) {
        self.receiving.charge_bytes(bytes);
    }

    /// Name, time and bytes of each of the sender's limits.
    pub fn sender(&self) -> impl Iterator<Item = (&'static str, Duration, u64)> + '_ {
        let shares = self.sending.shares(self.at);
        shares.map(|(held, time, bytes)| (held.name(), time, bytes))
    }

    /// Name, time and bytes of each of the receiver's limits.
    pub fn receiver(&self) -> impl Iterator<Item = (&'static str, Duration, u64)> + '_ {
        let shares = self.receiving.shares(self.at);
        shares.map(|(held, time, bytes)| (held.name(), time, bytes))
    }
}

/// A period in which a queue or a ring was full and dropped something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// Time of the first drop.
    pub from: Instant,
    /// Time at which there was room again after the last drop; `None` if there is none
    /// yet.
    pub until: Option<Instant>,
    /// Number of drops.
    pub lost: u64,
}

/// The state of a queue or a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLevel {
    /// Number of waiting entries.
    pub waiting: u64,
    /// Capacity.
    pub most: u64,
    /// Entries dropped because there was no room, since the world began.
    pub lost: u64,
    /// Processor time for each entry.
    pub cost: Duration,
}

/// The length that a queue would need to drop nothing.
///
/// A dropped entry counts as waiting until the processor has been idle for as long as it
/// would have worked on the entry.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueDemand {
    /// Dropped entries that would still be waiting.
    owed: u64,
    /// Idle time not yet charged to entries of `owed`.
    idle: Duration,
    lost: u64,
    most: u64,
    open: Option<Overflow>,
}

impl QueueDemand {
    /// Updates the demand after `idle` processor time, with the state found at `now`.
    /// Returns an overflow that has ended: there is room, and the processor would have
    /// processed the dropped entries.
    pub fn look(&mut self, now: Instant, idle: Duration, found: QueueLevel) -> Option<Overflow> {
        self.work_off(idle, found.cost);
        let fresh = found.lost - self.lost;
        self.lost = found.lost;
        self.owed += fresh;
        // At the time of a drop the queue was full, even if it has room now.
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
            // No time has passed, so nothing is processed yet.
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

    /// The longest queue that was needed so far.
    pub const fn most(&self) -> u64 {
        self.most
    }

    /// The overflow that has not ended.
    pub const fn open(&self) -> Option<Overflow> {
        self.open
    }
}
