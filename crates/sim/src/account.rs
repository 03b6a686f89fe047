//! What holds datagrams back at either end, for how long, and how much waited.
//!
//! Rule: a clock of either end is always in exactly one state, which is looked
//! up in the world and never concluded from figures; so its times add up to the
//! time that the datagrams took, and its bytes to what was sent and what was
//! read. Nothing here knows where the states come from (`world/account.rs`).

#[cfg(test)]
mod tests;

use fullpipe_pool::{Duration, Instant};
use fullpipe_tcp::limit::{Clock, Reason};

/// What holds a sender of datagrams back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramSendLimit {
    /// All that was due has been handed to the device.
    Application,
    /// Its processor is at work while a datagram waits.
    Processor,
    /// The device's queue is full because the link is busy, or the neighbour is
    /// not known yet.
    Device,
    /// All has been sent.
    Closing,
}

/// What a receiver of datagrams is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramReceiveLimit {
    /// Nothing waits, and there is room for what comes.
    None,
    /// Its processor is at work.
    Processor,
    /// Its queue has no room for another datagram.
    ReceiveQueue,
    /// Its receive ring has no room for another frame.
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

/// Time and bytes of both ends until `at`.
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

    /// From `now` on, these hold.
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

    /// The time is `now`, and nothing has changed before.
    pub(crate) fn pass_to(&mut self, now: Instant) {
        self.at = now;
    }

    /// A datagram of so many bytes was handed over.
    pub(crate) fn sent(&mut self, bytes: u32) {
        self.sending.charge_bytes(bytes);
    }

    /// A datagram of so many bytes was read.
    pub(crate) fn read(&mut self, bytes: u32) {
        self.receiving.charge_bytes(bytes);
    }

    /// Name, time and bytes of what held the sender.
    pub fn sender(&self) -> impl Iterator<Item = (&'static str, Duration, u64)> + '_ {
        let shares = self.sending.shares(self.at);
        shares.map(|(held, time, bytes)| (held.name(), time, bytes))
    }

    /// Name, time and bytes of what the receiver was at.
    pub fn receiver(&self) -> impl Iterator<Item = (&'static str, Duration, u64)> + '_ {
        let shares = self.receiving.shares(self.at);
        shares.map(|(held, time, bytes)| (held.name(), time, bytes))
    }
}

/// A time in which a queue or a ring was full and something was lost for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// When the first was lost.
    pub from: Instant,
    /// When there was room again after the last; `None`: not yet.
    pub until: Option<Instant>,
    /// How many were lost.
    pub lost: u64,
}

/// A queue or a ring, as it is found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLevel {
    /// What waits in it.
    pub waiting: u64,
    /// The most that it holds.
    pub most: u64,
    /// What was lost for want of room, ever.
    pub lost: u64,
    /// How long the processor takes for each.
    pub cost: Duration,
}

/// How much would have waited at once, had there been room for all of it.
///
/// What found no room still counts as waiting, until the processor has been idle
/// for as long as it would have been at work with it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueDemand {
    /// Lost ones that would still be waiting.
    owed: u64,
    /// Idle time that nothing of `owed` has been charged with.
    idle: Duration,
    lost: u64,
    most: u64,
    open: Option<Overflow>,
}

impl QueueDemand {
    /// The processor was idle for `idle` since the last look, and `now` this is
    /// found. Returns what is over: there is room, and what was lost would have
    /// been done with.
    pub fn look(&mut self, now: Instant, idle: Duration, found: QueueLevel) -> Option<Overflow> {
        self.work_off(idle, found.cost);
        let fresh = found.lost - self.lost;
        self.lost = found.lost;
        self.owed += fresh;
        // What was lost has found no room, whatever has been made since.
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
            // At the same moment nothing is done yet.
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

    /// The most that would have waited at once.
    pub const fn most(&self) -> u64 {
        self.most
    }

    /// What is not over.
    pub const fn open(&self) -> Option<Overflow> {
        self.open
    }
}
