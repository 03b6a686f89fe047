//! Expired timers.
//!
//! Rule: a timeout changes state and sends nothing; `poll_segment` sends.

use super::{Connection, Env, TcpState, Trigger};
use crate::{CloseReason, Limit, trace::TraceEvent};

impl Connection {
    /// Acts on every deadline that is not after `env.now`.
    pub fn on_timeout(&mut self, env: &mut Env<'_>) {
        if self.state.is_synchronized() {
            self.note_idle_path(env);
        }
        if self.timers.linger.take_if_due(env.now) {
            self.on_linger_over(env);
        }
        if self.timers.ack.take_if_due(env.now) {
            env.counters.delayed_acks += 1;
            self.demand_ack();
        }
        if self.timers.cork.take_if_due(env.now) {
            self.pending.override_sws = true;
            self.wants_output = true;
        }
        if self.timers.pacing.take_if_due(env.now) {
            self.wants_output = true;
        }
        if self.timers.deferral.take_if_due(env.now) {
            self.pending.deferred_enough = true;
            self.wants_output = true;
        }
        if self.timers.reordering.take_if_due(env.now) {
            self.on_reordering_timeout(env);
        }
        if self.timers.tail.take_if_due(env.now) {
            self.on_tail_timeout(env);
        }
        if self.timers.retransmit.take_if_due(env.now) {
            self.on_retransmit_timeout(env);
        }
        if self.timers.persist.take_if_due(env.now) {
            self.on_persist_timeout(env);
        }
        if self.timers.keepalive.take_if_due(env.now) {
            self.on_keepalive_timeout(env);
        }
    }

    fn on_linger_over(&mut self, env: &mut Env<'_>) {
        match self.state {
            TcpState::TimeWait => {
                self.transition(Trigger::TimeOver, env);
                self.end(CloseReason::Finished, env);
            }
            // The peer never closed its direction, and no application waits for the peer's FIN.
            TcpState::FinWait2 => self.end(CloseReason::TimedOut, env),
            TcpState::SynSent
            | TcpState::SynReceived
            | TcpState::Established
            | TcpState::FinWait1
            | TcpState::CloseWait
            | TcpState::Closing
            | TcpState::LastAck
            | TcpState::Closed => {}
        }
    }

    /// Notes that the ACK is overdue, and makes a tail loss probe due. Without SACK, or with
    /// tail loss probes off, only the retransmission timer responds to the missing ACK.
    fn on_tail_timeout(&mut self, env: &Env<'_>) {
        self.ack_is_overdue = true;
        self.wants_output = true;
        if self.probes_tails(env) {
            self.timers.retransmit.clear();
            self.pending.tail_probe = true;
        }
    }

    /// Responds to the retransmission timer. RFC 6298 §5.4 to §5.7, RFC 9293 §3.8.3.
    fn on_retransmit_timeout(&mut self, env: &mut Env<'_>) {
        if self.send.outstanding() == 0 {
            return self.on_next_hop_timeout(env);
        }
        env.counters.timeouts += 1;
        self.totals.timeouts += 1;
        let first = self.recovery.timeouts() == 0;
        let flight_size = self.send.outstanding();
        self.expire_outstanding(env);
        env.record(TraceEvent::Timeout(self.recovery.timeouts()));
        let handshake = !self.state.is_synchronized();
        let retries = if handshake {
            self.settings.syn_retries.into()
        } else {
            self.retries_allowed(env)
        };
        if self.recovery.timeouts() > retries || self.user_timeout_is_over(env) {
            return self.give_up(env);
        }
        self.rtt.back_off();
        self.arm_retransmit(env);
        self.wants_output = true;
        if handshake {
            self.pending.syn = true;
            return;
        }
        let event = self.congestion_event(flight_size, env);
        self.congestion
            .on_timeout(&event, self.send.window_of_data(), first);
        self.owe_cwr();
        self.suspect_black_hole(env);
        self.record_window(env);
        self.set_limit(Limit::Recovery, env);
    }

    /// Handles an expiry of the retransmission timer with nothing in flight: the due
    /// segment still waits for its next hop.
    fn on_next_hop_timeout(&mut self, env: &mut Env<'_>) {
        if !self.wants_output {
            return;
        }
        let retries = match self.state.is_synchronized() {
            true => self.retries_allowed(env),
            false => env.config.syn_retries,
        };
        if u32::from(self.unanswered) >= retries || self.user_timeout_is_over(env) {
            if self.state != TcpState::Closed {
                return self.give_up(env);
            }
            // Drop the reset: its next hop was not resolved, and nothing retransmits it.
            self.pending.reset = None;
            self.wants_output = false;
            return;
        }
        self.unanswered = self.unanswered.saturating_add(1);
        self.arm_next_hop(env);
    }

