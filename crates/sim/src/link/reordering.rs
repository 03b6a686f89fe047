//! Reordering: some frames are delayed and overtaken.
//!
//! Rule: only the chosen frame is late; the arrival times of later frames do not change.

use fullpipe_pool::{Duration, Rng};
use serde::{Deserialize, Serialize};

/// Probability and size of the extra delay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reordering {
    /// Probability that a frame is late.
    pub chance: f64,
    /// Largest extra delay, in microseconds; the smallest is 1 µs.
    pub late_us: u64,
}

/// Draws one direction's late frames.
#[derive(Clone, Debug)]
pub(super) struct LatePath(pub Rng);

impl LatePath {
    /// Extra delay of the next frame; `None` when it is not late.
    pub fn late_by(&mut self, model: Option<Reordering>) -> Option<Duration> {
        let model = model?;
        self.0
            .chance(model.chance)
            .then(|| Duration::from_micros(self.0.between(1, model.late_us.max(1))))
    }
}
