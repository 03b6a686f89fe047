//! Which local port a connection gets that names none. RFC 6056 §3.3.4.
//!
//! Rule: where the search starts is a keyed hash of the other end plus a
//! counter, so a stranger cannot tell the next port from his own, and the
//! same port comes back to the same peer as late as possible. Whether a port
//! is free is for the caller to find out.

use core::net::IpAddr;

use crate::secret::{HashInput, Secret};

#[cfg(test)]
mod tests;

/// Counters, chosen by a second hash, so that connections to one peer say
/// little about those to others.
const COUNTERS: usize = 64;

/// Chooses ephemeral ports (algorithm 4, double hash).
#[derive(Debug)]
pub(crate) struct EphemeralPorts {
    low: u16,
    high: u16,
    offset: Secret,
    counter: Secret,
    counters: [u32; COUNTERS],
}

impl EphemeralPorts {
    /// Ports `low..=high`; keys derived from `secret`.
    pub(crate) fn new(low: u16, high: u16, secret: &Secret) -> Self {
        Self {
            low,
            high: high.max(low),
            offset: secret.derive(b"port offsets"),
            counter: secret.derive(b"port counters"),
            counters: [0; COUNTERS],
        }
    }

    /// The ports to try, in order, for a connection to `remote_port` of
    /// `remote_ip`: each of them once. Hand the search back to
    /// [`searched`](Self::searched), so that the next one goes on where it ended.
    pub(crate) fn search(
        &self,
        local_ip: IpAddr,
        remote_ip: IpAddr,
        remote_port: u16,
    ) -> PortSearch {
        let mut bytes = HashInput::new();
        bytes.push_ip(local_ip);
        bytes.push_ip(remote_ip);
        bytes.push(&remote_port.to_be_bytes());
        let ports = u32::from(self.high - self.low) + 1;
        let counter = self.counter.prf(bytes.as_slice()) as usize % COUNTERS;
        PortSearch {
            low: self.low,
            ports,
            left: ports,
            counter,
            next: self.counters[counter],
            offset: self.offset.prf(bytes.as_slice()) as u32 % ports,
        }
    }

    /// Remembers where `search` ended.
    pub(crate) fn searched(&mut self, search: PortSearch) {
        self.counters[search.counter] = search.next;
    }
}

/// Ports in the order in which they are to be tried.
#[derive(Clone, Debug)]
pub(crate) struct PortSearch {
    low: u16,
    ports: u32,
    left: u32,
    counter: usize,
    next: u32,
    offset: u32,
}

impl Iterator for PortSearch {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        self.left = self.left.checked_sub(1)?;
        let place = (self.offset + self.next) % self.ports;
        self.next = (self.next + 1) % self.ports;
        Some(self.low + place as u16)
    }
}
