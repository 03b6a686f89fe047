//! Bursty loss: the model of Gilbert and Elliott.
//!
//! Rule: the channel is good or bad and may change state before each frame; each
//! state loses frames with its own probability. The state changes with frames, not
//! with time.

use fullpipe_pool::Rng;
use serde::{Deserialize, Serialize};

/// The four probabilities of a channel that is good or bad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BurstLoss {
    /// Probability that a good channel turns bad before a frame.
    pub enter: f64,
    /// Probability that a bad channel turns good before a frame; its inverse is
    /// the mean length of a burst in frames.
    pub leave: f64,
    /// Probability that a frame is lost while the channel is good.
    pub loss_good: f64,
    /// Probability that a frame is lost while the channel is bad.
    pub loss_bad: f64,
}

/// The state of one direction's channel.
#[derive(Clone, Debug)]
pub(super) struct BurstLossState {
    rng: Rng,
    bad: bool,
}

impl BurstLossState {
    pub fn new(rng: Rng) -> Self {
        Self { rng, bad: false }
    }

    /// Returns true if the next frame is lost. Without a model the channel is always
    /// good.
    pub fn strikes(&mut self, model: Option<BurstLoss>) -> bool {
        let Some(model) = model else {
            self.bad = false;
            return false;
        };
        if self
            .rng
            .chance(if self.bad { model.leave } else { model.enter })
        {
            self.bad = !self.bad;
        }
        self.rng.chance(if self.bad {
            model.loss_bad
        } else {
            model.loss_good
        })
    }
}
