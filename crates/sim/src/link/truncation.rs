//! Truncation: the end of a frame is cut off. CONTRIBUTING.md uses this impairment as an example.
//!
//! Rule: truncation exists only with the feature `recipes`. A test uses truncation to check that a
//! new impairment needs only entries in tables to appear in verdicts (explanations of transfers).
//! At least the link header of a frame remains.

use fullpipe_pool::Rng;

use super::frame::ETHERNET_HEADER_LEN;

/// One direction's truncation.
#[derive(Clone, Debug)]
pub(super) struct Truncation(pub Rng);

impl Truncation {
    /// Cuts off the end of `frame` with this probability. Returns true if the frame was
    /// cut.
    pub fn strike(&mut self, frame: &mut Vec<u8>, probability: f64) -> bool {
        let is_struck =
            probability > 0.0 && frame.len() > ETHERNET_HEADER_LEN && self.0.chance(probability);
        if is_struck {
            let rest = self
                .0
                .between(ETHERNET_HEADER_LEN as u64, frame.len() as u64 - 1);
            frame.truncate(rest as usize);
        }
        is_struck
    }
}
