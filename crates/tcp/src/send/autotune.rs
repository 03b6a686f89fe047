//! How large the send buffer should be.
//!
//! Rule: what congestion control lets be in flight, twice: one window on its way,
//! and one written meanwhile. How memory is shared is not known here.

/// Bytes of send buffer that use up a congestion window of `cwnd` bytes.
pub const fn send_goal(cwnd: u32) -> u32 {
    cwnd.saturating_mul(2)
}
