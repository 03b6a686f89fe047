//! The stack: one host with its interfaces, composed of its layers.
//!
//! Rule: [`Stack::new`] allocates all memory, except the memory of registered congestion control
//! algorithms, of further interfaces and, with the knob `stack.busy_connections`, of further busy
//! connections. Input only changes state, and [`Stack::transmit`] is the only output. Every call
//! that depends on the time takes it as an argument. Each layer decides in its own folder;
//! this file connects them.
//!
//! Calling order: [`receive`](Stack::receive) for each frame,
//! [`on_timeouts`](Stack::on_timeouts), the application's calls in any order,
//! [`transmit`](Stack::transmit), sleep until
//! [`next_timeout`](Stack::next_timeout) or the next frame.
//! [`turn`](crate::turn()) combines the calls that need no application.

mod address_calls;
#[cfg(feature = "slaac")]
mod autoconfiguration_calls;
mod congestion_calls;
mod handles;
#[cfg(feature = "loopback")]
mod loopback_calls;
#[cfg(not(feature = "loopback"))]
#[path = "stack/loopback_calls_off.rs"]
mod loopback_calls;
mod request_calls;
mod tcp_calls;
#[cfg(feature = "udp")]
mod udp_calls;

use core::net::IpAddr;

pub use address_calls::{HostAddress, HostNeighbour};
pub use handles::{
    ConnectOptions, ConnectionId, ListenOptions, ListenerId, Refusal, RequestId, SocketEvent,
    TcpRequest,
};

use alloc::vec::Vec;

use fullpipe_pool::{Instant, Pool, Rng};
use fullpipe_tcp::{Discards, TcpCounters, Trace, trace::TraceRecord};
use fullpipe_wire::TcpHeader;

use crate::{
    config::Config,
    counters::Counters,
    device::Medium,
    error::ConfigError,
    events::{Changed, EventQueue},
    interface::{Interface, InterfaceState, TWO_FAMILIES, V6_MIN_MTU, check, earlier},
    interface_id::InterfaceId,
    ip::{Addresses, IpReceiver, IpSender, Route, RouteEntry, Routes},
    loopback::Loopback,
    secret::Secret,
    tcp::{HostContext, TcpLayer},
    udp::UdpSockets,
};

/// List nodes in use: state that peers can make this host keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// Ranges received out of order: of TCP payload and of IP fragments (knob
    /// `pool.ranges`).
    pub ranges: u32,
    /// Ranges in flight that are tracked one by one (knob `stack.sent_ranges`).
    pub pieces: u32,
}

/// A TCP/IP stack: one host with one or several interfaces.
///
/// Calling order: [`receive`](Self::receive) for each frame,
/// [`on_timeouts`](Self::on_timeouts), the application's calls in any order,
/// [`transmit`](Self::transmit), sleep until
/// [`next_timeout`](Self::next_timeout) or the next frame.
/// [`turn`](crate::turn()) combines the calls that need no application.
#[derive(Debug)]
pub struct Stack {
    /// The interfaces, by number.
    pub(crate) interfaces: Vec<InterfaceState>,
    /// The device of the loopback interface, if there is one.
    pub(crate) loopback: Option<Loopback>,
    pub(crate) routes: Routes,
    pub(crate) receiver: IpReceiver,
    pub(crate) udp: UdpSockets,
    pub(crate) tcp: TcpLayer,
    pub(crate) pool: Pool,
    pub(crate) counters: Counters,
    pub(crate) events: EventQueue,
    pub(crate) path_mtu_min: u16,
    /// The knob `stack.bursts`.
    pub(crate) bursts: bool,
    turn_budget: usize,
    /// The key of the tables of interfaces.
    secret: Secret,
    /// The key of IPv6 addresses, if the application set it.
    #[cfg(feature = "slaac")]
    identifier_key: Option<[u8; 16]>,
}

