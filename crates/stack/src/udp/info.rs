//! The state of a UDP socket at one moment.
//!
//! Rule: this file has only values, and decides nothing.

/// Length and bounds of a queue of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpQueue {
    /// Datagrams in the queue.
    pub datagrams: usize,
    /// Largest number of datagrams (knob `udp.receive_queue` or `send_queue`).
    pub most_datagrams: usize,
    /// Bytes of payload in the queue.
    pub bytes: u64,
    /// Largest number of bytes (knob `udp.receive_buffer` or `send_buffer`).
    pub most_bytes: u64,
}

impl UdpQueue {
    /// Returns the number of datagrams of `size` bytes that fit into the empty queue.
    pub const fn most_of(&self, size: u64) -> usize {
        let by_bytes = self.most_bytes / if size > 0 { size } else { 1 };
        if by_bytes < self.most_datagrams as u64 {
            by_bytes as usize
        } else {
            self.most_datagrams
        }
    }

    /// Returns true if the queue has no room for a datagram of `size` bytes.
    pub const fn is_full(&self, size: u64) -> bool {
        self.datagrams >= self.most_datagrams || self.bytes + size > self.most_bytes
    }
}

/// A UDP socket at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpInfo {
    /// Received datagrams, not read yet.
    pub unread: UdpQueue,
    /// Written datagrams, not sent yet.
    pub unsent: UdpQueue,
    /// Received datagrams dropped because the queue or packet memory was full.
    pub drops: u64,
}
