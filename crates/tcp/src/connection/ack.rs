//! The acknowledgment field: RFC 9293 §3.10.7.4, fifth step.
//!
//! Rule: recovery takes an ACK first, then the send buffer frees acknowledged payload, then
//! congestion control responds. This file sends nothing.

use fullpipe_pool::{Count, Duration, Instant};
use fullpipe_wire::TcpFlags;

use super::{Connection, Env, TcpState, Trigger};
use crate::{
    CloseReason, DiscardReason, Limit, Segment, SeqNum,
    congestion::{AckSample, CongestionEvent, initial_window},
    recovery::{AckIn, AckOut, PathState, RecoveryChange, RecoveryPhase, TailLoss, tick},
    trace::{RecoveryEvent, TraceEvent},
};

impl Connection {
    /// Fifth step: processes the acknowledgment field.
    pub(super) fn check_ack(
        &mut self,
        segment: &Segment<'_>,
        env: &mut Env<'_>,
    ) -> Result<(), DiscardReason> {
        if !segment.has(TcpFlags::ACK) {
            return Err(DiscardReason::NoAck);
        }
        let ack = segment.ack;
        if self.state == TcpState::SynReceived {
            if !(ack.after(self.send.snd_una) && ack.at_or_before(self.send.snd_nxt)) {
                self.pending.reset = Some((ack, None));
                self.wants_output = true;
                return Err(DiscardReason::AckOfUnsent);
            }
            self.establish(segment, self.recovery.timeouts(), env);
        }
        self.check_ack_range(ack, env)?;
        self.unanswered = 0;
        if segment.payload.is_empty() {
            env.counters.pure_acks += 1;
        }
        let scale = if segment.has(TcpFlags::SYN) {
            0
        } else {
            self.agreed.snd_wscale
        };
        let window = u32::from(segment.window) << scale;
        // Take SACK blocks even from an ACK that a later ACK overtook, because they may report
        // payload that no later ACK reports.
        let reports = self.agreed.has_sack() && !segment.options.sack.is_empty();
        let is_old = ack.before(self.send.snd_una);
        // Process an ACK even if nothing is outstanding, because a DSACK that undoes the recovery
        // may arrive after everything is acknowledged.
        let may_undo = reports && self.recovery.may_be_spurious();
        if (self.send.outstanding() > 0 || may_undo) && (!is_old || reports) {
            self.on_ack(segment, env);
            if self.state == TcpState::Closed {
                return Ok(());
            }
        }
        self.take_window(segment, window, env);
        Ok(())
    }

    /// Stores the window of an ACK, `window` bytes, and sets the timers that depend on the window.
    ///
    /// Only an ACK that is not old updates the window (RFC 9293 §3.10.7.4). The window of an
    /// old ACK counts from its SEG.ACK, and segments sent later may have used up this window.
    pub(super) fn take_window(&mut self, segment: &Segment<'_>, window: u32, env: &mut Env<'_>) {
        let current = segment.ack.at_or_after(self.send.snd_una);
        let largest = self.send.max_snd_wnd;
        if current && self.send.update_window(segment.seq, segment.ack, window) {
            self.wants_output = true;
        }
        if self.send.max_snd_wnd > largest {
            self.update_mss(env);
        }
        self.rearm_after_ack(env);
    }

    /// Discards an ACK of bytes that were never sent, or one that is far too
    /// old. RFC 5961 §5.
    fn check_ack_range(&mut self, ack: SeqNum, env: &mut Env<'_>) -> Result<(), DiscardReason> {
        if ack.after(self.send.snd_nxt) {
            self.challenge(env);
            return Err(DiscardReason::AckOfUnsent);
        }
        let oldest = self.send.snd_una - self.send.max_snd_wnd;
        if ack.before(oldest) {
            self.challenge(env);
            return Err(DiscardReason::AckTooOld);
        }
        Ok(())
    }

    /// Returns true if the ACK is a duplicate: no payload, the same
    /// acknowledgment number and the same window. RFC 5681 §2.
    fn is_duplicate_ack(&self, segment: &Segment<'_>) -> bool {
        let window = u32::from(segment.window) << self.agreed.snd_wscale;
        segment.ack == self.send.snd_una && segment.is_empty() && window == self.send.snd_wnd
    }

