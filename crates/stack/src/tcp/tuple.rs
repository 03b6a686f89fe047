//! What tells one connection of this host from every other: two addresses and
//! two ports. RFC 9293 §3.3.1.
//!
//! Rule: `local` is always this host, whichever way a segment goes. Keyed
//! hashes of a tuple are made here, so that every table agrees on its bytes.

use core::{
    hash::Hasher,
    net::{IpAddr, SocketAddr},
};

use siphasher::sip::{SipHasher13, SipHasher24};

/// A connection's two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FourTuple {
    /// This host's address.
    pub(crate) local_ip: IpAddr,
    /// The peer's address.
    pub(crate) remote_ip: IpAddr,
    /// Our port.
    pub(crate) local_port: u16,
    /// The peer's port.
    pub(crate) remote_port: u16,
}

/// A 128-bit secret, drawn once for each purpose.
#[derive(Clone, Copy)]
pub(crate) struct Secret(pub(crate) [u8; 16]);

impl core::fmt::Debug for Secret {
    /// Says nothing: whoever reads a log must not learn it.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Secret {
    /// A secret of its own for each `purpose`, derived from this one.
    pub(crate) fn derive(&self, purpose: &[u8]) -> Self {
        let mut bytes = [0; 16];
        for (half, chunk) in bytes.chunks_exact_mut(8).enumerate() {
            let mut hasher = SipHasher24::new_with_key(&self.0);
            hasher.write_u8(half as u8);
            hasher.write(purpose);
            chunk.copy_from_slice(&hasher.finish().to_le_bytes());
        }
        Self(bytes)
    }

    /// A keyed pseudo-random function of `bytes`, fit for what must not be
    /// guessed from outside: SipHash-2-4.
    pub(crate) fn prf(&self, bytes: &[u8]) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(bytes);
        hasher.finish()
    }

    /// A keyed hash of `bytes` for the place in a table: SipHash-1-3.
    pub(crate) fn table_hash(&self, bytes: &[u8]) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        hasher.write(bytes);
        hasher.finish()
    }
}

impl FourTuple {
    /// The tuple of a connection from `local` to `remote`.
    pub(crate) fn new(local: SocketAddr, remote: SocketAddr) -> Self {
        Self {
            local_ip: local.ip(),
            remote_ip: remote.ip(),
            local_port: local.port(),
            remote_port: remote.port(),
        }
    }

    /// Our end.
    pub(crate) const fn local(&self) -> SocketAddr {
        SocketAddr::new(self.local_ip, self.local_port)
    }

    /// The peer's end.
    pub(crate) const fn remote(&self) -> SocketAddr {
        SocketAddr::new(self.remote_ip, self.remote_port)
    }

    /// Runs `with` on the bytes that name this connection.
    pub(crate) fn with_bytes<R>(&self, with: impl FnOnce(&[u8]) -> R) -> R {
        let mut bytes = Bytes::new();
        bytes.push_ip(self.local_ip);
        bytes.push_ip(self.remote_ip);
        bytes.push(&self.local_port.to_be_bytes());
        bytes.push(&self.remote_port.to_be_bytes());
        with(bytes.as_slice())
    }
}

/// The bytes of a tuple, or of a part of it, on their way into a hash.
pub(crate) struct Bytes {
    bytes: [u8; 44],
    len: usize,
}

impl Bytes {
    /// None yet.
    pub(crate) const fn new() -> Self {
        Self {
            bytes: [0; 44],
            len: 0,
        }
    }

    /// Adds `bytes`.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Adds the octets of `ip`. IPv4 and IPv6 differ in length, so they never
    /// make the same bytes.
    pub(crate) fn push_ip(&mut self, ip: IpAddr) {
        match ip {
            IpAddr::V4(ip) => self.push(&ip.octets()),
            IpAddr::V6(ip) => self.push(&ip.octets()),
        }
    }

    /// All bytes so far.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
