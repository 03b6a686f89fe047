//! ProbeBW: the cycle of sending more than, less than and at the path's rate.
//! draft-ietf-ccwg-bbr-06 §5.3.3.
//!
//! Rule: DOWN creates headroom, CRUISE keeps it, REFILL uses it up, UP probes for more
//! bandwidth. The time between probes is random between 2 and 3 seconds, and at most 63
//! round trips, so that Reno flows have time to grow and BBR flows do not synchronise.
//! After a probe that lost too much, the next probe is cautious.

use fullpipe_pool::{Duration, Instant};

use super::{
    model::INFINITE,
    state::{AckPhase, Bbr, BbrState},
};
use crate::congestion::control::AckSample;

/// Maximum number of round trips between two probes, for coexistence with Reno. §5.3.3.8.
const RENO_ROUNDS: u32 = 63;
/// BBR.Headroom in percent of `inflight_longterm`.
const HEADROOM: u32 = 15;
/// Maximum number of doublings of the slope at which UP raises `inflight_longterm`.
const PROBE_UP_ROUNDS: u32 = 30;

impl Bbr {
    /// StartProbeBW_DOWN. §5.3.3.9.
    pub(super) fn start_probe_bw_down(&mut self, now: Instant, total_delivered: u64) {
        self.bounds.reset_congestion_signals();
        self.cycle.probe_up_acked_per_inc = INFINITE;
        self.cycle.pick_probe_wait();
        self.cycle.stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.model.start_round(total_delivered);
        self.state = BbrState::ProbeBwDown;
    }

    /// StartProbeBW_CRUISE.
    pub(super) fn start_probe_bw_cruise(&mut self) {
        self.state = BbrState::ProbeBwCruise;
    }

    /// StartProbeBW_REFILL.
    pub(super) fn start_probe_bw_refill(&mut self, total_delivered: u64) {
        self.bounds.reset_short_term();
        self.cycle.probe_up_rounds = 0;
        self.cycle.probe_up_acked = 0;
        self.cycle.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.model.start_round(total_delivered);
        self.state = BbrState::ProbeBwRefill;
    }

