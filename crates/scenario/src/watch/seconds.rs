//! Times of events and sockets.

/// Seconds with as many digits as a nanosecond needs.
pub(super) fn seconds(at_ns: u64) -> String {
    format!("{}.{:09}", at_ns / 1_000_000_000, at_ns % 1_000_000_000)
}
