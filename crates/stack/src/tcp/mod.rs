//! TCP as the host sees it: who is meant by a segment, connections that do not
//! exist yet or any more, and whose turn it is.
//!
//! Rule: a connection is called only through [`TcpLayer::run`], and after each
//! call [`TcpLayer::settle`] files what the call changed: its deadline, its
//! wish to send, its events, its end. So no list can disagree with a
//! connection, and nothing is ever searched for. What a connection does is
//! decided in `fullpipe-tcp`; what a frame looks like, in `egress`.

pub(crate) mod arrival;
mod demux;
mod isn;
pub(crate) mod listener;
pub(crate) mod memory;
pub(crate) mod open;
mod orphans;
pub(crate) mod parking;
mod ports;
pub(crate) mod resets;
mod syn_cache;
mod syn_cookie;
mod time_wait;
mod tuple;

use core::net::IpAddr;

use fullpipe_pool::{Holder as PoolHolder, Instant, Pool, Pressure};
use fullpipe_tcp::{
    Connection, Discards, Env, SegmentOut, SentArena, TcpConfig, TcpCounters, TcpState, Trace,
    congestion::CongestionRegistry, trace::TraceEvent,
};

pub(crate) use demux::Demux;
pub(crate) use tuple::{Bytes, FourTuple, Secret};

use crate::{
    config::{Config, SynCookieUse},
    counters::Counters,
    events::EventQueue,
    slab::{Key, Slab},
    sources::Sources,
    timer_wheel::TimerWheel,
};
use isn::InitialNumbers;
use listener::Listeners;
use memory::Waiters;
use orphans::{Orphan, Orphans};
use parking::Parking;
use ports::EphemeralPorts;
use resets::Resets;
use syn_cache::SynCache;
use syn_cookie::SynCookies;
use time_wait::TimeWaits;

/// Resets to strangers that wait to be sent.
const RESETS: u32 = 64;
/// Resets to strangers sent in a second.
const RESETS_PER_SECOND: u32 = 1_000;
/// Answers with a cookie that wait to be sent.
const COOKIES: u32 = 64;

/// What a call needs besides TCP's own state.
#[derive(Debug)]
pub(crate) struct Host<'a> {
    /// The time of this turn.
    pub(crate) now: Instant,
    /// Packet memory.
    pub(crate) pool: &'a mut Pool,
    /// Where the application learns what changed.
    pub(crate) events: &'a mut EventQueue,
    /// Counters of the host.
    pub(crate) counters: &'a mut Counters,
}

/// Who holds a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// The application, by its id.
    User,
    /// A listener, until it is accepted.
    Backlog,
    /// Nobody: the application closed it, and it finishes alone.
    Nobody,
}

/// A connection and what the host knows of it.
#[derive(Debug)]
pub(crate) struct Slot {
    /// Between whom.
    pub(crate) tuple: FourTuple,
    /// The tuple's hash.
    hash: u32,
    /// Who holds it.
    pub(crate) holder: Holder,
    /// Bytes that the device holds of what it sent, where the device says so.
    pub(crate) below: u32,
    /// Segments of the tuple find this connection: until it has ended.
    is_found: bool,
    /// The connection.
    pub(crate) connection: Connection,
}

/// Whom a four-tuple leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Connection(u32),
    Handshake(u32),
    TimeWait(u32),
}

const KIND_SHIFT: u32 = 30;
const INDEX_MASK: u32 = (1 << KIND_SHIFT) - 1;

impl Owner {
    /// As the value of a [`Demux`] entry.
    const fn encode(self) -> u32 {
        match self {
            Self::Connection(index) => index,
            Self::Handshake(index) => 1 << KIND_SHIFT | index,
            Self::TimeWait(index) => 2 << KIND_SHIFT | index,
        }
    }

    const fn decode(value: u32) -> Self {
        let index = value & INDEX_MASK;
        match value >> KIND_SHIFT {
            0 => Self::Connection(index),
            1 => Self::Handshake(index),
            2.. => Self::TimeWait(index),
        }
    }
}

/// `percent` of `blocks`, at least one.
fn share_of(blocks: u32, percent: u32) -> u32 {
    ((u64::from(blocks) * u64::from(percent) / 100) as u32).max(1)
}

