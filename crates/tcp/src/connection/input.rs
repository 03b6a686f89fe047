//! An arriving segment: the eight steps of RFC 9293 §3.10.7.
//!
//! Rule: each step either passes the segment on or discards it with a counted
//! reason; none of them sends. An answer that is due is stored, and
//! `poll_segment` sends it.

use fullpipe_pool::Count;
use fullpipe_wire::TcpFlags;

use super::{Connection, Env, TcpState, Trigger};
use crate::{
    CloseReason, DiscardReason, Segment, SeqNum,
    options::{Agreed, TimestampClock},
    receive::{ReceiveHalf, acceptable, is_at_right_edge},
    send::PacketTooBig,
    trace::TraceEvent,
};

/// An ICMP error about a segment of this connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpError {
    /// The network or host, or with `hard` the protocol or port, is
    /// unreachable. RFC 1122 §4.2.3.9.
    Unreachable {
        /// The error is permanent.
        hard: bool,
    },
    /// A packet was too big for a hop. RFC 1191.
    FragmentationNeeded {
        /// Largest payload of one packet on the path if the TCP header has no options:
        /// the hop's MTU minus the headers.
        mss_limit: u16,
        /// The hop carries less than `mss_limit`: segments of `mss_limit` bytes leave without DF,
        /// and routers fragment them.
        fragment: bool,
    },
    /// The hop limit of a packet was exceeded.
    TimeExceeded,
}

impl Connection {
    /// Processes a segment.
    pub fn on_segment(&mut self, segment: &Segment<'_>, env: &mut Env<'_>) {
        env.counters.in_segs += Count::from(segment.merged.max(1));
        env.record(TraceEvent::SegmentIn {
            seq: segment.seq.0,
            ack: segment.ack.0,
            window: u32::from(segment.window) << self.agreed.snd_wscale,
            len: segment.payload.len() as u32,
            flags: segment.flags,
        });
        env.record_sack(&segment.options.sack);
        self.last_received_at = env.now;
        match self.state {
            TcpState::Closed => {}
            TcpState::SynSent => self.on_segment_in_syn_sent(segment, env),
            TcpState::SynReceived
            | TcpState::Established
            | TcpState::FinWait1
            | TcpState::FinWait2
            | TcpState::CloseWait
            | TcpState::Closing
            | TcpState::LastAck
            | TcpState::TimeWait => {
                if let Err(reason) = self.process(segment, env) {
                    env.discard(reason);
                }
            }
        }
        self.note_readiness(env);
    }

    /// Processes a segment in SYN-SENT. RFC 9293 §3.10.7.3.
    fn on_segment_in_syn_sent(&mut self, segment: &Segment<'_>, env: &mut Env<'_>) {
        let acceptable_ack = segment.has(TcpFlags::ACK)
            && segment.ack.after(self.send.iss)
            && segment.ack.at_or_before(self.send.snd_nxt);
        if segment.has(TcpFlags::ACK) && !acceptable_ack {
            if !segment.has(TcpFlags::RST) {
                self.pending.reset = Some((segment.ack, None));
                self.wants_output = true;
            }
            return env.discard(DiscardReason::AckOfUnsent);
        }
        if segment.has(TcpFlags::RST) {
            if acceptable_ack {
                return self.end(CloseReason::Refused, env);
            }
            return env.discard(DiscardReason::InexactReset);
        }
        if !segment.has(TcpFlags::SYN) {
            return env.discard(DiscardReason::UnusableInSynSent);
        }
        let room = self.window_room(env);
        if !self.receive.admit(&room, env.pool) {
            env.counters.rcvq_drop += 1;
            return env.discard(DiscardReason::NoMemory);
        }
        self.take_syn(segment, env);
        if acceptable_ack {
            self.establish(segment, self.recovery.timeouts(), env);
            self.demand_ack();
            self.take_payload_and_fin(segment, env);
        } else {
            self.transition(Trigger::SynArrived, env);
            self.pending.syn = true;
            self.send
                .set_window(segment.seq, segment.ack, segment.window.into());
            self.update_mss(env);
            self.queue_early_payload(segment, env);
        }
    }

