//! The stack: one host with one interface, composed.
//!
//! Rule: all memory is taken by [`Stack::new`]. Input only changes state;
//! everything that leaves, leaves through [`Stack::transmit`]. Time is an
//! argument of every call that depends on it. What the layers do is in their
//! folders; this one only brings them together.
//!
//! Calling order: [`receive`](Stack::receive) for each frame,
//! [`on_timeouts`](Stack::on_timeouts), the application's calls in any order,
//! [`transmit`](Stack::transmit), sleep until
//! [`next_timeout`](Stack::next_timeout) or the next frame.
//! [`turn`](crate::turn()) does that in one call.

mod congestion_calls;
mod handles;
mod tcp_calls;
mod udp_calls;

use core::net::IpAddr;

pub use handles::{ConnectOptions, ConnectionId, ListenOptions, ListenerId, SocketEvent};

use fullpipe_pool::{Instant, Pool, Rng};
use fullpipe_tcp::{Discards, TcpCounters, Trace, trace::TraceRecord};
use fullpipe_wire::{MacAddress, TcpHeader};

use crate::{
    config::Config,
    counters::Counters,
    device::{Capabilities, Medium},
    device_backlog::DeviceBacklog,
    error::ConfigError,
    events::{Changed, EventQueue},
    icmp::{Echo, ErrorQueue},
    ip::{IpReceiver, IpSender, Route, Routes, Subnet},
    link::{LinkLayer, Neighbours},
    secret::Secret,
    tcp::{HostContext, TcpLayer},
    udp::UdpSockets,
};

/// Where a stack is attached to a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Station address; means nothing on [`Medium::Ip`].
    pub mac: MacAddress,
    /// This host's address.
    pub address: IpAddr,
    /// Leading bits of the address that name the network.
    pub prefix_len: u8,
    /// Where packets to other networks go.
    pub gateway: Option<IpAddr>,
    /// What the device can do.
    pub capabilities: Capabilities,
}

/// Nodes of lists in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// Ranges that have arrived behind gaps, of TCP and of fragments, and such
    /// that wait for the rest of a datagram.
    pub ranges: u32,
    /// Pieces in flight that are remembered one by one.
    pub pieces: u32,
}

/// A TCP/IP stack: one host with one interface.
#[derive(Debug)]
pub struct Stack {
    pub(crate) interface: Interface,
    pub(crate) subnet: Subnet,
    pub(crate) link: LinkLayer,
    pub(crate) routes: Routes,
    pub(crate) neighbours: Neighbours,
    pub(crate) receiver: IpReceiver,
    pub(crate) sender: IpSender,
    pub(crate) echo: Echo,
    pub(crate) errors: ErrorQueue,
    pub(crate) udp: UdpSockets,
    pub(crate) tcp: TcpLayer,
    pub(crate) pool: Pool,
    pub(crate) counters: Counters,
    pub(crate) events: EventQueue,
    /// A neighbour may have become known, or given up.
    pub(crate) neighbours_changed: bool,
    /// The device took no more when it was asked last.
    pub(crate) device_full: bool,
    pub(crate) device_backlog: DeviceBacklog,
    pub(crate) path_mtu_min: u16,
    turn_budget: usize,
}

