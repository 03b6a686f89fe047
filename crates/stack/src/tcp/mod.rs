//! The TCP of a host: finds the connection of a segment, and chooses the connection that
//! sends next.
//!
//! Rule: [`TcpLayer::run`] calls a connection and then updates every queue: timers, the transmit
//! queue, events, and the tables if the connection ended. Code that calls a connection without
//! `run` updates the queues itself. Queues therefore never disagree with a connection, and no call
//! searches a queue. The behaviour of a connection is in `fullpipe-tcp`, the layout of a frame in
//! `egress`.

pub(crate) mod answer_queues;
pub(crate) mod dispatch;
mod four_tuple;
pub(crate) mod host_state;
mod isn;
pub(crate) mod listener;
pub(crate) mod memory_waiters;
pub(crate) mod open;
mod orphans;
mod owner;
mod place;
mod ports;
#[cfg(feature = "resting")]
mod records;
mod requests;
pub(crate) mod resets;
#[cfg(feature = "resting")]
mod residence;
#[cfg(not(feature = "resting"))]
#[path = "residence_off.rs"]
mod residence;
mod slot;
mod syn_cache;
#[cfg(feature = "cookies")]
mod syn_cookie;
#[cfg(not(feature = "cookies"))]
#[path = "syn_cookie_off.rs"]
mod syn_cookie;
mod time_wait_table;
pub(crate) mod transmit_queue;

use core::net::IpAddr;

#[cfg(feature = "trace")]
use fullpipe_pool::Holder;
use fullpipe_pool::{Count, Duration, Instant, Pool, Pressure};
use fullpipe_tcp::{Connection, Env, SegmentOut, TcpConfig, TcpState, trace::TraceEvent};

pub(crate) use dispatch::SegmentSender;
pub(crate) use four_tuple::FourTuple;
pub(crate) use host_state::HostContext;
pub(crate) use slot::{Attachment, ConnectionSlot};

use crate::{
    config::{Config, SynCookieUse},
    hash_index::HashIndex,
    interface::earlier,
    interface_id::InterfaceId,
    secret::Secret,
    slab::{Key, Slab},
    source_limit::{Rates, SourceLimit},
    sources::SourceCounts,
    timer_wheel::TimerWheel,
};
use answer_queues::Answer;
use host_state::HostState;
use isn::InitialNumbers;
use listener::ListeningSockets;
use memory_waiters::{MemoryWaiters, Waiter};
use orphans::{Orphan, Orphans};
use owner::{Owner, OwnerNumbers};
use ports::EphemeralPorts;
use resets::Resets;
use residence::Residence;
pub(crate) use syn_cache::Decision;
use syn_cache::SynCache;
use syn_cookie::SynCookies;
use time_wait_table::TimeWaitTable;
use transmit_queue::TransmitQueue;

/// Returns the progress of a connection that the application has closed; `None` if the
/// connection is in TIME-WAIT or has ended.
fn orphan_progress(connection: &Connection, config: &TcpConfig, pool: &Pool) -> Option<Orphan> {
    match connection.state() {
        TcpState::TimeWait | TcpState::Closed => None,
        TcpState::SynSent
        | TcpState::SynReceived
        | TcpState::Established
        | TcpState::FinWait1
        | TcpState::FinWait2
        | TcpState::CloseWait
        | TcpState::Closing
        | TcpState::LastAck => Some(match connection.is_stalled(config) {
            true => Orphan::Stalled {
                blocks: connection.blocks(pool),
            },
            false => Orphan::Finishing,
        }),
    }
}

/// Returns `percent` per cent of `blocks`, at least one block.
fn share_of(blocks: u32, percent: u32) -> u32 {
    ((u64::from(blocks) * u64::from(percent) / 100) as u32).max(1)
}

