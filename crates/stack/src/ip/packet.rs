//! A received datagram, as the protocols above IP see it.
//!
//! Rule: the header is checked and the datagram is complete; see `receiver`.

use core::net::IpAddr;

#[cfg(feature = "ipv6")]
use fullpipe_wire::Ipv6Header;
use fullpipe_wire::{Ecn, Ipv4Header, Protocol};

use crate::link::Station;

/// The header of a received packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IpHeader {
    /// RFC 791.
    V4(Ipv4Header),
    /// RFC 8200, without the extension headers: `next_header` is the protocol, and `payload_len`
    /// the length of its payload.
    #[cfg(feature = "ipv6")]
    V6(Ipv6Header),
}

impl IpHeader {
    /// Returns the source address.
    pub(crate) const fn src(&self) -> IpAddr {
        match self {
            Self::V4(header) => IpAddr::V4(header.src),
            #[cfg(feature = "ipv6")]
            Self::V6(header) => IpAddr::V6(header.src),
        }
    }

    /// Returns the destination address.
    pub(crate) const fn dst(&self) -> IpAddr {
        match self {
            Self::V4(header) => IpAddr::V4(header.dst),
            #[cfg(feature = "ipv6")]
            Self::V6(header) => IpAddr::V6(header.dst),
        }
    }

    /// Returns the protocol of the payload.
    pub(crate) const fn protocol(&self) -> Protocol {
        match self {
            Self::V4(header) => header.protocol,
            #[cfg(feature = "ipv6")]
            Self::V6(header) => header.protocol(),
        }
    }

    /// Returns the ECN codepoint. RFC 3168 §5.
    pub(crate) const fn ecn(&self) -> Ecn {
        match self {
            Self::V4(header) => header.ecn,
            #[cfg(feature = "ipv6")]
            Self::V6(header) => header.ecn,
        }
    }

    /// Turns this header of a first fragment into the header of the whole datagram, which has `len`
    /// bytes of payload and the codepoint `ecn`. If the length does not fit the header's length
    /// field, the field gets its largest value.
    #[cfg(feature = "fragments")]
    pub(crate) fn of_whole(self, len: u16, ecn: Ecn) -> Self {
        match self {
            Self::V4(header) => Self::V4(Ipv4Header {
                total_len: u16::from(header.header_len).saturating_add(len),
                more_fragments: false,
                fragment_offset: 0,
                ecn,
                ..header
            }),
            #[cfg(feature = "ipv6")]
            Self::V6(header) => Self::V6(Ipv6Header {
                payload_len: len,
                ecn,
                ..header
            }),
        }
    }
}

/// A fragment of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceivedFragment {
    /// The fragment's header. In an IPv6 fragment, `next_header` is the first header of the
    /// fragmentable part.
    pub(crate) header: IpHeader,
    /// Offset in the datagram in bytes.
    pub(crate) offset: u16,
    /// Another fragment follows.
    pub(crate) more: bool,
    /// Identifies the datagram.
    pub(crate) identification: u32,
}

impl From<Ipv4Header> for ReceivedFragment {
    fn from(header: Ipv4Header) -> Self {
        Self {
            header: IpHeader::V4(header),
            offset: header.fragment_offset,
            more: header.more_fragments,
            identification: header.identification.into(),
        }
    }
}

/// A complete datagram that was received for this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet<'a> {
    /// The header of the packet; if the packet was fragmented, the header of its first fragment.
    pub(crate) header: IpHeader,
    /// The packet was addressed to every host of the network.
    pub(crate) broadcast: bool,
    /// Station that sent the packet's last frame.
    pub(crate) station: Station,
    /// The payload, which begins with the header of its protocol.
    pub(crate) payload: &'a [u8],
}

impl Packet<'_> {
    /// Returns the source address.
    pub(crate) const fn src(&self) -> IpAddr {
        self.header.src()
    }

    /// Returns the destination address.
    pub(crate) const fn dst(&self) -> IpAddr {
        self.header.dst()
    }

    /// Returns the protocol of the payload.
    pub(crate) const fn protocol(&self) -> Protocol {
        self.header.protocol()
    }

    /// Returns the ECN codepoint. RFC 3168 §5.
    pub(crate) const fn ecn(&self) -> Ecn {
        self.header.ecn()
    }
}
