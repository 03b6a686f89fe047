//! The bounds of all flows together.
//!
//! Rule: nothing in this crate grows beyond these bounds, whatever the peers send.

use std::time::Duration;

/// Smallest receive buffer with which a flow begins, in bytes: the payload of two full segments.
pub(crate) const FIRST_WINDOW_MIN: u64 = 4 << 10;

/// Bounds of all flows together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLimits {
    /// Largest number of TCP flows that are open at the same time. The same number of further
    /// SYNs may wait for a decision; additional SYNs are dropped.
    pub tcp_flows: u32,
    /// UDP flows that may be open at the same time. The datagrams of a further flow are dropped.
    pub udp_flows: usize,
    /// Packet memory for the payload of all TCP flows, in bytes. With less than 8 KiB for each flow,
    /// idle flows may take all of it: see [`leaves_memory`](Self::leaves_memory).
    pub memory: u64,
    /// Bytes that all unread datagrams together may have. A further datagram is dropped.
    pub udp_bytes: usize,
    /// Time without a datagram in either direction after which a UDP flow ends.
    pub udp_idle: Duration,
    /// Longest time that the handshake of an admitted flow may take.
    pub admit_timeout: Duration,
}

impl FlowLimits {
    /// Returns true if the windows with which all TCP flows begin take at most half of the memory. A
    /// window has at least 4 KiB.
    pub const fn leaves_memory(&self) -> bool {
        self.tcp_flows as u64 * FIRST_WINDOW_MIN <= self.memory / 2
    }
}

impl Default for FlowLimits {
    fn default() -> Self {
        Self {
            tcp_flows: 4_096,
            udp_flows: 4_096,
            memory: 64 << 20,
            udp_bytes: 8 << 20,
            udp_idle: Duration::from_secs(60),
            admit_timeout: Duration::from_secs(30),
        }
    }
}

#[cfg(test)]
mod tests;
