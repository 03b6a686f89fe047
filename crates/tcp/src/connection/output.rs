//! The one way out: every segment of a connection is made here.
//!
//! Rule: the order of what is tried is the order of importance, and whatever
//! leaves carries the latest ACK and window. When nothing may leave, the bound
//! that forbids it becomes the limit.

use core::ops::Range;

use fullpipe_wire::{SackBlocks, TcpFlags, TcpOptions};

use super::{Connection, Env, State};
use crate::{
    Allowance, Limit, SegmentOut, SeqNum,
    congestion::CongestionControl,
    limit::tightest,
    send::{Decision, Situation, segmentize},
    trace::Event,
};

impl Connection {
    /// The next segment to send, or `None`: then the limit says why. At most
    /// `device_max` bytes of text in one frame; where that is more than a
    /// segment, the device cuts it (`segment_size`).
    ///
    /// The caller has room for the segment: it counts as sent.
    pub fn poll_segment(&mut self, device_max: u32, env: &mut Env<'_>) -> Option<SegmentOut> {
        let segment = self.next_segment(device_max, env);
        match &segment {
            Some(segment) => self.on_sent(segment, env),
            None => self.wants_output = false,
        }
        segment
    }

    fn next_segment(&mut self, device_max: u32, env: &mut Env<'_>) -> Option<SegmentOut> {
        if let Some((seq, ack)) = self.pending.reset.take() {
            return Some(self.reset(seq, ack, env));
        }
        match self.state {
            State::Closed => None,
            State::SynSent | State::SynReceived => self.poll_syn(env),
            State::Established
            | State::FinWait1
            | State::FinWait2
            | State::CloseWait
            | State::Closing
            | State::LastAck
            | State::TimeWait => self
                .poll_sack_news(env)
                .or_else(|| self.poll_head(env))
                .or_else(|| self.poll_text(device_max, env))
                .or_else(|| self.poll_probe(env))
                .or_else(|| self.poll_keepalive(env))
                .or_else(|| self.poll_ack(env)),
        }
    }

    fn reset(&mut self, seq: SeqNum, ack: Option<SeqNum>, env: &mut Env<'_>) -> SegmentOut {
        env.counters.out_rsts += 1;
        match ack {
            None => SegmentOut::bare(seq, SeqNum(0), TcpFlags::RST),
            Some(ack) => SegmentOut::bare(seq, ack, TcpFlags::RST | TcpFlags::ACK),
        }
    }

    /// An ACK that only SACK can say leaves on its own: a full segment has no
    /// room for the blocks.
    fn poll_sack_news(&mut self, env: &mut Env<'_>) -> Option<SegmentOut> {
        let news = self.agreed.sack && self.receive.has_sack_news() && self.receive.ack.is_due();
        if news { self.poll_ack(env) } else { None }
    }

    /// The segment at `snd_una`, which is taken for lost.
    fn poll_head(&mut self, env: &mut Env<'_>) -> Option<SegmentOut> {
        if !self.recovery.head_is_due() {
            return None;
        }
        self.recovery.on_head_sent();
        let sent_text = self
            .send
            .snd_una
            .room_to(self.send.snd_max.earliest(self.send.text_end()));
        let len = self.mss(env).min(sent_text);
        Some(self.text_segment(self.send.snd_una, len, env))
    }

    /// Text that has not been sent since `snd_nxt` was last set back, or FIN.
    fn poll_text(&mut self, device_max: u32, env: &mut Env<'_>) -> Option<SegmentOut> {
        if self.send.unsent() > 0 {
            self.restart_after_idle(env);
        }
        let situation = self.situation(device_max, env);
        let decision = segmentize(&situation);
        if let Decision::Send(len) = decision {
            self.pending.override_sws = false;
            self.timers.cork.clear();
            self.timers.persist.clear();
            let mut segment = self.text_segment(self.send.snd_nxt, len, env);
            if len > situation.mss {
                segment.segment_size = situation.mss as u16;
            }
            return Some(segment);
        }
        let Decision::Hold(limit) = decision else {
            return None;
        };
        if self.send.fin_is_next() && self.fin_may_leave() {
            self.timers.persist.clear();
            return Some(self.text_segment(self.send.snd_nxt, 0, env));
        }
        self.hold(limit, &situation, env);
        None
    }

    /// FIN takes one sequence number of the peer's window, and leaves once: it
    /// is sent again when `snd_nxt` falls back.
    fn fin_may_leave(&self) -> bool {
        self.send.window_room() > 0 || self.send.in_flight() > 0
    }

