//! The queue of sockets whose change was not yet reported to the application.
//!
//! Rule: a socket is queued at its first change. Further changes do not queue it again. An event
//! says only that a socket changed; the socket's `ready` call returns its state. The queue
//! therefore never overflows and loses no change.

use crate::queues::Queues;

/// Index of the only queue.
const CHANGED: u32 = 0;

/// A socket that changed, with the index of its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// A connection.
    Tcp(u32),
    /// A listener has a connection to be accepted.
    Accept(u32),
    /// A UDP socket.
    Udp(u32),
}

/// The queue of sockets that changed.
#[derive(Debug)]
pub(crate) struct EventQueue {
    queue: Queues,
    connections: u32,
    listeners: u32,
}

impl EventQueue {
    /// Returns an empty queue for these numbers of sockets.
    pub(crate) fn new(connections: u32, listeners: u32, sockets: u32) -> Self {
        let queue = Queues::new(1, connections + listeners + sockets);
        Self {
            queue,
            connections,
            listeners,
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.queue.heap_bytes()
    }

    /// Queues connection `index`.
    pub(crate) fn tcp(&mut self, index: u32) {
        self.queue.join(CHANGED, index);
    }

    /// Queues listener `index`, in which a connection waits to be accepted.
    pub(crate) fn accept(&mut self, index: u32) {
        self.queue.join(CHANGED, self.connections + index);
    }

    /// Queues UDP socket `index`.
    pub(crate) fn udp(&mut self, index: u32) {
        self.queue
            .join(CHANGED, self.connections + self.listeners + index);
    }

    /// Removes connection `index`: the application has closed it.
    pub(crate) fn forget_tcp(&mut self, index: u32) {
        self.queue.leave(index);
    }

    /// Removes listener `index`.
    pub(crate) fn forget_accept(&mut self, index: u32) {
        self.queue.leave(self.connections + index);
    }

    /// Removes UDP socket `index`.
    #[cfg(feature = "udp")]
    pub(crate) fn forget_udp(&mut self, index: u32) {
        self.queue.leave(self.connections + self.listeners + index);
    }

    /// Removes and returns the first socket.
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