/// All TCP state of one host.
#[derive(Debug)]
pub(crate) struct TcpLayer {
    pub(crate) host_state: HostState,
    /// Blocks that each holder (kind of buffer) has taken and blocks that are promised to it, as
    /// last recorded in the trace.
    #[cfg(feature = "trace")]
    traced_pool: [(u32, u32); Holder::ALL.len()],
    /// The level of packet memory, as last recorded and counted.
    last_pressure: Pressure,
    pub(crate) slots: Slab<ConnectionSlot>,
    pub(crate) residence: Residence,
    pub(crate) listeners: ListeningSockets,
    pub(crate) transmit_queue: TransmitQueue,
    pub(crate) resets: Resets,
    pub(crate) memory_waiters: MemoryWaiters,
    orphans: Orphans,
    /// Maps each four-tuple to the number of its owner.
    demux: HashIndex,
    numbers: OwnerNumbers,
    /// Connection that received the last segment.
    last_receiver: u32,
    syn_cache: SynCache,
    cookies: SynCookies,
    cookie_use: SynCookieUse,
    time_waits: TimeWaitTable,
    /// The timer of each owner, by the owner's number.
    timers: TimerWheel,
    initial_numbers: InitialNumbers,
    ports: EphemeralPorts,
    /// Backlog of a listener that sets none.
    backlog: u32,
    /// Time that the application has to decide about a SYN.
    request_timeout: Duration,
    /// Interface and peer of a connection that had R1 timeouts in a row (knob `tcp.retries1`). The
    /// stack then probes the next hop to this peer.
    pub(crate) negative_advice: Option<(InterfaceId, IpAddr)>,
}

impl TcpLayer {
    /// Allocates all memory that TCP uses outside the pool.
    #[inline(never)]
    pub(crate) fn new(config: &Config, secret: &Secret) -> Self {
        let sizes = &config.stack;
        let numbers =
            OwnerNumbers::new(sizes.connections, sizes.half_open, sizes.time_wait_entries);
        let port = |port: u32| u16::try_from(port).unwrap_or(u16::MAX);
        let (low, high) = (port(sizes.ephemeral_low), port(sizes.ephemeral_high));
        Self {
            host_state: HostState::new(config),
            #[cfg(feature = "trace")]
            traced_pool: [(0, 0); Holder::ALL.len()],
            last_pressure: Pressure::Low,
            slots: Slab::new(sizes.connections),
            residence: Residence::new(sizes.connections, config.busy_connections(), &config.tcp),
            listeners: ListeningSockets::new(sizes.listeners, sizes.connections, secret),
            transmit_queue: TransmitQueue::new(config.arp.entries, sizes.connections),
            resets: Resets::new(
                sizes.reset_queue,
                SourceLimit::new(
                    Rates {
                        per_second: sizes.resets_per_second,
                        per_source: sizes.resets_per_source,
                        burst: sizes.resets_burst,
                    },
                    &secret.derive(b"reset sources"),
                ),
            ),
            memory_waiters: MemoryWaiters::new(sizes.connections, config.udp_sockets()),
            orphans: Orphans::new(
                sizes.connections,
                sizes.orphans,
                share_of(config.pool.blocks, sizes.orphan_share),
            ),
            demux: HashIndex::new(numbers.count(), secret.derive(b"four-tuples")),
            numbers,
            last_receiver: 0,
            syn_cache: SynCache::new(
                sizes.half_open,
                sizes.listeners,
                share_of(config.pool.blocks, sizes.half_open_share),
                SourceCounts::new(
                    sizes.half_open,
                    sizes.half_open_per_source,
                    secret.derive(b"half-open sources"),
                ),
            ),
            cookies: SynCookies::new(secret, sizes.cookie_queue),
            cookie_use: sizes.syn_cookies,
            time_waits: TimeWaitTable::new(sizes.time_wait_entries),
            timers: TimerWheel::new(numbers.count()),
            initial_numbers: InitialNumbers::new(secret),
            ports: EphemeralPorts::new(low, high, secret),
            backlog: sizes.backlog,
            request_timeout: sizes.request_timeout,
            negative_advice: None,
        }
    }

    /// Adds the queues of one more interface.
    pub(crate) fn add_interface(&mut self) {
        self.transmit_queue.add_interface();
        self.resets.add_interface();
        self.cookies.add_interface();
        self.syn_cache.add_interface();
        self.time_waits.add_interface();
    }

