//! The names of the parts of a world (a simulated network), its seed, and the IP version of a flow.
//!
//! Rule: an id is an index into the world that made it, and is meaningless in another
//! world.

use std::net::IpAddr;

use fullpipe_wire::{Ipv4Header, Ipv6Header};
use serde::{Deserialize, Serialize};

/// The seed of everything random in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seed(pub u64);

/// A host of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostId(pub(crate) usize);

/// A link of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId(pub(crate) usize);

/// A switch of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SwitchId(pub(crate) usize);

/// The IP version of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub enum Family {
    /// IPv4.
    #[default]
    V4,
    /// IPv6. Every link on the path needs an MTU of at least 1,280 bytes. RFC 8200 §5.
    V6,
}

impl Family {
    /// The index of this version in a pair of values: IPv4, then IPv6.
    pub const fn index(self) -> usize {
        match self {
            Self::V4 => 0,
            Self::V6 => 1,
        }
    }

    /// Returns true for IPv4, the default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The version of an address.
    pub const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    /// Bytes of the IP header of a packet that is not a fragment.
    pub const fn header_len(self) -> usize {
        match self {
            Self::V4 => Ipv4Header::LEN,
            Self::V6 => Ipv6Header::LEN,
        }
    }

    /// The smallest MTU of a link, in bytes. RFC 791, RFC 8200 §5.
    pub const fn min_mtu(self) -> usize {
        match self {
            Self::V4 => 68,
            Self::V6 => fullpipe_wire::ipv6::MIN_MTU,
        }
    }
}

impl From<Family> for u8 {
    fn from(family: Family) -> Self {
        match family {
            Family::V4 => 4,
            Family::V6 => 6,
        }
    }
}

impl TryFrom<u8> for Family {
    type Error = String;

    fn try_from(version: u8) -> Result<Self, String> {
        match version {
            4 => Ok(Self::V4),
            6 => Ok(Self::V6),
            other => Err(format!("{other}: the IP version must be 4 or 6")),
        }
    }
}
