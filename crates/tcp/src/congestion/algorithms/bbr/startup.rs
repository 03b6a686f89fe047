//! Startup, Drain, and detection of a full pipe. draft-ietf-ccwg-bbr-06 §5.3.1
//! and §5.3.2.
//!
//! Rule: the pipe is full in three cases: the rate has grown by less than a quarter in three round
//! trips; a round trip of recovery lost at least six ranges and more than the threshold; or a mark
//! arrives in Startup. The same detector ends ProbeBW_UP.

use super::state::{Bbr, BbrState};
use crate::congestion::control::AckSample;

/// Rate, in percent of the last baseline, that shows that the pipe is not full.
const FULL_BW_GROWTH: u64 = 125;
/// Round trips without this growth after which the pipe counts as full.
const FULL_BW_ROUNDS: u8 = 3;
/// BBRStartupFullLossCnt: number of ranges lost in one round trip that ends Startup.
const STARTUP_FULL_LOSS_COUNT: u8 = 6;
/// Round trips after which Drain ends even if the queue is not empty.
const DRAIN_ROUNDS: u32 = 3;

impl Bbr {
    /// EnterStartup. §5.3.1.1.
    pub(super) fn enter_startup(&mut self) {
        self.state = BbrState::Startup;
    }

    /// CheckFullBWReached. §5.3.1.2.
    pub(super) fn check_full_bw_reached(&mut self, sample: &AckSample) {
        let rate = sample.rate.rate();
        if self.full_pipe.now || !self.model.round_start || rate == 0 || self.is_starved(sample) {
            return;
        }
        if rate.saturating_mul(100) >= self.full_pipe.bw.saturating_mul(FULL_BW_GROWTH) {
            self.full_pipe.reset(rate);
            return;
        }
        self.full_pipe.count += 1;
        self.full_pipe.now = self.full_pipe.count >= FULL_BW_ROUNDS;
        self.full_pipe.reached |= self.full_pipe.now;
    }

    /// Returns true if the sample is application-limited and cannot show a full pipe, because the
    /// bytes in flight would not fill a path with a quarter more bandwidth.
    fn is_starved(&self, sample: &AckSample) -> bool {
        let needed = self.full_pipe.bw.saturating_mul(FULL_BW_GROWTH) / 100;
        let filled = self
            .model
            .bdp(needed)
            .is_some_and(|bdp| u64::from(sample.rate.tx_in_flight) >= bdp);
        self.is_app_limited(sample) && !filled
    }

    /// CheckStartupDone. §5.3.1.1.
    pub(super) fn check_startup_done(&mut self, sample: &AckSample) {
        self.check_startup_high_loss(sample);
        if self.state == BbrState::Startup && self.full_pipe.reached {
            self.enter_drain();
        }
    }

    /// CheckStartupHighLoss. §5.3.1.3.
    fn check_startup_high_loss(&mut self, sample: &AckSample) {
        let loss_events = if self.bounds.loss_round_start {
            core::mem::take(&mut self.bounds.loss_events_in_round)
        } else {
            return;
        };
        // `loss_round_start` counts round trips from the first loss, so the draft's condition that
        // recovery has lasted a round trip is met here.
        let is_high = loss_events >= STARTUP_FULL_LOSS_COUNT
            && self
                .bounds
                .is_too_high(sample.rate.lost, sample.rate.tx_in_flight);
        if self.state == BbrState::Startup && !self.full_pipe.reached && is_high {
            self.leave_startup_on_congestion();
        }
    }

    /// Leaves Startup because the queue overflowed or was marked before the
    /// pipe was found full.
    pub(super) fn leave_startup_on_congestion(&mut self) {
        self.undo.state = Some(BbrState::Startup);
        self.full_pipe.reached = true;
        self.bounds.inflight_longterm = self.bdp().max(self.bounds.inflight_latest);
        self.enter_drain();
    }

    /// EnterDrain. §5.3.2.
    fn enter_drain(&mut self) {
        self.state = BbrState::Drain;
        self.full_pipe.drain_start_round = self.model.round_count;
    }

    /// CheckDrainDone. §5.3.2.
    pub(super) fn check_drain_done(&mut self, sample: &AckSample) {
        if self.state != BbrState::Drain {
            return;
        }
        let rounds = self
            .model
            .round_count
            .wrapping_sub(self.full_pipe.drain_start_round);
        if sample.in_flight <= self.inflight(self.model.bw) || rounds > DRAIN_ROUNDS {
            self.start_probe_bw_down(sample.now, sample.rate.total_delivered);
        }
    }
}