    /// Returns the heap memory of each part, in bytes.
    pub(crate) fn heap_parts(&self) -> [(&'static str, usize); 12] {
        let queues = self.transmit_queue.heap_bytes()
            + self.memory_waiters.heap_bytes()
            + self.orphans.heap_bytes();
        let [busy, resting] = self.residence.heap_bytes();
        [
            ("connections", self.slots.heap_bytes() + busy),
            ("resting connections", resting),
            ("sent ranges", self.host_state.sent.heap_bytes()),
            ("listeners", self.listeners.heap_bytes()),
            ("handshakes", self.syn_cache.heap_bytes()),
            ("SYN cookies", self.cookies.heap_bytes()),
            ("TIME-WAIT", self.time_waits.heap_bytes()),
            ("timers", self.timers.heap_bytes()),
            ("table of four-tuples", self.demux.heap_bytes()),
            ("queues of connections", queues),
            ("resets", self.resets.heap_bytes()),
            ("trace", self.host_state.trace.heap_bytes()),
        ]
    }

    /// Calls connection `index` and updates the queues for its new state. The connection
    /// may be gone afterwards.
    pub(crate) fn run<R>(
        &mut self,
        index: u32,
        host: &mut HostContext<'_>,
        call: impl FnOnce(&mut Connection, &mut Env<'_>) -> R,
    ) -> R {
        let mut env = self.host_state.env(index, host);
        let connection = self.residence.awake(index, &mut self.slots);
        let result = call(connection, &mut env);
        self.settle(index, host);
        result
    }

    /// Calls connection `index` without changing it: no queue is updated, and a connection at rest
    /// stays at rest.
    pub(crate) fn look<R>(
        &mut self,
        index: u32,
        host: &mut HostContext<'_>,
        look: impl FnOnce(&Connection, &Env<'_>) -> R,
    ) -> R {
        let env = self.host_state.env(index, host);
        let place = &self.slots[index].place;
        self.residence
            .look(place, |connection| look(connection, &env))
    }

    /// Offers freed memory to at most `budget` of the connections and UDP sockets that wait for it.
    /// First, a stalled orphan may be aborted to free its memory.
    pub(crate) fn share_memory(&mut self, host: &mut HostContext<'_>, budget: u32) {
        self.abort_orphan_for_memory(host);
        let offers = self.memory_waiters.count_to_ask(host.pool, host.now);
        for _ in 0..offers.min(budget) {
            match self.memory_waiters.take() {
                None => break,
                Some(Waiter::Tcp(index)) => {
                    self.run(index, host, |connection, env| connection.on_memory(env));
                }
                Some(Waiter::Udp(index)) => host.events.udp(index),
            }
            self.memory_waiters.asked(host.pool);
        }
    }

    /// Aborts a stalled orphan to free its memory (Linux: TCPAbortOnMemory), if
    /// stalled orphans hold more than their share. Called when a connection or a
    /// handshake was refused memory.
    fn abort_orphan_for_memory(&mut self, host: &mut HostContext<'_>) {
        if let Some(orphan) = self.orphans.over_share() {
            self.abort_orphan(orphan, host);
        }
    }

    /// Aborts an orphan to free its slot; the slot is free when the orphan's reset is sent. Called
    /// when a connection or a handshake found no slot.
    fn abort_orphan_for_slot(&mut self, host: &mut HostContext<'_>) {
        if let Some(orphan) = self.orphans.yielding(self.slots.capacity()) {
            self.abort_orphan(orphan, host);
        }
    }

    /// Aborts orphan `index` with a reset.
    fn abort_orphan(&mut self, index: u32, host: &mut HostContext<'_>) {
        self.run(index, host, |connection, env| {
            connection.abort_for_memory(env);
        });
    }

    /// Records in the trace, if it is on, the holders whose use of packet memory has
    /// changed since the last record.
    #[cfg_attr(target_pointer_width = "64", inline)]
    #[cfg_attr(
        not(feature = "trace"),
        expect(unused_variables, reason = "there is no trace")
    )]
    pub(crate) fn trace_pool(&mut self, index: u32, host: &HostContext<'_>) {
        #[cfg(feature = "trace")]
        if self.host_state.trace.is_on() {
            self.trace_holders(index, host);
        }
    }

    /// Records the holders whose use of packet memory has changed since the last record.
    #[cfg(feature = "trace")]
    fn trace_holders(&mut self, index: u32, host: &HostContext<'_>) {
        let trace = &mut self.host_state.trace;
        for (traced, holder) in self.traced_pool.iter_mut().zip(Holder::ALL) {
            let now = (host.pool.held(holder), host.pool.promised_to(holder));
            if *traced != now {
                *traced = now;
                let (held, promised) = now;
                let event = TraceEvent::Pool {
                    holder,
                    held,
                    promised,
                };
                trace.record(host.now, index, event);
            }
        }
    }

    /// Counts and records changes of packet memory.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn note_memory(&mut self, index: u32, host: &HostContext<'_>) {
        self.note_pressure(index, host);
        self.trace_pool(index, host);
    }

    /// Counts and records a change of the level of packet memory.
    #[cfg_attr(target_pointer_width = "64", inline)]
    fn note_pressure(&mut self, index: u32, host: &HostContext<'_>) {
        if host.pool.pressure() != self.last_pressure {
            self.count_pressure(index, host);
        }
    }

