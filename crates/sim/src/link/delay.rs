//! Propagation delay and jitter.
//!
//! Rule: jitter keeps frames in order. A frame that would overtake its predecessor arrives together
//! with that predecessor.

use fullpipe_pool::{Duration, Instant, Rng};

/// One direction's propagation.
#[derive(Clone, Debug)]
pub(super) struct Propagation {
    rng: Rng,
    last_arrival: Instant,
}

impl Propagation {
    pub fn new(rng: Rng) -> Self {
        Self {
            rng,
            last_arrival: Instant::ZERO,
        }
    }

    /// Arrival time of a frame whose last bit left at `departure`.
    pub fn arrival(&mut self, departure: Instant, delay_us: u64, jitter_us: u64) -> Instant {
        let jitter_ns = if jitter_us == 0 {
            0
        } else {
            self.rng.between(0, jitter_us.saturating_mul(1_000))
        };
        let arrival = departure + Duration::from_micros(delay_us) + Duration::from_nanos(jitter_ns);
        self.last_arrival = self.last_arrival.max(arrival);
        self.last_arrival
    }
}
