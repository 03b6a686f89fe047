//! Round-trip time estimate and retransmission timeout. RFC 6298, in
//! microseconds.
//!
//! Rule: backoff applies to the timeout, not to the estimate: a new sample ends the
//! backoff. The caller decides which segments may be timed (Karn's algorithm).

use fullpipe_pool::{Duration, record};

use crate::TcpConfig;

/// Largest sample, 9 minutes: in eighths of a microsecond it fits into 32 bits.
const LARGEST_SAMPLE_US: u32 = u32::MAX / 8;

/// The round-trip time estimate of one connection.
#[derive(Clone, Debug)]
pub struct Rtt {
    /// SRTT in eighths of a microsecond; 0 before the first sample. In whole microseconds,
    /// each update would round down, and a rising estimate would stop 7 µs too low.
    srtt_eighths: u32,
    /// RTTVAR in quarters of a microsecond.
    rttvar_quarters: u32,
    min_rtt_us: u32,
    /// Timeout without backoff.
    rto_us: u32,
    backoff: u8,
}

record!(Rtt {
    srtt_eighths,
    rttvar_quarters,
    min_rtt_us,
    rto_us,
    backoff
});

impl Rtt {
    /// Creates an estimate without samples.
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            srtt_eighths: 0,
            rttvar_quarters: 0,
            min_rtt_us: u32::MAX,
            rto_us: micros(config.rto_initial),
            backoff: 0,
        }
    }

    /// Returns the smoothed round-trip time; zero before the first sample.
    pub const fn srtt(&self) -> Duration {
        Duration::from_micros((self.srtt_eighths / 8) as u64)
    }

    /// Returns the round-trip time variation.
    pub const fn rttvar(&self) -> Duration {
        Duration::from_micros((self.rttvar_quarters / 4) as u64)
    }

    /// Returns the smallest sample; `None` before the first.
    pub fn min_rtt(&self) -> Option<Duration> {
        (self.min_rtt_us != u32::MAX).then(|| Duration::from_micros(self.min_rtt_us.into()))
    }

    /// Returns the retransmission timeout, backoff included.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub fn rto(&self, config: &TcpConfig) -> Duration {
        let backed_off = u64::from(self.rto_us) << self.backoff.min(30);
        Duration::from_micros(backed_off).min(config.rto_max)
    }

    /// Doubles the timeout. RFC 6298 §5.5.
    pub fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
    }

    /// Ends the backoff without a sample: the handshake is complete, or a window has
    /// opened. An ACK of a retransmission does not end the backoff (Karn; RFC 9293 §3.8.1,
    /// MUST-19): on a path that became longer than the timeout, every segment would
    /// otherwise leave twice.
    pub fn end_backoff(&mut self) {
        self.backoff = 0;
    }

    /// Raises the timeout to 3 s if the SYN was lost and there is no sample.
    /// RFC 6298 §5.7.
    pub fn distrust_handshake(&mut self) {
        if self.srtt_eighths == 0 {
            self.rto_us = self.rto_us.max(3_000_000);
        }
    }

    /// Takes one sample. RFC 6298 §2.
    pub fn add_sample(&mut self, sample: Duration, config: &TcpConfig) {
        let sample_us = micros(sample).clamp(1, LARGEST_SAMPLE_US);
        self.min_rtt_us = self.min_rtt_us.min(sample_us);
        if self.srtt_eighths == 0 {
            self.srtt_eighths = sample_us * 8;
            self.rttvar_quarters = sample_us * 2;
        } else {
            // RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R'|, SRTT = 7/8 SRTT + 1/8 R'.
            let srtt_us = self.srtt_eighths / 8;
            self.rttvar_quarters -= self.rttvar_quarters / 4;
            self.rttvar_quarters += srtt_us.abs_diff(sample_us);
            self.srtt_eighths = self.srtt_eighths - srtt_us + sample_us;
        }
        // On a path without variation, RTTVAR becomes 0, and a timeout of one round trip would
        // expire just before every ACK. The minimum therefore applies to the variation term, not to
        // the sum.
        let margin_us = self.rttvar_quarters.max(micros(config.rto_min));
        let rto_us = (self.srtt_eighths / 8).saturating_add(margin_us);
        self.rto_us = rto_us.min(micros(config.rto_max));
        self.backoff = 0;
    }
}

/// Returns whole microseconds, at most 71 minutes.
fn micros(time: Duration) -> u32 {
    time.as_micros().min(u32::MAX.into()) as u32
}

#[cfg(test)]
mod tests;