impl Stack {
    /// A stack that holds everything `config` allows it to, and takes no more
    /// memory ever. `secret` must be unknown to peers and different at each
    /// start: sequence numbers, ports and hash tables depend on it. The same
    /// secret and the same calls give the same frames.
    ///
    /// # Errors
    /// A knob is out of range or contradicts another, or the interface cannot
    /// work.
    pub fn new(
        config: &Config,
        interface: Interface,
        secret: [u8; 16],
    ) -> Result<Self, ConfigError> {
        config.validate()?;
        check(&interface)?;
        let Interface {
            mac,
            address,
            prefix_len,
            gateway,
            capabilities,
        } = interface;
        let secret = Secret(secret);
        let rng = |purpose: &[u8]| Rng::seeded(secret.prf(purpose));
        let subnet = Subnet {
            address,
            prefix_len,
        };
        let mut routes = Routes::new(subnet, config.ip.routes.max(1));
        if let Some(gateway) = gateway {
            let refused = |_| ConfigError::Interface("the gateway is not of the address's family");
            routes.set_default(gateway).map_err(refused)?;
        }
        let sizes = &config.stack;
        Ok(Self {
            interface,
            subnet,
            link: LinkLayer {
                medium: capabilities.medium,
                mac,
            },
            routes,
            neighbours: Neighbours::new(mac, subnet, &config.arp, rng(b"neighbours")),
            receiver: IpReceiver::new(subnet, &config.ip, &secret),
            sender: IpSender::new(&capabilities, &config.ip, rng(b"identifications")),
            echo: Echo::new(&config.icmp),
            errors: ErrorQueue::new(&config.icmp),
            udp: UdpSockets::new(address, config, rng(b"udp ports")),
            tcp: TcpLayer::new(config, &secret),
            pool: Pool::new(&config.pool),
            counters: Counters::default(),
            events: EventQueue::new(sizes.connections, sizes.listeners, config.udp.sockets),
            neighbours_changed: false,
            device_full: false,
            device_backlog: DeviceBacklog::new(capabilities.reports_sent),
            path_mtu_min: config.ip.path_mtu_min.min(u16::MAX.into()) as u16,
            turn_budget: sizes.turn_budget as usize,
        })
    }

    /// Lets every deadline that has come pass.
    pub fn on_timeouts(&mut self, now: Instant) {
        let budget = self.turn_budget as u32;
        let (tcp, mut host) = self.tcp_and_host(now);
        tcp.on_timeouts(&mut host, budget);
        let negative_advice = tcp.negative_advice.take();
        let route = negative_advice.and_then(|peer| self.routes.lookup(peer));
        if let Some(Route::Neighbour(hop)) = route {
            self.neighbours.on_negative_advice(hop, now);
        }
        let pending = self.neighbours.next_timeout();
        if pending.is_some_and(|at| at <= now) {
            self.neighbours
                .on_timeout(now, &mut self.pool, &mut self.counters);
            self.neighbours_changed = true;
        }
        self.receiver
            .on_timeout(&mut self.pool, now, &mut self.counters);
    }