    /// Returns R2: the number of consecutive timeouts after which the connection is
    /// dropped.
    fn retries_allowed(&self, env: &Env<'_>) -> u32 {
        if self.orphan {
            env.config.orphan_retries
        } else {
            env.config.retries2
        }
    }

    /// Marks all bytes in flight as lost.
    fn expire_outstanding(&mut self, env: &mut Env<'_>) {
        self.timers.tail.clear();
        self.timers.reordering.clear();
        self.pending.tail_probe = false;
        let congestion = &mut self.congestion;
        self.recovery.on_timeout(
            self.send.snd_una,
            self.send.snd_nxt,
            env.now,
            &mut self.rate,
            &mut |lost| congestion.on_range_lost(&lost),
            env.sent,
        );
    }

    /// Responds to RACK's reordering timer.
    fn on_reordering_timeout(&mut self, env: &mut Env<'_>) {
        let flight_size = self.send.outstanding();
        let input = self.recovery_input(self.send.snd_una, env);
        let congestion = &mut self.congestion;
        let (change, reordering_deadline) = self.recovery.on_reordering_timeout(
            &input,
            &mut self.rate,
            &mut |lost| congestion.on_range_lost(&lost),
            env.sent,
        );
        self.set_reordering_deadline(reordering_deadline);
        self.follow_recovery(change, flight_size, env);
        self.wants_output = true;
    }

    /// Responds to the persist timer.
    fn on_persist_timeout(&mut self, env: &mut Env<'_>) {
        self.wants_output = true;
        if self.send.window_room() > 0 {
            self.pending.override_sws = true;
            return;
        }
        let retries_allowed = self.retries_allowed(env);
        if u32::from(self.unanswered) >= retries_allowed || self.user_timeout_is_over(env) {
            return self.give_up(env);
        }
        if self.orphan && u32::from(self.probes) >= retries_allowed {
            // The peer answers and never opens its window, so the peer gets a reset.
            env.counters.abort_on_timeout += 1;
            return self.abort_with(CloseReason::TimedOut, env);
        }
        self.unanswered = self.unanswered.saturating_add(1);
        self.probes = self.probes.saturating_add(1);
        self.rtt.back_off();
        self.pending.probe = true;
    }

    /// Responds to the keepalive timer. RFC 9293 §3.8.4.
    fn on_keepalive_timeout(&mut self, env: &mut Env<'_>) {
        let idle = env.now.since(self.last_received_at);
        if idle < self.settings.keepalive_time.get() {
            return self.restart_keepalive(env);
        }
        if !self.send.is_idle() {
            // Unacknowledged or unsent data needs no keepalive probe, because the retransmission or
            // the persist timer detects a dead peer. Check again after the keepalive time or the
            // keepalive interval, whichever is longer, and not before the next timer expires. While
            // the device is full, possibly no other timer runs; the longer of the two times then
            // applies alone.
            let pause = self.settings.keepalive_time.get();
            let next = env.now + pause.max(self.settings.keepalive_interval.get());
            let watch = self.timers.next().unwrap_or(next);
            return self.timers.keepalive.set(next.max(watch));
        }
        if self.unanswered >= self.settings.keepalive_probes {
            return self.give_up(env);
        }
        self.unanswered = self.unanswered.saturating_add(1);
        self.pending.keepalive = true;
        self.wants_output = true;
        self.timers
            .keepalive
            .set(env.now + self.settings.keepalive_interval.get());
    }

    /// Starts the keepalive timer from the last segment that arrived.
    pub(super) fn restart_keepalive(&mut self, _env: &mut Env<'_>) {
        self.timers.keepalive.clear();
        if !self.settings.keepalive_time.get().is_zero() && self.state.is_synchronized() {
            self.timers
                .keepalive
                .set(self.last_received_at + self.settings.keepalive_time.get());
        }
    }

    fn user_timeout_is_over(&self, env: &Env<'_>) -> bool {
        let user_timeout = self.settings.user_timeout.get();
        !user_timeout.is_zero() && env.now.since(self.progress_at) >= user_timeout
    }

    /// Ends the connection without a reset, because the peer does not answer.
    /// RFC 9293 §3.8.3.
    fn give_up(&mut self, env: &mut Env<'_>) {
        env.counters.abort_on_timeout += 1;
        self.end(CloseReason::TimedOut, env);
    }
}
