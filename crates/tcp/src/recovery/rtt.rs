//! Round-trip time estimate and retransmission timeout. RFC 6298, in
//! microseconds.
//!
//! Rule: backoff applies to the timeout, not to the estimate: a new sample ends the
//! backoff. The caller decides which segments may be timed (Karn's algorithm).

use fullpipe_pool::Duration;

use crate::TcpConfig;

/// The round-trip time estimate of one connection.
#[derive(Clone, Debug)]
pub struct Rtt {
    srtt_us: u32,
    rttvar_us: u32,
    min_rtt_us: u32,
    /// Timeout without backoff.
    rto_us: u32,
    backoff: u8,
}

impl Rtt {
    /// Creates an estimate without samples.
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            srtt_us: 0,
            rttvar_us: 0,
            min_rtt_us: u32::MAX,
            rto_us: micros(config.rto_initial),
            backoff: 0,
        }
    }

    /// Returns the smoothed round-trip time; zero before the first sample.
    pub const fn srtt(&self) -> Duration {
        Duration::from_micros(self.srtt_us as u64)
    }

    /// Returns the round-trip time variation.
    pub const fn rttvar(&self) -> Duration {
        Duration::from_micros(self.rttvar_us as u64)
    }

    /// Returns the smallest sample; `None` before the first.
    pub fn min_rtt(&self) -> Option<Duration> {
        (self.min_rtt_us != u32::MAX).then(|| Duration::from_micros(self.min_rtt_us.into()))
    }

    /// Returns the retransmission timeout, backoff included.
    pub fn rto(&self, config: &TcpConfig) -> Duration {
        let backed_off = u64::from(self.rto_us) << self.backoff.min(30);
        Duration::from_micros(backed_off).min(config.rto_max)
    }

    /// Doubles the timeout. RFC 6298 §5.5.
    pub fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
    }

    /// Ends the backoff without a sample: the handshake is complete, or a window has
    /// opened. An ACK of a retransmission does not end it (Karn; RFC 9293 §3.8.1,
    /// MUST-19): on a path that became longer than the timeout, every segment would
    /// otherwise leave twice.
    pub fn end_backoff(&mut self) {
        self.backoff = 0;
    }

    /// Raises the timeout to 3 s if the SYN was lost and there is no sample.
    /// RFC 6298 §5.7.
    pub fn distrust_handshake(&mut self) {
        if self.srtt_us == 0 {
            self.rto_us = self.rto_us.max(3_000_000);
        }
    }

    /// Takes one sample. RFC 6298 §2.
    pub fn add_sample(&mut self, sample: Duration, config: &TcpConfig) {
        let sample_us = micros(sample).max(1);
        self.min_rtt_us = self.min_rtt_us.min(sample_us);
        if self.srtt_us == 0 {
            self.srtt_us = sample_us;
            self.rttvar_us = sample_us / 2;
        } else {
            let error_us = self.srtt_us.abs_diff(sample_us);
            self.rttvar_us = weigh(self.rttvar_us, error_us, 4);
            self.srtt_us = weigh(self.srtt_us, sample_us, 8).max(1);
        }
        // On a path without variation, a timeout of one round trip would expire just
        // before every ACK. The minimum therefore applies to the variation term, not to
        // the sum.
        let margin_us = self.rttvar_us.saturating_mul(4).max(micros(config.rto_min));
        let rto_us = self.srtt_us.saturating_add(margin_us);
        self.rto_us = rto_us.min(micros(config.rto_max));
        self.backoff = 0;
    }
}

/// Returns the average of `old` and `new`, in which `new` has a weight of one
/// in `parts`.
fn weigh(old: u32, new: u32, parts: u64) -> u32 {
    ((u64::from(old) * (parts - 1) + u64::from(new)) / parts) as u32
}

/// Returns whole microseconds, at most 71 minutes.
fn micros(time: Duration) -> u32 {
    time.as_micros().min(u32::MAX.into()) as u32
}

#[cfg(test)]
mod tests;
