//! A half-duplex radio: both directions share one medium.
//!
//! Rule: one frame is in the air at a time. When the air becomes free, each end that has a frame to
//! send draws a backoff. The end with the shorter backoff sends; the other end draws again when the
//! air is next free. Collisions are not modelled; their cost is part of `access_us`.

use fullpipe_pool::{Duration, Rng};
use serde::{Deserialize, Serialize};

use super::frame::Direction;

/// The cost of using the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Radio {
    /// Air time of every frame in addition to its bits, in microseconds: turnaround,
    /// preamble and the radio's own acknowledgement.
    pub access_us: u64,
    /// Longest backoff before an end uses the free air, in microseconds. Backoffs are evenly
    /// distributed from 0 to this time.
    pub backoff_us: u64,
}

/// Draws the backoffs of both ends.
#[derive(Clone, Debug)]
pub(super) struct RadioContention(pub Rng);

impl RadioContention {
    /// Draws the end that sends first, and its backoff. `contend` (indexed by
    /// [`Direction::index`]) is true for each end with a frame to send.
    ///
    /// # Panics
    /// Panics if no end contends.
    pub fn contest(&mut self, radio: Radio, contend: [bool; 2]) -> (Direction, Duration) {
        let winner = match contend {
            [true, false] => Direction::Forward,
            [false, true] => Direction::Back,
            [true, true] => {
                let draws = [self.backoff(radio), self.backoff(radio)];
                // One more draw decides between equal backoffs, so neither end is
                // favoured.
                let forward = match draws[0].cmp(&draws[1]) {
                    std::cmp::Ordering::Less => true,
                    std::cmp::Ordering::Greater => false,
                    std::cmp::Ordering::Equal => self.0.chance(0.5),
                };
                let first = if forward {
                    Direction::Forward
                } else {
                    Direction::Back
                };
                return (first, draws[first.index()]);
            }
            [false, false] => panic!("no end contends for the air"),
        };
        (winner, self.backoff(radio))
    }

    fn backoff(&mut self, radio: Radio) -> Duration {
        Duration::from_nanos(self.0.between(0, radio.backoff_us.saturating_mul(1_000)))
    }
}
