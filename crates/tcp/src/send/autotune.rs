//! The size that the send buffer should have.
//!
//! Rule: twice the congestion window: one window in flight, and one written
//! meanwhile. How connections share memory is decided elsewhere.

/// Returns the send buffer size in bytes that a window of `cwnd` bytes needs.
pub const fn send_goal(cwnd: u32) -> u32 {
    cwnd.saturating_mul(2)
}