    /// Processes an ACK while sequence numbers are outstanding, or one that may undo a
    /// recovery.
    fn on_ack(&mut self, segment: &Segment<'_>, env: &mut Env<'_>) {
        self.note_idle_path(env);
        let mss = self.mss(env);
        let flight_size = self.send.outstanding();
        let advanced = segment.ack.after(self.send.snd_una);
        let oldest = self.recovery.board().iter(env.sent).next();
        let oldest = oldest.map_or(env.now, |oldest| oldest.sent_at);
        let out = self.update_recovery(segment, env);
        let fin_acked = self.send.fin_acked_by(segment.ack);
        if advanced {
            let acked = self.send.acknowledge(segment.ack, env.pool);
            self.totals.bytes_acked += u64::from(acked);
            self.progress_at = env.now;
            self.note_busy(env.now);
            self.note_arrival(env);
        }
        if let Some(reordering_deadline) = out.reordering_deadline {
            self.set_reordering_deadline(reordering_deadline);
        }
        let sample = self.sample(segment, advanced, env);
        if let Some(rtt_us) = sample.rtt_us.filter(|_| advanced) {
            self.pairs.on_ack(oldest, rtt_us, env.now);
        }
        self.follow_recovery(out.change, flight_size, env);
        if out.probe_repaired {
            self.respond_to_loss(flight_size, env);
        }
        env.counters.dsack_recv += Count::from(out.dsack);
        let recovering = self.recovery.phase() == RecoveryPhase::Fast;
        if recovering {
            let ssthresh = self.congestion.ssthresh();
            self.recovery.pace(&out, advanced, ssthresh, mss);
        }
        let sample = AckSample {
            acked: self.window_use.growth(out.delivered, advanced, recovering),
            rate: sample,
            now: env.now,
            in_flight: self.recovery.board().in_flight(),
            mss,
            srtt_us: self.rtt.srtt().as_micros() as u32,
            cwnd_limited: self.window_use.on_ack(sample.round_start),
            recovering,
            // Respond once for each window of data (RFC 3168 §6.1.2). Ignore the echo if nothing is
            // outstanding, because FlightSize, from which the window is reduced, is then 0. Ignore
            // the echo of an ACK that was overtaken, because a later ACK has reported the mark.
            ece: self.reports_congestion_mark(segment, out.delivered, env)
                && flight_size > 0
                && !segment.ack.before(self.send.snd_una),
        };
        let window = self.send.window_of_data();
        if self.congestion.on_ack(&sample, flight_size, window) {
            env.record(TraceEvent::Recovery(RecoveryEvent::MarkResponse));
            self.owe_cwr();
        }
        self.size_send_buffer(env);
        self.record_window(env);
        self.wants_output = true;
        // Restart the timer of the tail loss probe after a SACK, too, because a SACK also changes
        // the probe's time.
        if advanced || out.delivered > 0 {
            self.ack_is_overdue = false;
            self.arm_tail(env);
        }
        if fin_acked {
            self.on_fin_acked(env);
        }
    }

    /// Passes an ACK to recovery.
    pub(super) fn update_recovery(&mut self, segment: &Segment<'_>, env: &mut Env<'_>) -> AckOut {
        let echoed_at = self
            .echo_age(segment, env.now)
            .map(|age| tick(env.now) - age);
        let input = AckIn {
            sack: self
                .agreed
                .has_sack()
                .then_some(segment.options.sack.as_slice()),
            is_duplicate: self.is_duplicate_ack(segment),
            echoed_at,
            ..self.recovery_input(segment.ack, env)
        };
        let congestion = &mut self.congestion;
        self.recovery.on_ack(
            &input,
            &mut self.rate,
            &mut |lost| congestion.on_range_lost(&lost),
            env.sent,
        )
    }