    /// Counts and records the new level of packet memory.
    fn count_pressure(&mut self, index: u32, host: &HostContext<'_>) {
        let now = host.pool.pressure();
        let host_state = &mut self.host_state;
        host_state.counters.memory_pressures += Count::from(self.last_pressure == Pressure::Low);
        self.last_pressure = now;
        host_state
            .trace
            .record(host.now, index, TraceEvent::Pressure(now));
    }

    /// Updates the queues for the state of connection `index` after a call. Each queue
    /// returns at once if the connection's place in it stays the same.
    pub(crate) fn settle(&mut self, index: u32, host: &mut HostContext<'_>) {
        self.note_memory(index, host);
        let slot = &mut self.slots[index];
        let Some(connection) = slot.place.busy_mut() else {
            return;
        };
        let changed = connection.take_events().any();
        if changed && slot.attachment == Attachment::Application {
            host.events.tcp(index);
        }
        let (state, wants_output) = (connection.state(), connection.wants_output());
        if slot.attachment == Attachment::Orphan {
            let progress = orphan_progress(connection, &self.host_state.config, host.pool);
            self.orphans.file(index, progress);
        }
        let waits = connection.waits_for_memory();
        self.memory_waiters.file(index, waits, host.pool);
        let timer = self.numbers.encode(Owner::Connection(index));
        self.timers.set(timer, connection.next_timeout());
        if wants_output {
            self.transmit_queue.enqueue(slot.interface, index);
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

    /// Ends connection `index` and frees its four-tuple. Also frees its slot, unless the
    /// application still has the id or a RST is pending.
    #[cold]
    fn end(&mut self, index: u32, host: &mut HostContext<'_>) {
        let slot = &mut self.slots[index];
        let is_gone = slot.place.busy().is_some_and(Connection::is_gone);
        if slot.in_demux {
            slot.in_demux = false;
            let number = self.numbers.encode(Owner::Connection(index));
            self.demux.remove(slot.hash, number);
        }
        match slot.attachment {
            Attachment::Application => {}
            Attachment::Backlog => {
                slot.attachment = Attachment::Orphan;
                self.listeners.forget(index);
                self.run(index, host, |connection, env| connection.close(env));
            }
            Attachment::Orphan if is_gone => self.free(index, host),
            Attachment::Orphan => {}
        }
    }

    /// Moves connection `index`, which is in TIME-WAIT, to the table of TIME-WAIT entries, and
    /// frees its slot. The entry keeps only a few numbers of the connection. Calls with the
    /// connection's id are refused from then on.
    #[cold]
    fn compress(&mut self, index: u32, host: &mut HostContext<'_>) {
        if self.time_waits.is_off() || !self.slots[index].in_demux {
            return;
        }
        let connection = self.residence.awake(index, &mut self.slots);
        let wait = connection.time_wait(host.now);
        let Some(wait) = wait else {
            return;
        };
        if let Some(oldest) = self.time_waits.oldest_if_full() {
            self.forget_time_wait(oldest);
            host.counters.mib.tcp_time_wait_overflows += 1;
        }
        let slot = &mut self.slots[index];
        slot.in_demux = false;
        let until = wait.until;
        let hash = slot.hash;
        let (at, interface) = ((slot.tuple, hash), slot.interface);
        let entry = Owner::TimeWait(self.time_waits.add(at, interface, wait));
        let from = self.numbers.encode(Owner::Connection(index));
        self.demux.replace(hash, from, self.numbers.encode(entry));
        self.set_timer(entry, Some(until));
        self.free(index, host);
    }

    /// Frees slot `index` with all its memory.
    #[cold]
    pub(crate) fn free(&mut self, index: u32, host: &mut HostContext<'_>) {
        let host_state = &mut self.host_state;
        self.residence.awake(index, &mut self.slots).release(
            host.pool,
            &mut host_state.sent,
            &mut host_state.congestion,
        );
        self.residence.remove(index, &mut self.slots);
        let slot = &self.slots[index];
        if slot.in_demux {
            let number = self.numbers.encode(Owner::Connection(index));
            self.demux.remove(slot.hash, number);
        }
        self.slots.discard(index);
        self.set_timer(Owner::Connection(index), None);
        self.transmit_queue.remove(index);
        self.orphans.file(index, None);
        self.memory_waiters.file(index, false, host.pool);
        self.listeners.forget(index);
        host.events.forget_tcp(index);
    }

    /// Ends all TCP state at `ip`, which was removed from this host: connections and listeners with
    /// a reason, handshakes and TIME-WAIT entries silently.
    pub(crate) fn forget_address(&mut self, ip: IpAddr, host: &mut HostContext<'_>) {
        for index in 0..self.slots.capacity() {
            if self
                .slots
                .at(index)
                .is_some_and(|slot| slot.tuple.local_ip() == ip)
            {
                self.run(index, host, |connection, env| {
                    connection.on_address_removed(env);
                });
            }
        }
        while let Some(index) = self.syn_cache.first_at(ip) {
            self.host_state.counters.attempt_fails += 1;
            self.forget_handshake(index, host);
        }
        while let Some(index) = self.time_waits.first_at(ip) {
            self.forget_time_wait(index);
        }
        self.resets.forget_address(ip);
        self.cookies.forget_address(ip);
        let events = &mut host.events;
        self.listeners
            .forget_address(ip, |index| events.accept(index));
    }

    /// Removes TIME-WAIT entry `index`.
    fn forget_time_wait(&mut self, index: u32) {
        let owner = Owner::TimeWait(index);
        let entry = self.time_waits.remove(index);
        self.demux.remove(entry.hash, self.numbers.encode(owner));
        self.set_timer(owner, None);
    }

    /// Removes handshake `index`.
    fn forget_handshake(&mut self, index: u32, host: &mut HostContext<'_>) {
        let owner = Owner::Handshake(index);
        let handshake = self.syn_cache.remove(index, host.pool);
        self.demux
            .remove(handshake.hash, self.numbers.encode(owner));
        self.set_timer(owner, None);
    }

    fn set_timer(&mut self, owner: Owner, at: Option<Instant>) {
        self.timers.set(self.numbers.encode(owner), at);
    }

    fn hash(&self, tuple: &FourTuple) -> u32 {
        tuple.with_bytes(|bytes| self.demux.hash(bytes))
    }

    /// Returns the owner of `tuple`, whose hash is `hash`.
    fn owner(&self, tuple: &FourTuple, hash: u32) -> Option<Owner> {
        let has_tuple = |number| match self.numbers.decode(number) {
            Owner::Connection(index) => self.slots[index].tuple == *tuple,
            Owner::Handshake(index) => self.syn_cache.at(index).tuple == *tuple,
            Owner::TimeWait(index) => self.time_waits.at(index).tuple == *tuple,
        };
        let number = self.demux.find(hash, has_tuple)?;
        Some(self.numbers.decode(number))
    }

    /// Adds `owner` for a four-tuple whose hash is `hash` and that has no owner.
    fn add_owner(&mut self, hash: u32, owner: Owner) {
        self.demux.insert(hash, self.numbers.encode(owner));
    }

    /// Runs at most `budget` timers that have expired.
    pub(crate) fn on_timeouts(&mut self, host: &mut HostContext<'_>, budget: u32) {
        for _ in 0..budget {
            let Some(timer) = self.timers.expire(host.now) else {
                return;
            };
            match self.numbers.decode(timer) {
                Owner::Connection(index) => {
                    self.run(index, host, |connection, env| connection.on_timeout(env));
                    self.note_negative_advice(index);
                }
                Owner::Handshake(index) => self.on_handshake_timeout(index, host),
                Owner::TimeWait(index) => self.forget_time_wait(index),
            }
        }
    }

    /// Makes the next hop of connection `index` due for a probe after R1 timeouts in a
    /// row. RFC 9293 §3.8.3, RFC 1122 §3.3.1.4.
    fn note_negative_advice(&mut self, index: u32) {
        let slot = self.slots.at(index);
        let connection = slot.and_then(|slot| slot.place.busy());
        let doubts = connection.is_some_and(|it| it.doubts_path(&self.host_state.config));
        if doubts {
            self.negative_advice = slot.map(|slot| (slot.interface, slot.tuple.remote_ip()));
        }
    }

    fn on_handshake_timeout(&mut self, index: u32, host: &mut HostContext<'_>) {
        let listens = self
            .listeners
            .get(self.syn_cache.at(index).listener)
            .is_some();
        let is_pending = self.syn_cache.at(index).decision == Decision::Pending;
        let counters = &mut self.host_state.counters;
        if listens && !is_pending && self.syn_cache.on_timeout(index, &self.host_state.config) {
            counters.timeouts += 1;
            counters.retrans_segs += 1;
        } else {
            counters.attempt_fails += 1;
            self.forget_handshake(index, host);
        }
    }

    /// Returns the next deadline of any timer in TCP, and of offers of memory.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        earlier(
            self.timers.next_deadline(),
            self.memory_waiters.next_offer(),
        )
    }

