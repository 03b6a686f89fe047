//! Duplication: some frames arrive twice, the copy right after the original.
//!
//! Rule: a copy takes no time on the wire.

use fullpipe_pool::Rng;

/// One direction's duplicates.
#[derive(Clone, Debug)]
pub(super) struct Duplication(pub Rng);

impl Duplication {
    /// Returns true if the next frame arrives twice.
    pub fn strikes(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.0.chance(probability)
    }
}
