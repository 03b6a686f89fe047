//! Datagrams from one host to another: how they are sent, and what became of
//! them.
//!
//! Rule: each datagram has its number and bytes of its own, and every one that
//! is read is verified; what is missing was lost, and nothing is sent again.
//! When they are sent and read is the world's part (`world/datagrams.rs`).

use fullpipe::{Stack, UdpId};
use fullpipe_pool::{Duration, Instant};
use std::net::SocketAddr;

use crate::account::{DatagramAccount, DatagramReceiveLimit, DatagramSendLimit, QueueDemand};
use crate::app::Amount;
use crate::check::Violation;
use crate::event_queue::Wakeup;
use crate::flow::Side;
use crate::pattern::Pattern;
use crate::world::HostId;

/// Datagrams of one sender to one receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DatagramFlowId(pub(crate) usize);

/// How fast datagrams are handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As fast as they are taken.
    Unpaced,
    /// At a rate.
    Rate {
        /// Bits of datagrams a second.
        bps: u64,
        /// The sender wakes so often, and sends at once what is due until it
        /// wakes again. Zero: each datagram has a time of its own.
        tick: Duration,
    },
}

/// What a sender of datagrams does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramPlan {
    /// Bytes of each datagram, at least 8.
    pub size: u32,
    /// How fast.
    pub pace: Pace,
    /// How much; the last datagram is whole.
    pub amount: Amount,
}

/// What datagrams came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramFacts {
    /// Datagrams that the sender's stack took.
    pub sent: u64,
    /// Datagrams that the receiver read, each counted once; each was verified.
    pub received: u64,
    /// Bytes of these.
    pub received_bytes: u64,
    /// Datagrams that were read more than once.
    pub duplicates: u64,
    /// Datagrams that were read behind one that was sent later.
    pub reordered: u64,
    /// When the last was read.
    pub last_read: Option<Instant>,
    /// The sender has sent all it wanted to.
    pub is_sent: bool,
}

/// Bytes at the start of a datagram that hold its number.
const NUMBER_LEN: usize = 8;

/// Datagrams under way.
#[derive(Debug)]
pub(crate) struct DatagramFlow {
    pub plan: DatagramPlan,
    /// Who sends, and who receives.
    pub hosts: [HostId; 2],
    pub sockets: [UdpId; 2],
    pub to: SocketAddr,
    pub pattern: Pattern,
    pub started: Instant,
    pub wakeup: Wakeup,
    pub facts: DatagramFacts,
    /// Until now, or until the plan's time is up.
    pub account: DatagramAccount,
    /// The same until the last was read, where the plan gives an amount.
    pub at_last_read: Option<DatagramAccount>,
    pub demand: QueueDemand,
    /// One bit for each datagram that was read.
    seen: Vec<u64>,
    /// The number behind the highest that was read.
    next: u64,
    buffer: Vec<u8>,
}

/// What an end does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DatagramStep {
    /// There is another datagram, at once.
    More,
    /// The next is due at this time.
    At(Instant),
    /// The stack will say when there is one, or room for one.
    Blocked,
    /// All is sent.
    Done,
}

impl DatagramFlow {
    /// Datagrams that begin at `started`.
    pub fn new(
        plan: DatagramPlan,
        hosts: [HostId; 2],
        sockets: [UdpId; 2],
        to: SocketAddr,
        key: u64,
        started: Instant,
    ) -> Self {
        assert!(plan.size as usize >= NUMBER_LEN, "a number has no room");
        Self {
            plan,
            hosts,
            sockets,
            to,
            pattern: Pattern::new(key),
            started,
            wakeup: Wakeup::default(),
            facts: DatagramFacts::default(),
            account: DatagramAccount::start(started),
            at_last_read: None,
            demand: QueueDemand::default(),
            seen: Vec::new(),
            next: 0,
            buffer: vec![0; plan.size as usize],
        }
    }

    /// Which side's socket `id` is.
    pub fn side_of(&self, host: HostId, id: UdpId) -> Option<Side> {
        Side::ALL
            .into_iter()
            .find(|side| (self.hosts[side.index()], self.sockets[side.index()]) == (host, id))
    }

    /// Whether a datagram waits for its sender to be sent.
    pub fn is_due(&self, now: Instant) -> bool {
        now >= self.started && self.not_due(now).is_none()
    }

    /// From `now` on, these hold back what is not over.
    pub fn account_until(
        &mut self,
        sending: DatagramSendLimit,
        receiving: DatagramReceiveLimit,
        now: Instant,
    ) {
        if now >= self.started {
            self.account.set(sending, receiving, now.min(self.end()));
        }
    }

