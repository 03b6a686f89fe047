//! What changed, for the application to look at.
//!
//! Rule: a handle is queued once however much changes about it, in the order of
//! the first change, and an event says only *that* something changed: what, the
//! handle's `ready` says. Nothing is lost and nothing is searched for.

use crate::queues::Queues;

/// The one queue.
const CHANGED: u32 = 0;

/// A handle about which something changed, by slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// A connection.
    Tcp(u32),
    /// A listener has a connection to be accepted.
    Accept(u32),
    /// A UDP socket.
    Udp(u32),
}

/// The handles about which something changed.
#[derive(Debug)]
pub(crate) struct EventQueue {
    queue: Queues,
    connections: u32,
    listeners: u32,
}

impl EventQueue {
    /// For so many handles of each kind.
    pub(crate) fn new(connections: u32, listeners: u32, sockets: u32) -> Self {
        let queue = Queues::new(1, connections + listeners + sockets);
        Self {
            queue,
            connections,
            listeners,
        }
    }

    /// Something changed about connection `index`.
    pub(crate) fn tcp(&mut self, index: u32) {
        self.queue.join(CHANGED, index);
    }

    /// A connection waits in listener `index`.
    pub(crate) fn accept(&mut self, index: u32) {
        self.queue.join(CHANGED, self.connections + index);
    }

    /// Something changed about UDP socket `index`.
    pub(crate) fn udp(&mut self, index: u32) {
        self.queue
            .join(CHANGED, self.connections + self.listeners + index);
    }

    /// Connection `index` has no holder any more.
    pub(crate) fn forget_tcp(&mut self, index: u32) {
        self.queue.leave(index);
    }

    /// Listener `index` is gone.
    pub(crate) fn forget_accept(&mut self, index: u32) {
        self.queue.leave(self.connections + index);
    }

    /// UDP socket `index` is gone.
    pub(crate) fn forget_udp(&mut self, index: u32) {
        self.queue.leave(self.connections + self.listeners + index);
    }

    /// Takes the first change.
    pub(crate) fn take(&mut self) -> Option<Changed> {
        let place = self.queue.take(CHANGED)?;
        let after_connections = place.checked_sub(self.connections);
        Some(match after_connections {
            None => Changed::Tcp(place),
            Some(listener) if listener < self.listeners => Changed::Accept(listener),
            Some(beyond) => Changed::Udp(beyond - self.listeners),
        })
    }
}
