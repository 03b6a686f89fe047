//! A token bucket: the shaper `tbf` of Linux traffic control.
//!
//! Rule: a frame leaves when the bucket holds a token for each of its bits. Tokens
//! are counted in billionths of a bit, in integers, so nothing is rounded. Waiting
//! frames are in `queue.rs`; the wire's own rate is in `rate.rs`.

use fullpipe_pool::{Duration, Instant};
use serde::{Deserialize, Serialize};

const NANOS_PER_SEC: u128 = 1_000_000_000;

/// The shaper's settings, as `tbf` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenBucket {
    /// Tokens per second, in bits.
    pub rate_bps: u64,
    /// Bytes that the bucket holds; a longer frame can never leave and is dropped.
    pub burst_bytes: u64,
    /// Bytes of frames that may wait for tokens; further frames are dropped.
    pub limit_bytes: u64,
}

impl TokenBucket {
    /// The settings `rate`, `burst` and `latency` of `tbf`: no frame waits longer
    /// than `latency_us` microseconds, so the queue holds the bytes that leave in
    /// that time, plus one burst.
    pub const fn with_latency(rate_bps: u64, burst_bytes: u64, latency_us: u64) -> Self {
        let meanwhile = rate_bps as u128 * latency_us as u128 / 8 / 1_000_000;
        let meanwhile = if meanwhile > u64::MAX as u128 {
            u64::MAX
        } else {
            meanwhile as u64
        };
        Self {
            rate_bps,
            burst_bytes,
            limit_bytes: meanwhile.saturating_add(burst_bytes),
        }
    }
}

/// The state of one direction's bucket. A bucket starts full.
#[derive(Clone, Debug, Default)]
pub(super) struct BucketState {
    /// Tokens needed at the time `at` to fill the bucket, in billionths of a bit.
    missing: u128,
    at: Instant,
}

impl BucketState {
    fn missing_at(&self, model: TokenBucket, now: Instant) -> u128 {
        let filled = u128::from(now.since(self.at).as_nanos()) * u128::from(model.rate_bps);
        self.missing.saturating_sub(filled)
    }

    /// Earliest time from `now` on at which `bytes` may leave. The bytes fit into the bucket,
    /// because the caller drops longer frames.
    pub fn ready(&self, model: TokenBucket, bytes: usize, now: Instant) -> Instant {
        let room =
            (u128::from(model.burst_bytes).saturating_sub(bytes as u128)) * 8 * NANOS_PER_SEC;
        let short = self.missing_at(model, now).saturating_sub(room);
        let nanos = short.div_ceil(u128::from(model.rate_bps));
        now + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Takes the tokens of a frame that leaves at `now`.
    pub fn take(&mut self, model: TokenBucket, bytes: usize, now: Instant) {
        self.missing = self.missing_at(model, now) + bytes as u128 * 8 * NANOS_PER_SEC;
        self.at = now;
    }
}
