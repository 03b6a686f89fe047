//! BBR (version 3): draft-ietf-ccwg-bbr-06, July 2026.
//!
//! Rule: window and rate follow from a model of the path, within bounds that losses set. The model
//! is the highest recent bandwidth and the shortest round trip. This file holds the order of the
//! steps (§5.2) and the control parameters (§5.6). `model` has bandwidth, round trips and
//! aggregation; `startup` has Startup, Drain and the detection of a full pipe; `probe_bw` and
//! `probe_rtt` have the states of these names; `bounds` has the response to loss. Comments name the
//! draft's functions and sections.
//!
//! Differences from the draft:
//! - `BBR.LossThresh` is a knob, and 100 % switches off every response to loss except the
//!   response to a retransmission timeout.
//! - Loss below that threshold does not lower the short-term bounds either (see
//!   `bounds`).
//! - An application-limited round trip can still show a full pipe if enough was in flight
//!   (see `startup`). Otherwise a connection with a send buffer of two bandwidth-delay
//!   products and some loss would stay in Startup.
//! - A connection without SACK is not treated specially.
//! - The state for an undo is saved once in a recovery, not in each of its round trips.
//! - A congestion mark counts as a round trip with too much loss; the draft says only
//!   that a mark shows congestion.
//! - Random choices come from a generator with the connection's seed.

mod bounds;
mod model;
mod probe_bw;
mod probe_rtt;
mod startup;
mod state;

pub use state::{Bbr, BbrState};

use self::{
    model::{INFINITE, Model},
    state::{AckPhase, Bounds, Cycle, FullPipe, ProbeRtt, SavedBounds},
};
use crate::{
    Limit,
    congestion::{
        control::{AckSample, CongestionControl, CongestionEvent, CongestionStart, FlightStart},
        delivery_rate::LostRange,
        pacing::SegmentPacer,
    },
};

/// BBR.MinPipeCwnd in segments: enough for a peer that acknowledges every
/// second segment. §5.6.4.3.
const MIN_PIPE_SEGMENTS: u32 = 4;
/// BBR.PacingMarginPercent: margin of the pacing rate below the bandwidth.
/// §5.6.2.
const PACING_MARGIN: u64 = 1;
/// Number of send quanta (bytes that leave together) that may wait in the offload engines of both
/// hosts. §5.5.8.1.
const OFFLOAD_QUANTA: u32 = 3;

impl Bbr {
    /// Starts in Startup with the window of `start`.
    pub fn new(start: &CongestionStart) -> Self {
        let mut bbr = Self {
            state: BbrState::Startup,
            ack_phase: AckPhase::Init,
            has_seen_rtt: false,
            in_recovery: false,
            idle_restart: false,
            cwnd: start.cwnd,
            prior_cwnd: 0,
            initial_cwnd: start.cwnd,
            mss: start.mss,
            srtt_us: 0,
            pacing_rate: 0,
            model: Model::new(),
            full_pipe: FullPipe::default(),
            cycle: Cycle::new(start.seed),
            probe_rtt: ProbeRtt::new(),
            bounds: Bounds::new(start.bbr_loss_threshold),
            undo: SavedBounds::default(),
        };
        bbr.init_pacing_rate(0);
        bbr
    }

    /// Returns the state of the state machine.
    pub const fn state(&self) -> BbrState {
        self.state
    }

    /// Returns BBR.max_bw in bytes per second.
    pub fn max_bw(&self) -> u64 {
        self.model.max_bw()
    }

    /// Returns BBR.min_rtt in microseconds; `u32::MAX` before the first sample.
    pub const fn min_rtt_us(&self) -> u32 {
        self.model.min_rtt_us
    }

    /// InitPacingRate. §5.6.2.
    fn init_pacing_rate(&mut self, srtt_us: u32) {
        self.has_seen_rtt = srtt_us != 0;
        let nominal_us = if srtt_us == 0 { 1_000 } else { srtt_us };
        let nominal = u64::from(self.initial_cwnd) * 1_000_000 / u64::from(nominal_us);
        self.pacing_rate = percent(nominal, BbrState::Startup.gains().0);
    }

    /// UpdateModelAndState. §5.2.3.
    fn update_model_and_state(&mut self, sample: &AckSample) {
        self.update_latest_delivery_signals(sample);
        self.update_congestion_signals(sample);
        self.model
            .update_ack_aggregation(sample, self.cwnd, self.full_pipe.reached);
        self.check_full_bw_reached(sample);
        self.check_startup_done(sample);
        self.check_drain_done(sample);
        self.update_probe_bw_cycle_phase(sample);
        self.update_min_rtt(sample);
        self.check_probe_rtt(sample);
        self.bounds.advance_latest(sample);
        self.model.bound(self.bounds.bw_shortterm);
    }

    /// SetPacingRateWithGain. §5.6.2.
    fn set_pacing_rate(&mut self, gain: u64) {
        let rate = percent(percent(self.model.bw, gain), 100 - PACING_MARGIN);
        let least = match self.full_pipe.reached {
            true => self.least_pacing_rate(),
            false => self.pacing_rate,
        };
        self.pacing_rate = rate.max(least);
    }

    /// Returns the lower bound of the pacing rate in bytes per second: the smallest window per
    /// round trip. At a lower rate, ACKs measure the pacing rate itself, and each mark or loss
    /// lowers the rate further. The draft has no such bound; without it, a connection was silent
    /// for half an hour.
    fn least_pacing_rate(&self) -> u64 {
        let window = u64::from(self.min_pipe_cwnd());
        let per_second = (window * 1_000_000).checked_div(self.srtt_us.into());
        per_second.unwrap_or(0).max(1)
    }

