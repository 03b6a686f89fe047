//! A time in which one direction loses every frame, as with an unplugged cable.
//!
//! Rule: a frame is lost if it is put on the wire during the outage. A lost frame also uses the
//! wire. A frame that is already in flight arrives.

use fullpipe_pool::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// Begin and length of the outage, counted from the start of the world (the simulated network).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// Begin, in microseconds.
    pub after_us: u64,
    /// Length, in microseconds; 0 is no outage.
    pub length_us: u64,
}

impl Outage {
    /// Returns true if a frame that is put on the wire at `at` is lost.
    pub(super) fn strikes(self, at: Instant) -> bool {
        let begin = Instant::ZERO + Duration::from_micros(self.after_us);
        begin <= at && at < begin + Duration::from_micros(self.length_us)
    }
}
