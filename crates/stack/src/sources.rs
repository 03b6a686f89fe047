//! How much each source address has of something that all share.
//!
//! Rule: what one address may have is bounded, so that one sender cannot take
//! what others need; counting costs the same however many addresses there are.
//! An address that has nothing is not remembered. What is counted is the
//! caller's affair.

use core::net::IpAddr;

use crate::{
    hash_index::HashIndex,
    secret::{HashInput, Secret},
    slab::Slab,
};

#[cfg(test)]
mod tests;

#[derive(Clone, Copy, Debug)]
struct SourceCount {
    ip: IpAddr,
    has: u32,
}

/// Counts by source address.
#[derive(Debug)]
pub(crate) struct SourceCounts {
    sources: Slab<SourceCount>,
    by_ip: HashIndex,
    /// What one address may have.
    most_each: u32,
}

impl SourceCounts {
    /// For `most` things in all, of which one address may have `most_each`.
    /// Allocates here and only here.
    pub(crate) fn new(most: u32, most_each: u32, secret: Secret) -> Self {
        Self {
            sources: Slab::new(most),
            by_ip: HashIndex::new(most, secret),
            most_each,
        }
    }

    /// Where `ip` is counted, if it may have no more.
    pub(crate) fn full(&self, ip: IpAddr) -> Option<u32> {
        self.find(ip)
            .filter(|index| self.sources[*index].has >= self.most_each)
    }

    /// `ip` has one more. Returns where it is counted until it has none.
    ///
    /// # Panics
    /// If there are more things than were said.
    pub(crate) fn add(&mut self, ip: IpAddr) -> u32 {
        if let Some(index) = self.find(ip) {
            self.sources[index].has += 1;
            return index;
        }
        let Ok(key) = self.sources.insert(SourceCount { ip, has: 1 }) else {
            unreachable!("there are as many places as things");
        };
        self.by_ip.insert(self.hash(ip), key.index);
        key.index
    }

    /// `ip` has one less.
    ///
    /// # Panics
    /// If it had none.
    pub(crate) fn remove(&mut self, ip: IpAddr) {
        let index = self.find(ip).expect("it was added");
        let source = &mut self.sources[index];
        source.has -= 1;
        if source.has == 0 {
            self.sources.remove(index);
            self.by_ip.remove(self.hash(ip), index);
        }
    }

    fn find(&self, ip: IpAddr) -> Option<u32> {
        self.by_ip
            .find(self.hash(ip), |index| self.sources[index].ip == ip)
    }

    fn hash(&self, ip: IpAddr) -> u32 {
        let mut bytes = HashInput::new();
        bytes.push_ip(ip);
        self.by_ip.hash(bytes.as_slice())
    }
}
