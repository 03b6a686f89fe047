//! The serialization time of a frame.
//!
//! Rule: no rounding error accumulates. The fraction of a nanosecond that is left over
//! from one frame's time is carried to the next frame, so a million frames take exactly
//! their bits divided by the rate. The engine decides when the wire is free.

use fullpipe_pool::Duration;

const NANOS_PER_SEC: u128 = 1_000_000_000;

/// Computes the serialization times of one direction's frames.
#[derive(Clone, Debug, Default)]
pub(super) struct Serializer {
    /// Time not charged yet, in units of 1 ns divided by the rate.
    carry: u128,
}

impl Serializer {
    /// Time that `bytes` take at `rate_bps` bits per second; none at rate 0.
    pub fn time_for(&mut self, bytes: usize, rate_bps: u64) -> Duration {
        if rate_bps == 0 {
            return Duration::ZERO;
        }
        let owed = bytes as u128 * 8 * NANOS_PER_SEC + self.carry;
        self.carry = owed % u128::from(rate_bps);
        let nanos = owed / u128::from(rate_bps);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}
