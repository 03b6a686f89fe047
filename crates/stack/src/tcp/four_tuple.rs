//! The two addresses and two ports that identify a connection. RFC 9293 §3.3.1.
//!
//! Rule: `local` is always this host, for sent and for received segments. Every table
//! hashes the same bytes of a tuple.

use core::net::{IpAddr, SocketAddr};

use crate::{ip::StoredIp, secret::HashInput};

/// The two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FourTuple {
    /// This host's address.
    local_ip: StoredIp,
    /// The peer's address.
    remote_ip: StoredIp,
    /// This host's port.
    pub(crate) local_port: u16,
    /// The peer's port.
    pub(crate) remote_port: u16,
}

impl FourTuple {
    /// Returns the tuple of a connection between `local` and `remote`.
    pub(crate) fn new(local: SocketAddr, remote: SocketAddr) -> Self {
        Self::of((local.ip(), local.port()), (remote.ip(), remote.port()))
    }

    /// Returns the tuple of a connection between two ends, each an address and a port.
    pub(crate) const fn of(local: (IpAddr, u16), remote: (IpAddr, u16)) -> Self {
        Self {
            local_ip: StoredIp::new(local.0),
            remote_ip: StoredIp::new(remote.0),
            local_port: local.1,
            remote_port: remote.1,
        }
    }

    /// Returns this host's address.
    pub(crate) const fn local_ip(&self) -> IpAddr {
        self.local_ip.get()
    }

    /// Returns the peer's address.
    pub(crate) const fn remote_ip(&self) -> IpAddr {
        self.remote_ip.get()
    }

    /// Returns this host's end.
    pub(crate) const fn local(&self) -> SocketAddr {
        SocketAddr::new(self.local_ip(), self.local_port)
    }

    /// Returns the peer's end.
    pub(crate) const fn remote(&self) -> SocketAddr {
        SocketAddr::new(self.remote_ip(), self.remote_port)
    }

    /// Calls `with` on the bytes that identify this connection, for hashing.
    pub(crate) fn with_bytes<R>(&self, with: impl FnOnce(&[u8]) -> R) -> R {
        let mut bytes = HashInput::new();
        bytes.push_ip(self.local_ip());
        bytes.push_ip(self.remote_ip());
        bytes.push(&self.local_port.to_be_bytes());
        bytes.push(&self.remote_port.to_be_bytes());
        with(bytes.as_slice())
    }
}
