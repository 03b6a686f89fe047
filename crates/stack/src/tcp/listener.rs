//! Listening sockets, and the connections that wait in them to be accepted.
//!
//! Rule: a full backlog refuses nothing and answers nothing; what does not fit
//! is dropped, and the peer tries again. Handshakes under way are in the
//! `syn_cache`; the connections themselves are where all connections are.

use core::net::{IpAddr, SocketAddr};

use fullpipe_tcp::Tuning;

use crate::{
    hash_index::HashIndex,
    queues::Queues,
    secret::{HashInput, Secret},
    slab::{Key, Slab},
};

#[cfg(test)]
mod tests;

/// A listening socket.
#[derive(Clone, Debug)]
pub(crate) struct ListeningSocket {
    /// Where it listens; an unspecified address is every address of ours.
    pub(crate) local: SocketAddr,
    /// Connections that may wait to be accepted.
    pub(crate) backlog: u32,
    /// What its connections start with.
    pub(crate) tuning: Tuning,
}

/// All listening sockets.
#[derive(Debug)]
pub(crate) struct ListeningSockets {
    listeners: Slab<ListeningSocket>,
    by_address: HashIndex,
    /// A queue of connections for each listener.
    waiting: Queues,
}

impl ListeningSockets {
    /// Room for `most` listeners, and for `connections` to wait in them.
    pub(crate) fn new(most: u32, connections: u32, secret: &Secret) -> Self {
        Self {
            listeners: Slab::new(most),
            by_address: HashIndex::new(most, secret.derive(b"listeners")),
            waiting: Queues::new(most, connections),
        }
    }

    /// Adds a listener; `None` when there is no room for it. The caller has
    /// checked that nobody listens there.
    pub(crate) fn add(&mut self, listener: ListeningSocket) -> Option<Key> {
        let hash = self.hash(listener.local);
        let key = self.listeners.insert(listener).ok()?;
        self.by_address.insert(hash, key.index);
        Some(key)
    }

    /// Removes a listener. The connections that wait in it must be taken first.
    pub(crate) fn remove(&mut self, index: u32) {
        let listener = self.listeners.remove(index);
        self.by_address.remove(self.hash(listener.local), index);
    }

    /// The listener at exactly this address and port.
    pub(crate) fn at_address(&self, local: SocketAddr) -> Option<Key> {
        let index = self.by_address.find(self.hash(local), |index| {
            self.listeners[index].local == local
        })?;
        Some(self.listeners.key(index))
    }

    /// The listener that a SYN to `local` is for: the one at that address, else
    /// the one at every address.
    pub(crate) fn listening_at(&self, local: SocketAddr) -> Option<Key> {
        let everywhere = SocketAddr::new(unspecified(local.ip()), local.port());
        self.at_address(local)
            .or_else(|| self.at_address(everywhere))
    }

    /// The listener that `key` names, unless it was closed.
    pub(crate) fn get(&self, key: Key) -> Option<&ListeningSocket> {
        self.listeners.get(key)
    }

    /// The key of the listener in slot `index`.
    pub(crate) fn key(&self, index: u32) -> Key {
        self.listeners.key(index)
    }

    /// Whether one more connection may wait in listener `key`.
    pub(crate) fn has_room(&self, key: Key) -> bool {
        self.get(key)
            .is_some_and(|listener| self.waiting.len(key.index) < listener.backlog)
    }

    /// Connection `connection` waits in listener `index` from now on.
    pub(crate) fn push(&mut self, index: u32, connection: u32) {
        self.waiting.join(index, connection);
    }

    /// Takes the connection that waited longest in listener `index`.
    pub(crate) fn take(&mut self, index: u32) -> Option<u32> {
        self.waiting.take(index)
    }

    /// Connection `connection` waits no longer: it ended.
    pub(crate) fn forget(&mut self, connection: u32) {
        self.waiting.leave(connection);
    }

    fn hash(&self, local: SocketAddr) -> u32 {
        let mut bytes = HashInput::new();
        bytes.push_ip(local.ip());
        bytes.push(&local.port().to_be_bytes());
        self.by_address.hash(bytes.as_slice())
    }
}

/// The address that stands for all of the same family.
const fn unspecified(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(core::net::Ipv6Addr::UNSPECIFIED),
    }
}
