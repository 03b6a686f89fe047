//! Random loss: every frame for itself, with the same probability.
//!
//! Rule: a lost frame has used the wire all the same. Bursts are in
//! `burst_loss.rs`.

use fullpipe_pool::Rng;

/// One direction's losses.
#[derive(Clone, Debug)]
pub(super) struct Loss(pub Rng);

impl Loss {
    /// Whether the next frame is lost.
    pub fn strikes(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.0.chance(probability)
    }
}
