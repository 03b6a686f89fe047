//! Counts of entries by source.
//!
//! Rule: the counts show when an address has reached its bound. The caller then refuses a new
//! entry, or removes an old entry of that address, so that one sender cannot use up a shared table.
//! Counting takes constant time, and an address without entries takes no memory. The caller decides
//! what an entry is. All IPv6 addresses of a prefix of 64 bits are one source, because one host may
//! use all of them.

use core::net::{IpAddr, Ipv6Addr};

use crate::{
    hash_index::HashIndex,
    ip::StoredIp,
    secret::{HashInput, Secret},
    slab::Slab,
};

#[cfg(test)]
mod tests;

/// Returns the address that stands for the source `ip`: itself, or its prefix of 64 bits.
#[cfg_attr(target_pointer_width = "64", inline)]
pub(crate) const fn source_of(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(ip) if cfg!(feature = "ipv6") => {
            IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64))
        }
        ip => ip,
    }
}

#[derive(Clone, Copy, Debug)]
struct SourceCount {
    ip: StoredIp,
    has: u32,
}

/// The counts of all source addresses.
#[derive(Debug)]
pub(crate) struct SourceCounts {
    sources: Slab<SourceCount>,
    by_ip: HashIndex,
    /// Largest count of one address.
    most_each: u32,
}

impl SourceCounts {
    /// Allocates counts for `most` entries in total, of which one address may have
    /// `most_each`.
    pub(crate) fn new(most: u32, most_each: u32, secret: Secret) -> Self {
        Self {
            sources: Slab::new(most),
            by_ip: HashIndex::new(most, secret),
            most_each,
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.sources.heap_bytes() + self.by_ip.heap_bytes()
    }

    /// Returns the slot of `ip` if the count of `ip` has reached its bound.
    pub(crate) fn full(&self, ip: IpAddr) -> Option<u32> {
        self.find(source_of(ip))
            .filter(|index| self.sources[*index].has >= self.most_each)
    }

    /// Counts one more entry of `ip`. Returns the slot of `ip`, which stays the same
    /// until the count of `ip` is 0.
    ///
    /// # Panics
    /// Panics if there are more than `most` entries in total.
    pub(crate) fn add(&mut self, ip: IpAddr) -> u32 {
        let ip = source_of(ip);
        if let Some(index) = self.find(ip) {
            self.sources[index].has += 1;
            return index;
        }
        let Some(key) = self.sources.insert(SourceCount {
            ip: StoredIp::new(ip),
            has: 1,
        }) else {
            unreachable!("there is a slot for each entry");
        };
        self.by_ip.insert(self.hash(ip), key.index);
        key.index
    }

    /// Counts one entry of `ip` less.
    ///
    /// # Panics
    /// Panics if the count of `ip` is 0.
    pub(crate) fn remove(&mut self, ip: IpAddr) {
        let ip = source_of(ip);
        let index = self.find(ip).expect("it was added");
        let source = &mut self.sources[index];
        source.has -= 1;
        if source.has == 0 {
            self.sources.remove(index);
            self.by_ip.remove(self.hash(ip), index);
        }
    }

    /// Returns the slot of the source `ip`, as [`source_of`] returns it.
    fn find(&self, ip: IpAddr) -> Option<u32> {
        self.by_ip
            .find(self.hash(ip), |index| self.sources[index].ip.get() == ip)
    }

    fn hash(&self, ip: IpAddr) -> u32 {
        let mut bytes = HashInput::new();
        bytes.push_ip(ip);
        self.by_ip.hash(bytes.as_slice())
    }
}
