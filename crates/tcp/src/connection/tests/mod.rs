//! Tests with two connections and a path between them, in virtual time.
//!
//! Rule: a segment on the path is a copy with its payload, delivered after a fixed
//! delay unless a rule drops it. The simulator tests whole networks; this module has
//! only one connection and its peer.

mod attacks;
mod autotune;
mod calls;
mod closing;
mod ecn;
mod half_open;
mod limits;
mod opening;
mod path_mtu;
mod readers;
mod reports;
mod super_segments;
mod timers;
mod transfer;
mod urgent;
mod windows;

use alloc::{boxed::Box, collections::VecDeque, vec::Vec};

use fullpipe_pool::{Duration, Instant, Pool, PoolConfig};
use fullpipe_wire::{Ecn, TcpFlags, TcpOptions};

use super::*;
use crate::{
    CloseReason, DiscardReason, Discards, Limit, ReceiveLimit, Segment, SegmentOut, SeqNum,
    TcpConfig, TcpCounters, Trace, congestion::CongestionRegistry, recovery::SentArena,
};

/// One end: a connection and its environment.
pub(super) struct Endpoint {
    pub connection: Option<Connection>,
    pub pool: Pool,
    pub config: TcpConfig,
    pub counters: TcpCounters,
    pub discards: Discards,
    pub trace: Trace,
    pub sent: SentArena,
    pub congestion: CongestionRegistry,
}

impl Endpoint {
    pub fn new(config: TcpConfig, pool: PoolConfig) -> Self {
        Self {
            connection: None,
            pool: Pool::new(&pool),
            config,
            counters: TcpCounters::default(),
            discards: Discards::default(),
            trace: Trace::new(4_096),
            sent: SentArena::new(1_000, 4),
            congestion: CongestionRegistry::new(),
        }
    }

    /// Calls `f` with the connection and its environment at `now`.
    pub fn with<T>(
        &mut self,
        now: Instant,
        f: impl FnOnce(&mut Connection, &mut Env<'_>) -> T,
    ) -> T {
        let connection = self.connection.as_mut().expect("a connection");
        let mut env = Env {
            now,
            pool: &mut self.pool,
            config: &self.config,
            counters: &mut self.counters,
            discards: &mut self.discards,
            trace: &mut self.trace,
            sent: &mut self.sent,
            congestion: &mut self.congestion,
            connection: 0,
        };
        f(connection, &mut env)
    }

    fn env(&mut self, now: Instant) -> Env<'_> {
        Env {
            now,
            pool: &mut self.pool,
            config: &self.config,
            counters: &mut self.counters,
            discards: &mut self.discards,
            trace: &mut self.trace,
            sent: &mut self.sent,
            congestion: &mut self.congestion,
            connection: 0,
        }
    }
}

/// A segment in the network.
#[derive(Clone, Debug)]
pub(super) struct InTransit {
    pub due: Instant,
    pub to: usize,
    pub seq: SeqNum,
    pub ack: SeqNum,
    pub flags: TcpFlags,
    pub window: u16,
    pub options: TcpOptions,
    pub payload: Vec<u8>,
    pub ecn: Ecn,
}

impl InTransit {
    pub fn segment(&self) -> Segment<'_> {
        Segment {
            seq: self.seq,
            ack: self.ack,
            flags: self.flags,
            window: self.window,
            urgent: 0,
            options: self.options,
            payload: &self.payload,
            merged: self.payload.len().div_ceil(MSS.into()).max(1) as u16,
            ecn: self.ecn,
        }
    }
}

/// Decides whether a segment is lost.
pub(super) type LossRule = Box<dyn FnMut(&InTransit) -> bool>;

/// Changes a segment before it arrives.
pub(super) type SegmentChange = Box<dyn FnMut(&mut InTransit)>;

/// Two ends and the path.
pub(super) struct Pair {
    pub now: Instant,
    pub delay: Duration,
    pub ends: [Endpoint; 2],
    pub path: VecDeque<InTransit>,
    pub lose: LossRule,
    /// Changes segments before they arrive.
    pub change: SegmentChange,
    /// Every segment that was sent, lost or not.
    pub sent: Vec<InTransit>,
    /// Largest payload, in bytes, of a frame that the devices cut into segments; 0 if they cut none.
    pub device_max: u32,
    half_open: Option<HalfOpen>,
}

pub(super) const CLIENT: usize = 0;
pub(super) const SERVER: usize = 1;
const MSS: u16 = 1_460;

pub(super) fn open(config: &TcpConfig, iss: u32) -> ActiveOpen {
    ActiveOpen {
        iss: SeqNum(iss),
        mss_limit: MSS,
        timestamp_offset: iss ^ 0x5555,
        tuning: Tuning::from_config(config),
    }
}