/// All of TCP on one host.
#[derive(Debug)]
pub(crate) struct TcpLayer {
    pub(crate) config: TcpConfig,
    pub(crate) counters: TcpCounters,
    pub(crate) discards: Discards,
    pub(crate) trace: Trace,
    /// What the trace was last told that each holder has: blocks held and promised.
    pool_traced: [(u32, u32); PoolHolder::ALL.len()],
    /// What the trace and the counters were last told of packet memory.
    pressure_told: Pressure,
    pub(crate) sent: SentArena,
    /// Congestion control algorithms that the application registered.
    pub(crate) congestion: CongestionRegistry,
    pub(crate) slots: Slab<Slot>,
    pub(crate) listeners: Listeners,
    pub(crate) parking: Parking,
    pub(crate) resets: Resets,
    pub(crate) waiters: Waiters,
    orphans: Orphans,
    demux: Demux,
    syn_cache: SynCache,
    cookies: SynCookies,
    cookie_use: SynCookieUse,
    time_waits: TimeWaits,
    /// Connections, then handshakes, then what is in TIME-WAIT.
    timers: TimerWheel,
    numbers: InitialNumbers,
    ports: EphemeralPorts,
    /// Connections that wait in a listener that names no backlog.
    backlog: u32,
    /// A peer to which the path has become doubtful.
    pub(crate) doubted: Option<IpAddr>,
}

impl TcpLayer {
    /// Takes all memory it will ever use.
    pub(crate) fn new(config: &Config, secret: &Secret) -> Self {
        let sizes = &config.stack;
        let entries = sizes.connections + sizes.half_open + sizes.time_wait_entries;
        let port = |port: u32| u16::try_from(port).unwrap_or(u16::MAX);
        let (low, high) = (port(sizes.ephemeral_low), port(sizes.ephemeral_high));
        Self {
            config: config.tcp.clone(),
            counters: TcpCounters::default(),
            discards: Discards::default(),
            trace: Trace::new(config.trace.records as usize),
            pool_traced: [(0, 0); PoolHolder::ALL.len()],
            pressure_told: Pressure::Low,
            sent: SentArena::new(sizes.sent_ranges, sizes.connections)
                .with_max_cuts(sizes.sent_ranges_each),
            congestion: CongestionRegistry::new(),
            slots: Slab::new(sizes.connections),
            listeners: Listeners::new(sizes.listeners, sizes.connections, secret),
            parking: Parking::new(config.arp.entries, sizes.connections),
            resets: Resets::new(RESETS, RESETS_PER_SECOND),
            waiters: Waiters::new(sizes.connections),
            orphans: Orphans::new(
                sizes.connections,
                sizes.orphans,
                share_of(config.pool.blocks, sizes.orphan_share),
            ),
            demux: Demux::new(entries, secret.derive(b"four-tuples")),
            syn_cache: SynCache::new(
                sizes.half_open,
                share_of(config.pool.blocks, sizes.half_open_share),
                Sources::new(
                    sizes.half_open,
                    sizes.half_open_per_source,
                    secret.derive(b"half-open sources"),
                ),
            ),
            cookies: SynCookies::new(secret, COOKIES),
            cookie_use: sizes.syn_cookies,
            time_waits: TimeWaits::new(sizes.time_wait_entries),
            timers: TimerWheel::new(entries),
            numbers: InitialNumbers::new(secret),
            ports: EphemeralPorts::new(low, high, secret),
            backlog: sizes.backlog,
            doubted: None,
        }
    }

