//! Types of link headers.
//!
//! Rule: this file does not interpret link headers. [`LinkType::READ`] lists the types that this
//! crate reads.

use std::fmt;

/// Type of a frame's first header, by its number in the registry of link types
/// (draft-ietf-opsawg-pcaplinktype).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// Loopback of BSD systems. It begins with the address family in the capturing host's byte
    /// order.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// PPP, with or without the HDLC address field.
    pub const PPP: Self = Self(9);
    /// An IP packet, by the number that BSD systems use.
    pub const RAW_BSD: Self = Self(12);
    /// An IP packet, by the number that OpenBSD uses.
    pub const RAW_OPENBSD: Self = Self(14);
    /// PPP in HDLC framing.
    pub const PPP_HDLC: Self = Self(50);
    /// PPPoE session header.
    pub const PPP_ETHER: Self = Self(51);
    /// An IP packet.
    pub const RAW: Self = Self(101);
    /// Cisco HDLC.
    pub const C_HDLC: Self = Self(104);
    /// Loopback of OpenBSD. It begins with the address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux cooked capture, as from the device `any`.
    pub const LINUX_SLL: Self = Self(113);
    /// PPP of Linux's pppd, with the direction in place of the address.
    pub const PPP_PPPD: Self = Self(166);
    /// An IPv4 packet.
    pub const IPV4: Self = Self(228);
    /// An IPv6 packet.
    pub const IPV6: Self = Self(229);
    /// Linux cooked capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);

    /// Types that this crate reads, each with tcpdump's name for it.
    pub const READ: [(Self, &'static str); 15] = [
        (Self::NULL, "NULL"),
        (Self::ETHERNET, "EN10MB"),
        (Self::PPP, "PPP"),
        (Self::RAW_BSD, "RAW"),
        (Self::RAW_OPENBSD, "RAW"),
        (Self::PPP_HDLC, "PPP_SERIAL"),
        (Self::PPP_ETHER, "PPP_ETHER"),
        (Self::RAW, "RAW"),
        (Self::C_HDLC, "C_HDLC"),
        (Self::LOOP, "LOOP"),
        (Self::LINUX_SLL, "LINUX_SLL"),
        (Self::PPP_PPPD, "PPP_PPPD"),
        (Self::IPV4, "IPV4"),
        (Self::IPV6, "IPV6"),
        (Self::LINUX_SLL2, "LINUX_SLL2"),
    ];
}

impl fmt::Display for LinkType {
    /// Writes tcpdump's name for the type, or its number if this crate does not read it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::READ.iter().find(|(known, _)| known == self) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}
