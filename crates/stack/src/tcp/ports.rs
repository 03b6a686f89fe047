//! Ephemeral ports. RFC 6056 §3.3.4.
//!
//! Rule: the first port tried is a keyed hash of the addresses and the remote port, plus
//! a counter. An off-path host therefore cannot predict the next port, and a port recurs
//! for the same peer as late as possible. The caller checks that a port is free.

use core::net::IpAddr;

use crate::secret::{HashInput, Secret};

#[cfg(test)]
mod tests;

/// Number of counters. A second hash chooses a counter, so the ports of connections to one peer
/// reveal little about the ports of connections to other peers. RFC 6056 suggests 10.
const COUNTERS: usize = if cfg!(target_pointer_width = "32") {
    16
} else {
    64
};

/// The generator of ephemeral ports (algorithm 4, double hash).
#[derive(Debug)]
pub(crate) struct EphemeralPorts {
    low: u16,
    high: u16,
    offset: Secret,
    counter: Secret,
    counters: [u16; COUNTERS],
}

impl EphemeralPorts {
    /// Returns a generator of ports in `low..=high`, with keys derived from
    /// `secret`.
    pub(crate) fn new(low: u16, high: u16, secret: &Secret) -> Self {
        Self {
            low,
            high: high.max(low),
            offset: secret.derive(b"port offsets"),
            counter: secret.derive(b"port counters"),
            counters: [0; COUNTERS],
        }
    }

    /// Returns the ports to try for a connection to `remote_ip` and `remote_port`, each
    /// once. Pass the finished search to [`searched`](Self::searched), so that the next search
    /// begins with the port after the last one tried.
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
            next: self.counters[counter].into(),
            offset: self.offset.prf(bytes.as_slice()) as u32 % ports,
        }
    }

    /// Stores the position at which `search` ended.
    pub(crate) fn searched(&mut self, search: PortSearch) {
        // Positions are below the number of ports, which is at most 2^16.
        self.counters[search.counter] = search.next as u16;
    }
}

/// Ports in the order in which they are tried.
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
