//! Errors that routers and hosts report about packets of this host.
//!
//! Rule: a report is unverified. The socket or connection that sent the packet decides whether the
//! report can be genuine (RFC 5927).

use core::{fmt, net::SocketAddr};

use fullpipe_wire::Protocol;

/// An error that a router or host reported about a packet of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// The packet could not be delivered.
    Unreachable {
        /// The same packet would fail again: the protocol or port does not exist. RFC
        /// 1122 §4.2.3.9.
        hard: bool,
    },
    /// The packet was too long for a link of the path. RFC 1191.
    FragmentationNeeded {
        /// MTU of the link in bytes; not below the knob `ip.path_mtu_min`.
        mtu: u16,
        /// The link's MTU is below `ip.path_mtu_min`: routers must be allowed to
        /// fragment packets of `mtu` bytes, which then carry no DF.
        fragment: bool,
    },
    /// The packet exceeded its time to live.
    TimeExceeded,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { hard: true } => f.write_str("protocol or port unreachable"),
            Self::Unreachable { hard: false } => f.write_str("network or host unreachable"),
            Self::FragmentationNeeded { mtu, .. } => {
                write!(
                    f,
                    "packet too big: the next link carries at most {mtu} bytes"
                )
            }
            Self::TimeExceeded => f.write_str("time to live exceeded in transit"),
        }
    }
}

impl core::error::Error for PathError {}

/// An unverified ICMP error about a packet of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IcmpEvent {
    /// The error.
    pub(crate) error: PathError,
    /// Protocol of the packet.
    pub(crate) protocol: Protocol,
    /// Source of the packet: a local address and port.
    pub(crate) local: SocketAddr,
    /// Destination of the packet.
    pub(crate) remote: SocketAddr,
    /// Quoted sequence number; meaningful for TCP only.
    pub(crate) seq: u32,
}
