//! Payload and FIN of an acceptable segment: RFC 9293 §3.10.7.4, seventh and
//! eighth step.
//!
//! Rule: an ACK is due for all payload that is accepted; `AckPolicy` decides when it
//! leaves.

use fullpipe_pool::Count;
use fullpipe_wire::TcpFlags;

use super::{Connection, Env, TcpState, Trigger};
use crate::{
    CloseReason, DiscardReason, Segment,
    receive::{Arrival, OutOfOrderLimits},
};

impl Connection {
    /// Accepts payload and FIN of a segment.
    pub(super) fn take_payload_and_fin(&mut self, segment: &Segment<'_>, env: &mut Env<'_>) {
        if !segment.payload.is_empty() {
            self.take_payload(segment, env);
        }
        if self.state == TcpState::Closed {
            return;
        }
        if segment.has(TcpFlags::FIN) {
            let fin = segment.end() - 1;
            // Ignore a FIN beyond the window, because it followed payload that was refused.
            if fin.at_or_before(self.receive.rcv_adv) && self.receive.note_fin(fin) {
                self.demand_ack();
            }
        }
        self.take_fin(env);
        self.update_receive_limit(env);
    }

    /// Queues payload and FIN of a SYN that crossed this side's SYN. The application can read the
    /// payload when the handshake is complete. RFC 9293 §3.10.7.3.
    pub(super) fn queue_early_payload(&mut self, segment: &Segment<'_>, env: &mut Env<'_>) {
        if !segment.payload.is_empty() {
            self.take_payload(segment, env);
        }
        let fin = segment.end() - 1;
        if segment.has(TcpFlags::FIN) && fin.at_or_before(self.receive.rcv_adv) {
            self.receive.note_fin(fin);
        }
    }

    fn take_payload(&mut self, segment: &Segment<'_>, env: &mut Env<'_>) {
        if !self.state.may_receive() || self.receive.fin_received() {
            return env.discard(DiscardReason::PayloadAfterFin);
        }
        if self.orphan && segment.end().after(self.receive.rcv_nxt) {
            // No application will read the payload, so the peer gets a reset. RFC 1122
            // §4.2.2.13.
            env.counters.abort_on_data += 1;
            env.discard(DiscardReason::AfterClose);
            return self.abort_with(CloseReason::Aborted, env);
        }
        if !segment.has(TcpFlags::FIN) {
            let each = segment.payload.len() as u32 / u32::from(segment.merged.max(1));
            self.receive.rcv_mss = self.receive.rcv_mss.max(each.min(self.offer.mss.into()));
        }
        self.take_ecn(segment);
        self.receive
            .edges
            .on_payload(env.now, self.rtt.min_rtt(), self.receive.rcv_adv);
        let age = self.echo_age(segment, env.now);
        self.receive.sizing.on_payload(age);
        if self.receive.burst.is_some() || env.pool.is_short() {
            let (pause, scale) = (self.rtt.rto(env.config), self.agreed.rcv_wscale);
            self.receive.end_pause(env.now, pause, scale, env.pool);
        }
        let payload = segment.payload;
        self.receive.frame = payload.len() as u32;
        match self.receive.on_payload(
            segment.payload_seq(),
            payload,
            OutOfOrderLimits {
                pieces: env.config.hole_count(self.receive_size.most()),
                bytes: self.settings.out_of_order,
            },
            env.pool,
        ) {
            Arrival::InOrder { bytes, filled } => self.on_in_order_payload(bytes, filled, env),
            Arrival::OutOfOrder => {
                env.counters.ofo_queue += 1;
                if !self.agreed.has_sack() {
                    self.receive.ack.demand_duplicate();
                }
                self.demand_ack();
            }
            Arrival::Discarded(reason) => {
                match reason {
                    DiscardReason::Duplicate => {
                        env.counters.dsack_ofo_sent += Count::from(self.agreed.has_sack())
                    }
                    DiscardReason::NoRange
                    | DiscardReason::TooManyHoles
                    | DiscardReason::OutOfOrderFull => {
                        env.counters.ofo_drop += 1;
                    }
                    _ => env.counters.rcvq_drop += 1,
                }
                env.discard(reason);
                self.demand_ack();
            }
        }
    }

    /// Processes `bytes` that became readable; `filled` is true if they filled a hole.
    fn on_in_order_payload(&mut self, bytes: u32, filled: bool, env: &mut Env<'_>) {
        self.totals.bytes_received += u64::from(bytes);
        self.receive_limit.charge_bytes(bytes);
        self.receive.arrived = env.now;
        self.receive.burst = self.receive.burst.map(|burst| burst.saturating_add(bytes));
        env.counters.hp_hits += Count::from(!filled);
        let every = if self.settings.quick_ack {
            1
        } else {
            env.config.ack_every
        };
        let urgency = self.receive.ack.on_payload(
            bytes,
            self.full_segment(),
            every,
            self.receive.window_left(),
            self.receive.window_left() + bytes + self.receive.readable(),
        );
        // A segment that fills a hole is acknowledged at once. RFC 5681 §4.2.
        if filled || self.receive.has_hole() || env.config.delayed_ack.is_zero() {
            self.receive.ack.demand();
        }
        if self.receive.ack.is_due() || urgency == crate::receive::AckTiming::Now {
            self.wants_output = true;
        } else {
            self.timers.ack.set_once(env.now + env.config.delayed_ack);
        }
        if self.settings.reads_closed {
            self.discard_unread(env);
        }
        self.events.readable |= self.is_readable();
    }

    /// Processes the peer's FIN if everything before it has arrived.
    fn take_fin(&mut self, env: &mut Env<'_>) {
        if !self.receive.take_fin(env.pool) {
            return;
        }
        self.demand_ack();
        self.events.readable = true;
        match self.state {
            TcpState::SynReceived
            | TcpState::Established
            | TcpState::FinWait1
            | TcpState::FinWait2 => {
                self.transition(Trigger::FinArrived, env);
            }
            TcpState::SynSent
            | TcpState::CloseWait
            | TcpState::Closing
            | TcpState::LastAck
            | TcpState::TimeWait
            | TcpState::Closed => {}
        }
        if self.state == TcpState::TimeWait {
            self.finish_sending(env);
        }
    }
}
