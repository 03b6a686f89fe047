//! A time in which one direction loses everything: a cable that is out, or
//! something between that drops one way only.
//!
//! Rule: the clock alone decides. A frame that is put on the wire then has used
//! it all the same; one that is on its way when the time begins still arrives.

use fullpipe_pool::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// From when on, and for how long, counted from the beginning of the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// When it begins, in microseconds.
    pub after_us: u64,
    /// How long it lasts, in microseconds; 0 is none.
    pub length_us: u64,
}

impl Outage {
    /// Whether a frame that is put on the wire at `at` is lost.
    pub(super) fn strikes(self, at: Instant) -> bool {
        let begin = Instant::ZERO + Duration::from_micros(self.after_us);
        begin <= at && at < begin + Duration::from_micros(self.length_us)
    }
}
