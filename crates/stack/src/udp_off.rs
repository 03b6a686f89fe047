//! Stand-in for UDP in builds without the feature `udp`.
//!
//! Rule: this file has the methods of `udp/mod.rs` that other files call. There are no sockets, so
//! received datagrams are discarded, and the sender learns that no socket has the port.

use core::net::{IpAddr, SocketAddr};

use fullpipe_pool::{Pool, Rng};

use crate::{
    config::Config,
    counters::{Counters, Discard},
    icmp::IcmpEvent,
    interface_id::InterfaceId,
    ip::{BuiltPacket, IpSender, Packet},
};

/// The id of a UDP socket, which does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UdpId {}

impl UdpId {
    /// Is not called.
    pub const fn index(self) -> u32 {
        match self {}
    }
}

/// The outcome of delivering a received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "the interface of UDP")]
pub(crate) enum Delivery {
    /// Does not occur.
    Queued(UdpId),
    /// No socket has the datagram's port: an ICMP error may be due.
    NoPort,
    /// Does not occur.
    Dropped,
}

/// The sockets, of which there are none.
#[derive(Debug)]
pub(crate) struct UdpSockets;

impl UdpSockets {
    /// Allocates nothing.
    pub(crate) fn new(_config: &Config, _rng: Rng) -> Self {
        Self
    }

    /// Returns 0.
    pub(crate) const fn heap_bytes(&self) -> usize {
        0
    }

    /// Allocates nothing.
    pub(crate) const fn add_interface(&mut self) {}

    /// Returns `None`.
    pub(crate) const fn echo_socket(&self, _ip: IpAddr) -> Option<u32> {
        None
    }

    /// Is not called.
    pub(crate) const fn queue_request(
        &mut self,
        _index: u32,
        _ends: (SocketAddr, SocketAddr),
        _data: &[u8],
        _pool: &mut Pool,
    ) -> bool {
        false
    }

    /// Does nothing.
    pub(crate) fn forget_address(
        &mut self,
        _ip: IpAddr,
        _pool: &mut Pool,
        _ended: impl FnMut(UdpId),
    ) {
    }

    /// Counts a datagram to a port that no socket has.
    pub(crate) fn on_datagram(
        &mut self,
        _packet: &Packet<'_>,
        _checksum_verified: bool,
        _pool: &mut Pool,
        counters: &mut Counters,
    ) -> Delivery {
        counters.discard(Discard::UdpNoPort);
        Delivery::NoPort
    }

    /// Counts an error about a datagram that no socket sent.
    pub(crate) fn on_icmp(&mut self, _event: &IcmpEvent, counters: &mut Counters) -> Option<UdpId> {
        counters.discard(Discard::IcmpQuoteUnmatched);
        None
    }

    /// Returns false.
    pub(crate) const fn wants_output(&self, _interface: InterfaceId) -> bool {
        false
    }

    /// Returns `None`.
    pub(crate) const fn poll_datagram(
        &mut self,
        _interface: InterfaceId,
        _sender: &mut IpSender,
        _pool: &mut Pool,
        _packet: &mut [u8],
        _counters: &mut Counters,
    ) -> Option<(BuiltPacket, Option<UdpId>)> {
        None
    }
}