impl Stack {
    /// Creates a stack with one interface, with the tables and the packet memory of `config`.
    /// Afterwards only [`register_congestion`](Self::register_congestion) and
    /// [`add_interface`](Self::add_interface) allocate and, if the knob `stack.busy_connections` is
    /// set, a call that makes more connections busy.
    ///
    /// `secret` has 16 bytes that peers do not know, and that differ from start to start. The
    /// secret is the key of sequence numbers (RFC 6528), ports (RFC 6056) and hash tables. The same
    /// secret and the same calls produce the same frames.
    ///
    /// # Errors
    /// Returns [`ConfigError::Knob`] if a knob is out of range, contradicts another or asks for
    /// more memory than can be allocated;
    /// [`ConfigError::Interface`] if the interface cannot work.
    #[inline(never)]
    pub fn new(
        config: &Config,
        interface: Interface,
        secret: [u8; 16],
    ) -> Result<Self, ConfigError> {
        config.validate()?;
        check(&interface)?;
        config.check_memory()?;
        let secret = Secret(secret);
        let rng = |purpose: &[u8]| Rng::seeded(secret.prf(purpose));
        let (state, addresses) = InterfaceState::new(config, interface, &secret);
        let mut routes = Routes::new(addresses, config.ip.routes.max(1));
        if let Some(gateway) = interface.gateway {
            let refused = |_| ConfigError::Interface(TWO_FAMILIES);
            routes.set_default(gateway).map_err(refused)?;
        }
        let sizes = &config.stack;
        let mut stack = Self {
            interfaces: alloc::vec![state],
            loopback: None,
            routes,
            receiver: IpReceiver::new(&config.ip, &secret),
            udp: UdpSockets::new(config, rng(b"udp ports")),
            tcp: TcpLayer::new(config, &secret),
            pool: Pool::new(&config.pool),
            counters: Counters::default(),
            events: EventQueue::new(sizes.connections, sizes.listeners, config.udp_sockets()),
            path_mtu_min: config.ip.path_mtu_min.min(u16::MAX.into()) as u16,
            bursts: sizes.bursts,
            turn_budget: sizes.turn_budget as usize,
            secret: secret.derive(b"interfaces"),
            #[cfg(feature = "slaac")]
            identifier_key: None,
        };
        stack.add_loopback(config, &secret.derive(b"loopback"));
        Ok(stack)
    }

    /// Adds an interface, and allocates its tables: a neighbour cache, queues of answers, a send queue
    /// for each UDP socket, and room for `ip.addresses` addresses. `config` is the configuration given
    /// to [`new`](Self::new); this is checked for `arp.entries` only. With `ip.loopback`, the loopback
    /// interface has the number 1, and the first call of this method adds number 2.
    ///
    /// # Errors
    /// Returns [`ConfigError::Interface`] if the interface cannot work, if another interface has
    /// its address or, on Ethernet, its MAC address, if the routing table has no room for a gateway,
    /// if `arp.entries` differs, or if the stack has 255 interfaces.
    pub fn add_interface(
        &mut self,
        config: &Config,
        interface: Interface,
    ) -> Result<InterfaceId, ConfigError> {
        check(&interface)?;
        let refused = |why| Err(ConfigError::Interface(why));
        if self.routes.interface_of(interface.address).is_some() {
            return refused("another interface has the address");
        }
        let is_ethernet = interface.capabilities.medium == Medium::Ethernet;
        let has_mac = |of: &InterfaceState| {
            of.link.medium == Medium::Ethernet && of.link.mac == interface.mac
        };
        if is_ethernet && self.interfaces.iter().any(has_mac) {
            return refused("another Ethernet interface has the MAC address");
        }
        if interface.gateway.is_some() && self.routes.is_full() {
            return refused("the routing table is full (knob ip.routes)");
        }
        if !self.tcp.transmit_queue.is_for(config.arp.entries) {
            return refused("an interface needs the configuration of its stack");
        }
        let Some(id) = InterfaceId::from_index(self.interfaces.len()) else {
            return refused("a stack has at most 255 interfaces");
        };
        #[cfg_attr(not(feature = "slaac"), expect(unused_mut, reason = "no key is set"))]
        let (mut state, mut addresses) =
            InterfaceState::new(config, interface, &self.secret.derive(&[id.0]));
        #[cfg(feature = "slaac")]
        if let Some(key) = self.identifier_key {
            let own = &mut state.autoconfiguration;
            own.set_identifier_key(key, &mut addresses);
        }
        self.attach(state, addresses);
        if let Some(gateway) = interface.gateway {
            let route = RouteEntry {
                interface: id,
                ..RouteEntry::default_through(gateway)
            };
            // An error is impossible: the table has room, and the families are equal.
            let _added = self.routes.add(route);
        }
        Ok(id)
    }

    /// Adds an interface and its addresses to every table.
    pub(crate) fn attach(&mut self, state: InterfaceState, addresses: Addresses) {
        self.routes.add_interface(addresses);
        self.interfaces.push(state);
        self.tcp.add_interface();
        self.udp.add_interface();
    }