    /// When the stack next has something to do: a moment not after now means
    /// at once, `None` that only input or a call can wake it. What a full
    /// device holds back is not counted: turn again when the device has room.
    pub fn next_timeout(&self) -> Option<Instant> {
        if self.has_work() {
            return Some(Instant::ZERO);
        }
        // A request that a full device holds back is not due, however late.
        let neighbours = match self.device_full {
            true => self.neighbours.next_deadline(),
            false => self.neighbours.next_timeout(),
        };
        [
            self.tcp.next_timeout(),
            neighbours,
            self.receiver.next_timeout(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Whether something can be done at once.
    fn has_work(&self) -> bool {
        let to_send = self.tcp.has_work()
            || self.udp.wants_output()
            || self.echo.wants_output()
            || self.errors.wants_output();
        (to_send && !self.device_full)
            || self.neighbours_changed
            || self.tcp.memory_waiters.may_go_on(&self.pool)
    }

    /// The handle about which something changed longest ago. Each is reported
    /// once however much changed; its `ready` call says what.
    pub fn next_event(&mut self) -> Option<SocketEvent> {
        Some(match self.events.take()? {
            Changed::Tcp(index) => SocketEvent::Tcp(ConnectionId(self.tcp.key(index))),
            Changed::Accept(index) => {
                SocketEvent::Accept(ListenerId(self.tcp.listeners.key(index)))
            }
            Changed::Udp(index) => SocketEvent::Udp(self.udp.id_at(index)),
        })
    }

    /// Where the stack is attached.
    pub const fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Frames received, and frames sent, in one [`turn`](crate::turn()) at most.
    pub const fn turn_budget(&self) -> usize {
        self.turn_budget
    }

    /// What happened below TCP and in demultiplexing, and every discard.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What happened in connections.
    pub const fn tcp_counters(&self) -> &TcpCounters {
        &self.tcp.host_state.counters
    }

    /// How often there was no range left in which to remember what was sent: from
    /// then on what is known of it is less precise.
    pub const fn sent_ranges_refused(&self) -> u64 {
        self.tcp.host_state.sent.refused()
    }

    /// Why connections discarded segments.
    pub const fn tcp_discards(&self) -> &Discards {
        &self.tcp.host_state.discards
    }

    /// The trace ring; off unless the knob `trace.records` says otherwise.
    pub const fn trace(&self) -> &Trace {
        &self.tcp.host_state.trace
    }

    /// Hands every record of the trace to `take`, oldest first, and forgets
    /// them. Returns how many had been overwritten before.
    pub fn drain_trace(&mut self, take: impl FnMut(&TraceRecord)) -> u64 {
        let forgotten = self.tcp.host_state.trace.overwritten();
        self.tcp.host_state.trace.iter().for_each(take);
        self.tcp.host_state.trace.clear();
        forgotten
    }

    /// Nodes of lists that are in use: what peers can make this host remember.
    pub fn nodes_used(&self) -> Nodes {
        Nodes {
            ranges: self.pool.range_count() - self.pool.free_ranges(),
            pieces: self.tcp.host_state.sent.capacity() - self.tcp.host_state.sent.free_count(),
        }
    }

    /// Nodes of such lists that were looked at so far, for all packets: a measure
    /// of work that is the same on every machine.
    pub fn nodes_walked(&self) -> u64 {
        self.pool.ranges_walked() + self.tcp.host_state.sent.nodes_visited()
    }

    /// Packet memory, for its accounts.
    pub const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The routes.
    pub const fn routes(&self) -> &Routes {
        &self.routes
    }

    /// The routes, to add some.
    pub const fn routes_mut(&mut self) -> &mut Routes {
        &mut self.routes
    }

    /// Checks what must hold between any two calls: memory, tables and every
    /// connection. For tests and checkers; its cost grows with everything held.
    ///
    /// # Panics
    /// With what is broken.
    pub fn verify(&self, now: Instant) {
        self.pool.verify();
        self.tcp.verify();
        for (_, slot) in self.tcp.slots.iter() {
            slot.connection
                .verify(now, &self.pool, &self.tcp.host_state.sent);
        }
    }

    /// TCP, and what its calls need besides.
    pub(crate) fn tcp_and_host(&mut self, now: Instant) -> (&mut TcpLayer, HostContext<'_>) {
        let host = HostContext {
            now,
            pool: &mut self.pool,
            events: &mut self.events,
            counters: &mut self.counters,
        };
        (&mut self.tcp, host)
    }

    /// Bytes of text without options that one packet to `remote` carries.
    pub(crate) fn mss_limit(&self, remote: IpAddr) -> u16 {
        let text = self
            .sender
            .max_payload(remote)
            .saturating_sub(TcpHeader::LEN);
        text.clamp(1, (u16::MAX - 60) as usize) as u16
    }

    /// Whether packets to `remote` go to one other host.
    pub(crate) fn is_reachable(&self, remote: IpAddr) -> bool {
        match self.routes.lookup(remote) {
            Some(Route::Neighbour(_)) => true,
            Some(Route::Broadcast | Route::Multicast(_)) | None => false,
        }
    }
}

/// The smallest MTU that every IPv4 host must take. RFC 791 §3.2.
const MIN_MTU: usize = 68;

fn check(interface: &Interface) -> Result<(), ConfigError> {
    let Interface {
        mac,
        address,
        prefix_len,
        gateway: _,
        capabilities,
    } = interface;
    let refused = |why| Err(ConfigError::Interface(why));
    match address {
        IpAddr::V4(_) if *prefix_len > 32 => return refused("an IPv4 prefix has at most 32 bits"),
        IpAddr::V4(_) => {}
        IpAddr::V6(_) => return refused("IPv6 addresses are not supported yet"),
    }
    if address.is_unspecified() || address.is_multicast() || address.is_loopback() {
        return refused("the interface needs the address of one host");
    }
    if capabilities.medium == Medium::Ethernet && !mac.is_unicast() {
        return refused("the interface needs the station address of one host");
    }
    if !(MIN_MTU..=usize::from(u16::MAX)).contains(&capabilities.mtu) {
        return refused("the device's MTU must be 68 to 65535 bytes");
    }
    if capabilities.super_segment > 0 && !capabilities.checksum_tx {
        return refused("a device that cuts segments must also complete their checksums");
    }
    Ok(())
}