    /// Returns the key that identifies connection `index` to its user.
    pub(crate) fn key(&self, index: u32) -> Key {
        self.slots.key(index)
    }

    /// Returns true if a SYN-ACK is due at `interface`.
    pub(crate) fn has_syn_ack(&self, interface: InterfaceId) -> bool {
        self.syn_cache.first_due(interface).is_some() || self.cookies.has_for(interface)
    }

    /// Removes and returns the SYN-ACK to be sent next by `interface`, or the reset with which the application
    /// refuses a SYN. If the handshake has an entry (the SYN-ACK carries no cookie), its timer
    /// starts even if the SYN-ACK cannot be sent.
    pub(crate) fn take_syn_ack(
        &mut self,
        interface: InterfaceId,
        host: &mut HostContext<'_>,
    ) -> Option<Answer> {
        let Some(index) = self.syn_cache.first_due(interface) else {
            return self.cookies.take(interface);
        };
        let now = host.now;
        let handshake = self.syn_cache.at_mut(index);
        if handshake.decision == Decision::Reset {
            let refused = Answer {
                tuple: handshake.tuple,
                segment: handshake.half_open.refusal(),
                station: handshake.station,
            };
            self.forget_handshake(index, host);
            return Some(refused);
        }
        let due = Answer {
            tuple: handshake.tuple,
            segment: handshake.half_open.send_syn_ack(now),
            station: handshake.station,
        };
        self.syn_cache.answered(index);
        let deadline = self.syn_cache.deadline(index, &self.host_state.config, now);
        self.set_timer(Owner::Handshake(index), Some(deadline));
        Some(due)
    }