    /// Runs the timers that have expired at `now`, but at most `stack.turn_budget` timers of TCP.
    /// The remaining timers stay due: [`next_timeout`](Self::next_timeout) returns their time.
    pub fn on_timeouts(&mut self, now: Instant) {
        let budget = self.turn_budget as u32;
        let (tcp, mut host) = self.tcp_and_host(now);
        tcp.on_timeouts(&mut host, budget);
        if let Some((interface, peer)) = tcp.negative_advice.take()
            && let Some(Route::Neighbour(hop)) = self.routes.lookup_on(interface, peer)
        {
            let neighbours = &mut self.interfaces[interface.index()].neighbours;
            neighbours.on_negative_advice(hop, now);
        }
        #[cfg(feature = "slaac")]
        let mut configures = false;
        for of in &mut self.interfaces {
            let pending = of.neighbours.next_timeout();
            if pending.is_some_and(|at| at <= now) {
                of.neighbours
                    .on_timeout(now, &mut self.pool, &mut self.counters);
            }
            #[cfg(feature = "slaac")]
            {
                configures |= of.neighbours.has_failure() || of.autoconfiguration.is_due(now);
            }
        }
        if self.receiver.next_timeout().is_some_and(|at| at <= now) {
            self.receiver
                .on_timeout(&mut self.pool, now, &mut self.counters);
        }
        #[cfg(feature = "slaac")]
        if configures {
            self.interface_ids()
                .for_each(|interface| self.configure(interface, now));
        }
    }

    /// Returns the time at which the stack next has something to do. If the time is not after the
    /// present, there is work at once; `None` means that only a frame or a call can cause more
    /// work. The time may be too early, never too late. Output that waits for a full device
    /// is ignored: call [`transmit`](Self::transmit) when the device has room.
    pub fn next_timeout(&self) -> Option<Instant> {
        let is_ready = |interface| self.has_work(interface) || self.has_output(interface);
        if self.can_share_memory() || self.interface_ids().any(is_ready) {
            return Some(Instant::ZERO);
        }
        let of_hosts = earlier(self.tcp.next_timeout(), self.receiver.next_timeout());
        let of_interfaces = self.interfaces.iter().map(InterfaceState::next_timeout);
        of_interfaces.fold(of_hosts, earlier)
    }

    /// Returns true if a turn of the device of `interface` has something to do at `now`, even if the
    /// device is full. Work and output of other interfaces are ignored.
    pub(crate) fn is_due(&self, interface: InterfaceId, now: Instant) -> bool {
        let is_over = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let loops_back = |interface| self.has_output(interface);
        self.can_share_memory()
            || self.has_work(interface)
            || self.has_output(interface)
            || self.loopback().is_some_and(loops_back)
            || is_over(self.tcp.next_timeout())
            || is_over(self.receiver.next_timeout())
            || is_over(self.interfaces[interface.index()].next_timeout())
    }

