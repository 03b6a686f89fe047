//! A received datagram, as the protocols above IP see it.
//!
//! Rule: the header is checked and the datagram is complete; see `receiver`.

use core::net::IpAddr;

use fullpipe_wire::{Ecn, Ipv4Header, MacAddress, Protocol};

/// The header of a received packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IpHeader {
    /// RFC 791.
    V4(Ipv4Header),
}

/// A complete datagram that was received for this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet<'a> {
    /// The header of the packet; if the packet was fragmented, the header of its first fragment.
    pub(crate) header: IpHeader,
    /// The packet was addressed to every host of the network.
    pub(crate) broadcast: bool,
    /// Source MAC address of the packet's last frame.
    pub(crate) station: MacAddress,
    /// The payload, which begins with the header of its protocol.
    pub(crate) payload: &'a [u8],
}

impl Packet<'_> {
    /// Returns the source address.
    pub(crate) const fn src(&self) -> IpAddr {
        match &self.header {
            IpHeader::V4(header) => IpAddr::V4(header.src),
        }
    }

    /// Returns the destination address.
    pub(crate) const fn dst(&self) -> IpAddr {
        match &self.header {
            IpHeader::V4(header) => IpAddr::V4(header.dst),
        }
    }

    /// Returns the protocol of the payload.
    pub(crate) const fn protocol(&self) -> Protocol {
        match &self.header {
            IpHeader::V4(header) => header.protocol,
        }
    }

    /// Returns the ECN codepoint. RFC 3168 §5.
    pub(crate) const fn ecn(&self) -> Ecn {
        match &self.header {
            IpHeader::V4(header) => header.ecn,
        }
    }
}
