//! What the layers above need to know of IP, whatever its version.
//!
//! Rule: outside the folders `v4` (and one day `v6`) an address is an
//! [`IpAddr`], and a match on the family has an arm for each. Headers are read
//! and written by those folders; this one holds the types they share, the
//! receiving and the sending side of the host, and no state of connections.

pub(crate) mod receiver;
pub(crate) mod send_queue;
pub(crate) mod sender;
#[cfg(test)]
mod tests;
pub(crate) mod v4;

use core::net::IpAddr;

use fullpipe_wire::{Ecn, Ipv4Header, Protocol};

pub(crate) use receiver::Receiver;
pub(crate) use send_queue::{Heading, SendQueue};
pub(crate) use sender::{Built, Outgoing, Sender};
pub use v4::routes::{Route, RouteError, Routes};

/// This host's address, and how much of it names the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// This host's address.
    pub address: IpAddr,
    /// Leading bits that all hosts of the network share.
    pub prefix_len: u8,
}

/// Who a packet is for, as seen from one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// This host.
    Us,
    /// Every host of the network.
    Broadcast,
    /// A group of hosts.
    Multicast,
    /// Some other host.
    Other,
}

impl Subnet {
    /// Whether `ip` is in the same network.
    pub fn contains(&self, ip: IpAddr) -> bool {
        match (self.address, ip) {
            (IpAddr::V4(own), IpAddr::V4(ip)) => {
                let mask = v4::mask(self.prefix_len);
                own.to_bits() & mask == ip.to_bits() & mask
            }
            (IpAddr::V4(_), IpAddr::V6(_))
            | (IpAddr::V6(_), IpAddr::V4(_))
            | (IpAddr::V6(_), IpAddr::V6(_)) => false,
        }
    }

    /// Who a packet to `dst` is for.
    pub(crate) fn audience(&self, dst: IpAddr) -> Audience {
        match (self.address, dst) {
            (IpAddr::V4(own), IpAddr::V4(dst)) => v4::audience(own, self.prefix_len, dst),
            (IpAddr::V4(_), IpAddr::V6(_))
            | (IpAddr::V6(_), IpAddr::V4(_))
            | (IpAddr::V6(_), IpAddr::V6(_)) => Audience::Other,
        }
    }

    /// Whether a packet from `src` can have come from one other host.
    /// RFC 1122 §3.2.1.3.
    pub(crate) fn may_send_to_us(&self, src: IpAddr) -> bool {
        !src.is_unspecified() && !src.is_loopback() && self.audience(src) == Audience::Other
    }
}

/// The header of a received packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IpHeader {
    /// RFC 791.
    V4(Ipv4Header),
}

/// A whole datagram received: no fragment, sound, and for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet<'a> {
    /// Its header; of the first fragment, when it came in several.
    pub(crate) header: IpHeader,
    /// Whether it was for every host of the network.
    pub(crate) broadcast: bool,
    /// What it carries, starting with the header of its protocol.
    pub(crate) payload: &'a [u8],
}

impl Packet<'_> {
    /// Who sent it.
    pub(crate) const fn src(&self) -> IpAddr {
        match &self.header {
            IpHeader::V4(header) => IpAddr::V4(header.src),
        }
    }

    /// Who it is for.
    pub(crate) const fn dst(&self) -> IpAddr {
        match &self.header {
            IpHeader::V4(header) => IpAddr::V4(header.dst),
        }
    }

    /// What the payload is.
    pub(crate) const fn protocol(&self) -> Protocol {
        match &self.header {
            IpHeader::V4(header) => header.protocol,
        }
    }

    /// What routers said about congestion.
    pub(crate) const fn ecn(&self) -> Ecn {
        match &self.header {
            IpHeader::V4(header) => header.ecn,
        }
    }
}
