//! The size that the send buffer should have.
//!
//! Rule: the size is twice the congestion window: one window in flight, and one that the
//! application writes meanwhile. `connection/buffers.rs` decides how connections share
//! memory.

/// Returns the send buffer size in bytes that a window of `cwnd` bytes needs.
pub const fn send_goal(cwnd: u32) -> u32 {
    cwnd.saturating_mul(2)
}
