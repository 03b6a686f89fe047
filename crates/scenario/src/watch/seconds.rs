//! Times of events and sockets as text.

/// Returns the time in seconds, with as many digits as nanoseconds need.
pub(super) fn seconds(at_ns: u64) -> String {
    format!("{}.{:09}", at_ns / 1_000_000_000, at_ns % 1_000_000_000)
}
