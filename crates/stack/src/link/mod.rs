//! The link layer: Ethernet headers and the neighbour cache.
//!
//! Rule: only this folder and `device` handle link headers.

pub(crate) mod framing;
pub(crate) mod neighbours;
#[cfg(test)]
mod tests;

#[cfg(feature = "slaac")]
pub(crate) use framing::write_v6_headers;
use fullpipe_wire::MacAddress;

use crate::interface_id::InterfaceId;

pub(crate) use framing::{Inbound, IpVersion, LinkLayer, multicast_station};
pub use neighbours::Reachability;
#[cfg(feature = "ipv6")]
pub(crate) use neighbours::ReceivedMessage;
pub(crate) use neighbours::{Asker, Neighbours, Resolution};

/// The station that sent a frame, and the interface that received the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Station {
    /// The interface by which an answer leaves.
    pub(crate) interface: InterfaceId,
    /// Source MAC address of the frame.
    pub(crate) mac: MacAddress,
}

#[cfg(test)]
impl Station {
    /// A station on a device of the first interface that carries no link header.
    pub(crate) const UNSPECIFIED: Self = Self {
        interface: InterfaceId::FIRST,
        mac: MacAddress::UNSPECIFIED,
    };
}