    /// StartProbeBW_UP.
    fn start_probe_bw_up(&mut self, sample: &AckSample) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.model.start_round(sample.rate.total_delivered);
        self.full_pipe.reset(sample.rate.rate());
        self.state = BbrState::ProbeBwUp;
        self.raise_inflight_longterm_slope();
    }

    /// UpdateProbeBWCyclePhase. §5.3.3.9.
    pub(super) fn update_probe_bw_cycle_phase(&mut self, sample: &AckSample) {
        if !self.full_pipe.reached || self.adapt_long_term_model(sample) {
            return;
        }
        match self.state {
            BbrState::ProbeBwDown => {
                if !self.check_time_to_probe_bw(sample) && self.is_time_to_cruise(sample) {
                    self.start_probe_bw_cruise();
                }
            }
            BbrState::ProbeBwCruise => {
                self.check_time_to_probe_bw(sample);
            }
            BbrState::ProbeBwRefill => {
                if self.model.round_start {
                    self.cycle.is_probe_sample = true;
                    self.start_probe_bw_up(sample);
                }
            }
            BbrState::ProbeBwUp => {
                if self.is_time_to_go_down(sample) {
                    self.cycle.prev_probe_too_high = false;
                    self.start_probe_bw_down(sample.now, sample.rate.total_delivered);
                }
            }
            BbrState::Startup | BbrState::Drain | BbrState::ProbeRtt => {}
        }
    }

    /// IsTimeToProbeBW. §5.3.3.8.
    fn check_time_to_probe_bw(&mut self, sample: &AckSample) -> bool {
        let wait = Duration::from_micros(self.cycle.probe_wait_us.into());
        let waited = sample.now > self.cycle.stamp + wait;
        // IsRenoCoexistenceProbeTime.
        let reno_rounds = (self.target_inflight() / self.mss).min(RENO_ROUNDS);
        let is_time = waited || self.cycle.rounds_since_probe_up >= reno_rounds;
        if is_time {
            self.start_probe_bw_refill(sample.rate.total_delivered);
        }
        is_time
    }

    /// IsTimeToCruise. §5.3.3.9.
    fn is_time_to_cruise(&self, sample: &AckSample) -> bool {
        sample.in_flight <= self.inflight_with_headroom()
            && sample.in_flight <= self.inflight(self.model.max_bw())
    }

    /// IsTimeToGoDown. §5.3.3.9.
    fn is_time_to_go_down(&mut self, sample: &AckSample) -> bool {
        let longterm = self.bounds.inflight_longterm;
        if self.cycle.prev_probe_too_high && sample.in_flight >= longterm {
            self.cycle.prev_probe_precautionary = true;
            return true;
        }
        if sample.cwnd_limited && self.cwnd >= longterm {
            // Reset the detector of a full pipe: `inflight_longterm` limits the delivery rate, so
            // the rate does not show the bandwidth of the path.
            self.full_pipe.reset(sample.rate.rate());
            return false;
        }
        self.full_pipe.now
    }

    /// InflightWithHeadroom. §5.3.3.9.
    pub(super) fn inflight_with_headroom(&self) -> u32 {
        let longterm = self.bounds.inflight_longterm;
        if longterm == INFINITE {
            return INFINITE;
        }
        let headroom = (longterm / 100 * HEADROOM).max(self.mss);
        longterm.saturating_sub(headroom).max(self.min_pipe_cwnd())
    }

    /// RaiseInflightLongtermSlope. §5.3.3.9.
    fn raise_inflight_longterm_slope(&mut self) {
        let growth = 1 << self.cycle.probe_up_rounds;
        self.cycle.probe_up_rounds = (self.cycle.probe_up_rounds + 1).min(PROBE_UP_ROUNDS);
        self.cycle.probe_up_acked_per_inc = (self.cwnd / growth).max(self.mss);
    }

    /// ProbeInflightLongtermUpward. §5.3.3.9.
    fn probe_inflight_longterm_upward(&mut self, sample: &AckSample) {
        if !sample.cwnd_limited || self.cwnd < self.bounds.inflight_longterm {
            return;
        }
        let cycle = &mut self.cycle;
        cycle.probe_up_acked = cycle.probe_up_acked.saturating_add(sample.rate.newly_acked);
        let steps = cycle.probe_up_acked / cycle.probe_up_acked_per_inc;
        cycle.probe_up_acked -= steps * cycle.probe_up_acked_per_inc;
        let longterm = &mut self.bounds.inflight_longterm;
        *longterm = longterm
            .saturating_add(steps.saturating_mul(self.mss))
            .min(INFINITE - 1);
        if self.model.round_start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// AdaptLongTermModel. Returns true if the state changed. §5.3.3.9.
    fn adapt_long_term_model(&mut self, sample: &AckSample) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.model.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.model.round_start {
            self.cycle.is_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() && !self.is_app_limited(sample) {
                self.model.advance_max_bw_filter();
            }
            let was_safe = self.cycle.prev_probe_precautionary && !self.cycle.prev_probe_too_high;
            if self.state.is_probe_bw() && was_safe {
                self.start_probe_bw_refill(sample.rate.total_delivered);
                return true;
            }
        }
        let tx_in_flight = sample.rate.tx_in_flight;
        let longterm = self.bounds.inflight_longterm;
        if longterm == INFINITE || self.bounds.is_too_high(sample.rate.lost, tx_in_flight) {
            return false;
        }
        self.bounds.inflight_longterm = longterm.max(tx_in_flight);
        if self.state == BbrState::ProbeBwUp {
            self.probe_inflight_longterm_upward(sample);
        }
        false
    }
}
