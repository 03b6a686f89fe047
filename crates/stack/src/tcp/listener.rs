//! Listening sockets, and their backlogs of connections to be accepted.
//!
//! Rule: a segment that finds a backlog full is dropped without an answer, and the
//! peer retransmits it. Handshakes in progress are in `syn_cache`; the connections of a
//! backlog are in the table of all connections.

use core::net::{IpAddr, SocketAddr};

use fullpipe_tcp::Tuning;

use crate::{
    hash_index::HashIndex,
    ip::StoredEnd,
    queues::Queues,
    secret::{HashInput, Secret},
    slab::{Key, Slab},
};

#[cfg(test)]
mod tests;

/// The port of a listener at every port. No segment has this port.
const EVERY_PORT: u16 = 0;

/// A listening socket.
#[derive(Clone, Debug)]
pub(crate) struct ListeningSocket {
    /// Local address; the unspecified address stands for every address of this host, and port 0
    /// for every port.
    pub(crate) local: StoredEnd,
    /// Connections that may wait to be accepted.
    pub(crate) backlog: u32,
    /// Settings of the listener's connections.
    pub(crate) tuning: Tuning,
    /// The application decides about each SYN before it is answered.
    pub(crate) deferred: bool,
    /// The listener's address was removed from this host. No segment reaches the listener any more.
    pub(crate) removed: bool,
}

/// All listening sockets.
#[derive(Debug)]
pub(crate) struct ListeningSockets {
    listeners: Slab<ListeningSocket>,
    by_address: HashIndex,
    /// The backlog of each listener.
    waiting: Queues,
}

impl ListeningSockets {
    /// Allocates `most` listeners. The connections in their backlogs have indices below
    /// `connections`.
    pub(crate) fn new(most: u32, connections: u32, secret: &Secret) -> Self {
        Self {
            listeners: Slab::new(most),
            by_address: HashIndex::new(most, secret.derive(b"listeners")),
            waiting: Queues::new(most, connections),
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.listeners.heap_bytes() + self.by_address.heap_bytes() + self.waiting.heap_bytes()
    }

    /// Adds a listener; `None` if the table is full. The caller has checked that no other listener
    /// has the same address and port.
    pub(crate) fn add(&mut self, listener: ListeningSocket) -> Option<Key> {
        let hash = self.hash(listener.local);
        let key = self.listeners.insert(listener)?;
        self.by_address.insert(hash, key.index);
        Some(key)
    }

    /// Removes a listener. The caller has emptied its backlog.
    pub(crate) fn remove(&mut self, index: u32) {
        let listener = self.listeners.remove(index);
        if !listener.removed {
            self.by_address.remove(self.hash(listener.local), index);
        }
    }

    /// Marks the listeners at `ip`, which was removed from this host. Calls `ended` with each slot.
    pub(crate) fn forget_address(&mut self, ip: IpAddr, mut ended: impl FnMut(u32)) {
        for index in 0..self.listeners.capacity() {
            let listener = self.listeners.at(index);
            let Some(listener) = listener.filter(|it| !it.removed && it.local.ip() == ip) else {
                continue;
            };
            self.by_address.remove(self.hash(listener.local), index);
            self.listeners[index].removed = true;
            ended(index);
        }
    }

    /// Returns the listener at exactly this address and port.
    pub(crate) fn at_address(&self, local: SocketAddr) -> Option<Key> {
        let local = StoredEnd::new(local);
        let index = self.by_address.find(self.hash(local), |index| {
            self.listeners[index].local == local
        })?;
        Some(self.listeners.key(index))
    }

    /// Returns the listener for a SYN to `local`. A listener at the port of `local` comes before
    /// one at every port; at equal ports, a listener at the address of `local` before one at every
    /// address.
    pub(crate) fn listening_at(&self, local: SocketAddr) -> Option<Key> {
        self.at_port(local).or_else(|| {
            // A SYN to a closed port always costs this further search, even if no listener listens
            // at every port.
            self.at_port(SocketAddr::new(local.ip(), EVERY_PORT))
        })
    }

    /// Returns the listener at the port of `local`: at the address of `local`, otherwise at every
    /// address.
    pub(crate) fn at_port(&self, local: SocketAddr) -> Option<Key> {
        let everywhere = SocketAddr::new(unspecified(local.ip()), local.port());
        self.at_address(local)
            .or_else(|| self.at_address(everywhere))
    }

    /// Returns true if the application of listener `key` decides about each SYN.
    pub(crate) fn is_deferred(&self, key: Key) -> bool {
        self.get(key).is_some_and(|listener| listener.deferred)
    }

    /// Returns the listener of `key`, unless it was closed.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub(crate) fn get(&self, key: Key) -> Option<&ListeningSocket> {
        self.listeners.get(key)
    }

    /// Returns the key of the listener in slot `index`.
    pub(crate) fn key(&self, index: u32) -> Key {
        self.listeners.key(index)
    }

    /// Returns true if the backlog of listener `key` has room.
    pub(crate) fn has_room(&self, key: Key) -> bool {
        self.get(key)
            .is_some_and(|listener| self.waiting.len(key.index) < listener.backlog)
    }

    /// Returns the number of connections in the backlog of listener `index`.
    pub(crate) fn waiting(&self, index: u32) -> u32 {
        self.waiting.len(index)
    }

    /// Adds `connection` to the backlog of listener `index`.
    pub(crate) fn push(&mut self, index: u32, connection: u32) {
        self.waiting.join(index, connection);
    }

    /// Removes and returns the oldest connection from the backlog of listener `index`.
    pub(crate) fn take(&mut self, index: u32) -> Option<u32> {
        self.waiting.take(index)
    }

    /// Removes `connection` from the backlog that it is in, if any.
    pub(crate) fn forget(&mut self, connection: u32) {
        self.waiting.leave(connection);
    }

    fn hash(&self, local: StoredEnd) -> u32 {
        let mut bytes = HashInput::new();
        bytes.push_ip(local.ip());
        bytes.push(&local.port().to_be_bytes());
        self.by_address.hash(bytes.as_slice())
    }
}

/// Returns the unspecified address of the family of `ip`.
const fn unspecified(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(core::net::Ipv6Addr::UNSPECIFIED),
    }
}
