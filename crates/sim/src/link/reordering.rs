//! Reordering: some frames take a longer way and are overtaken.
//!
//! Rule: only the chosen frame is late; those behind it keep their times.

use fullpipe_pool::{Duration, Rng};
use serde::{Deserialize, Serialize};

/// How often a frame is overtaken, and by how much it is late.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reordering {
    /// Probability that a frame takes the longer way.
    pub chance: f64,
    /// It then arrives up to this much later, at least 1 microsecond.
    pub late_us: u64,
}

/// One direction's longer way.
#[derive(Clone, Debug)]
pub(super) struct LatePath(pub Rng);

impl LatePath {
    /// How much later the next frame arrives; `None` when it keeps its place.
    pub fn late_by(&mut self, model: Option<Reordering>) -> Option<Duration> {
        let model = model?;
        self.0
            .chance(model.chance)
            .then(|| Duration::from_micros(self.0.between(1, model.late_us.max(1))))
    }
}
