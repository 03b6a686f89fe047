//! Frames on a link: the length of the Ethernet header, the EtherTypes, and the directions.
//!
//! Rule: every file of this folder may import this file, which imports none of the others.

/// Bytes of an Ethernet II header, which `mtu` does not count.
pub const ETHERNET_HEADER_LEN: usize = 14;

/// Ethertype of IPv4, at byte 12 of a frame.
pub(super) const IPV4: [u8; 2] = [0x08, 0x00];
/// Ethertype of IPv6.
pub(super) const IPV6: [u8; 2] = [0x86, 0xdd];

/// The direction of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the link's first end to its second.
    Forward,
    /// From the link's second end to its first.
    Back,
}

impl Direction {
    /// Both directions, in index order.
    pub const ALL: [Self; 2] = [Self::Forward, Self::Back];

    /// 0 for forward, 1 for back.
    pub const fn index(self) -> usize {
        match self {
            Self::Forward => 0,
            Self::Back => 1,
        }
    }

    /// The opposite direction.
    pub const fn reverse(self) -> Self {
        match self {
            Self::Forward => Self::Back,
            Self::Back => Self::Forward,
        }
    }
}