    /// Returns true if `interface` has something to send now and its device is not full.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn has_output(&self, interface: InterfaceId) -> bool {
        let of = &self.interfaces[interface.index()];
        let to_send = self.tcp.has_output(interface)
            || self.udp.wants_output(interface)
            || of.echo.wants_output()
            || of.errors.wants_output();
        to_send && !of.device_full
    }

    /// Returns true if connections wait for a neighbour of `interface`, or for room in its cache, and
    /// need not wait any longer.
    fn has_work(&self, interface: InterfaceId) -> bool {
        let neighbours = &self.interfaces[interface.index()].neighbours;
        neighbours.has_settled()
            || (self.tcp.transmit_queue.awaits_room(interface) && neighbours.room() > 0)
    }

    /// Returns true if connections wait for packet memory that is free now.
    fn can_share_memory(&self) -> bool {
        self.tcp.memory_waiters.can_ask(&self.pool)
    }

    /// Returns the interfaces of this host, in the order in which they were added.
    pub fn interface_ids(&self) -> impl Iterator<Item = InterfaceId> + use<> {
        (0..self.interfaces.len() as u8).map(InterfaceId)
    }

    /// Returns the socket that changed longest ago, and removes it from the queue of changes. A
    /// socket is reported once, even if it has changed several times;
    /// [`tcp_ready`](Self::tcp_ready) or [`udp_ready`](Self::udp_ready) returns its state.
    pub fn next_event(&mut self) -> Option<SocketEvent> {
        Some(match self.events.take()? {
            Changed::Tcp(index) => SocketEvent::Tcp(ConnectionId(self.tcp.key(index))),
            Changed::Accept(index) => {
                SocketEvent::Accept(ListenerId(self.tcp.listeners.key(index)))
            }
            #[cfg(feature = "udp")]
            Changed::Udp(index) => SocketEvent::Udp(self.udp.id_at(index)),
            #[cfg(not(feature = "udp"))]
            Changed::Udp(_) => return None,
        })
    }

    /// Returns the settings with which `interface` was added. [`addresses`](Self::addresses) returns
    /// the present addresses.
    ///
    /// # Panics
    /// Panics if this stack has no such interface.
    pub fn interface(&self, interface: InterfaceId) -> &Interface {
        &self.interfaces[interface.index()].settings
    }

    /// Returns the knob `stack.turn_budget`: the largest number of frames received,
    /// and of frames sent, in one [`turn`](crate::turn()).
    pub const fn turn_budget(&self) -> usize {
        self.turn_budget
    }

    /// Returns the counters of the layers below TCP and of demultiplexing, with their
    /// discards by reason. Segments that connections discard are in
    /// [`tcp_discards`](Self::tcp_discards).
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the counters of all connections.
    pub const fn tcp_counters(&self) -> &TcpCounters {
        &self.tcp.host_state.counters
    }

    /// Returns how many times few or no ranges were left to track payload in flight (knob
    /// `stack.sent_ranges`). Neighbouring ranges are then merged and SACK blocks ignored, so loss
    /// detection is less precise.
    pub const fn sent_ranges_refused(&self) -> u64 {
        self.tcp.host_state.sent.refused()
    }

    /// Returns how many times ranges were merged or SACK blocks ignored because one connection
    /// tracked as many ranges as it may (knob `stack.sent_ranges_each`).
    pub const fn sent_ranges_each_refused(&self) -> u64 {
        self.tcp.host_state.sent.refused_each()
    }

    /// Returns the segments that connections discarded, by reason.
    pub const fn tcp_discards(&self) -> &Discards {
        &self.tcp.host_state.discards
    }

    /// Returns the trace ring, which is off unless the knob `trace.records` is above 0.
    pub const fn trace(&self) -> &Trace {
        &self.tcp.host_state.trace
    }

    /// Passes every record of the trace to `take`, oldest first, and clears the trace. Returns the
    /// number of records overwritten since the trace was last cleared.
    pub fn drain_trace(&mut self, take: impl FnMut(&TraceRecord)) -> u64 {
        let forgotten = self.tcp.host_state.trace.overwritten();
        self.tcp.host_state.trace.iter().for_each(take);
        self.tcp.host_state.trace.clear();
        forgotten
    }

    /// Returns the list nodes in use.
    pub fn nodes_used(&self) -> Nodes {
        Nodes {
            ranges: self.pool.range_count() - self.pool.free_ranges(),
            pieces: self.tcp.host_state.sent.capacity() - self.tcp.host_state.sent.free_count(),
        }
    }

    /// Returns the list nodes visited since the start: a measure of work that is
    /// the same on every machine.
    pub fn nodes_walked(&self) -> u64 {
        self.pool.ranges_walked() + self.tcp.host_state.sent.nodes_visited()
    }

    /// Returns packet memory, for reading the use by each holder (kind of buffer).
    pub const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Returns the routing table.
    pub const fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Returns the routing table, for adding routes to it (knob `ip.routes`).
    pub const fn routes_mut(&mut self) -> &mut Routes {
        &mut self.routes
    }

    /// Checks the invariants of memory, tables and every connection. Meant for tests and
    /// checkers, because the cost grows with the number of connections and blocks.
    ///
    /// # Panics
    /// Panics if an invariant is broken.
    pub fn verify(&self, now: Instant) {
        self.pool.verify();
        self.tcp.verify();
        for (_, slot) in self.tcp.slots.iter() {
            self.tcp.residence.look(&slot.place, |connection| {
                connection.verify(now, &self.pool, &self.tcp.host_state.sent);
            });
        }
    }

    /// Borrows TCP and, separately, all other arguments of its calls.
    pub(crate) fn tcp_and_host(&mut self, now: Instant) -> (&mut TcpLayer, HostContext<'_>) {
        let host = HostContext {
            now,
            pool: &mut self.pool,
            events: &mut self.events,
            counters: &mut self.counters,
        };
        (&mut self.tcp, host)
    }
}

/// Returns the largest TCP payload of one packet of `sender` to `remote`, without options. Routers
/// do not fragment IPv6 packets. Without path MTU discovery, IPv6 packets are therefore small
/// enough for every link (RFC 8200 §5).
pub(crate) fn mss_limit(sender: &IpSender, remote: IpAddr) -> u16 {
    let fits_each_link = remote.is_ipv6() && !cfg!(feature = "path-mtu");
    let packet = match fits_each_link {
        true => V6_MIN_MTU - IpSender::header_len(remote),
        false => usize::MAX,
    };
    let payload = sender.max_payload(remote).min(packet);
    let payload = payload.saturating_sub(TcpHeader::LEN);
    payload.clamp(1, u16::MAX.into()) as u16
}
