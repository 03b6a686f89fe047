//! No delivery rate sample is above what the link carries.
//!
//! Rule: what a sample counts was sent after the flight that it measures began,
//! and had arrived one propagation delay before the sample was taken. So it
//! crossed the slowest link within the sample's interval and what its round trip
//! was longer than the bare path: a queue that runs empty, or ACKs held together
//! (compressed), may bring more than the rate times the interval, but never more
//! than the rate times both. draft-cheng-iccrg-delivery-rate-estimation §4.1.
//!
//! That holds while nothing was sent twice and nothing overtakes; the caller
//! asks only then.

use fullpipe_tcp::congestion::FastestSample;

use super::Violation;

/// The path of the data, and back.
#[derive(Clone, Copy, Debug)]
pub struct PathCapacity {
    /// Its slowest link, bits a second.
    pub rate_bps: u64,
    /// Propagation both ways, microseconds.
    pub round_trip_us: u64,
    /// The longest frame, bytes.
    pub frame: u64,
}

/// Two times that were cut to whole microseconds each.
const ROUNDING_US: u64 = 4;

/// Looks at the fastest sample of a connection.
///
/// # Errors
/// By how much it is too fast.
pub fn check(sample: FastestSample, path: PathCapacity) -> Result<(), Violation> {
    let waited_us = u64::from(sample.rtt_us).saturating_sub(path.round_trip_us);
    let time_us = u64::from(sample.interval_us) + waited_us + ROUNDING_US;
    let most = path.rate_bps / 8 * time_us / 1_000_000 + path.frame;
    if u64::from(sample.delivered) <= most {
        return Ok(());
    }
    Err(format!(
        "a rate sample says that {} bytes arrived in {} us, with a round trip of {} us: a link of \
         {} bit/s carries {most}",
        sample.delivered, sample.interval_us, sample.rtt_us, path.rate_bps,
    ))
}

#[cfg(test)]
mod tests;
