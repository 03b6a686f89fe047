//! Addresses as tables store them: only the bytes that this build uses.
//!
//! Rule: a build without IPv6 stores four bytes. Its calls refuse IPv6 addresses and its input drops
//! IPv6 packets, so no such address reaches a table, except as the unspecified one.

use core::net::{IpAddr, SocketAddr};

/// Bytes of an address.
#[cfg(feature = "ipv6")]
type Bytes = IpAddr;
/// Bytes of an address.
#[cfg(not(feature = "ipv6"))]
type Bytes = core::net::Ipv4Addr;

/// An IP address in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StoredIp(Bytes);

impl StoredIp {
    /// Stores `ip`.
    pub(crate) const fn new(ip: IpAddr) -> Self {
        #[cfg(feature = "ipv6")]
        return Self(ip);
        #[cfg(not(feature = "ipv6"))]
        match ip {
            IpAddr::V4(ip) => Self(ip),
            IpAddr::V6(_) => Self(Bytes::UNSPECIFIED),
        }
    }

    /// Returns the address.
    pub(crate) const fn get(self) -> IpAddr {
        #[cfg(feature = "ipv6")]
        return self.0;
        #[cfg(not(feature = "ipv6"))]
        IpAddr::V4(self.0)
    }
}

impl From<IpAddr> for StoredIp {
    fn from(ip: IpAddr) -> Self {
        Self::new(ip)
    }
}

/// An address and a port in a table. Zone and flow label of IPv6 are not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredEnd {
    ip: StoredIp,
    port: u16,
}

impl StoredEnd {
    /// Stores address and port of `end`.
    pub(crate) const fn new(end: SocketAddr) -> Self {
        Self {
            ip: StoredIp::new(end.ip()),
            port: end.port(),
        }
    }

    /// Returns address and port.
    #[cfg(any(feature = "udp", test))]
    pub(crate) const fn get(self) -> SocketAddr {
        SocketAddr::new(self.ip.get(), self.port)
    }

    /// Returns the address.
    pub(crate) const fn ip(self) -> IpAddr {
        self.ip.get()
    }

    /// Returns the port.
    pub(crate) const fn port(self) -> u16 {
        self.port
    }
}
