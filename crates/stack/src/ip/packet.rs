//! A received datagram, as the protocols above IP see it.
//!
//! Rule: the header is checked and the datagram whole; see `receiver`.

use core::net::IpAddr;

use fullpipe_wire::{Ecn, Ipv4Header, Protocol};

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
