//! The bounds of all flows together.
//!
//! Rule: nothing in this crate grows beyond these bounds, whatever the peers send.

use std::time::Duration;

/// Bounds of all flows together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLimits {
    /// Largest number of TCP flows that are open at the same time. The same number of further
    /// SYNs may wait for a decision; additional SYNs are dropped.
    pub tcp_flows: u32,
    /// UDP flows that may be open at the same time. The datagrams of a further flow are dropped.
    pub udp_flows: usize,
    /// Packet memory for the payload of all TCP flows, in bytes.
    pub memory: u64,
    /// Bytes that all unread datagrams together may have. A further datagram is dropped.
    pub udp_bytes: usize,
    /// Time without a datagram in either direction after which a UDP flow ends.
    pub udp_idle: Duration,
    /// Longest time that the handshake of an admitted flow may take.
    pub admit_timeout: Duration,
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
