//! A UDP socket as others may see it.
//!
//! Rule: figures only, as they are at one moment. Nothing is judged here.

/// How full a queue of datagrams is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpQueue {
    /// Datagrams in it.
    pub datagrams: usize,
    /// The most that it takes.
    pub most_datagrams: usize,
    /// Bytes of their text.
    pub bytes: u64,
    /// The most that it takes.
    pub most_bytes: u64,
}

impl UdpQueue {
    /// Datagrams of `size` bytes that it takes at most.
    pub const fn most_of(&self, size: u64) -> usize {
        let by_bytes = self.most_bytes / if size > 0 { size } else { 1 };
        if by_bytes < self.most_datagrams as u64 {
            by_bytes as usize
        } else {
            self.most_datagrams
        }
    }

    /// Whether it has no room for another datagram of `size` bytes.
    pub const fn is_full(&self, size: u64) -> bool {
        self.datagrams >= self.most_datagrams || self.bytes + size > self.most_bytes
    }
}

/// A UDP socket at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpInfo {
    /// Received and not read.
    pub unread: UdpQueue,
    /// Written and not sent.
    pub unsent: UdpQueue,
    /// Received datagrams that were dropped because the queue or the pool was full.
    pub drops: u64,
}
