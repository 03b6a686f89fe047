//! Datagrams from one host to another: their plan, and their counts.
//!
//! Rule: each datagram has a number and bytes that follow from this number, and each datagram that
//! is read is verified. A datagram that is never read counts as lost; none is retransmitted.
//! `world/datagrams.rs` schedules sending and reading.

use fullpipe::{Stack, UdpId};
use fullpipe_pool::{Duration, Instant};
use std::net::SocketAddr;

use fullpipe_tcp::{Limit, ReceiveLimit};
use fullpipe_wire::UdpHeader;

use crate::account::{DatagramAccount, QueueDemand};
use crate::app::Amount;
use crate::check::Violation;
use crate::event_queue::Wakeup;
use crate::flow::Side;
use crate::ids::{Family, HostId};
use crate::link::ETHERNET_HEADER_LEN;
use crate::pattern::Pattern;

/// Datagrams of one sender to one receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DatagramFlowId(pub(crate) usize);

/// The rate at which the sender hands datagrams to its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// The sender sends as fast as the stack accepts datagrams.
    Unpaced,
    /// The sender sends at a rate.
    Rate {
        /// Bits of payload per second.
        bps: u64,
        /// Interval at which the sender wakes and sends every datagram that has become due. If the
        /// interval is zero, each datagram is sent at its due time.
        tick: Duration,
    },
}

/// The plan of a sender of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramPlan {
    /// Bytes of each datagram, at least 8.
    pub size: u32,
    /// Rate at which the sender hands datagrams to its stack.
    pub pace: Pace,
    /// Total amount to send. The last datagram is not shortened, even if the total then exceeds the
    /// amount.
    pub amount: Amount,
}

/// Counts of the datagrams of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramFacts {
    /// Datagrams that the sender's stack accepted.
    pub sent: u64,
    /// Datagrams that the receiver read, each counted once; each was verified.
    pub received: u64,
    /// Bytes of the datagrams received.
    pub received_bytes: u64,
    /// Datagrams that were read more than once.
    pub duplicates: u64,
    /// Datagrams that were read after one with a higher number.
    pub reordered: u64,
    /// Time at which the last datagram was read.
    pub last_read: Option<Instant>,
    /// The sender has sent the planned amount.
    pub is_sent: bool,
}

/// Bytes of the number at the start of a datagram.
const NUMBER_LEN: usize = 8;

/// The state of a datagram flow.
#[derive(Debug)]
pub(crate) struct DatagramFlow {
    pub plan: DatagramPlan,
    /// Sender and receiver.
    pub hosts: [HostId; 2],
    pub sockets: [UdpId; 2],
    pub to: SocketAddr,
    pub pattern: Pattern,
    pub started: Instant,
    pub wakeup: Wakeup,
    pub facts: DatagramFacts,
    /// The account (time and bytes by limit) until now, or until the end of the plan's time if that
    /// is earlier.
    pub account: DatagramAccount,
    /// The account at the time of the last datagram read, if the plan gives an amount.
    pub at_last_read: Option<DatagramAccount>,
    pub demand: QueueDemand,
    /// Bit set of the numbers of the datagrams that were read.
    seen: Vec<u64>,
    /// The highest number that was read, plus 1.
    next: u64,
    buffer: Vec<u8>,
}

/// The next step of one end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DatagramStep {
    /// Another datagram can follow at once.
    More,
    /// The next datagram is due at this time.
    At(Instant),
    /// Nothing can be done until the stack reports a datagram to read or room to send one.
    Blocked,
    /// Everything has been sent.
    Done,
}

impl DatagramFlow {
    /// A flow whose sender starts at `started`.
    pub fn new(
        plan: DatagramPlan,
        hosts: [HostId; 2],
        sockets: [UdpId; 2],
        to: SocketAddr,
        key: u64,
        started: Instant,
    ) -> Self {
        assert!(
            plan.size as usize >= NUMBER_LEN,
            "the datagram is too short for its number"
        );
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

    /// The side whose socket is `id` on `host`, if any.
    pub fn side_of(&self, host: HostId, id: UdpId) -> Option<Side> {
        Side::ALL
            .into_iter()
            .find(|side| (self.hosts[side.index()], self.sockets[side.index()]) == (host, id))
    }

    /// Bytes of a frame that carries a whole datagram.
    pub const fn frame_len(&self) -> usize {
        let ip_header = Family::of(self.to.ip()).header_len();
        ETHERNET_HEADER_LEN + ip_header + UdpHeader::LEN + self.plan.size as usize
    }

    /// Returns true if a datagram is due at `now`.
    pub fn is_due(&self, now: Instant) -> bool {
        now >= self.started && self.not_due(now).is_none()
    }

    /// Charges the time from `now` until the end of the flow to these limits. Does nothing before
    /// the flow has started.
    pub fn account_until(&mut self, sending: Limit, receiving: ReceiveLimit, now: Instant) {
        if now >= self.started {
            self.account.set(sending, receiving, now.min(self.end()));
        }
    }

    /// The account until `now`, or until the end of the flow if that is earlier. A flow with a
    /// planned time ends with that time. A flow with a planned amount ends with the last datagram
    /// read.
    pub fn account_at(&self, now: Instant) -> DatagramAccount {
        if let Some(account) = &self.at_last_read {
            return account.clone();
        }
        let mut account = self.account.clone();
        account.pass_to(now.min(self.end()));
        account
    }

    /// End of the plan's time; the largest instant if the plan gives an amount.
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

    /// The next step if no datagram is due; `None` if a datagram is due.
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
        // Due time of datagram number `sent`, in nanoseconds, rounded up.
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

    /// Reads one datagram, if one has arrived.
    pub fn read_one(&mut self, stack: &mut Stack, now: Instant) -> Result<DatagramStep, Violation> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = stack.udp_receive(self.sockets[1], &mut buffer);
        self.buffer = buffer;
        let read = read.map_err(|error| format!("udp_receive was refused: {error}"))?;
        let Some(read) = read else {
            return Ok(DatagramStep::Blocked);
        };
        if read.len != self.buffer.len() {
            return Err(format!(
                "a datagram of {} bytes was read, but the sender's datagrams have another size",
                read.len
            ));
        }
        let (number, payload) = self.buffer.split_at(NUMBER_LEN);
        let number = u64::from_be_bytes(number.try_into().unwrap_or_default());
        let wrong = self.pattern.first_difference(self.place(number), payload);
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

    /// If the plan's time is not over, adds a datagram that was read to the account.
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
        let (head, payload) = self.buffer.split_at_mut(NUMBER_LEN);
        head.copy_from_slice(&number.to_be_bytes());
        self.pattern.fill(place, payload);
    }

    /// Offset in the pattern at which the payload of datagram `number` begins.
    fn place(&self, number: u64) -> u64 {
        number.wrapping_mul(u64::from(self.plan.size))
    }
}
