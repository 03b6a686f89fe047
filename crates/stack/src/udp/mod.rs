//! UDP sockets. RFC 768, RFC 1122 §4.1.
//!
//! Rule: a datagram is queued whole, or dropped and counted. No socket waits for another socket.
//! Headers and fragments are written when a datagram leaves. IP chooses routes and neighbours.

pub(crate) mod info;
mod receive_queue;
mod send_queues;
#[cfg(test)]
mod tests;

use alloc::{boxed::Box, vec};
use core::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use fullpipe_pool::{Pool, Rng};
use fullpipe_wire::{Ipv4Header, Protocol, UdpHeader, WireError, udp};
pub use info::{UdpInfo, UdpQueue};
use receive_queue::ReceiveQueue;
pub use receive_queue::UdpReceived;
pub(crate) use send_queues::PushOutcome;
use send_queues::{Polled, SendQueues};

use crate::{
    config::Config,
    counters::{Counters, Discard},
    icmp::{IcmpEvent, PathError},
    interface_id::InterfaceId,
    ip::{BuiltPacket, DatagramHeader, IpSender, Packet, Routes, StoredEnd},
    slab::{Key, Slab},
};

/// Local port that marks a socket as bound to every port. Port 0 is free for this purpose, because
/// no datagram is sent from or to it.
const EVERY_PORT: u16 = 0;
/// Marks the end of a bucket's chain of sockets.
const NONE: u32 = u32::MAX;

/// Identifies a UDP socket of one stack. The id of a closed socket is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UdpId(pub(crate) Key);

impl UdpId {
    /// Returns the socket's slot. A later socket may get the same slot.
    pub const fn index(self) -> u32 {
        self.0.index
    }
}

/// The reason that a call on a UDP socket was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UdpError {
    /// No open socket has this id.
    NoSuchSocket,
    /// Every socket is in use (knob `udp.sockets`).
    TooManySockets,
    /// Another socket is bound to this address and port.
    AddressInUse,
    /// The address to bind is not an address of this host.
    AddressNotOurs,
    /// The address that the socket is bound to was removed from this host.
    AddressRemoved,
    /// Every ephemeral port is in use.
    NoFreePort,
    /// The given source is not an address and port from which this socket may send.
    BadSource,
    /// The destination's port is 0, its address is unspecified, or neither this host nor the address
    /// that the socket sends from can reach its IP version.
    BadDestination,
    /// The datagram is longer than the send queue can hold, or longer than UDP allows.
    TooLong {
        /// Largest payload in bytes.
        most: usize,
    },
}

impl fmt::Display for UdpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchSocket => f.write_str("the UDP socket is closed"),
            Self::TooManySockets => {
                f.write_str("all UDP sockets that the knob udp.sockets allows are in use")
            }
            Self::AddressInUse => f.write_str("another UDP socket is bound to this address"),
            Self::AddressNotOurs => {
                f.write_str("the address to bind is not an address of this host")
            }
            Self::AddressRemoved => f.write_str("the socket's address was removed from this host"),
            Self::NoFreePort => f.write_str("every ephemeral UDP port is taken"),
            Self::BadSource => {
                f.write_str("the socket may not send from the given source address and port")
            }
            Self::BadDestination => f.write_str(
                "the destination has port 0, an unspecified address, or an IP version that this \
                 host, or the address that the socket sends from, does not have",
            ),
            Self::TooLong { most } => write!(f, "the datagram is longer than {most} bytes"),
        }
    }
}

impl core::error::Error for UdpError {}

/// The outcome of delivering a received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// The datagram is in the queue of this socket.
    Queued(UdpId),
    /// No socket is bound to the datagram's port: an ICMP error may be due.
    NoPort,
    /// The datagram was dropped and counted.
    Dropped,
}

/// The readiness of a UDP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpReady {
    /// A datagram can be read; or the socket's address was removed, which a receive reports as an
    /// error once all datagrams are read.
    pub readable: bool,
    /// A send may succeed: a send queue has room, and something has changed since a datagram was
    /// refused. After a refusal for a full queue, a datagram of the socket was sent or queued. After
    /// a refusal for lack of packet memory, memory has become free, although it may still be short.
    /// Also true if the socket's address was removed; the next send reports this as an error.
    pub writable: bool,
}