    /// Stores the peer's sequence number and options from its SYN.
    fn take_syn(&mut self, segment: &Segment<'_>, env: &mut Env<'_>) {
        let advertised = self.receive.rcv_adv;
        let promised = SeqNum(1).room_to(advertised);
        let mut receive = ReceiveHalf::new(segment.seq, env.config.quick_acks);
        // Keep the present stream, in which the window that this side's SYN advertised is reserved.
        core::mem::swap(&mut receive.stream, &mut self.receive.stream);
        receive.rcv_adv = receive.rcv_nxt + promised;
        self.receive = receive;
        self.agreed = Agreed {
            ecn: self.ecn.are_agreed_by(segment),
            ..Agreed::new(self.offer, &segment.options, env.config)
        };
        self.update_mss(env);
        let ts_recent = segment.options.timestamps.map_or(0, |ts| ts.value);
        self.timestamps = TimestampClock::new(
            self.timestamps
                .value(env.now)
                .wrapping_sub(env.now.as_millis() as u32),
            ts_recent,
            env.now,
        );
    }

    /// Processes a segment in any state from SYN-RECEIVED on. RFC 9293 §3.10.7.4.
    fn process(&mut self, segment: &Segment<'_>, env: &mut Env<'_>) -> Result<(), DiscardReason> {
        self.check_timestamp(segment, env)?; // RFC 7323 §5.3, before the first step
        self.check_sequence(segment, env)?; // first
        self.check_reset(segment, env)?; // second
        self.check_syn(segment, env)?; // fourth step; the third, security, is left out
        if self.state == TcpState::Closed {
            return Ok(());
        }
        self.check_ack(segment, env)?; // fifth
        if self.state == TcpState::Closed {
            return Ok(());
        }
        self.remember_timestamp(segment, env); // RFC 7323 §4.3, once the ACK is known to be good
        self.check_urgent(segment); // sixth
        self.take_payload_and_fin(segment, env); // seventh and eighth
        Ok(())
    }

    fn check_timestamp(
        &mut self,
        segment: &Segment<'_>,
        env: &mut Env<'_>,
    ) -> Result<(), DiscardReason> {
        let Some(stamp) = segment
            .options
            .timestamps
            .filter(|_| self.agreed.timestamps)
        else {
            return Ok(());
        };
        if self.timestamps.is_old(stamp.value, env.now) && !segment.has(TcpFlags::RST) {
            env.counters.paws_estab_rejected += 1;
            // Answer a retransmission, which may carry an older timestamp than the segment that
            // overtook it, with a DSACK: the sender needs the report of the duplicate for an undo.
            if self.is_repeated(segment) {
                self.report_repeated(segment, env);
            } else {
                self.challenge(env);
            }
            return Err(DiscardReason::OldTimestamp);
        }
        Ok(())
    }

    /// Updates TS.Recent (RFC 7323 §4.3) after the ACK check: otherwise one forged segment
    /// with a timestamp far ahead would make PAWS reject the peer's segments for 24 days
    /// (RFC 5961 §5.2).
    fn remember_timestamp(&mut self, segment: &Segment<'_>, env: &Env<'_>) {
        if let Some(stamp) = segment.options.timestamps
            && self.agreed.timestamps
            && segment.seq.at_or_before(self.receive.last_ack_sent)
        {
            self.timestamps.remember(stamp.value, env.now);
        }
    }

    fn check_sequence(
        &mut self,
        segment: &Segment<'_>,
        env: &mut Env<'_>,
    ) -> Result<(), DiscardReason> {
        if self.state == TcpState::SynReceived
            && segment.has(TcpFlags::SYN)
            && segment.seq == self.receive.irs
        {
            // Simultaneous open: the peer repeats its SYN, now with an ACK.
            return Ok(());
        }
        let window = self.receive.window_left();
        let bare_fin = segment.has(TcpFlags::FIN) && segment.payload.is_empty();
        let in_table = acceptable(
            segment.seq,
            segment.len(),
            self.receive.rcv_nxt,
            window,
            bare_fin,
        );
        if in_table || is_at_right_edge(segment, self.receive.rcv_adv) {
            return Ok(());
        }
        if segment.has(TcpFlags::RST) {
            return Err(DiscardReason::OutsideWindow);
        }
        if self.state == TcpState::TimeWait && segment.has(TcpFlags::FIN) {
            self.timers.linger.set(env.now + env.config.time_wait);
        }
        self.answer_unacceptable(segment, env);
        // Take a valid ACK from a segment into a closed window. If the ACK is invalid, its error is
        // the counted reason for the discard, as with an open window.
        if window == 0 && segment.seq == self.receive.rcv_nxt && segment.has(TcpFlags::ACK) {
            self.check_ack(segment, env)?;
        }
        Err(
            if segment.end().at_or_before(self.receive.rcv_nxt) && !segment.payload.is_empty() {
                DiscardReason::Duplicate
            } else {
                DiscardReason::OutsideWindow
            },
        )
    }

