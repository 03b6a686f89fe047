//! Keys derived from the stack's secret, and keyed hashes.
//!
//! Rule: each purpose has a key of its own, so that one value that a peer sees (a sequence number,
//! a port) reveals nothing about another value. No entropy is drawn here: the secret is an argument
//! of `Stack::new`.

use core::net::IpAddr;

use siphasher::sip::{SipHasher13, SipHasher24};

/// A 128-bit key. Each purpose has its own key.
#[derive(Clone, Copy)]
pub(crate) struct Secret(pub(crate) [u8; 16]);

impl core::fmt::Debug for Secret {
    /// Prints no bit of the secret, so that no log contains it.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Secret {
    /// Derives the key for `purpose` from this key.
    pub(crate) fn derive(&self, purpose: &[u8]) -> Self {
        let mut bytes = [0; 16];
        for (half, chunk) in bytes.chunks_exact_mut(8).enumerate() {
            let mut input = HashInput::new();
            input.push(&[half as u8]);
            input.push(purpose);
            chunk.copy_from_slice(&self.prf(input.as_slice()).to_le_bytes());
        }
        Self(bytes)
    }

    /// Returns a keyed pseudo-random function of `bytes` (SipHash-2-4), for
    /// values that a peer sees and must not predict.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub(crate) fn prf(&self, bytes: &[u8]) -> u64 {
        SipHasher24::new_with_key(&self.0).hash(bytes)
    }

    /// Returns a keyed hash of `bytes` (SipHash-1-3), for table buckets.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub(crate) fn table_hash(&self, bytes: &[u8]) -> u64 {
        SipHasher13::new_with_key(&self.0).hash(bytes)
    }
}

/// Bytes to be hashed: addresses, ports and other numbers.
pub(crate) struct HashInput {
    bytes: [u8; 44],
    len: usize,
}

impl HashInput {
    /// Returns an empty input.
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

    /// Adds the octets of `ip`. An IPv4 and an IPv6 address differ in length,
    /// so they never hash the same bytes.
    pub(crate) fn push_ip(&mut self, ip: IpAddr) {
        match ip {
            IpAddr::V4(ip) => self.push(&ip.octets()),
            IpAddr::V6(ip) => self.push(&ip.octets()),
        }
    }

    /// Returns the bytes added so far.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