#[derive(Debug)]
struct UdpSocket {
    local: StoredEnd,
    /// The next socket of the same bucket.
    next: u32,
    /// Closed by the application, while queued datagrams are still sent.
    closing: bool,
    /// The socket's address was removed from this host. The socket is then in no bucket.
    removed: bool,
    /// The last datagram was refused because its queue was full, and none has left since.
    refused: bool,
    /// The datagrams of the socket are echo requests and replies. The socket is in no bucket.
    is_echo: bool,
    /// Last error reported about a datagram of this socket, and its destination.
    error: Option<(StoredEnd, PathError)>,
}

/// The UDP sockets of one stack.
#[derive(Debug)]
pub(crate) struct UdpSockets {
    sockets: Slab<UdpSocket>,
    /// The receive queue of each slot of `sockets`.
    received: Box<[ReceiveQueue]>,
    /// The send queues of each slot of `sockets`.
    to_send: SendQueues,
    /// First socket of each bucket of ports. The number of buckets is a power of two.
    buckets: Box<[u32]>,
    /// The socket that receives echo requests of IPv4, and the one of IPv6.
    echo: [u32; 2],
    ephemeral: (u16, u16),
    longest: usize,
    rng: Rng,
}

impl UdpSockets {
    /// Allocates the sockets of a host.
    #[inline(never)]
    pub(crate) fn new(config: &Config, rng: Rng) -> Self {
        let udp = &config.udp;
        let received = || ReceiveQueue::new(udp.receive_queue, udp.receive_buffer);
        let pool = &config.pool;
        let floors = u64::from(pool.send_floor) + u64::from(pool.receive_floor);
        let sendable = (u64::from(pool.blocks).saturating_sub(floors)) * u64::from(pool.block_size);
        let longest = sendable
            .min(udp.send_buffer.into())
            .min((Ipv4Header::MAX_PAYLOAD_LEN - UdpHeader::LEN) as u64);
        let port = |port: u32| u16::try_from(port).unwrap_or(u16::MAX);
        Self {
            sockets: Slab::new(udp.sockets),
            received: (0..udp.sockets).map(|_| received()).collect(),
            to_send: SendQueues::new(udp),
            buckets: vec![NONE; (udp.sockets as usize).next_power_of_two()].into(),
            echo: [NONE; 2],
            ephemeral: (
                port(config.stack.ephemeral_low),
                port(config.stack.ephemeral_high),
            ),
            longest: longest as usize,
            rng,
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let received = self.received.iter().map(ReceiveQueue::heap_bytes);
        self.sockets.heap_bytes()
            + size_of_val(&*self.received)
            + received.sum::<usize>()
            + self.to_send.heap_bytes()
            + size_of_val(&*self.buckets)
    }

    /// Adds the send queues of one more interface.
    pub(crate) fn add_interface(&mut self) {
        self.to_send.add_interface();
    }

    /// Opens a socket; see [`Stack::udp_bind`](crate::Stack::udp_bind).
    pub(crate) fn bind(&mut self, local: SocketAddr, routes: &Routes) -> Result<UdpId, UdpError> {
        let local = match local.port() {
            0 => {
                let port = self.free_port(local.ip()).ok_or(UdpError::NoFreePort);
                SocketAddr::new(local.ip(), port?)
            }
            _ => local,
        };
        self.open_at(local, routes)
    }

    /// Opens a socket at every port of `ip`; see
    /// [`Stack::udp_bind_all_ports`](crate::Stack::udp_bind_all_ports).
    pub(crate) fn bind_all_ports(
        &mut self,
        ip: IpAddr,
        routes: &Routes,
    ) -> Result<UdpId, UdpError> {
        self.open_at(SocketAddr::new(ip, EVERY_PORT), routes)
    }

    /// Opens the socket that receives echo requests; see
    /// [`Stack::udp_bind_echo`](crate::Stack::udp_bind_echo).
    pub(crate) fn bind_echo(&mut self, ip: IpAddr) -> Result<UdpId, UdpError> {
        if self.echo_socket(ip).is_some() {
            return Err(UdpError::AddressInUse);
        }
        let unspecified = match ip {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let socket = UdpSocket {
            local: StoredEnd::new(SocketAddr::new(unspecified, EVERY_PORT)),
            next: NONE,
            closing: false,
            removed: false,
            refused: false,
            is_echo: true,
            error: None,
        };
        let key = self.sockets.insert(socket);
        let key = key.ok_or(UdpError::TooManySockets)?;
        self.echo[usize::from(ip.is_ipv6())] = key.index;
        Ok(UdpId(key))
    }

    /// Returns the socket that receives echo requests to `ip`.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn echo_socket(&self, ip: IpAddr) -> Option<u32> {
        let index = self.echo[usize::from(ip.is_ipv6())];
        (index != NONE).then_some(index)
    }

    /// Queues an echo request at socket `index`. Returns false if the queue or packet memory is
    /// full.
    pub(crate) fn queue_request(
        &mut self,
        index: u32,
        ends: (SocketAddr, SocketAddr),
        data: &[u8],
        pool: &mut Pool,
    ) -> bool {
        let queue = &mut self.received[index as usize];
        queue.push(ends, data, pool).is_ok()
    }

    fn open_at(&mut self, local: SocketAddr, routes: &Routes) -> Result<UdpId, UdpError> {
        if !local.ip().is_unspecified() && !routes.can_bind(local.ip()) {
            return Err(UdpError::AddressNotOurs);
        }
        if self.sockets.is_full() {
            return Err(UdpError::TooManySockets);
        }
        let port = local.port();
        if self.is_taken(local.ip(), port) {
            return Err(UdpError::AddressInUse);
        }
        let bucket = self.bucket(port);
        let socket = UdpSocket {
            local: StoredEnd::new(SocketAddr::new(local.ip(), port)),
            next: self.buckets[bucket],
            closing: false,
            removed: false,
            refused: false,
            is_echo: false,
            error: None,
        };
        let key = self.sockets.insert(socket).expect("the slab is not full");
        self.buckets[bucket] = key.index;
        Ok(UdpId(key))
    }

    /// Returns the id of the socket in slot `index`.
    pub(crate) fn id_at(&self, index: u32) -> UdpId {
        UdpId(self.sockets.key(index))
    }

    /// Returns the address that the socket is bound to.
    pub(crate) fn local(&self, id: UdpId) -> Result<SocketAddr, UdpError> {
        self.open(id).map(|socket| socket.local.get())
    }

    /// Returns the readiness of the socket, which `waits` for packet memory or does not.
    pub(crate) fn ready(&self, id: UdpId, waits: bool) -> Result<UdpReady, UdpError> {
        self.open(id)?;
        let index = id.0.index;
        let has_error = self.sockets[index].removed;
        Ok(UdpReady {
            readable: has_error || !self.received[index as usize].is_empty(),
            writable: has_error
                || (!waits && !self.sockets[index].refused && self.to_send.has_room(index)),
        })
    }

    /// Returns the length and the bounds of the socket's queues, and the number of received
    /// datagrams that the socket dropped.
    pub(crate) fn info(&self, id: UdpId) -> Result<UdpInfo, UdpError> {
        self.open(id)?;
        let received = &self.received[id.0.index as usize];
        Ok(UdpInfo {
            unread: received.level(),
            unsent: self.to_send.level(id.0.index),
            drops: received.drops(),
        })
    }

    /// Queues a datagram; see [`Stack::udp_send`](crate::Stack::udp_send).
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn send(
        &mut self,
        id: UdpId,
        (from, to): (Option<SocketAddr>, SocketAddr),
        payload: &[u8],
        routes: &Routes,
        pool: &mut Pool,
        counters: &mut Counters,
    ) -> Result<PushOutcome, UdpError> {
        let socket = self.open(id)?;
        if socket.removed {
            return Err(UdpError::AddressRemoved);
        }
        let is_echo = socket.is_echo;
        if (to.port() == 0 && !is_echo) || to.ip().is_unspecified() {
            return Err(UdpError::BadDestination);
        }
        let local = socket.local.get();
        let from = match from {
            None if local.port() != EVERY_PORT => local,
            Some(from) if is_echo && from.is_ipv4() == local.is_ipv4() => {
                match routes.can_bind(from.ip()) {
                    true => from,
                    false => return Err(UdpError::BadSource),
                }
            }
            from => checked_source(from, local, routes)?,
        };
        let src_port = from.port();
        let (interface, src) = match from.ip() {
            ip if ip.is_unspecified() => {
                let interface = routes.interface_to(to.ip());
                (interface, routes.source_on(interface, to.ip()))
            }
            ip if ip.is_ipv4() == to.is_ipv4() => (routes.interface_between(ip, to.ip()), Some(ip)),
            _ => (InterfaceId::FIRST, None),
        };
        let src = src.ok_or(UdpError::BadDestination)?;
        if payload.len() > self.longest {
            return Err(UdpError::TooLong { most: self.longest });
        }
        let header = match is_echo {
            false => DatagramHeader::Udp {
                src_port,
                dst_port: to.port(),
            },
            true => DatagramHeader::EchoReply {
                ident: to.port(),
                seq: src_port,
            },
        };
        let (at, ends) = ((id.0.index, interface), (src, to.ip()));
        let outcome = self.to_send.push(at, ends, header, payload, pool);
        self.sockets[id.0.index].refused = outcome == PushOutcome::QueueFull;
        if outcome != PushOutcome::Queued {
            counters.mib.udp_sndbuf_errors += 1;
        }
        Ok(outcome)
    }

    /// Removes and returns a datagram; see
    /// [`Stack::udp_receive`](crate::Stack::udp_receive).
    pub(crate) fn receive(
        &mut self,
        id: UdpId,
        out: &mut [u8],
        pool: &mut Pool,
    ) -> Result<Option<UdpReceived>, UdpError> {
        let removed = self.open(id)?.removed;
        let queue = &mut self.received[id.0.index as usize];
        if removed && queue.is_empty() {
            return Err(UdpError::AddressRemoved);
        }
        Ok(queue.pop(out, pool))
    }

    /// Removes and returns the last error; see
    /// [`Stack::udp_take_error`](crate::Stack::udp_take_error).
    pub(crate) fn take_error(
        &mut self,
        id: UdpId,
    ) -> Result<Option<(SocketAddr, PathError)>, UdpError> {
        self.open(id)?;
        let error = self.sockets[id.0.index].error.take();
        Ok(error.map(|(to, error)| (to.get(), error)))
    }

    /// Closes a socket; see [`Stack::udp_close`](crate::Stack::udp_close).
    pub(crate) fn close(&mut self, id: UdpId, pool: &mut Pool) -> Result<(), UdpError> {
        self.open(id)?;
        let index = id.0.index;
        if !self.sockets[index].removed {
            self.unlink(index);
        }
        self.received[index as usize].clear(pool);
        if self.to_send.is_empty(index) {
            self.sockets.remove(index);
        } else {
            self.sockets[index].closing = true;
        }
        Ok(())
    }

    /// Ends the sockets bound to `ip`, which was removed from this host: datagrams to be sent are
    /// dropped, received datagrams can still be read. Calls `ended` with each open socket.
    pub(crate) fn forget_address(
        &mut self,
        ip: IpAddr,
        pool: &mut Pool,
        mut ended: impl FnMut(UdpId),
    ) {
        for index in 0..self.sockets.capacity() {
            let Some(socket) = self.sockets.at(index) else {
                continue;
            };
            let &UdpSocket {
                closing, removed, ..
            } = socket;
            if removed || socket.local.ip() != ip {
                continue;
            }
            self.to_send.clear(index, pool);
            if closing {
                self.sockets.remove(index);
                continue;
            }
            self.unlink(index);
            self.sockets[index].removed = true;
            ended(UdpId(self.sockets.key(index)));
        }
    }

    /// Queues a received datagram at its socket, unless it is malformed. `checksum_verified` is
    /// true if the device has verified the checksum.
    pub(crate) fn on_datagram(
        &mut self,
        packet: &Packet<'_>,
        checksum_verified: bool,
        pool: &mut Pool,
        counters: &mut Counters,
    ) -> Delivery {
        match self.deliver(packet, checksum_verified, pool) {
            Ok(id) => {
                counters.mib.udp_in_datagrams += 1;
                Delivery::Queued(id)
            }
            Err(reason) => {
                counters.discard(reason);
                if reason == Discard::UdpNoPort {
                    Delivery::NoPort
                } else {
                    Delivery::Dropped
                }
            }
        }
    }

    fn deliver(
        &mut self,
        packet: &Packet<'_>,
        checksum_verified: bool,
        pool: &mut Pool,
    ) -> Result<UdpId, Discard> {
        let (header, payload) =
            UdpHeader::parse(packet.payload).map_err(|_| Discard::UdpMalformed)?;
        if !checksum_verified {
            match udp::verify_checksum(packet.payload, packet.src(), packet.dst()) {
                Ok(()) => {}
                Err(WireError::BadChecksum) => return Err(Discard::UdpBadChecksum),
                Err(_) => return Err(Discard::UdpMalformed),
            }
        }
        let index = self
            .lookup(packet.dst(), header.dst_port)
            .ok_or(Discard::UdpNoPort)?;
        let from = SocketAddr::new(packet.src(), header.src_port);
        let to = SocketAddr::new(packet.dst(), header.dst_port);
        self.received[index as usize].push((from, to), payload, pool)?;
        Ok(UdpId(self.sockets.key(index)))
    }

    /// Stores an ICMP error for the socket that may have sent the datagram quoted in it, and
    /// returns that socket.
    pub(crate) fn on_icmp(&mut self, event: &IcmpEvent, counters: &mut Counters) -> Option<UdpId> {
        let matched = match event.protocol {
            Protocol::Udp => self.lookup(event.local.ip(), event.local.port()),
            Protocol::Tcp | Protocol::Icmp | Protocol::Icmpv6 | Protocol::Other(_) => None,
        };
        let Some(index) = matched else {
            counters.discard(Discard::IcmpQuoteUnmatched);
            return None;
        };
        self.sockets[index].error = Some((StoredEnd::new(event.remote), event.error));
        Some(UdpId(self.sockets.key(index)))
    }

    /// Returns true if a datagram waits to be sent by `interface`.
    pub(crate) fn wants_output(&self, interface: InterfaceId) -> bool {
        self.to_send.has_output(interface)
    }

    /// Writes the next packet of `interface` to the start of `packet`, which is at least as long as
    /// the device's MTU. Sockets take turns datagram by datagram. Returns the packet, and the id of its socket
    /// if that socket is open and its queue has room again.
    pub(crate) fn poll_datagram(
        &mut self,
        interface: InterfaceId,
        sender: &mut IpSender,
        pool: &mut Pool,
        packet: &mut [u8],
        counters: &mut Counters,
    ) -> Option<(BuiltPacket, Option<UdpId>)> {
        let polled = self
            .to_send
            .poll(interface, sender, pool, packet, counters)?;
        let Polled {
            built,
            socket: index,
            is_last,
        } = polled;
        if !is_last {
            return Some((built, None));
        }
        self.sockets[index].refused = false;
        match self.sockets[index].is_echo {
            false => counters.mib.udp_out_datagrams += 1,
            true => {
                counters.mib.icmp_out_msgs += 1;
                counters.mib.icmp_out_echo_reps += 1;
            }
        }
        if self.sockets[index].closing {
            if self.to_send.is_empty(index) {
                self.sockets.remove(index);
            }
            return Some((built, None));
        }
        Some((built, Some(UdpId(self.sockets.key(index)))))
    }

    /// Closes every socket and frees all memory.
    #[cfg(test)]
    pub(crate) fn release(&mut self, pool: &mut Pool) {
        for index in 0..self.sockets.capacity() {
            let Some(socket) = self.sockets.at(index) else {
                continue;
            };
            if !socket.closing && !socket.removed {
                self.unlink(index);
            }
            self.sockets.remove(index);
            self.received[index as usize].clear(pool);
            self.to_send.clear(index, pool);
        }
    }

    #[cfg_attr(target_pointer_width = "64", inline)]
    fn open(&self, id: UdpId) -> Result<&UdpSocket, UdpError> {
        let socket = self.sockets.get(id.0).filter(|socket| !socket.closing);
        socket.ok_or(UdpError::NoSuchSocket)
    }

    fn bucket(&self, port: u16) -> usize {
        usize::from(port) & (self.buckets.len() - 1)
    }

    /// Returns the sockets bound to `port`.
    fn bound_to(&self, port: u16) -> impl Iterator<Item = (u32, &UdpSocket)> {
        let first = self.buckets[self.bucket(port)];
        let mut next = first;
        core::iter::from_fn(move || {
            let index = next;
            let socket = (index != NONE).then(|| &self.sockets[index])?;
            next = socket.next;
            Some((index, socket))
        })
        .filter(move |(_, socket)| socket.local.port() == port)
    }

    /// Returns the socket that receives datagrams to `ip` and `port`.
    fn lookup(&self, ip: IpAddr, port: u16) -> Option<u32> {
        let at_port = self.lookup_at(ip, port);
        at_port.or_else(|| self.lookup_at(ip, EVERY_PORT))
    }

    /// Returns the socket bound to `ip` and exactly `port`.
    #[cfg_attr(target_pointer_width = "64", inline)]
    fn lookup_at(&self, ip: IpAddr, port: u16) -> Option<u32> {
        let mut bound = self.bound_to(port);
        bound
            .find(|(_, socket)| receives(socket.local.ip(), ip))
            .map(|(index, _)| index)
    }

    /// Returns true if an open socket conflicts with a new one bound to `ip` and `port`. A socket
    /// at the unspecified address of one version of IP does not conflict with a socket at an
    /// address of the other version.
    fn is_taken(&self, ip: IpAddr, port: u16) -> bool {
        let shares = |local: IpAddr| {
            let is_every = local.is_unspecified() || ip.is_unspecified();
            local == ip || (is_every && local.is_ipv4() == ip.is_ipv4())
        };
        self.bound_to(port)
            .any(|(_, socket)| shares(socket.local.ip()))
    }

    /// Returns the first free port at or after a random port, with wrap-around. RFC 6056 §3.3.1.
    fn free_port(&mut self, ip: IpAddr) -> Option<u16> {
        let (low, high) = self.ephemeral;
        let first = self.rng.between(low.into(), high.into()) as u16;
        (first..=high)
            .chain(low..first)
            .find(|port| !self.is_taken(ip, *port))
    }

    /// Removes a socket from its bucket, or ends its place as the receiver of echo requests.
    fn unlink(&mut self, index: u32) {
        let UdpSocket {
            local,
            next,
            is_echo,
            ..
        } = self.sockets[index];
        if is_echo {
            let of_socket = self.echo.iter_mut().filter(|echo| **echo == index);
            of_socket.for_each(|echo| *echo = NONE);
            return;
        }
        let bucket = self.bucket(local.port());
        let mut at = self.buckets[bucket];
        if at == index {
            self.buckets[bucket] = next;
            return;
        }
        while self.sockets[at].next != index {
            at = self.sockets[at].next;
        }
        self.sockets[at].next = next;
    }
}

/// Returns true if a socket bound to `local` receives datagrams to `ip`: `local` has the address
/// `ip`, or the unspecified address of the same version of IP. IPv4 addresses are compared as
/// numbers for speed: the address of each datagram is compared with each socket of its port.
#[cfg_attr(target_pointer_width = "64", inline)]
fn receives(local: IpAddr, ip: IpAddr) -> bool {
    match (local, ip) {
        (IpAddr::V4(local), IpAddr::V4(ip)) => {
            let bits = local.to_bits();
            bits == 0 || bits == ip.to_bits()
        }
        (IpAddr::V6(local), IpAddr::V6(ip)) => local.is_unspecified() || local == ip,
        _ => false,
    }
}

/// Returns `from` if a socket bound to `local` can send from `from`.
fn checked_source(
    from: Option<SocketAddr>,
    local: SocketAddr,
    routes: &Routes,
) -> Result<SocketAddr, UdpError> {
    let from = from.ok_or(UdpError::BadSource)?;
    let is_port = from.port() != EVERY_PORT && [EVERY_PORT, from.port()].contains(&local.port());
    let is_address = from.ip() == local.ip() || local.ip().is_unspecified();
    let is_ours = from.ip().is_unspecified() || routes.can_bind(from.ip());
    match is_port && is_address && is_ours {
        true => Ok(from),
        false => Err(UdpError::BadSource),
    }
}
