//! The acknowledgment field: RFC 9293 §3.10.7.4, fifth step.
//!
//! Rule: recovery hears of it first, then congestion control, then the send
//! buffer gives up what arrived. Nothing is sent from here.

use fullpipe_pool::{Duration, Instant};
use fullpipe_wire::TcpFlags;

use super::{Connection, Env, State, Trigger};
use crate::{
    CloseReason, DiscardReason, Limit, Segment, SeqNum,
    congestion::{CongestionControl, Delivery, initial_window},
    recovery::OnDuplicate,
    trace::Event,
};

impl Connection {
    /// The fifth step.
    pub(super) fn check_ack(
        &mut self,
        segment: &Segment<'_>,
        env: &mut Env<'_>,
    ) -> Result<(), DiscardReason> {
        if !segment.has(TcpFlags::ACK) {
            return Err(DiscardReason::NoAck);
        }
        let ack = segment.ack;
        if self.state == State::SynReceived {
            if !(ack.after(self.send.snd_una) && ack.at_or_before(self.send.snd_max)) {
                self.pending.reset = Some((ack, None));
                self.wants_output = true;
                return Err(DiscardReason::AckOfUnsent);
            }
            self.establish(segment, env);
        }
        self.check_ack_range(ack, env)?;
        self.unanswered = 0;
        if segment.payload.is_empty() {
            env.counters.pure_acks += 1;
        }
        let is_duplicate = self.is_duplicate_ack(segment);
        let scale = if segment.has(TcpFlags::SYN) {
            0
        } else {
            self.agreed.snd_wscale
        };
        let window = u32::from(segment.window) << scale;
        if ack.after(self.send.snd_una) {
            self.on_new_ack(segment, env);
            if self.state == State::Closed {
                return Ok(());
            }
        } else if is_duplicate {
            self.on_duplicate_ack(segment, env);
        }
        if self.send.update_window(segment.seq, ack, window) {
            self.wants_output = true;
        }
        self.rearm_after_ack(env);
        Ok(())
    }

