//! Errors that routers and hosts report about packets of this host.
//!
//! Rule: a report is unverified. The socket or connection that sent the packet
//! decides whether it can be true (RFC 5927).

use core::{fmt, net::SocketAddr};

use fullpipe_wire::Protocol;

/// What a router or host reports about a packet that we may have sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// It could not be delivered.
    Unreachable {
        /// It never will be: no such protocol, no such port. RFC 1122 §4.2.3.9.
        hard: bool,
    },
    /// It was too long for a link on the way. RFC 1191.
    FragmentationNeeded {
        /// Bytes that the link takes; never below `ip.path_mtu_min`.
        mtu: u16,
    },
    /// It was on its way for too long.
    TimeExceeded,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { hard: true } => f.write_str("protocol or port unreachable"),
            Self::Unreachable { hard: false } => f.write_str("network or host unreachable"),
            Self::FragmentationNeeded { mtu } => {
                write!(f, "packet too big: the next link takes {mtu} bytes")
            }
            Self::TimeExceeded => f.write_str("time to live exceeded in transit"),
        }
    }
}

impl core::error::Error for PathError {}

/// An ICMP error about one of our packets, to be validated by whoever sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IcmpEvent {
    /// What went wrong.
    pub(crate) error: PathError,
    /// What the packet carried.
    pub(crate) protocol: Protocol,
    /// Our side of the packet.
    pub(crate) local: SocketAddr,
    /// The other side.
    pub(crate) remote: SocketAddr,
    /// The quoted sequence number; means something for TCP only.
    pub(crate) seq: u32,
}