    /// What held them back until `now`, the end of the plan's time, or the last that
    /// was read of an amount.
    pub fn account_at(&self, now: Instant) -> DatagramAccount {
        if let Some(account) = &self.at_last_read {
            return account.clone();
        }
        let mut account = self.account.clone();
        account.pass_to(now.min(self.end()));
        account
    }

    /// When the plan's time is up; an amount has none.
    fn end(&self) -> Instant {
        match self.plan.amount {
            Amount::Bytes(_) => Instant::from_nanos(u64::MAX),
            Amount::For(length) => self.started + length,
        }
    }

    /// Sends one datagram, if one is due.
    pub fn send_one(&mut self, stack: &mut Stack, now: Instant) -> Result<DatagramStep, Violation> {
        if let Some(then) = self.not_due(now) {
            self.facts.is_sent |= then == DatagramStep::Done;
            return Ok(then);
        }
        self.compose(self.facts.sent);
        let taken = stack.udp_send(self.sockets[0], self.to, &self.buffer);
        match taken {
            Ok(true) => {
                self.facts.sent += 1;
                self.account.sent(self.plan.size);
                Ok(self.not_due(now).unwrap_or(DatagramStep::More))
            }
            Ok(false) => Ok(DatagramStep::Blocked),
            Err(error) => Err(format!("udp_send was refused: {error}")),
        }
    }

    /// What is waited for, when no datagram is due.
    fn not_due(&self, now: Instant) -> Option<DatagramStep> {
        let (sent, size) = (self.facts.sent, u64::from(self.plan.size));
        let is_over = match self.plan.amount {
            Amount::Bytes(bytes) => sent * size >= bytes,
            Amount::For(length) => now.since(self.started) >= length,
        };
        if is_over {
            return Some(DatagramStep::Done);
        }
        let Pace::Rate { bps, tick } = self.plan.pace else {
            return None;
        };
        // When datagram number `sent` is due, to the nanosecond and rounded up.
        let bits = u128::from(sent) * u128::from(size) * 8;
        let nanos = (bits * 1_000_000_000).div_ceil(u128::from(bps.max(1)));
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        let nanos = match tick.as_nanos() {
            0 => nanos,
            tick => nanos / tick * tick,
        };
        let due = self.started + Duration::from_nanos(nanos);
        (due > now).then_some(DatagramStep::At(due))
    }

    /// Reads one datagram, if one is there.
    pub fn read_one(&mut self, stack: &mut Stack, now: Instant) -> Result<DatagramStep, Violation> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = stack.udp_receive(self.sockets[1], &mut buffer);
        self.buffer = buffer;
        let read = read.map_err(|error| format!("udp_receive was refused: {error}"))?;
        let Some(read) = read else {
            return Ok(DatagramStep::Blocked);
        };
        if read.len != self.buffer.len() {
            return Err(format!("a datagram of {} bytes was read", read.len));
        }
        let (number, text) = self.buffer.split_at(NUMBER_LEN);
        let number = u64::from_be_bytes(number.try_into().unwrap_or_default());
        let wrong = self.pattern.first_difference(self.place(number), text);
        if number >= self.facts.sent || wrong.is_some() {
            return Err(format!("datagram {number} is not one that was sent"));
        }
        self.count(number, now);
        match stack.udp_ready(self.sockets[1]) {
            Ok(ready) if ready.readable => Ok(DatagramStep::More),
            Ok(_) => Ok(DatagramStep::Blocked),
            Err(error) => Err(format!("udp_ready was refused: {error}")),
        }
    }

    fn count(&mut self, number: u64, now: Instant) {
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        let facts = &mut self.facts;
        facts.last_read = Some(now);
        if self.seen[word] & bit != 0 {
            facts.duplicates += 1;
            return;
        }
        self.seen[word] |= bit;
        facts.received += 1;
        facts.received_bytes += u64::from(self.plan.size);
        facts.reordered += u64::from(number < self.next);
        self.next = self.next.max(number + 1);
        self.account_read(now);
    }

    /// A datagram was read, in time or after it.
    fn account_read(&mut self, now: Instant) {
        if now > self.end() {
            return;
        }
        self.account.read(self.plan.size);
        if let Amount::Bytes(_) = self.plan.amount {
            self.account.pass_to(now);
            self.at_last_read = Some(self.account.clone());
        }
    }

    fn compose(&mut self, number: u64) {
        let place = self.place(number);
        let (head, text) = self.buffer.split_at_mut(NUMBER_LEN);
        head.copy_from_slice(&number.to_be_bytes());
        self.pattern.fill(place, text);
    }

    /// Where in the pattern the text of datagram `number` begins.
    fn place(&self, number: u64) -> u64 {
        number.wrapping_mul(u64::from(self.plan.size))
    }
}
