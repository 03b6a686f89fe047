//! Random loss: each frame is lost independently, with the same probability.
//!
//! Rule: a lost frame has used the wire. Bursts are in `burst_loss.rs`.

use fullpipe_pool::Rng;

/// One direction's losses.
#[derive(Clone, Debug)]
pub(super) struct Loss(pub Rng);

impl Loss {
    /// Returns true if the next frame is lost.
    pub fn strikes(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.0.chance(probability)
    }
}
