//! A socket for each version of IP.
//!
//! Rule: a socket of the stack is bound to an address of one version, so a netstack opens each of
//! its sockets twice. The version of a flow's destination selects one of the two.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

/// Two sockets: one for all IPv4 addresses, one for all IPv6 addresses.
pub(crate) struct EachFamily<S> {
    v4: S,
    v6: S,
}

impl<S> EachFamily<S> {
    /// Opens both sockets with `open`, which receives the unspecified address of a version.
    ///
    /// # Errors
    /// Returns the first error of `open`.
    pub fn of(open: impl Fn(IpAddr) -> io::Result<S>) -> io::Result<Self> {
        Ok(Self {
            v4: open(Ipv4Addr::UNSPECIFIED.into())?,
            v6: open(Ipv6Addr::UNSPECIFIED.into())?,
        })
    }

    /// Returns the sockets for IPv4 and for IPv6.
    pub const fn both(&self) -> [&S; 2] {
        [&self.v4, &self.v6]
    }

    /// Returns the socket that receives what is sent to `destination`.
    pub const fn of_address(&self, destination: SocketAddr) -> &S {
        match destination {
            SocketAddr::V4(_) => &self.v4,
            SocketAddr::V6(_) => &self.v6,
        }
    }
}