    /// Returns recovery's inputs without the contents of an ACK, for a timer that
    /// expired.
    pub(super) fn recovery_input(&self, ack: SeqNum, env: &Env<'_>) -> AckIn<'static> {
        AckIn {
            now: env.now,
            ack,
            snd_una: self.send.snd_una,
            snd_nxt: self.send.snd_nxt,
            sack: None,
            is_duplicate: false,
            echoed_at: None,
            path: PathState {
                mss: self.mss(env),
                srtt: self.rtt.srtt(),
                min_rtt: self.rtt.min_rtt(),
            },
        }
    }

    /// Takes the rate sample and the round-trip time sample of an ACK.
    pub(super) fn sample(
        &mut self,
        segment: &Segment<'_>,
        advanced: bool,
        env: &mut Env<'_>,
    ) -> crate::congestion::RateSample {
        let min_rtt_us = self.rtt.min_rtt().map_or(0, |rtt| rtt.as_micros() as u32);
        let sample = self.rate.sample(min_rtt_us);
        let measured = sample.rtt_us.map(|us| Duration::from_micros(us.into()));
        let echoed = || self.echo_age(segment, env.now).filter(|_| advanced);
        if let Some(rtt) = measured.or_else(echoed) {
            self.rtt.add_sample(rtt, env.config);
            self.record_rtt(rtt, env);
        }
        sample
    }

    /// Lets congestion control respond to a change of the recovery phase.
    pub(super) fn follow_recovery(
        &mut self,
        change: RecoveryChange,
        flight_size: u32,
        env: &mut Env<'_>,
    ) {
        match change {
            // The loss of an MTU probe is counted when its payload is retransmitted.
            RecoveryChange::Unchanged | RecoveryChange::MtuProbeLost => {}
            RecoveryChange::LossFound => {
                env.record(TraceEvent::Recovery(RecoveryEvent::FastRecovery));
                env.counters.fast_retrans += 1;
                self.totals.fast_recoveries += 1;
                self.timers.tail.clear();
                self.owe_cwr();
                self.respond_to_loss(flight_size, env);
            }
            RecoveryChange::Recovered => {
                env.record(TraceEvent::Recovery(RecoveryEvent::Recovered));
                self.congestion.on_recovery_exit();
            }
            RecoveryChange::Spurious => {
                env.record(TraceEvent::Recovery(RecoveryEvent::Undone));
                env.counters.undos += 1;
                self.congestion.on_undo();
            }
        }
    }

    fn respond_to_loss(&mut self, flight_size: u32, env: &Env<'_>) {
        let event = self.congestion_event(flight_size, env);
        self.congestion.on_loss(&event, self.send.window_of_data());
    }

    pub(super) fn congestion_event(&self, flight_size: u32, env: &Env<'_>) -> CongestionEvent {
        CongestionEvent {
            now: env.now,
            flight_size,
            in_flight: self.recovery.board().in_flight(),
            mss: self.mss(env),
            total_delivered: self.rate.delivered(),
        }
    }

    pub(super) fn set_reordering_deadline(&mut self, reordering_deadline: Option<Instant>) {
        self.timers.reordering.clear();
        if let Some(at) = reordering_deadline {
            self.timers.reordering.set(at);
        }
    }

    fn on_fin_acked(&mut self, env: &mut Env<'_>) {
        match self.state {
            TcpState::FinWait1 | TcpState::Closing => self.transition(Trigger::FinAcked, env),
            TcpState::LastAck => {
                self.transition(Trigger::FinAcked, env);
                self.end(CloseReason::Finished, env);
            }
            TcpState::SynSent
            | TcpState::SynReceived
            | TcpState::Established
            | TcpState::FinWait2
            | TcpState::CloseWait
            | TcpState::TimeWait
            | TcpState::Closed => {}
        }
        if self.state == TcpState::TimeWait {
            self.finish_sending(env);
        }
    }

    /// Stops the timers of the sending half: everything is acknowledged.
    pub(super) fn finish_sending(&mut self, env: &mut Env<'_>) {
        self.timers.retransmit.clear();
        self.timers.persist.clear();
        self.timers.tail.clear();
        self.timers.keepalive.clear();
        self.set_limit(Limit::Closing, env);
    }

    /// Restarts the retransmission timer after an ACK that advances `snd_una`, if
    /// something is still outstanding. RFC 6298 §5.2, §5.3.
    fn rearm_after_ack(&mut self, env: &mut Env<'_>) {
        if self.progress_at == env.now {
            self.timers.retransmit.clear();
            if self.send.outstanding() > 0 {
                self.arm_retransmit(env);
            }
        }
        if self.probes > 0 && self.send.window_room() > 0 {
            // End the backoff, which counted window probes: the peer has answered them.
            self.rtt.end_backoff();
        }
        if self.progress_at == env.now || self.send.window_room() > 0 {
            self.probes = 0;
        }
        if !self.timers.persist.is_set() {
            return;
        }
        // `poll_segment` sets the persist timer again if it is still needed.
        self.timers.persist.clear();
        self.wants_output = true;
        // Restart the retransmission timer, which the persist timer had stopped (RFC 6298 §5.2), if
        // an undo has put bytes back in flight, such as the byte of a window probe.
        if self.recovery.board().in_flight() > 0 {
            self.arm_retransmit(env);
        }
    }

    /// Starts the retransmission timer.
    pub(super) fn arm_retransmit(&mut self, env: &mut Env<'_>) {
        let deadline = env.now + self.rtt.rto(env.config);
        let deadline = self.within_user_timeout(deadline, env);
        self.timers.retransmit.set(deadline);
    }

    /// Starts the timer after which a missing ACK counts as overdue. With SACK, a tail loss probe
    /// then leaves, in two cases: no loss is known (RFC 8985 §7.2), or the last retransmission may
    /// be lost and nothing was sent after it that could show its loss.
    pub(super) fn arm_tail(&mut self, env: &mut Env<'_>) {
        self.timers.tail.clear();
        let in_flight = self.recovery.board().in_flight();
        let useful = self.state.is_synchronized()
            && self.recovery.phase() != RecoveryPhase::Timeout
            && !self.recovery.is_probing()
            && in_flight > 0;
        if useful {
            let mss = self.mss(env);
            // Allow for a delayed ACK while less than two segments are in flight (RFC 9293
            // §3.8.6.3). If a tail loss probe may follow, allow for a delayed ACK only while at
            // most one segment is in flight (RFC 8985 §7.2).
            let may_be_delayed = if self.probes_tails(env) {
                in_flight <= mss
            } else {
                in_flight < 2 * mss
            };
            // Allow no delay during a repair: the ACK for a retransmission that fills a hole is not
            // delayed.
            let lone = !self.is_repairing() && may_be_delayed;
            let rto = self.rtt.rto(env.config);
            let at = env.now + TailLoss::timeout(self.rtt.srtt(), lone, rto);
            // Set this timer no later than the retransmission timer: a probe never leaves after the
            // timeout (RFC 8985 §7.2), and the probe restarts the timeout.
            let timeout = self.timers.retransmit.get().unwrap_or(at);
            self.timers.tail.set(at.min(timeout));
        }
    }

    /// Returns true if an overdue ACK makes a tail loss probe due. RFC 8985 §7.1.
    pub(super) const fn probes_tails(&self, env: &Env<'_>) -> bool {
        self.agreed.has_sack() && env.config.tail_loss_probe
    }

    /// Returns true during fast recovery, or while ranges are SACKed.
    pub(super) fn is_repairing(&self) -> bool {
        self.recovery.phase() == RecoveryPhase::Fast || self.recovery.board().sacked() > 0
    }

    /// Returns `deadline`, or the end of the user timeout if that is earlier.
    pub(super) fn within_user_timeout(&self, deadline: Instant, env: &Env<'_>) -> Instant {
        let user_timeout = self.settings.user_timeout.get();
        if user_timeout.is_zero() {
            return deadline;
        }
        deadline.min((self.progress_at + user_timeout).max(env.now))
    }

    /// Returns the age of the timestamp that `segment` echoes.
    pub(super) fn echo_age(&self, segment: &Segment<'_>, now: Instant) -> Option<Duration> {
        let stamp = segment
            .options
            .timestamps
            .filter(|_| self.agreed.timestamps)?;
        self.timestamps.age(stamp.echo, now)
    }

    pub(super) fn record_rtt(&self, sample: Duration, env: &mut Env<'_>) {
        env.record(TraceEvent::Rtt {
            sample_us: sample.as_micros() as u32,
            srtt_us: self.rtt.srtt().as_micros() as u32,
            rttvar_us: self.rtt.rttvar().as_micros() as u32,
            rto_us: self.rtt.rto(env.config).as_micros() as u32,
        });
    }

    /// Lowers the congestion window after a pause of more than a retransmission
    /// timeout. RFC 5681 §4.1.
    pub(super) fn restart_after_idle(&mut self, env: &mut Env<'_>) {
        let idle = self.send.outstanding() == 0;
        if idle && env.now.since(self.last_sent_at) > self.rtt.rto(env.config) {
            let mss = self.mss(env);
            self.congestion.on_idle(initial_window(env.config, mss));
        }
    }
}