    /// RFC 5961 §5: an ACK of something never sent, or of something far too
    /// old, is a guess.
    fn check_ack_range(&mut self, ack: SeqNum, env: &mut Env<'_>) -> Result<(), DiscardReason> {
        if ack.after(self.send.snd_max) {
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

    /// RFC 5681 §2: text outstanding, nothing else in the segment, the same
    /// acknowledgment and the same window.
    fn is_duplicate_ack(&self, segment: &Segment<'_>) -> bool {
        let window = u32::from(segment.window) << self.agreed.snd_wscale;
        segment.ack == self.send.snd_una
            && self.send.snd_una != self.send.snd_max
            && segment.is_empty()
            && (window == self.send.snd_wnd || !segment.options.sack.is_empty())
    }

    fn on_duplicate_ack(&mut self, segment: &Segment<'_>, env: &mut Env<'_>) {
        let mss = self.mss(env);
        let in_flight = self.send.in_flight();
        let (una, max) = (self.send.snd_una, self.send.snd_max);
        let blocks = segment.options.sack.iter();
        // A block from before `snd_una` is a DSACK: it reports nothing new.
        let sacked = blocks
            .filter(|block| SeqNum(block.left).after(una) && SeqNum(block.right).at_or_before(max))
            .map(|block| SeqNum(block.left).room_to(SeqNum(block.right)))
            .sum();
        match self.recovery.on_duplicate(una, max, sacked, mss) {
            OnDuplicate::Counted => {}
            OnDuplicate::LossFound => {
                env.counters.fast_retrans += 1;
                self.tally.fast_recoveries += 1;
                self.congestion.on_loss(in_flight, mss);
                self.record_window(env);
            }
        }
        self.wants_output = true;
    }

    /// Something new is acknowledged.
    fn on_new_ack(&mut self, segment: &Segment<'_>, env: &mut Env<'_>) {
        let ack = segment.ack;
        let mss = self.mss(env);
        let in_flight = self.send.in_flight();
        let fin_acked = self.send.fin_acked_by(ack);
        let acked = self.send.acknowledge(ack, env.pool);
        self.tally.bytes_acked += u64::from(acked);
        self.progress = env.now;
        let echo = self.echo_age(segment, env.now);
        if let Some(sample) = self.rtt.on_ack(ack, echo, env.now, env.config) {
            self.record_rtt(sample, env);
        }
        self.rtt.end_backoff();
        let was_recovering = self.is_recovering();
        let recovered = self.recovery.on_ack(ack, acked, mss);
        let slow_start = self.congestion.cwnd() < self.congestion.ssthresh();
        let after_timeout =
            was_recovering && self.recovery.credit() == 0 && !self.recovery.head_is_due();
        if !was_recovering || (after_timeout && !recovered && slow_start) {
            // In slow start the window counts as tested when half of it is in
            // use: it doubles within the round trip.
            let tested = slow_start && in_flight.saturating_mul(2) >= self.congestion.cwnd();
            let cwnd_limited = self.cwnd_limited || tested;
            self.congestion.on_delivery(Delivery {
                acked,
                mss,
                cwnd_limited,
            });
            self.record_window(env);
        }
        self.wants_output = true;
        if fin_acked {
            self.on_fin_acked(env);
        }
    }

    fn on_fin_acked(&mut self, env: &mut Env<'_>) {
        match self.state {
            State::FinWait1 | State::Closing => self.transition(Trigger::FinAcked, env),
            State::LastAck => {
                self.transition(Trigger::FinAcked, env);
                self.end(CloseReason::Finished, env);
            }
            State::SynSent
            | State::SynReceived
            | State::Established
            | State::FinWait2
            | State::CloseWait
            | State::TimeWait
            | State::Closed => {}
        }
        if self.state == State::TimeWait {
            self.finish_sending(env);
        }
    }

    /// Everything this side had to send is acknowledged for good.
    pub(super) fn finish_sending(&mut self, env: &mut Env<'_>) {
        self.timers.retransmit.clear();
        self.timers.persist.clear();
        self.timers.keepalive.clear();
        self.set_limit(Limit::Closing, env);
    }

    /// RFC 6298 §5.2 and §5.3: the timer runs while something is outstanding,
    /// and starts anew with each ACK that moves `snd_una`.
    fn rearm_after_ack(&mut self, env: &mut Env<'_>) {
        if self.progress == env.now {
            self.timers.retransmit.clear();
            if self.send.snd_una != self.send.snd_nxt {
                self.arm_retransmit(env);
            }
        }
        if self.send.window_room() > 0 && !self.timers.persist.is_set() {
            return;
        }
        // The persist timer is set again by `poll_segment` if it is still needed.
        self.timers.persist.clear();
        self.wants_output = true;
    }

    /// Starts the retransmission timer.
    pub(super) fn arm_retransmit(&mut self, env: &mut Env<'_>) {
        let deadline = env.now + self.rtt.rto(env.config);
        self.timers
            .retransmit
            .set(self.within_user_timeout(deadline, env));
    }

    /// `deadline`, or when the user timeout runs out if that is sooner.
    pub(super) fn within_user_timeout(&self, deadline: Instant, env: &Env<'_>) -> Instant {
        let user_timeout = self.tuning.user_timeout;
        if user_timeout.is_zero() {
            return deadline;
        }
        deadline.min((self.progress + user_timeout).max(env.now))
    }

    /// How long ago the timestamp left that `segment` echoes.
    pub(super) fn echo_age(&self, segment: &Segment<'_>, now: Instant) -> Option<Duration> {
        let stamp = segment
            .options
            .timestamps
            .filter(|_| self.agreed.timestamps)?;
        self.timestamps.age(stamp.echo, now)
    }

    pub(super) fn record_rtt(&self, sample: Duration, env: &mut Env<'_>) {
        env.record(Event::Rtt {
            sample_us: sample.as_micros() as u32,
            srtt_us: self.rtt.srtt().as_micros() as u32,
            rttvar_us: self.rtt.rttvar().as_micros() as u32,
            rto_us: self.rtt.rto(env.config).as_micros() as u32,
        });
    }

    /// A pause of more than a retransmission timeout makes the congestion
    /// window stale. RFC 5681 §4.1.
    pub(super) fn restart_after_idle(&mut self, env: &mut Env<'_>) {
        let idle = self.send.snd_una == self.send.snd_max;
        if idle && env.now.since(self.spoke) > self.rtt.rto(env.config) {
            let mss = self.mss(env);
            self.congestion.on_idle(initial_window(env.config, mss));
        }
    }
}