    /// Calls connection `index` and files what the call changed. The
    /// connection may be gone afterwards.
    pub(crate) fn run<R>(
        &mut self,
        index: u32,
        host: &mut Host<'_>,
        call: impl FnOnce(&mut Connection, &mut Env<'_>) -> R,
    ) -> R {
        let mut env = Env {
            now: host.now,
            pool: host.pool,
            config: &self.config,
            counters: &mut self.counters,
            discards: &mut self.discards,
            trace: &mut self.trace,
            sent: &mut self.sent,
            congestion: &mut self.congestion,
            connection: index,
        };
        let result = call(&mut self.slots[index].connection, &mut env);
        self.settle(index, host);
        result
    }

    /// Looks at connection `index`; nothing changes that would have to be filed.
    pub(crate) fn look<R>(
        &mut self,
        index: u32,
        host: &mut Host<'_>,
        look: impl FnOnce(&Connection, &Env<'_>) -> R,
    ) -> R {
        let env = Env {
            now: host.now,
            pool: host.pool,
            config: &self.config,
            counters: &mut self.counters,
            discards: &mut self.discards,
            trace: &mut self.trace,
            sent: &mut self.sent,
            congestion: &mut self.congestion,
            connection: index,
        };
        look(&self.slots[index].connection, &env)
    }

    /// Memory that became free goes to those who wait for it, at most `budget`
    /// of them. Orphans that get nowhere with more than their share lose it.
    pub(crate) fn share_memory(&mut self, host: &mut Host<'_>, budget: u32) {
        if self.waiters.is_empty() {
            return;
        }
        self.make_way(host);
        for _ in 0..self.waiters.count_to_ask(host.pool).min(budget) {
            let Some(index) = self.waiters.take() else {
                break;
            };
            self.run(index, host, |connection, env| connection.on_memory(env));
            self.waiters.asked(host.pool);
        }
    }

    /// Somebody was refused memory: an orphan that gets nowhere may have to go.
    fn make_way(&mut self, host: &mut Host<'_>) {
        if let Some(orphan) = self.orphans.in_the_way() {
            self.reset_orphan(orphan, host);
        }
    }

    /// Ends an orphan so that others can live.
    fn reset_orphan(&mut self, index: u32, host: &mut Host<'_>) {
        self.run(index, host, |connection, env| {
            connection.abort_for_memory(env)
        });
    }

    /// What a call on a connection that has no slot yet is handed.
    fn env<'a>(&'a mut self, connection: u32, host: &'a mut Host<'_>) -> Env<'a> {
        Env {
            now: host.now,
            pool: host.pool,
            config: &self.config,
            counters: &mut self.counters,
            discards: &mut self.discards,
            trace: &mut self.trace,
            sent: &mut self.sent,
            congestion: &mut self.congestion,
            connection,
        }
    }

    /// Tells the trace, if it is on, which accounts of packet memory have
    /// changed since it was last told.
    pub(crate) fn trace_pool(&mut self, index: u32, host: &Host<'_>) {
        if !self.trace.is_on() {
            return;
        }
        for (seen, holder) in self.pool_traced.iter_mut().zip(PoolHolder::ALL) {
            let now = (host.pool.held(holder), host.pool.promised_to(holder));
            if *seen != now {
                *seen = now;
                let (held, promised) = now;
                let event = TraceEvent::Pool {
                    holder,
                    held,
                    promised,
                };
                self.trace.record(host.now, index, event);
            }
        }
    }

    /// Counts that packet memory came under pressure, whoever brought it about.
    fn note_pressure(&mut self, index: u32, host: &Host<'_>) {
        let now = host.pool.pressure();
        if now == self.pressure_told {
            return;
        }
        self.counters.memory_pressures += u64::from(self.pressure_told == Pressure::Low);
        self.pressure_told = now;
        self.trace
            .record(host.now, index, TraceEvent::Pressure(now));
    }

    /// Files what became of connection `index`.
    fn settle(&mut self, index: u32, host: &mut Host<'_>) {
        let slot = &mut self.slots[index];
        let changed = slot.connection.take_events().any();
        if changed && slot.holder == Holder::User {
            host.events.tcp(index);
        }
        self.note_pressure(index, host);
        self.trace_pool(index, host);
        let connection = &self.slots[index].connection;
        let (state, wants_output) = (connection.state(), connection.wants_output());
        let waits = connection.waits_for_memory();
        let ended = matches!(state, TcpState::TimeWait | TcpState::Closed);
        let is_orphan = self.slots[index].holder == Holder::Nobody && !ended;
        let orphan = is_orphan.then(|| match connection.is_stalled(&self.config) {
            true => Orphan::Stalled {
                blocks: connection.blocks(host.pool),
            },
            false => Orphan::Finishing,
        });
        self.orphans.file(index, orphan);
        self.waiters.file(index, waits, host.pool);
        self.timers.set(index, connection.next_timeout());
        if wants_output {
            self.parking.wants(index);
        }
        match state {
            TcpState::Closed => self.end(index, host),
            TcpState::TimeWait if !wants_output => self.compress(index, host),
            TcpState::SynSent
            | TcpState::SynReceived
            | TcpState::Established
            | TcpState::FinWait1
            | TcpState::FinWait2
            | TcpState::CloseWait
            | TcpState::Closing
            | TcpState::LastAck
            | TcpState::TimeWait => {}
        }
    }

