//! The stack: one host with one interface, composed of its layers.
//!
//! Rule: [`Stack::new`] allocates all memory, except the memory of registered congestion control
//! algorithms. Input only changes state, and [`Stack::transmit`] is the only output. Every call
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
mod request_calls;
mod tcp_calls;
mod udp_calls;

use core::net::IpAddr;

pub use handles::{
    ConnectOptions, ConnectionId, ListenOptions, ListenerId, Refusal, RequestId, SocketEvent,
    TcpRequest,
};

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
    ip::{Addresses, Autoconfiguration, IpReceiver, IpSender, Route, Routes, Subnet},
    link::{LinkLayer, Neighbours},
    secret::Secret,
    tcp::{HostContext, TcpLayer},
    udp::UdpSockets,
};

/// The attachment of a stack to a network: addresses and device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// MAC address; unused on [`Medium::Ip`].
    pub mac: MacAddress,
    /// First IP address of this host; [`Stack::add_address`] adds more.
    pub address: IpAddr,
    /// Length of the network prefix in bits.
    pub prefix_len: u8,
    /// Next hop of packets to other networks. If it is `None`, other networks are unreachable.
    pub gateway: Option<IpAddr>,
    /// Capabilities of the device.
    pub capabilities: Capabilities,
}

/// List nodes in use: state that peers can make this host keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// Ranges received out of order: of TCP payload and of IP fragments (knob
    /// `pool.ranges`).
    pub ranges: u32,
    /// Ranges in flight that are tracked one by one (knob `stack.sent_ranges`).
    pub pieces: u32,
}

/// A TCP/IP stack: one host with one interface.
///
/// Calling order: [`receive`](Self::receive) for each frame,
/// [`on_timeouts`](Self::on_timeouts), the application's calls in any order,
/// [`transmit`](Self::transmit), sleep until
/// [`next_timeout`](Self::next_timeout) or the next frame.
/// [`turn`](crate::turn()) combines the calls that need no application.
#[derive(Debug)]
pub struct Stack {
    pub(crate) interface: Interface,
    pub(crate) link: LinkLayer,
    pub(crate) routes: Routes,
    pub(crate) neighbours: Neighbours,
    pub(crate) autoconfiguration: Autoconfiguration,
    pub(crate) receiver: IpReceiver,
    pub(crate) sender: IpSender,
    pub(crate) echo: Echo,
    pub(crate) errors: ErrorQueue,
    pub(crate) udp: UdpSockets,
    pub(crate) tcp: TcpLayer,
    pub(crate) pool: Pool,
    pub(crate) counters: Counters,
    pub(crate) events: EventQueue,
    /// True if the device lent no memory when the stack last asked for memory.
    pub(crate) device_full: bool,
    pub(crate) device_backlog: DeviceBacklog,
    pub(crate) path_mtu_min: u16,
    /// The knob `stack.bursts`.
    pub(crate) bursts: bool,
    turn_budget: usize,
}

/// Smallest pool, in bytes, with which a stack allocates the tables that only save time.
const SMALL_POOL: u64 = 64 << 10;

/// Refusal of a gateway.
const TWO_FAMILIES: &str = "the gateway and the interface's address must both be IPv4 or both IPv6";