    /// Everything that bounds what may leave now.
    fn situation(&self, device_max: u32, env: &Env<'_>) -> Situation {
        let mss = self.mss(env);
        Situation {
            allowance: self.send_allowance(),
            unsent: self.send.unsent(),
            in_flight: self.send.in_flight(),
            mss,
            device_max: device_max.max(mss),
            max_snd_wnd: self.send.max_snd_wnd,
            nagle: self.tuning.nagle,
            corked: self.tuning.corked,
            fin_queued: self.send.fin_queued,
            writer_woken: self.send.blocked.is_some_and(|blocked| blocked.woken),
            override_sws: self.pending.override_sws,
        }
    }

    /// The tightest of the bounds, which names the limit.
    pub(super) fn send_allowance(&self) -> Allowance {
        let window = if self.send.snd_wnd == 0 && self.send.in_flight() == 0 {
            Limit::ZeroWindow
        } else {
            Limit::ReceiveWindow
        };
        let (congestion, source) = if self.is_recovering() {
            (Limit::Recovery, Limit::Recovery)
        } else {
            (self.congestion.limit(), self.source_limit())
        };
        let in_flight = self.send.in_flight();
        let cwnd = self
            .congestion
            .cwnd()
            .saturating_add(self.recovery.credit());
        tightest(&[
            (source, self.send.unsent()),
            (window, self.send.window_room()),
            (congestion, cwnd.saturating_sub(in_flight)),
        ])
    }

    /// What it means that everything written has been sent.
    fn source_limit(&self) -> Limit {
        match self.send.blocked {
            _ if self.send.fin_queued => Limit::Closing,
            Some(blocked) => blocked.by,
            None => Limit::Application,
        }
    }

    /// Nothing leaves, because of `limit`: charge it, and make sure that
    /// something will end it.
    fn hold(&mut self, limit: Limit, situation: &Situation, env: &mut Env<'_>) {
        self.set_limit(limit, env);
        self.pending.override_sws = false;
        self.cwnd_limited = matches!(
            limit,
            Limit::CwndSlowStart | Limit::CwndSteady | Limit::CwndAfterLoss | Limit::Recovery
        );
        let waiting = situation.unsent > 0 || self.send.fin_is_next();
        if waiting && situation.in_flight == 0 && !self.pending.probe {
            self.arm_persist(env);
        }
        let corked = situation.corked && limit == Limit::Nagle;
        if corked && !env.config.cork_timeout.is_zero() {
            self.timers.cork.set_once(env.now + env.config.cork_timeout);
        }
    }

    /// Nothing is in flight, so no ACK will come unless it is asked for.
    fn arm_persist(&mut self, env: &mut Env<'_>) {
        let wait = if self.send.window_room() == 0 {
            self.rtt.rto(env.config)
        } else if matches!(
            self.limit.current(),
            Limit::ReceiveWindow | Limit::SendBuffer | Limit::Memory
        ) {
            // A silly window, or a tail whose writer was woken and may not come.
            env.config.sws_override
        } else {
            return;
        };
        let deadline = self.within_user_timeout(env.now + wait, env);
        self.timers.persist.set_once(deadline);
    }

    /// One byte beyond the window, or FIN, to make the peer say how large its
    /// window is. RFC 9293 §3.8.6.1.
    fn poll_probe(&mut self, env: &mut Env<'_>) -> Option<SegmentOut> {
        if !core::mem::take(&mut self.pending.probe) {
            return None;
        }
        env.counters.win_probe += 1;
        self.tally.zero_window_probes += 1;
        let len = self.send.unsent().min(1);
        let probe = self.text_segment(self.send.snd_nxt, len, env);
        self.arm_persist(env);
        Some(probe)
    }

    /// A sequence number from before the window, which the peer must answer.
    /// RFC 9293 §3.8.4.
    fn poll_keepalive(&mut self, env: &mut Env<'_>) -> Option<SegmentOut> {
        if !core::mem::take(&mut self.pending.keepalive) {
            return None;
        }
        env.counters.keepalive += 1;
        Some(self.segment(self.send.snd_una - 1, TcpFlags::ACK, 0..0, env))
    }

    fn poll_ack(&mut self, env: &mut Env<'_>) -> Option<SegmentOut> {
        if !self.receive.ack.is_due() {
            return None;
        }
        Some(self.segment(self.send.snd_max, TcpFlags::ACK, 0..0, env))
    }

    /// A segment of `len` bytes of text from `seq` on, with FIN if that is next.
    fn text_segment(&mut self, seq: SeqNum, len: u32, env: &mut Env<'_>) -> SegmentOut {
        let start = self.send.offset_of(seq);
        let end = seq + len;
        let mut flags = TcpFlags::ACK;
        if end == self.send.text_end() {
            if len > 0 {
                flags |= TcpFlags::PSH;
            }
            if self.send.fin_queued {
                flags |= TcpFlags::FIN;
            }
        }
        self.segment(seq, flags, start..start + u64::from(len), env)
    }