impl Pair {
    /// Creates a client that has called connect and a server that listens.
    pub fn new(client: TcpConfig, server: TcpConfig) -> Self {
        let pool = PoolConfig {
            blocks: 2_048,
            block_size: 1_024,
            ..PoolConfig::default()
        };
        Self::with_pools(client, server, pool.clone(), pool)
    }

    pub fn with_pools(client: TcpConfig, server: TcpConfig, a: PoolConfig, b: PoolConfig) -> Self {
        let mut pair = Self {
            now: Instant::from_secs(100),
            delay: Duration::from_millis(10),
            ends: [Endpoint::new(client, a), Endpoint::new(server, b)],
            path: VecDeque::new(),
            lose: Box::new(|_| false),
            change: Box::new(|_| {}),
            sent: Vec::new(),
            device_max: 0,
            half_open: None,
        };
        let now = pair.now;
        let client = &mut pair.ends[CLIENT];
        // Start close to the end of the sequence space, so that sequence numbers wrap in every
        // test.
        let open = open(&client.config, u32::MAX - 2_000);
        client.connection = Some(Connection::connect(open, &mut client.env(now)));
        pair
    }

    /// Creates a pair of established connections; the server has eight blocks of 1,000
    /// bytes.
    pub fn with_a_small_server() -> Self {
        let pool = PoolConfig {
            blocks: 8,
            block_size: 1_000,
            ..PoolConfig::default()
        };
        let config = TcpConfig {
            window_share: 100,
            ..TcpConfig::default()
        };
        let mut pair = Self::with_pools(config.clone(), config, PoolConfig::default(), pool);
        pair.run_for(Duration::from_millis(50));
        pair
    }

    /// Creates a pair of established connections.
    pub fn established(client: TcpConfig, server: TcpConfig) -> Self {
        let mut pair = Self::new(client, server);
        pair.run_for(Duration::from_millis(50));
        assert_eq!(pair.states(), [TcpState::Established; 2]);
        pair
    }

    pub fn states(&self) -> [TcpState; 2] {
        [0, 1].map(|end| {
            self.ends[end]
                .connection
                .as_ref()
                .map_or(TcpState::Closed, Connection::state)
        })
    }

    pub fn at<T>(&mut self, end: usize, f: impl FnOnce(&mut Connection, &mut Env<'_>) -> T) -> T {
        let now = self.now;
        self.ends[end].with(now, f)
    }

    pub fn write(&mut self, end: usize, payload: &[u8]) -> usize {
        let taken = self
            .at(end, |connection, env| connection.write(payload, env))
            .expect("may write");
        self.transmit();
        taken
    }

    /// Reads everything that is readable.
    pub fn read(&mut self, end: usize) -> Vec<u8> {
        let mut all = Vec::new();
        let mut piece = [0; 700];
        while let Ok(Read::Data(n)) =
            self.at(end, |connection, env| connection.read(&mut piece, env))
        {
            all.extend_from_slice(&piece[..n]);
        }
        self.transmit();
        all
    }

    /// Lets both ends send what is due, and checks their invariants.
    pub fn transmit(&mut self) {
        for from in [CLIENT, SERVER] {
            if self.ends[from].connection.is_none() {
                continue;
            }
            let mut budget = 10_000;
            while let Some(in_transit) = self.poll(from) {
                budget -= 1;
                assert!(budget > 0, "an endless stream of segments");
                self.sent.push(in_transit.clone());
                if !(self.lose)(&in_transit) {
                    self.path.push_back(in_transit);
                }
            }
            self.at(from, |connection, env| {
                connection.verify(env.now, env.pool, env.sent)
            });
        }
    }

    fn poll(&mut self, from: usize) -> Option<InTransit> {
        let due = self.now + self.delay;
        let device_max = self.device_max;
        self.at(from, |connection, env| {
            let out = connection.poll_segment(device_max, env)?;
            let mut payload = Vec::new();
            for slice in connection.payload(&out, env.pool) {
                payload.extend_from_slice(slice);
            }
            assert_eq!(payload.len(), out.payload_len() as usize);
            let SegmentOut {
                seq,
                ack,
                flags,
                window,
                options,
                ecn,
                ..
            } = out;
            Some(InTransit {
                due,
                to: 1 - from,
                seq,
                ack,
                flags,
                window,
                options,
                payload,
                ecn,
            })
        })
    }

    /// Moves time to the next event, at most to `until`. Returns false if there
    /// is none.
    pub fn step(&mut self, until: Instant) -> bool {
        let arrival = self.path.front().map(|in_transit| in_transit.due);
        let timers = self
            .ends
            .iter()
            .filter_map(|end| end.connection.as_ref()?.next_timeout());
        let Some(next) = arrival
            .into_iter()
            .chain(timers)
            .min()
            .filter(|&next| next <= until)
        else {
            self.now = until;
            return false;
        };
        self.now = self.now.max(next);
        while self
            .path
            .front()
            .is_some_and(|in_transit| in_transit.due <= self.now)
        {
            let mut in_transit = self.path.pop_front().expect("looked at");
            (self.change)(&mut in_transit);
            self.deliver(&in_transit);
        }
        for end in [CLIENT, SERVER] {
            let due = self.ends[end]
                .connection
                .as_ref()
                .and_then(Connection::next_timeout);
            if due.is_some_and(|due| due <= self.now) {
                self.at(end, |connection, env| connection.on_timeout(env));
            }
        }
        self.transmit();
        true
    }

    pub fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        self.transmit();
        while self.step(until) {}
    }