    /// Returns true if the whole segment lies before `rcv_nxt`: a
    /// retransmission of what was received.
    fn is_repeated(&self, segment: &Segment<'_>) -> bool {
        segment.seq.before(self.receive.rcv_nxt)
            && segment.end().at_or_before(self.receive.rcv_nxt)
            && !segment.is_empty()
            && !segment.has(TcpFlags::SYN)
    }

    /// Answers a segment outside the window. A repeated segment is acknowledged at once,
    /// because an earlier ACK may have been lost. Payload beyond the window is acknowledged
    /// at once too, because it may be a zero-window probe. Anything else may come from an
    /// off-path attacker, so it gets a challenge ACK.
    fn answer_unacceptable(&mut self, segment: &Segment<'_>, env: &mut Env<'_>) {
        let probe = segment.end().at_or_after(self.receive.rcv_nxt) && !segment.payload.is_empty();
        if self.is_repeated(segment) {
            self.report_repeated(segment, env);
        } else if probe {
            self.demand_ack();
        } else {
            self.challenge(env);
        }
    }

    /// Makes an ACK due that reports the repeated segment in a DSACK block. RFC 2883 §4.
    fn report_repeated(&mut self, segment: &Segment<'_>, env: &mut Env<'_>) {
        self.demand_ack();
        if !self.agreed.has_sack() || segment.payload.is_empty() {
            return;
        }
        self.receive
            .note_repeated(segment.payload_seq(), segment.payload.len() as u32);
        env.counters.dsack_old_sent += 1;
    }

    /// Second step: RST. RFC 9293 §3.10.7.4, RFC 5961 §3.
    fn check_reset(
        &mut self,
        segment: &Segment<'_>,
        env: &mut Env<'_>,
    ) -> Result<(), DiscardReason> {
        if !segment.has(TcpFlags::RST) {
            return Ok(());
        }
        if segment.seq != self.receive.rcv_nxt {
            self.challenge(env);
            return Err(DiscardReason::InexactReset);
        }
        let reason = match self.state {
            TcpState::SynReceived => CloseReason::Refused,
            TcpState::Closing | TcpState::LastAck | TcpState::TimeWait => CloseReason::Finished,
            _ => CloseReason::Reset,
        };
        self.end(reason, env);
        Ok(())
    }

    /// Fourth step: SYN. RFC 9293 §3.10.7.4, RFC 5961 §4.
    fn check_syn(&mut self, segment: &Segment<'_>, env: &mut Env<'_>) -> Result<(), DiscardReason> {
        if !segment.has(TcpFlags::SYN) || self.state == TcpState::Closed {
            return Ok(());
        }
        if self.state == TcpState::SynReceived && segment.seq == self.receive.irs {
            return Ok(());
        }
        env.counters.syn_challenge += 1;
        self.challenge(env);
        Err(DiscardReason::UnexpectedSyn)
    }

    /// Sixth step: stores the end of urgent payload. RFC 9293 §3.10.7.4.
    fn check_urgent(&mut self, segment: &Segment<'_>) {
        if segment.has(TcpFlags::URG) && self.state.may_receive() {
            self.receive
                .note_urgent(segment.seq + u32::from(segment.urgent));
        }
    }

    /// Processes an ICMP error that quotes sequence number `seq` of a segment of this side. The
    /// error counts only if `seq` is in flight (RFC 5927 §4.1) or is the number of an ACK too long
    /// for the path. An ICMP error never ends an established connection.
    pub fn on_icmp(&mut self, error: IcmpError, seq: SeqNum, env: &mut Env<'_>) {
        let in_flight = seq.at_or_after(self.send.snd_una) && seq.before(self.send.snd_nxt);
        let is_possible = in_flight || self.is_about_sack_ack(error, seq);
        if !is_possible || self.state == TcpState::Closed {
            return env.discard(DiscardReason::IcmpOutsideWindow);
        }
        match error {
            IcmpError::Unreachable { hard: true } if !self.state.is_synchronized() => {
                self.end(CloseReason::Unreachable, env);
            }
            IcmpError::Unreachable { .. } | IcmpError::TimeExceeded => {}
            IcmpError::FragmentationNeeded {
                mss_limit,
                fragment,
            } => {
                let report = PacketTooBig {
                    size: mss_limit,
                    fragment,
                    seq,
                };
                self.on_packet_too_big(report, env);
            }
        }
        self.note_readiness(env);
    }
}