    /// A segment with the latest ACK, window and options.
    fn segment(
        &mut self,
        seq: SeqNum,
        flags: TcpFlags,
        payload: Range<u64>,
        env: &mut Env<'_>,
    ) -> SegmentOut {
        let room = self.window_room(env);
        let was_closed = self.receive.advertised_zero;
        let window = self.receive.window_field(&room, env.pool);
        self.receive.advertised_zero = window == 0;
        match (was_closed, window == 0) {
            (false, true) => env.counters.to_zero_window_adv += 1,
            (true, false) => env.counters.from_zero_window_adv += 1,
            (false, false) | (true, true) => {}
        }
        let urgent = self
            .send
            .snd_up
            .filter(|up| up.after(seq))
            .map(|up| seq.room_to(up));
        let flags = if urgent.is_some() {
            flags | TcpFlags::URG
        } else {
            flags
        };
        SegmentOut {
            seq,
            ack: self.receive.rcv_nxt,
            flags,
            window,
            urgent: urgent.unwrap_or(0).min(u16::MAX.into()) as u16,
            options: self.segment_options(payload.is_empty(), env),
            payload,
            segment_size: 0,
        }
    }

    fn segment_options(&mut self, without_text: bool, env: &Env<'_>) -> TcpOptions {
        let timestamps = self
            .agreed
            .timestamps
            .then(|| self.timestamps.option(env.now));
        let sack = if self.agreed.sack && without_text && self.receive.has_sack_news() {
            let most = if timestamps.is_some() { 3 } else { 4 };
            self.receive.sack_blocks(most, env.pool)
        } else {
            SackBlocks::NONE
        };
        TcpOptions {
            timestamps,
            sack,
            ..TcpOptions::NONE
        }
    }

    /// The segment leaves: everything that counts it.
    fn on_sent(&mut self, segment: &SegmentOut, env: &mut Env<'_>) {
        if segment.flags.contains(TcpFlags::ACK) {
            self.receive.ack.on_sent();
            self.receive.last_ack_sent = segment.ack;
            self.timers.ack.clear();
        }
        let is_again =
            !segment.is_empty() && (segment.seq + segment.len()).at_or_before(self.send.snd_max);
        if is_again {
            env.counters.retrans_segs += u64::from(segment.segments());
        } else {
            env.counters.out_segs += u64::from(segment.segments());
        }
        let len = segment.text_len();
        env.record(Event::SegmentOut {
            seq: segment.seq.0,
            ack: segment.ack.0,
            window: u32::from(segment.window) << self.agreed.rcv_wscale,
            len,
        });
        if !segment.is_empty() && !segment.flags.contains(TcpFlags::RST) {
            self.account_sequence_space(segment, is_again, env);
        }
    }

    /// Moves `snd_nxt` and `snd_max`, starts the clocks, and charges the bytes.
    fn account_sequence_space(&mut self, segment: &SegmentOut, is_again: bool, env: &mut Env<'_>) {
        let (len, end) = (segment.text_len(), segment.seq + segment.len());
        if self.send.snd_una == self.send.snd_max {
            self.progress = env.now;
        }
        let news = self.send.snd_max.room_to(end).min(len);
        self.tally.bytes_sent += u64::from(news);
        self.tally.bytes_retransmitted += u64::from(len - news);
        self.limit.moved(news);
        self.spoke = env.now;
        if is_again {
            self.tally.segments_retransmitted += segment.segments();
            if self.recovery.timeouts() > 0 {
                env.counters.slow_start_retrans += 1;
            }
            env.record(Event::Retransmission {
                seq: segment.seq.0,
                len,
            });
            self.rtt.on_retransmission();
        } else {
            env.counters.orig_data_sent += u64::from(if len > 0 { segment.segments() } else { 0 });
            self.rtt.on_sent(end, env.now);
        }
        if len > 0 {
            self.tally.segments_sent += segment.segments();
            self.tally.full_sized_sent += len / self.mss(env).max(1);
        }
        self.send.snd_max = self.send.snd_max.latest(end);
        // The persist timer runs only while nothing may leave but a probe, which
        // is beyond the window: neither `snd_nxt` nor a timeout is due to it.
        let is_probe = self.timers.persist.is_set();
        if !is_probe {
            self.send.snd_nxt = self.send.snd_nxt.latest(end);
            if !self.timers.retransmit.is_set() {
                self.arm_retransmit(env);
            }
        }
    }

    /// Something waits to be sent, but the device or the next hop cannot take it.
    pub fn on_device_full(&mut self, env: &mut Env<'_>) {
        if self.wants_output && self.state.is_synchronized() && self.send_allowance().room > 0 {
            self.set_limit(Limit::Device, env);
        }
    }
}