    /// Connection `index` is over: its tuple is free, and its slot too unless
    /// somebody holds it or it has a last word to say.
    fn end(&mut self, index: u32, host: &mut Host<'_>) {
        let slot = &mut self.slots[index];
        if slot.is_found {
            slot.is_found = false;
            self.demux
                .remove(slot.hash, Owner::Connection(index).encode());
        }
        match slot.holder {
            Holder::User => {}
            Holder::Backlog => {
                slot.holder = Holder::Nobody;
                self.listeners.forget(index);
                self.run(index, host, |connection, env| connection.close(env));
            }
            Holder::Nobody if slot.connection.is_gone() => self.free(index, host),
            Holder::Nobody => {}
        }
    }

    /// A connection in TIME-WAIT that nobody holds needs no more than a few
    /// numbers: it goes on in `time_waits`, where its tuple can be used again
    /// safely.
    fn compress(&mut self, index: u32, host: &mut Host<'_>) {
        if self.time_waits.is_off() || !self.slots[index].is_found {
            return;
        }
        let wait = self.slots[index].connection.time_wait(host.now);
        let Some(wait) = wait else {
            return;
        };
        if let Some(oldest) = self.time_waits.in_the_way() {
            self.forget_time_wait(oldest);
            host.counters.mib.tcp_time_wait_overflows += 1;
        }
        let slot = &mut self.slots[index];
        slot.is_found = false;
        let until = wait.until;
        let remains = self.time_waits.add(slot.tuple, slot.hash, wait);
        let (from, to) = (Owner::Connection(index), Owner::TimeWait(remains));
        self.demux.replace(slot.hash, from.encode(), to.encode());
        self.timers.set(self.time_wait_timer(remains), Some(until));
        self.free(index, host);
    }

    /// Gives slot `index` back with all its memory.
    pub(crate) fn free(&mut self, index: u32, host: &mut Host<'_>) {
        let mut slot = self.slots.remove(index);
        slot.connection
            .release(host.pool, &mut self.sent, &mut self.congestion);
        if slot.is_found {
            self.demux
                .remove(slot.hash, Owner::Connection(index).encode());
        }
        self.timers.set(index, None);
        self.parking.forget(index);
        self.orphans.file(index, None);
        self.waiters.file(index, false, host.pool);
        self.listeners.forget(index);
        host.events.forget_tcp(index);
    }

    /// TIME-WAIT of entry `index` is over.
    fn forget_time_wait(&mut self, index: u32) {
        let remains = self.time_waits.remove(index);
        self.demux
            .remove(remains.hash, Owner::TimeWait(index).encode());
        self.timers.set(self.time_wait_timer(index), None);
    }

    /// Handshake `index` is over.
    fn forget_handshake(&mut self, index: u32, host: &mut Host<'_>) {
        let handshake = self.syn_cache.remove(index, host.pool);
        self.demux
            .remove(handshake.hash, Owner::Handshake(index).encode());
        self.timers.set(self.handshake_timer(index), None);
    }

    fn handshake_timer(&self, index: u32) -> u32 {
        self.slots.capacity() + index
    }

    fn time_wait_timer(&self, index: u32) -> u32 {
        self.slots.capacity() + self.syn_cache.capacity() + index
    }

    fn hash(&self, tuple: &FourTuple) -> u32 {
        tuple.with_bytes(|bytes| self.demux.hash(bytes))
    }

    /// Whom segments of `tuple` are for.
    fn owner(&self, tuple: &FourTuple, hash: u32) -> Option<Owner> {
        let is_it = |value| match Owner::decode(value) {
            Owner::Connection(index) => self.slots[index].tuple == *tuple,
            Owner::Handshake(index) => self.syn_cache.at(index).tuple == *tuple,
            Owner::TimeWait(index) => self.time_waits.at(index).tuple == *tuple,
        };
        self.demux.find(hash, is_it).map(Owner::decode)
    }

