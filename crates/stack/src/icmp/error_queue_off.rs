//! Stand-in for the queue of ICMP errors in builds without the feature `icmp-errors`.
//!
//! Rule: this file has the interface of `error_queue.rs`. It refuses every message, so none is
//! sent.

use core::net::SocketAddr;

use fullpipe_pool::{Instant, Pool};
use fullpipe_wire::{MacAddress, Protocol, UnreachableCode};

use crate::{
    config::IcmpConfig,
    counters::{Counters, Discard},
    ip::{BuiltPacket, IpSender, Packet},
    secret::Secret,
};

/// A packet that the application refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "the interface of the queue")]
pub(crate) struct RefusedPacket {
    /// Protocol of the packet.
    pub(crate) protocol: Protocol,
    /// Source of the packet.
    pub(crate) from: SocketAddr,
    /// Destination of the packet.
    pub(crate) to: SocketAddr,
    /// The four bytes after the ports.
    pub(crate) third_word: u32,
    /// Source MAC address of the packet's frame, if it is known.
    pub(crate) station: Option<MacAddress>,
}

/// The queue of ICMP errors, which is always empty.
#[derive(Debug)]
pub(crate) struct ErrorQueue;

impl ErrorQueue {
    /// Creates the value, without memory.
    pub(crate) const fn new(_config: &IcmpConfig, _secret: &Secret) -> Self {
        Self
    }

    /// Returns 0.
    pub(crate) const fn heap_bytes(&self) -> usize {
        0
    }

    /// Counts a message that is not sent.
    pub(crate) fn report(
        &mut self,
        packet: &Packet<'_>,
        _code: UnreachableCode,
        _at: (&mut Pool, Instant),
        counters: &mut Counters,
    ) {
        if !packet.broadcast {
            counters.discard(Discard::IcmpErrorQueueFull);
        }
    }

    /// Counts a message that is not sent.
    pub(crate) fn report_refused(
        &mut self,
        _packet: &RefusedPacket,
        _code: UnreachableCode,
        _now: Instant,
        counters: &mut Counters,
    ) {
        counters.discard(Discard::IcmpErrorQueueFull);
    }

    /// Counts a message that is not sent.
    #[cfg(feature = "ipv6")]
    pub(crate) fn report_problem(
        &mut self,
        _ends: (core::net::Ipv6Addr, core::net::Ipv6Addr),
        _station: Option<MacAddress>,
        _problem: (fullpipe_wire::ipv6::ParameterProblemCode, u32),
        _original: &[u8],
        _at: (&mut Pool, Instant),
        counters: &mut Counters,
    ) {
        counters.discard(Discard::IcmpErrorQueueFull);
    }

    /// Returns false.
    pub(crate) const fn wants_output(&self) -> bool {
        false
    }

    /// Returns `None`.
    pub(crate) const fn poll_packet(
        &mut self,
        _sender: &mut IpSender,
        _pool: &mut Pool,
        _packet: &mut [u8],
        _counters: &mut Counters,
    ) -> Option<BuiltPacket> {
        None
    }
}