    /// SetCwnd. §5.6.4.6.
    fn set_cwnd(&mut self, sample: &AckSample) {
        let max_inflight = self.max_inflight();
        let grown = self.cwnd.saturating_add(sample.rate.newly_acked);
        if self.full_pipe.reached {
            self.cwnd = grown.min(max_inflight);
        } else if self.cwnd < max_inflight
            || sample.rate.total_delivered < u64::from(self.initial_cwnd)
        {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
        if self.state == BbrState::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    /// BDPMultiple, for the bandwidth `bw`. §5.6.4.2.
    fn bdp_of(&self, bw: u64, gain: u64) -> u32 {
        match self.model.bdp(bw) {
            None => self.initial_cwnd,
            Some(bdp) => saturate(percent(bdp, gain)),
        }
    }

    /// BBR.bdp.
    fn bdp(&self) -> u32 {
        self.bdp_of(self.model.bw, 100)
    }

    /// Inflight(bw, 1.0). §5.6.4.2.
    fn inflight(&self, bw: u64) -> u32 {
        self.with_quantization_budget(self.bdp_of(bw, 100))
    }

    /// UpdateMaxInflight. §5.6.4.2.
    fn max_inflight(&self) -> u32 {
        let (_, cwnd_gain) = self.state.gains();
        let cap = self.bdp_of(self.model.bw, cwnd_gain);
        self.with_quantization_budget(cap.saturating_add(self.model.extra_acked()))
    }

    /// QuantizationBudget. §5.6.4.2.
    fn with_quantization_budget(&self, cap: u32) -> u32 {
        let quanta = OFFLOAD_QUANTA * SegmentPacer::quantum(self.pacing_rate, self.mss);
        let cap = cap.max(quanta).max(self.min_pipe_cwnd());
        if self.state == BbrState::ProbeBwUp {
            cap.saturating_add(2 * self.mss)
        } else {
            cap
        }
    }

    /// BBR.MinPipeCwnd.
    const fn min_pipe_cwnd(&self) -> u32 {
        MIN_PIPE_SEGMENTS * self.mss
    }

    /// TargetInflight. §5.3.3.8.
    fn target_inflight(&self) -> u32 {
        self.bdp().min(self.cwnd)
    }

    /// SaveCwnd. §5.6.4.4.
    fn save_cwnd(&mut self) {
        self.prior_cwnd = if self.in_recovery || self.state == BbrState::ProbeRtt {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    /// RestoreCwnd. §5.6.4.4.
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

impl CongestionControl for Bbr {
    fn start(&mut self, start: &CongestionStart) {
        *self = Self::new(start);
    }

    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    /// Returns a substitute, because BBR has no slow-start threshold: `u32::MAX` in
    /// Startup, the congestion window afterwards.
    fn ssthresh(&self) -> u32 {
        if self.full_pipe.reached {
            self.cwnd
        } else {
            INFINITE
        }
    }

    fn limit(&self) -> Limit {
        if !self.full_pipe.reached {
            Limit::CwndSlowStart
        } else if self.bounds.are_loose() {
            Limit::CwndSteady
        } else {
            Limit::CwndAfterLoss
        }
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some(self.pacing_rate)
    }

    fn controls_recovery(&self) -> bool {
        true
    }

    /// HandleRestartFromIdle. §5.4.1.
    fn on_flight_start(&mut self, start: FlightStart) {
        self.srtt_us = start.srtt_us;
        if !self.has_seen_rtt && start.srtt_us != 0 {
            self.init_pacing_rate(start.srtt_us);
        }
        if !start.app_limited {
            return;
        }
        self.idle_restart = true;
        self.model.restart_aggregation(start.now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(100);
        } else if self.state == BbrState::ProbeRtt {
            self.check_probe_rtt_done(start.now);
        }
    }

    /// UpdateOnACK. §5.2.3.
    fn on_ack(&mut self, sample: &AckSample) {
        self.mss = sample.mss;
        self.srtt_us = sample.srtt_us;
        if !self.has_seen_rtt && sample.srtt_us != 0 {
            self.init_pacing_rate(sample.srtt_us);
        }
        self.update_model_and_state(sample);
        let (pacing_gain, _) = self.state.gains();
        self.set_pacing_rate(pacing_gain);
        self.set_cwnd(sample);
    }

    fn on_range_lost(&mut self, lost: &LostRange) {
        self.handle_lost_range(lost);
    }

    /// OnEnterFastRecovery. §5.6.4.4.
    fn on_loss(&mut self, event: &CongestionEvent) {
        self.mss = event.mss;
        self.save_state_upon_loss();
        self.in_recovery = true;
    }

    fn on_recovery_exit(&mut self) {
        self.in_recovery = false;
        self.undo.is_saved = false;
        self.restore_cwnd();
        self.bound_cwnd_for_model();
    }

    fn on_ecn(&mut self, event: &CongestionEvent) {
        self.handle_mark(event);
    }

    /// OnEnterRTO. §5.6.4.4.
    fn on_timeout(&mut self, event: &CongestionEvent, _first: bool) {
        self.mss = event.mss;
        self.save_state_upon_loss();
        self.in_recovery = true;
        self.cwnd = event.in_flight.saturating_add(event.mss);
    }

    fn on_undo(&mut self) {
        self.handle_spurious_loss();
    }

    /// Does nothing: the model keeps its values while nothing is sent, and pacing spreads
    /// the window at the restart. §5.4.2.
    fn on_idle(&mut self, _restart_window: u32) {}
}

/// Returns `gain` percent of `value`.
fn percent(value: u64, gain: u64) -> u64 {
    value.saturating_mul(gain) / 100
}

/// Returns `value`, limited to the largest window.
fn saturate(value: u64) -> u32 {
    value.min(u64::from(INFINITE - 1)) as u32
}

#[cfg(test)]
mod tests;
