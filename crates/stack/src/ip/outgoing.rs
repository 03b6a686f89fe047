//! A packet to be sent, as the layer above describes it.
//!
//! Rule: a packet's header follows from these fields and from the state of the sender.

use core::net::IpAddr;

use fullpipe_wire::{Ecn, Protocol};

/// A packet to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    /// Source address.
    pub(crate) src: IpAddr,
    /// Destination address, of the same family as `src`.
    pub(crate) dst: IpAddr,
    /// Protocol of the payload.
    pub(crate) protocol: Protocol,
    /// Source port and destination port; `(0, 0)` if the protocol has none. Only the flow label of
    /// IPv6 follows from them.
    pub(crate) ports: (u16, u16),
    /// Bytes of payload.
    pub(crate) payload_len: usize,
    /// ECN codepoint. RFC 3168 §5.
    pub(crate) ecn: Ecn,
    /// Routers must not fragment the packet: a router for which the packet is too long drops it and
    /// sends an ICMP error.
    pub(crate) dont_fragment: bool,
}
