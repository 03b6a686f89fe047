//! BBR's model of the path: bandwidth, round-trip time, ACK aggregation.
//! draft-ietf-ccwg-bbr-06 §5.5.1 to §5.5.9.
//!
//! Rule: the model only filters measurements and decides nothing. The bandwidth is the
//! maximum over two probing cycles, the round-trip time the minimum over ten seconds,
//! the aggregation the maximum over ten round trips.

use fullpipe_pool::{Instant, record};

use crate::congestion::control::AckSample;

/// Value of a bound that is not set.
pub(super) const INFINITE: u32 = u32::MAX;

/// Rounds after which the older half of the aggregation filter is dropped: two
/// halves make BBR.ExtraAckedFilterLen = 10 round trips.
const EXTRA_ACKED_ROUNDS: u8 = 5;

/// The model of one path.
#[derive(Clone, Debug)]
pub struct Model {
    /// Highest delivery rates of the previous probing cycle and of this one.
    max_bw: [u64; 2],
    /// BBR.bw: the present estimate of the bandwidth.
    pub bw: u64,
    /// BBR.min_rtt in microseconds; `INFINITE` before the first sample.
    pub min_rtt_us: u32,
    /// Time of the measurement of `min_rtt_us`.
    pub min_rtt_stamp: Instant,
    /// Round trips over the connection's lifetime.
    pub round_count: u32,
    /// The round trip ends with the ACK of a range that left after this many bytes had
    /// been delivered.
    next_round_delivered: u64,
    /// The present ACK began a round trip.
    pub round_start: bool,
    extra_acked: [u32; 2],
    extra_acked_rounds: u8,
    extra_acked_interval_start: Instant,
    extra_acked_delivered: u64,
}

record!(Model {
    max_bw,
    bw,
    min_rtt_us,
    min_rtt_stamp,
    round_count,
    next_round_delivered,
    round_start,
    extra_acked,
    extra_acked_rounds,
    extra_acked_interval_start,
    extra_acked_delivered
});

impl Model {
    pub const fn new() -> Self {
        Self {
            max_bw: [0; 2],
            bw: 0,
            min_rtt_us: INFINITE,
            min_rtt_stamp: Instant::ZERO,
            round_count: 0,
            next_round_delivered: 0,
            round_start: false,
            extra_acked: [0; 2],
            extra_acked_rounds: 0,
            extra_acked_interval_start: Instant::ZERO,
            extra_acked_delivered: 0,
        }
    }

    /// Returns BBR.max_bw.
    pub fn max_bw(&self) -> u64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// Returns `bw` times the round-trip time in bytes; `None` before the first
    /// sample.
    pub fn bdp(&self, bw: u64) -> Option<u64> {
        let rtt_us = u64::from(self.min_rtt_us);
        (self.min_rtt_us != INFINITE).then(|| bw.saturating_mul(rtt_us) / 1_000_000)
    }

    /// UpdateRound. §5.5.1.
    pub fn update_round(&mut self, sample: &AckSample) {
        self.round_start =
            sample.rate.newly_acked > 0 && sample.rate.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round(sample.rate.total_delivered);
            self.round_count = self.round_count.wrapping_add(1);
        }
    }

    /// StartRound. §5.5.1.
    pub fn start_round(&mut self, total_delivered: u64) {
        self.next_round_delivered = total_delivered;
    }

    /// UpdateMaxBw's filter. §5.5.5.
    pub fn update_max_bw(&mut self, rate: u64, app_limited: bool) {
        if rate >= self.max_bw() || !app_limited {
            self.max_bw[1] = self.max_bw[1].max(rate);
        }
    }

    /// AdvanceMaxBwFilter. §5.5.6. A cycle without a measurement does not
    /// advance the filter.
    pub fn advance_max_bw_filter(&mut self) {
        if self.max_bw[1] != 0 {
            self.max_bw = [self.max_bw[1], 0];
        }
    }

    /// BoundBWForModel. §5.5.10.3.
    pub fn bound(&mut self, bw_shortterm: u64) {
        self.bw = self.max_bw().min(bw_shortterm);
    }

    /// Returns BBR.extra_acked.
    pub fn extra_acked(&self) -> u32 {
        self.extra_acked[0].max(self.extra_acked[1])
    }

    /// Restarts the measurement of ACK aggregation after a time with nothing in flight.
    pub fn restart_aggregation(&mut self, now: Instant) {
        self.extra_acked_interval_start = now;
        self.extra_acked_delivered = 0;
    }

    /// UpdateACKAggregation. §5.5.9.
    pub fn update_ack_aggregation(&mut self, sample: &AckSample, cwnd: u32, full_bw_reached: bool) {
        if sample.rate.newly_acked == 0 {
            return;
        }
        if self.round_start {
            self.extra_acked_rounds += 1;
            let rounds = if full_bw_reached {
                EXTRA_ACKED_ROUNDS
            } else {
                1
            };
            if self.extra_acked_rounds >= rounds {
                self.extra_acked_rounds = 0;
                self.extra_acked = [self.extra_acked[1], 0];
            }
        }
        let interval = sample.now.since(self.extra_acked_interval_start);
        let mut expected = self.bw.saturating_mul(interval.as_micros()) / 1_000_000;
        if self.extra_acked_delivered <= expected {
            self.restart_aggregation(sample.now);
            expected = 0;
        }
        self.extra_acked_delivered += u64::from(sample.rate.newly_acked);
        let extra = self.extra_acked_delivered.saturating_sub(expected);
        let extra = extra.min(cwnd.into()) as u32;
        self.extra_acked[1] = self.extra_acked[1].max(extra);
    }
}