    /// Lets every deadline that has come pass, at most `budget` of them.
    pub(crate) fn on_timeouts(&mut self, host: &mut Host<'_>, budget: u32) {
        for _ in 0..budget {
            let Some(timer) = self.timers.expire(host.now) else {
                return;
            };
            let (connections, handshakes) = (self.slots.capacity(), self.syn_cache.capacity());
            if timer < connections {
                self.run(timer, host, |connection, env| connection.on_timeout(env));
                self.note_doubt(timer);
            } else if timer < connections + handshakes {
                self.on_handshake_timeout(timer - connections, host);
            } else {
                self.forget_time_wait(timer - connections - handshakes);
            }
        }
    }

    /// After R1 timeouts in a row the next hop itself is doubtful.
    fn note_doubt(&mut self, index: u32) {
        let slot = self.slots.at(index);
        let doubts = slot.is_some_and(|slot| slot.connection.doubts_path(&self.config));
        if doubts {
            self.doubted = slot.map(|slot| slot.tuple.remote().ip());
        }
    }

    fn on_handshake_timeout(&mut self, index: u32, host: &mut Host<'_>) {
        let wanted = self
            .listeners
            .get(self.syn_cache.at(index).listener)
            .is_some();
        if wanted && self.syn_cache.on_timeout(index, &self.config) {
            self.counters.timeouts += 1;
            self.counters.retrans_segs += 1;
        } else {
            self.counters.attempt_fails += 1;
            self.forget_handshake(index, host);
        }
    }

    /// The next deadline of anything in TCP.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.timers.next_deadline()
    }

    /// The key that names connection `index` for its user.
    pub(crate) fn key(&self, index: u32) -> Key {
        self.slots.key(index)
    }

    /// Whether SYN and ACK are due to anybody.
    pub(crate) fn has_syn_ack(&self) -> bool {
        self.syn_cache.first_due().is_some() || !self.cookies.is_empty()
    }

    /// Takes the SYN and ACK that must leave first, and whose they are. Where the
    /// handshake is remembered its timer runs, whether they leave or cannot.
    pub(crate) fn take_syn_ack(&mut self, now: Instant) -> Option<(FourTuple, SegmentOut)> {
        let Some(index) = self.syn_cache.first_due() else {
            return self.cookies.pop();
        };
        let handshake = self.syn_cache.at(index);
        let due = (handshake.tuple, handshake.half_open.syn_ack(now));
        self.syn_cache.answered(index);
        let deadline = self.syn_cache.deadline(index, &self.config, now);
        self.timers.set(self.handshake_timer(index), Some(deadline));
        Some(due)
    }

    /// The ACK from TIME-WAIT that must leave first, and whose it is.
    pub(crate) fn first_wait_ack(&self, now: Instant) -> Option<(u32, FourTuple, SegmentOut)> {
        let index = self.time_waits.first_due()?;
        let remains = self.time_waits.at(index);
        Some((index, remains.tuple, remains.acknowledgment(now)))
    }

    /// The ACK of TIME-WAIT entry `index` left, or could not.
    pub(crate) fn wait_ack_left(&mut self, index: u32) {
        self.time_waits.answered(index);
    }

    /// Whether there is something to send, or memory to share out.
    pub(crate) fn has_work(&self) -> bool {
        self.parking.first().is_some()
            || !self.resets.is_empty()
            || self.has_syn_ack()
            || self.time_waits.first_due().is_some()
    }

    /// Connections whose application has closed, and that finish alone.
    pub(crate) fn orphan_count(&self) -> u32 {
        self.orphans.len()
    }

    /// Handshakes under way, and connections in TIME-WAIT outside their slots.
    pub(crate) fn lesser_counts(&self) -> (u32, u32) {
        (self.syn_cache.len(), self.time_waits.len())
    }

    /// Checks that every tuple leads to exactly one owner and back.
    ///
    /// # Panics
    /// With the account that does not balance.
    pub(crate) fn verify(&self) {
        let found = self.slots.iter().filter(|(_, slot)| slot.is_found).count() as u32;
        let entries = found + self.syn_cache.len() + self.time_waits.len();
        assert_eq!(
            self.demux.len(),
            entries,
            "tuples in the table and tuples in use differ"
        );
        for (index, slot) in self.slots.iter().filter(|(_, slot)| slot.is_found) {
            let owner = self.owner(&slot.tuple, slot.hash);
            assert_eq!(
                owner,
                Some(Owner::Connection(index)),
                "{:?} is lost",
                slot.tuple
            );
        }
    }
}