impl Stack {
    /// Creates a stack with the tables and the packet memory of `config`. Afterwards only
    /// [`register_congestion`](Self::register_congestion) allocates.
    ///
    /// `secret` has 16 bytes that peers do not know, and that differ from start to start. The
    /// secret is the key of sequence numbers (RFC 6528), ports (RFC 6056) and hash tables. The same
    /// secret and the same calls produce the same frames.
    ///
    /// # Errors
    /// Returns [`ConfigError::Knob`] if a knob is out of range, contradicts another or asks for
    /// more memory than can be allocated;
    /// [`ConfigError::Interface`] if the interface cannot work.
    pub fn new(
        config: &Config,
        interface: Interface,
        secret: [u8; 16],
    ) -> Result<Self, ConfigError> {
        config.validate()?;
        check(&interface)?;
        config.check_memory()?;
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
        let mut addresses = Addresses::new(subnet, config.ip.addresses, config.ip.accept_any);
        if capabilities.mtu < V6_MIN_MTU {
            addresses.refuse_any_v6();
        }
        #[cfg(feature = "slaac")]
        let autoconfiguration =
            Autoconfiguration::new(&config.ip, &capabilities, mac, &secret, &mut addresses);
        #[cfg(not(feature = "slaac"))]
        let autoconfiguration = Autoconfiguration;
        let has_link_local = address.is_ipv6() && capabilities.medium == Medium::Ethernet;
        if has_link_local && !autoconfiguration.is_on() {
            addresses.add_link_local(mac);
        }
        let mut routes = Routes::new(addresses, config.ip.routes.max(1));
        if let Some(gateway) = gateway {
            let refused = |_| ConfigError::Interface(TWO_FAMILIES);
            routes.set_default(gateway).map_err(refused)?;
        }
        let sizes = &config.stack;
        Ok(Self {
            interface,
            link: LinkLayer {
                medium: capabilities.medium,
                mac,
            },
            routes,
            neighbours: Neighbours::new(mac, &config.arp, rng(b"neighbours")),
            autoconfiguration,
            receiver: IpReceiver::new(&config.ip, &secret),
            sender: IpSender::new(
                &capabilities,
                &config.ip,
                rng(b"identifications"),
                config.pool.bytes() >= SMALL_POOL,
            ),
            echo: Echo::new(&config.icmp),
            errors: ErrorQueue::new(&config.icmp, &secret.derive(b"error sources")),
            udp: UdpSockets::new(config, rng(b"udp ports")),
            tcp: TcpLayer::new(config, &secret),
            pool: Pool::new(&config.pool),
            counters: Counters::default(),
            events: EventQueue::new(sizes.connections, sizes.listeners, config.udp.sockets),
            device_full: false,
            device_backlog: DeviceBacklog::new(capabilities.reports_sent),
            path_mtu_min: config.ip.path_mtu_min.min(u16::MAX.into()) as u16,
            bursts: sizes.bursts,
            turn_budget: sizes.turn_budget as usize,
        })
    }

