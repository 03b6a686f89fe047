//! ProbeRTT: little in flight for 200 ms, to measure the round trip without a
//! queue. draft-ietf-ccwg-bbr-06 §5.3.4.
//!
//! Rule: ProbeRTT starts after five seconds without a new shortest round trip. If the
//! connection has just been idle, ProbeRTT does not start, because idle time also empties
//! the queue. The estimate of the shortest round trip lasts ten seconds, so that it spans
//! two ProbeRTT phases.

use fullpipe_pool::{Duration, Instant};

use super::{
    model::INFINITE,
    state::{AckPhase, Bbr, BbrState},
};
use crate::congestion::control::AckSample;

/// BBR.MinRTTFilterLen.
const MIN_RTT_FILTER_LEN: Duration = Duration::from_secs(10);
/// BBR.ProbeRTTInterval.
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// BBR.ProbeRTTDuration.
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);

impl Bbr {
    /// Returns true if the application, or the small window of ProbeRTT, limited the
    /// sample.
    pub(super) fn is_app_limited(&self, sample: &AckSample) -> bool {
        sample.rate.app_limited || sample.rate.prior_delivered < self.probe_rtt.starved_until
    }

    /// UpdateMinRTT. §5.3.4.3.
    pub(super) fn update_min_rtt(&mut self, sample: &AckSample) {
        let now = sample.now;
        let (probe, model) = (&mut self.probe_rtt, &mut self.model);
        probe.expired =
            probe.min_delay_us != INFINITE && now > probe.min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt_us) = sample.rate.rtt_us
            && (rtt_us < probe.min_delay_us || probe.expired)
        {
            probe.min_delay_us = rtt_us.max(1);
            probe.min_stamp = now;
        }
        let min_rtt_expired = now > model.min_rtt_stamp + MIN_RTT_FILTER_LEN;
        if probe.min_delay_us < model.min_rtt_us || min_rtt_expired {
            model.min_rtt_us = probe.min_delay_us;
            model.min_rtt_stamp = probe.min_stamp;
        }
    }

    /// CheckProbeRTT. §5.3.4.3.
    pub(super) fn check_probe_rtt(&mut self, sample: &AckSample) {
        if self.state != BbrState::ProbeRtt && self.probe_rtt.expired && !self.idle_restart {
            self.save_cwnd();
            self.state = BbrState::ProbeRtt;
            self.probe_rtt.done_stamp = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.model.start_round(sample.rate.total_delivered);
        }
        if self.state == BbrState::ProbeRtt {
            self.handle_probe_rtt(sample);
        }
        if sample.rate.newly_acked > 0 {
            self.idle_restart = false;
        }
    }

    /// HandleProbeRTT. §5.3.4.3.
    fn handle_probe_rtt(&mut self, sample: &AckSample) {
        let delivered = sample.rate.total_delivered;
        // MarkConnectionAppLimited: the low rate is ProbeRTT's own effect.
        self.probe_rtt.starved_until = delivered + u64::from(sample.in_flight).max(1);
        if self.probe_rtt.done_stamp.is_none() {
            if sample.in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt.done_stamp = Some(sample.now + PROBE_RTT_DURATION);
                self.probe_rtt.round_done = false;
                self.model.start_round(delivered);
            }
            return;
        }
        self.probe_rtt.round_done |= self.model.round_start;
        if self.probe_rtt.round_done {
            self.check_probe_rtt_done(sample.now);
        }
    }

    /// ProbeRTTCwnd. §5.6.4.5.
    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        let (_, gain) = BbrState::ProbeRtt.gains();
        self.bdp_of(self.model.bw, gain).max(self.min_pipe_cwnd())
    }

    /// CheckProbeRTTDone and ExitProbeRTT. §5.3.4.3, §5.3.4.4.
    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.probe_rtt.done_stamp.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_rtt.min_stamp = now;
        self.restore_cwnd();
        self.bounds.reset_short_term();
        if self.full_pipe.reached {
            self.start_probe_bw_down(now, self.probe_rtt.starved_until);
            self.start_probe_bw_cruise();
        } else {
            self.enter_startup();
        }
    }
}
