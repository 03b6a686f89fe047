//! Bounds that losses set on BBR's model. draft-ietf-ccwg-bbr-06 §5.5.10 and
//! §5.5.11.
//!
//! Rule: loss while probing sets a lasting bound on the bytes in flight (`inflight_longterm`). Loss
//! at other times bounds rate and bytes in flight until the next probe (`…_shortterm`). The
//! short-term bounds are the rate and the bytes delivered during the round trip, but at least 70 %
//! of the previous bounds. Loss below the threshold (knob `tcp.bbr_loss_threshold`, a share of the
//! bytes in flight) changes nothing.
//!
//! The draft applies the threshold only while probing. At other times the draft lowers the bounds
//! after every round trip in which a loss was found, however small the loss. Random loss can
//! therefore lower the bounds after each of the sixty round trips between two probes. On a path of
//! 100 Mbit/s and 40 ms, the draft's rule used 89 % of the rate at 0.1 % loss, and 81 % at 1 %
//! loss. With one threshold at all times, BBR uses 97 % and 91 %. With one threshold the knob also
//! has one meaning: 100 switches off the response to every loss that causes no retransmission
//! timeout. When BBR shares a queue with CUBIC or NewReno, it takes the same share with either
//! rule.

use super::{
    model::INFINITE,
    state::{Bbr, BbrState, SavedBounds, beta_of},
};
use crate::congestion::{
    control::{AckSample, CongestionEvent},
    delivery_rate::LostRange,
};

impl Bbr {
    /// UpdateLatestDeliverySignals. §5.5.10.3.
    pub(super) fn update_latest_delivery_signals(&mut self, sample: &AckSample) {
        let bounds = &mut self.bounds;
        bounds.loss_round_start = false;
        bounds.bw_latest = bounds.bw_latest.max(sample.rate.rate());
        bounds.inflight_latest = bounds.inflight_latest.max(sample.rate.delivered);
        if sample.rate.newly_acked > 0 && sample.rate.prior_delivered >= bounds.loss_round_delivered
        {
            bounds.loss_round_delivered = sample.rate.total_delivered;
            bounds.loss_round_start = true;
        }
    }

    /// UpdateCongestionSignals and AdaptLowerBoundsFromCongestion. §5.5.10.3.
    pub(super) fn update_congestion_signals(&mut self, sample: &AckSample) {
        self.model.update_round(sample);
        if self.model.round_start {
            self.cycle.count_round();
        }
        let app_limited = self.is_app_limited(sample);
        self.model.update_max_bw(sample.rate.rate(), app_limited);
        if !self.bounds.loss_round_start {
            return;
        }
        let lost = self
            .bounds
            .is_too_high(sample.rate.lost, sample.rate.tx_in_flight);
        let is_high = self.bounds.is_loss_high || (self.bounds.is_loss_in_round && lost);
        if is_high && !self.state.is_accelerating() {
            self.bounds.lower(self.model.max_bw(), self.cwnd);
        }
        self.bounds.is_loss_in_round = false;
        self.bounds.is_loss_high = false;
    }

    /// NoteLoss. §5.5.10.2.
    fn note_loss(&mut self, total_delivered: u64) {
        if !self.bounds.is_loss_in_round {
            self.bounds.loss_round_delivered = total_delivered;
            self.bounds.is_loss_in_round = true;
            self.save_state_upon_loss();
        }
    }

    /// HandleLostPacket. §5.5.10.2.
    pub(super) fn handle_lost_range(&mut self, lost: &LostRange) {
        self.note_loss(lost.total_delivered);
        self.bounds.loss_events_in_round = self.bounds.loss_events_in_round.saturating_add(1);
        if self.cycle.is_probe_sample && self.bounds.is_too_high(lost.lost, lost.tx_in_flight) {
            let tx_in_flight = self.bounds.inflight_at_loss(lost);
            self.handle_inflight_too_high(tx_in_flight, lost);
        }
    }

    /// HandleInflightTooHigh. §5.5.10.2.
    fn handle_inflight_too_high(&mut self, tx_in_flight: u32, lost: &LostRange) {
        self.cycle.prev_probe_too_high = true;
        self.cycle.is_probe_sample = false;
        if !lost.app_limited {
            let least = beta_of(self.target_inflight());
            self.bounds.inflight_longterm = tx_in_flight.max(least);
        }
        if self.state == BbrState::ProbeBwUp {
            self.undo.state = Some(BbrState::ProbeBwUp);
            self.start_probe_bw_down(lost.now, lost.total_delivered);
        }
    }

    /// Responds to a congestion mark in the same way as to too much loss.
    pub(super) fn handle_mark(&mut self, event: &CongestionEvent) {
        self.note_loss(event.total_delivered);
        self.bounds.is_loss_high = true;
        if self.state == BbrState::Startup {
            self.leave_startup_on_congestion();
        } else if self.cycle.is_probe_sample {
            let lost = LostRange {
                now: event.now,
                total_delivered: event.total_delivered,
                ..LostRange::default()
            };
            self.handle_inflight_too_high(event.in_flight, &lost);
        }
        // Keep the saved state only during a recovery, because a recovery can prove spurious and a
        // mark cannot.
        self.undo.is_saved = self.in_recovery;
    }

    /// SaveStateUponLoss. §5.5.11.1. The bounds are saved only at the first loss of a recovery,
    /// because this loss may lower them, and a later save would keep the lowered bounds.
    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        if self.undo.is_saved {
            return;
        }
        self.undo = SavedBounds {
            is_saved: true,
            state: None,
            bw_shortterm: self.bounds.bw_shortterm,
            inflight_shortterm: self.bounds.inflight_shortterm,
            inflight_longterm: self.bounds.inflight_longterm,
        };
    }

    /// HandleSpuriousLossDetection. §5.5.11.2.
    pub(super) fn handle_spurious_loss(&mut self) {
        self.in_recovery = false;
        if !core::mem::take(&mut self.undo.is_saved) {
            return;
        }
        self.restore_cwnd();
        self.full_pipe.reset(0);
        let (bounds, undo) = (&mut self.bounds, self.undo);
        bounds.is_loss_in_round = false;
        bounds.bw_shortterm = bounds.bw_shortterm.max(undo.bw_shortterm);
        bounds.inflight_shortterm = bounds.inflight_shortterm.max(undo.inflight_shortterm);
        bounds.inflight_longterm = bounds.inflight_longterm.max(undo.inflight_longterm);
        match undo.state {
            Some(BbrState::Startup) if self.state != BbrState::Startup => {
                self.full_pipe.reached = false;
                if self.state != BbrState::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(BbrState::ProbeBwUp)
                if self.state != BbrState::ProbeBwUp && self.state != BbrState::ProbeRtt =>
            {
                self.start_probe_bw_refill(self.bounds.loss_round_delivered);
            }
            Some(_) | None => {}
        }
        self.undo.state = None;
    }

    /// BoundCwndForModel. §5.6.4.7.
    pub(super) fn bound_cwnd_for_model(&mut self) {
        let cap = match self.state {
            BbrState::Startup | BbrState::Drain => INFINITE,
            BbrState::ProbeBwDown | BbrState::ProbeBwRefill | BbrState::ProbeBwUp => {
                self.bounds.inflight_longterm
            }
            BbrState::ProbeBwCruise | BbrState::ProbeRtt => self.inflight_with_headroom(),
        };
        let cap = cap.min(self.bounds.inflight_shortterm);
        self.cwnd = self.cwnd.min(cap.max(self.min_pipe_cwnd()));
    }
}