    /// Runs the timers that have expired at `now`, but at most `stack.turn_budget` timers of TCP.
    /// The remaining timers stay due: [`next_timeout`](Self::next_timeout) returns their time.
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
        }
        self.receiver
            .on_timeout(&mut self.pool, now, &mut self.counters);
        #[cfg(feature = "slaac")]
        self.configure(now);
    }

    /// Returns the time at which the stack next has something to do. If the time is not after the
    /// present, there is work at once; `None` means that only a frame or a call can cause more
    /// work. The time may be too early, never too late. Output that waits for a full device
    /// is ignored: call [`transmit`](Self::transmit) when the device has room.
    pub fn next_timeout(&self) -> Option<Instant> {
        if self.has_work() {
            return Some(Instant::ZERO);
        }
        let (tcp, fragments) = (self.tcp.next_timeout(), self.receiver.next_timeout());
        let of_layers = earlier(self.neighbours_timeout(), fragments);
        let of_layers = earlier(
            of_layers,
            self.autoconfiguration.next_timeout(self.device_full),
        );
        earlier(tcp, of_layers)
    }

    /// Returns true if [`next_timeout`](Self::next_timeout) is not after `now`.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        let is_over = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        self.has_work()
            || is_over(self.tcp.next_timeout())
            || is_over(self.neighbours_timeout())
            || is_over(self.receiver.next_timeout())
            || is_over(self.autoconfiguration.next_timeout(self.device_full))
    }

    /// Returns the next time at which ARP has something to do.
    fn neighbours_timeout(&self) -> Option<Instant> {
        // An ARP request that waits for a full device is not due, although its time has come.
        match self.device_full {
            true => self.neighbours.next_deadline(),
            false => self.neighbours.next_timeout(),
        }
    }

    /// Returns true if there is something to do now.
    fn has_work(&self) -> bool {
        let to_send = self.tcp.has_work()
            || self.udp.wants_output()
            || self.echo.wants_output()
            || self.errors.wants_output();
        (to_send && !self.device_full)
            || self.neighbours.has_settled()
            || (self.tcp.transmit_queue.awaits_room() && self.neighbours.room() > 0)
            || self.tcp.memory_waiters.can_ask(&self.pool)
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
            Changed::Udp(index) => SocketEvent::Udp(self.udp.id_at(index)),
        })
    }

    /// Returns the interface given to [`new`](Self::new). [`addresses`](Self::addresses) returns
    /// the present addresses.
    pub const fn interface(&self) -> &Interface {
        &self.interface
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
            slot.connection
                .verify(now, &self.pool, &self.tcp.host_state.sent);
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

    /// Returns the largest TCP payload of one packet to `remote`, without options.
    pub(crate) fn mss_limit(&self, remote: IpAddr) -> u16 {
        mss_limit(&self.sender, remote).min(u16::MAX - 60)
    }

    /// Returns true if a route leads to `remote` and `remote` is the address of one other host.
    pub(crate) fn is_reachable(&self, remote: IpAddr) -> bool {
        match self.routes.lookup(remote) {
            Some(Route::Neighbour(_)) => true,
            Some(Route::Broadcast | Route::Multicast(_)) | None => false,
        }
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

/// Returns the earlier of two times; `None` is a time that never comes.
fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Smallest MTU that an IPv4 link may have. RFC 791 §3.2.
const MIN_MTU: usize = 68;
/// Smallest MTU that an IPv6 link may have. RFC 8200 §5.
const V6_MIN_MTU: usize = 1280;

impl Interface {
    /// Checks that `address` can be the address of a host in its network of `prefix_len` bits.
    /// Otherwise returns [`ConfigError::Interface`] with the reason. An address is refused if it is
    /// the network address or broadcast address of an IPv4 network, reserved (0.0.0.0/8,
    /// 240.0.0.0/4), a multicast or loopback address, or an IPv4 address in the form of an IPv6
    /// address. A prefix of more than 32 bits (IPv6: 128) is refused, and an IPv6 address in a
    /// build without the feature `ipv6`.
    pub fn check_address(address: IpAddr, prefix_len: u8) -> Result<(), ConfigError> {
        let refused = |why| Err(ConfigError::Interface(why));
        match address {
            IpAddr::V4(_) if prefix_len > 32 => {
                return refused("an IPv4 prefix has at most 32 bits");
            }
            IpAddr::V4(_) => {}
            IpAddr::V6(_) if !cfg!(feature = "ipv6") => {
                return refused("IPv6 needs the feature `ipv6` of the crate fullpipe");
            }
            IpAddr::V6(_) if prefix_len > 128 => {
                return refused("an IPv6 prefix has at most 128 bits");
            }
            IpAddr::V6(_) => {}
        }
        if address.is_unspecified() || address.is_multicast() || address.is_loopback() {
            return refused(
                "the interface needs the address of one host, not 0.0.0.0, ::, a multicast or a loopback address",
            );
        }
        let subnet = Subnet {
            address,
            prefix_len,
        };
        if subnet.can_be_host(address) {
            return Ok(());
        }
        refused(match address {
            IpAddr::V4(ip) if matches!(ip.octets()[0], 0 | 240..) => {
                "0.0.0.0/8 and 240.0.0.0/4 are reserved: no host has such an address"
            }
            IpAddr::V4(_) => {
                "the interface needs the address of one host, not the network's own (all \
                 host bits 0) nor its broadcast address (all ones)"
            }
            IpAddr::V6(_) => {
                "an IPv4-mapped IPv6 address is no address of an interface: give the IPv4 address"
            }
        })
    }
}

/// Checks that packets from `address` fit a device with this MTU.
fn check_mtu(address: IpAddr, mtu: usize) -> Result<(), &'static str> {
    match address.is_ipv6() && mtu < V6_MIN_MTU {
        true => Err("IPv6 needs a device with an MTU of at least 1280 bytes"),
        false => Ok(()),
    }
}

fn check(interface: &Interface) -> Result<(), ConfigError> {
    let Interface {
        mac,
        address,
        prefix_len,
        gateway,
        capabilities,
    } = interface;
    let refused = |why| Err(ConfigError::Interface(why));
    Interface::check_address(*address, *prefix_len)?;
    if capabilities.medium == Medium::Ethernet && !mac.is_unicast() {
        return refused("the interface's MAC address must be a unicast address");
    }
    if !(MIN_MTU..=usize::from(u16::MAX)).contains(&capabilities.mtu) {
        return refused("the device's MTU must be 68 to 65535 bytes");
    }
    check_mtu(*address, capabilities.mtu).map_err(ConfigError::Interface)?;
    if gateway.is_some_and(|gateway| gateway.is_ipv4() != address.is_ipv4()) {
        return refused(TWO_FAMILIES);
    }
    if capabilities.super_segment > 0 && !capabilities.checksum_tx {
        return refused(
            "a device with segmentation offload (super_segment) must also offer checksum_tx",
        );
    }
    Ok(())
}
