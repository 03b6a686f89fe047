//! The end of a lifetime that a router announces in seconds.

use fullpipe_pool::{Duration, Instant};

/// A lifetime that never ends. RFC 4861 §4.6.2.
const FOR_EVER: u32 = u32::MAX;
/// A time that never comes.
pub(super) const NEVER: Instant = Instant::from_nanos(u64::MAX);

/// Returns the end of a lifetime of `seconds` from now on.
pub(super) fn end_of(seconds: u32, now: Instant) -> Instant {
    match seconds {
        FOR_EVER => NEVER,
        _ => now + Duration::from_secs(seconds.into()),
    }
}
