//! Checks that no delivery rate sample exceeds the path's rate.
//!
//! Rule: a sample's payload is at most the path's rate times the sum of two times, plus one frame.
//! The two times are the sample's interval and its queueing time, which is its round-trip time
//! minus the round-trip time of the empty path. All payload of the sample crossed the slowest link
//! within the sum of these times. The interval alone is not enough: if a queue runs empty or ACKs
//! are compressed, the payload can exceed the rate times the interval.
//! draft-cheng-iccrg-delivery-rate-estimation §4.1.

use fullpipe_tcp::congestion::FastestSample;

use super::Violation;

/// The path in both directions.
#[derive(Clone, Copy, Debug)]
pub struct PathCapacity {
    /// Rate of the path's slowest link, in bits per second.
    pub rate_bps: u64,
    /// Propagation in both directions, in microseconds.
    pub round_trip_us: u64,
    /// Longest frame, in bytes.
    pub frame: u64,
}

/// Allowance for rounding the interval and the round-trip time to whole microseconds.
const ROUNDING_US: u64 = 4;

/// Checks the fastest sample of a connection.
///
/// # Errors
/// Fails if the sample exceeds the path's rate; the error states the excess.
pub fn check(sample: FastestSample, path: PathCapacity) -> Result<(), Violation> {
    let waited_us = u64::from(sample.rtt_us).saturating_sub(path.round_trip_us);
    let time_us = u64::from(sample.interval_us) + waited_us + ROUNDING_US;
    let most = path.rate_bps / 8 * time_us / 1_000_000 + path.frame;
    if u64::from(sample.delivered) <= most {
        return Ok(());
    }
    Err(format!(
        "a rate sample says that {} bytes arrived in {} us, with a round trip of {} us, but in that \
         time a link of {} bit/s carries at most {most} bytes",
        sample.delivered, sample.interval_us, sample.rtt_us, path.rate_bps,
    ))
}

#[cfg(test)]
mod tests;