    /// Returns true if an ACK is due from TIME-WAIT at `interface`.
    pub(crate) fn has_wait_ack(&self, interface: InterfaceId) -> bool {
        self.time_waits.first_due(interface).is_some()
    }

    /// Returns the next ACK due from TIME-WAIT at `interface`, with its entry and addresses.
    pub(crate) fn first_wait_ack(
        &self,
        interface: InterfaceId,
        now: Instant,
    ) -> Option<(u32, FourTuple, SegmentOut)> {
        let index = self.time_waits.first_due(interface)?;
        let entry = self.time_waits.at(index);
        Some((index, entry.tuple, entry.acknowledgment(now)))
    }

    /// Marks the ACK of TIME-WAIT entry `index` as sent or dropped.
    pub(crate) fn wait_ack_left(&mut self, index: u32) {
        self.time_waits.answered(index);
    }

    /// Returns true if a segment may be due at `interface`.
    pub(crate) fn has_output(&self, interface: InterfaceId) -> bool {
        self.has_ready(interface)
            || self.resets.has_for(interface)
            || self.has_syn_ack(interface)
            || self.has_wait_ack(interface)
    }

    /// Returns true if a connection of `interface` may have a segment to send.
    pub(crate) fn has_ready(&self, interface: InterfaceId) -> bool {
        self.transmit_queue.first(interface).is_some()
    }

    /// Returns the number of orphans: connections that the application has closed and that finish
    /// by themselves. Connections in TIME-WAIT are not counted.
    pub(crate) fn orphan_count(&self) -> u32 {
        self.orphans.len()
    }

    /// Returns two numbers: handshakes in progress, and connections in TIME-WAIT that have left
    /// their slots.
    pub(crate) fn lesser_counts(&self) -> (u32, u32) {
        (self.syn_cache.len(), self.time_waits.len())
    }

    /// Checks that the tuple table leads to every owner, and to nothing else.
    ///
    /// # Panics
    /// Panics if an owner is not found, or if the table has another entry.
    pub(crate) fn verify(&self) {
        let listed = || self.slots.iter().filter(|(_, slot)| slot.in_demux);
        let entries = listed().count() as u32 + self.syn_cache.len() + self.time_waits.len();
        assert_eq!(
            self.demux.len(),
            entries,
            "tuples in the table and tuples in use differ"
        );
        for (index, slot) in listed() {
            let owner = self.owner(&slot.tuple, slot.hash);
            let tuple = slot.tuple;
            assert_eq!(owner, Some(Owner::Connection(index)), "{tuple:?} is lost");
        }
    }
}
