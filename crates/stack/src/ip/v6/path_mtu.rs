//! Path MTUs that routers reported about datagrams of this host. RFC 8201.
//!
//! Rule: only datagrams and echo replies use this table; a connection has a path MTU of its own.
//! Routers never fragment IPv6 packets, so a datagram above the path's MTU must leave in fragments
//! that fit. No entry is below 1,280 bytes, so a forged report costs a few fragments. An entry ends
//! after ten minutes (RFC 8201 §4), and the table has a fixed size: a new entry takes the place of
//! the one that ends first. A report about an echo reply is easier to forge, because it need not
//! name the port of a socket. It therefore never removes what a report about a datagram added.

use alloc::vec::Vec;
use core::net::Ipv6Addr;

use fullpipe_pool::{Duration, Instant};

/// Time after which larger packets are tried again.
const LIFETIME: Duration = Duration::from_secs(600);

#[derive(Clone, Copy, Debug)]
struct PathEntry {
    dst: Ipv6Addr,
    mtu: u16,
    evidence: Evidence,
    until: Instant,
}

/// The kind of packet that a router reported as too big.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Evidence {
    EchoReply,
    /// A datagram from the port of a socket.
    Datagram,
}

/// The path MTUs that are below the device's MTU.
#[derive(Clone, Debug)]
pub(crate) struct PathMtus {
    entries: Vec<PathEntry>,
    most: usize,
}

impl PathMtus {
    /// Returns an empty table with room for `most` destinations.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            entries: Vec::with_capacity(most),
            most,
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) const fn heap_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<PathEntry>()
    }

    /// Notes that a link on the path to `dst` carries packets of at most `mtu` bytes. A larger MTU
    /// than the known one is ignored, because a report can only lower the MTU (RFC 8201 §4).
    pub(crate) fn learn(&mut self, dst: Ipv6Addr, mtu: u16, evidence: Evidence, now: Instant) {
        self.expire(now);
        let until = now + LIFETIME;
        let entry = PathEntry {
            dst,
            mtu,
            evidence,
            until,
        };
        let mut known = self.entries.iter_mut();
        if let Some(known) = known.find(|known| known.dst == dst) {
            known.mtu = known.mtu.min(mtu);
            known.evidence = known.evidence.max(evidence);
            known.until = until;
        } else if self.entries.len() < self.most {
            self.entries.push(entry);
        } else {
            let entries = self.entries.iter_mut();
            let weakest = entries.min_by_key(|known| (known.evidence, known.until));
            if let Some(weakest) = weakest.filter(|known| known.evidence <= evidence) {
                *weakest = entry;
            }
        }
    }

    /// Returns the MTU of the path to `dst`, if it is known.
    pub(crate) fn get(&self, dst: Ipv6Addr) -> Option<u16> {
        let known = self.entries.iter().find(|known| known.dst == dst);
        known.map(|known| known.mtu)
    }

    /// Removes the entries whose time is over.
    pub(crate) fn expire(&mut self, now: Instant) {
        self.entries.retain(|entry| entry.until > now);
    }
}

#[cfg(test)]
mod tests;
