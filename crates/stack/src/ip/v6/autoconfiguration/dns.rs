//! DNS servers that routers announce. RFC 8106.
//!
//! Rule: a full list takes no further server. The application reads the list and queries the
//! servers; the stack sends no DNS query.

use alloc::vec::Vec;
use core::net::Ipv6Addr;

use fullpipe_pool::Instant;

/// Largest number of servers. RFC 8106 §5.3.1 asks for at least three.
const MOST: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Server {
    ip: Ipv6Addr,
    until: Instant,
}

/// The servers that are known, oldest first.
#[derive(Debug)]
pub(super) struct DnsServerList(Vec<Server>);

impl DnsServerList {
    /// Returns an empty list.
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(MOST))
    }

    pub(super) const fn heap_bytes() -> usize {
        MOST * size_of::<Server>()
    }

    /// Returns the servers, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.0.iter().map(|server| server.ip)
    }

    /// Adds or changes a server, or removes it if its lifetime ends at `now`. Returns false if the
    /// list has no room for it.
    pub(super) fn learn(&mut self, ip: Ipv6Addr, until: Instant, now: Instant) -> bool {
        let place = self.0.iter().position(|known| known.ip == ip);
        match place {
            Some(place) if until <= now => _ = self.0.remove(place),
            Some(place) => self.0[place].until = until,
            None if until <= now => {}
            None if self.0.len() == MOST => return false,
            None => self.0.push(Server { ip, until }),
        }
        true
    }

    /// Removes the servers whose lifetime is over.
    pub(super) fn expire(&mut self, now: Instant) {
        self.0.retain(|known| known.until > now);
    }

    /// Returns the next end of a lifetime.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.0.iter().map(|known| known.until).min()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