    pub fn deliver(&mut self, in_transit: &InTransit) {
        let segment = in_transit.segment();
        if self.ends[in_transit.to].connection.is_some() {
            return self.at(in_transit.to, |connection, env| {
                connection.on_segment(&segment, env)
            });
        }
        self.listen(in_transit);
    }

    /// Acts as a listener: keeps a half-open entry, then makes a connection.
    fn listen(&mut self, in_transit: &InTransit) {
        let segment = in_transit.segment();
        let now = self.now;
        let end = &mut self.ends[in_transit.to];
        if segment.has(TcpFlags::SYN) && !segment.has(TcpFlags::ACK) {
            let open = open(&end.config, 77);
            let mut half_open =
                HalfOpen::from_syn(&segment, open, &end.config, &end.pool, u32::MAX);
            let SegmentOut {
                seq,
                ack,
                flags,
                window,
                options,
                ecn,
                ..
            } = half_open.send_syn_ack(now);
            let to = 1 - in_transit.to;
            let due = now + self.delay;
            self.path.push_back(InTransit {
                due,
                to,
                seq,
                ack,
                flags,
                window,
                options,
                payload: Vec::new(),
                ecn,
            });
            self.half_open = Some(half_open);
        } else if let Some(half_open) = self.half_open.filter(|half| half.is_completed_by(&segment))
        {
            let tuning = Tuning::from_config(&end.config);
            let made = opened(&half_open, &segment, tuning, &mut end.env(now));
            end.connection = made;
            if end.connection.is_some() {
                self.at(in_transit.to, |connection, env| {
                    connection.on_segment(&segment, env)
                });
            }
        }
    }

    /// Writes `total` bytes at `from` and reads them at the other end, until
    /// all have arrived or `limit` has passed. Returns the time that the transfer took.
    pub fn transfer(&mut self, from: usize, total: usize, limit: Duration) -> Duration {
        let start = self.now;
        let (mut written, mut read) = (0, 0);
        while read < total && self.now.since(start) < limit {
            while written < total {
                let payload: Vec<u8> = (written..total.min(written + 4_096)).map(pattern).collect();
                let taken = self.write(from, &payload);
                written += taken;
                if taken < payload.len() {
                    break;
                }
            }
            for byte in self.read(1 - from) {
                assert_eq!(byte, pattern(read), "byte {read}");
                read += 1;
            }
            self.step(start + limit);
        }
        assert_eq!(read, total, "everything arrives in time");
        self.now.since(start)
    }
}

/// Returns the byte that belongs at `position`.
pub(super) fn pattern(position: usize) -> u8 {
    (position ^ (position >> 8) ^ (position >> 16)) as u8
}

pub(super) fn data_sent(pair: &Pair, from: usize) -> impl Iterator<Item = &InTransit> {
    pair.sent
        .iter()
        .filter(move |in_transit| in_transit.to == 1 - from && !in_transit.payload.is_empty())
}

pub(super) fn lose_nth_data(to: usize, nth: usize) -> LossRule {
    let mut seen = 0;
    Box::new(move |in_transit| {
        let counts = in_transit.to == to && !in_transit.payload.is_empty();
        seen += usize::from(counts);
        counts && seen == nth
    })
}

/// Returns the connection whose handshake `ack` completes, unless memory does not suffice.
fn opened(
    half_open: &HalfOpen,
    ack: &Segment<'_>,
    tuning: Tuning,
    env: &mut Env<'_>,
) -> Option<Connection> {
    let mut connection = Connection::from_half_open(half_open, tuning, env);
    connection.accept(half_open, ack, env).then_some(connection)
}
