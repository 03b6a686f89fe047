//! The only output: every segment of a connection is made here. `burst` only copies the last
//! segment and gives the copy the next payload.
//!
//! Rule: segments are tried in the order of their importance, and each carries the latest
//! ACK and window. When nothing may leave, the bound that stops the connection becomes
//! its limit.

use core::ops::Range;

use fullpipe_pool::Count;
use fullpipe_wire::{Ecn, SackBlocks, TcpFlags, TcpOptions};

use super::{Connection, Env, TcpState, mtu_probing::Probing};
use crate::{
    Limit, SegmentOut, SeqNum,
    congestion::FlightStart,
    recovery::{RecoveryPhase, SentStatus},
    send::{Decision, Situation, Writer},
    trace::{RecoveryEvent, TraceEvent},
};

impl Connection {
    /// Returns the next segment to send, or sets the limit of the connection and returns `None`. A
    /// frame carries at most `device_max` bytes of payload. If `device_max` is more than a segment,
    /// the device cuts the frame into segments of `segment_size`.
    ///
    /// The segment counts as sent: the caller must have room for it.
    pub fn poll_segment(&mut self, device_max: u32, env: &mut Env<'_>) -> Option<SegmentOut> {
        let mut segment = self.next_segment(device_max, env);
        match &mut segment {
            Some(segment) => {
                segment.dont_fragment = self.forbids_fragments(segment);
                self.on_sent(segment, env);
            }
            None => self.wants_output = false,
        }
        segment
    }

    /// Does what `poll_segment` does for a connection that has nothing to send: sets the limit.
    /// Returns false, and changes nothing, if something may be due.
    ///
    /// Timers, events and memory stay as they are, so the owner need not look at them.
    pub fn poll_idle(&mut self, env: &mut Env<'_>) -> bool {
        let may_stay = match self.state {
            TcpState::Established
            | TcpState::FinWait1
            | TcpState::FinWait2
            | TcpState::CloseWait
            | TcpState::Closing
            | TcpState::LastAck => true,
            TcpState::SynSent | TcpState::SynReceived | TcpState::TimeWait | TcpState::Closed => {
                false
            }
        };
        let is_due = self.pending.is_any() || self.receive.ack.is_due() || self.has_data();
        if !may_stay || is_due || !self.path.is_at_rest() {
            return false;
        }
        self.hold(self.source_limit(), env);
        self.wants_output = false;
        true
    }

    fn next_segment(&mut self, device_max: u32, env: &mut Env<'_>) -> Option<SegmentOut> {
        if let Some((seq, ack)) = self.pending.reset.take() {
            return Some(self.reset(seq, ack, env));
        }
        match self.state {
            TcpState::Closed => None,
            TcpState::SynSent | TcpState::SynReceived => self.poll_syn(env),
            TcpState::Established
            | TcpState::FinWait1
            | TcpState::FinWait2
            | TcpState::CloseWait
            | TcpState::Closing
            | TcpState::LastAck
            | TcpState::TimeWait => {
                if let Some(repair) = self.poll_repair(env) {
                    return Some(repair);
                }
                if let Some(data) = self.poll_data(device_max, env) {
                    return Some(data);
                }
                self.poll_bare(env)
            }
        }
    }

    /// Returns a segment that goes before new payload.
    fn poll_repair(&mut self, env: &mut Env<'_>) -> Option<SegmentOut> {
        let is_none = !self.receive.has_sack_to_report()
            && self.recovery.board().lost() == 0
            && !self.pending.tail_probe;
        if is_none {
            return None;
        }
        self.poll_sack_ack(env)
            .or_else(|| self.poll_lost(env))
            .or_else(|| self.poll_tail_probe(env))
    }

    /// Returns a segment that leaves only if no payload does.
    fn poll_bare(&mut self, env: &mut Env<'_>) -> Option<SegmentOut> {
        self.poll_probe(env)
            .or_else(|| self.poll_keepalive(env))
            .or_else(|| self.poll_ack(env))
    }

    fn reset(&mut self, seq: SeqNum, ack: Option<SeqNum>, env: &mut Env<'_>) -> SegmentOut {
        env.counters.out_rsts += 1;
        let (ack, flags) = match ack {
            None => (SeqNum(0), TcpFlags::RST),
            Some(ack) => (ack, TcpFlags::RST | TcpFlags::ACK),
        };
        SegmentOut {
            options: self.segment_options(false, env), // RFC 7323 §3.2
            ..SegmentOut::bare(seq, ack, flags)
        }
    }

    /// Returns a separate ACK for SACK blocks, because a segment with payload carries none.
    fn poll_sack_ack(&mut self, env: &mut Env<'_>) -> Option<SegmentOut> {
        let new_bytes = self.agreed.has_sack()
            && self.receive.has_sack_to_report()
            && self.receive.ack.is_due();
        if new_bytes { self.poll_ack(env) } else { None }
    }

    /// Returns a retransmission of as much of the lowest lost range as its allowance permits. New
    /// payload that follows the range fills the segment up.
    fn poll_lost(&mut self, env: &mut Env<'_>) -> Option<SegmentOut> {
        let lost = self.recovery.next_lost(env.sent)?;
        let mss = self.mss(env);
        let is_new_data_next =
            self.recovery.frto_prefers_new_data() && self.send_allowance(env).room >= mss;
        if is_new_data_next || self.frto_awaits_ack() {
            return None;
        }
        let room = self.repair_allowance(&lost, env).room;
        if room == 0 {
            return None;
        }
        self.timers.persist.clear();
        let end = if lost.end == self.send.snd_nxt {
            self.send.payload_end()
        } else {
            lost.end.earliest(self.send.payload_end())
        };
        let len = mss.min(lost.start.room_to(end)).min(room);
        Some(self.data_segment(lost.start, len, env))
    }

    /// Returns a tail loss probe: a segment with new payload if there is any, otherwise the
    /// last segment. RFC 8985 §7.3.
    fn poll_tail_probe(&mut self, env: &mut Env<'_>) -> Option<SegmentOut> {
        if !core::mem::take(&mut self.pending.tail_probe) {
            return None;
        }
        // Restart the retransmission timer even if no probe leaves, because the probe's timer ran
        // in its place.
        self.arm_retransmit(env);
        if self.is_repairing() {
            return self.poll_repair_probe(env);
        }
        let last = self.recovery.board().last(env.sent)?.end;
        let mss = self.mss(env);
        let new = self.send.unsent().min(self.send.window_room()).min(mss);
        let (seq, len) = if new > 0 {
            (self.send.snd_nxt, new)
        } else {
            let available = self
                .send
                .snd_una
                .room_to(last.earliest(self.send.payload_end()));
            let len = mss.min(available);
            (last.earliest(self.send.payload_end()) - len, len)
        };
        env.counters.loss_probes += 1;
        env.record(TraceEvent::Recovery(RecoveryEvent::TailProbe));
        let mut segment = self.data_segment(seq, len, env);
        if new > 0 {
            self.mark_ect(&mut segment);
        }
        let end = self.send.snd_nxt.latest(segment.seq + segment.len());
        self.recovery.on_tail_probe(end, new == 0);
        self.arm_retransmit(env);
        Some(segment)
    }

    /// Returns a retransmission of the segment at `snd_una` after two round
    /// trips of recovery without an ACK, unless a lost range is due.
    fn poll_repair_probe(&mut self, env: &mut Env<'_>) -> Option<SegmentOut> {
        let head = *self.recovery.board().iter(env.sent).next()?;
        if head.status != SentStatus::InFlight || self.recovery.board().lost() > 0 {
            return None;
        }
        let available = head
            .start
            .room_to(head.end.earliest(self.send.payload_end()));
        let len = self.mss(env).min(available);
        env.counters.loss_probes += 1;
        env.record(TraceEvent::Recovery(RecoveryEvent::TailProbe));
        let segment = self.data_segment(head.start, len, env);
        // Let congestion control respond only outside of fast recovery, because in fast recovery it
        // has already responded.
        let needs_response = self.recovery.phase() == RecoveryPhase::Open;
        self.recovery
            .on_tail_probe(self.send.snd_nxt, needs_response);
        self.arm_retransmit(env);
        Some(segment)
    }

    /// Returns a segment with new payload, or FIN.
    fn poll_data(&mut self, device_max: u32, env: &mut Env<'_>) -> Option<SegmentOut> {
        if !self.has_data() && self.path.is_at_rest() {
            // Everything written was sent: charge the time to the limit of the writer.
            self.hold(self.source_limit(), env);
            return None;
        }
        if self.send.unsent() > 0 {
            self.restart_after_idle(env);
        }
        let situation = self.situation(device_max, env);
        match self.probing(env) {
            Probing::Idle => {}
            Probing::Due(len) => return Some(self.mtu_probe(len, env)),
            Probing::Waits(limit) => {
                self.hold(limit, env);
                return None;
            }
        }
        let limit = match self.decide(&situation, env) {
            Decision::Send(len) => {
                self.pending.override_sws = false;
                self.end_deferral();
                self.timers.cork.clear();
                self.timers.persist.clear();
                let mut segment = self.data_segment(self.send.snd_nxt, len, env);
                self.mark_ect(&mut segment);
                if len > situation.mss {
                    segment.segment_size = situation.mss as u16;
                }
                return Some(segment);
            }
            Decision::Hold(limit) => limit,
        };
        if self.send.fin_is_next() && self.fin_may_leave() {
            self.timers.persist.clear();
            return Some(self.data_segment(self.send.snd_nxt, 0, env));
        }
        self.hold(limit, env);
        None
    }

    /// Returns true if payload or FIN waits to be sent or retransmitted.
    fn has_data(&self) -> bool {
        let lost = self.recovery.board().lost();
        self.send.unsent() > 0 || self.send.fin_is_next() || lost > 0
    }

    /// Returns true if the peer's window has room for FIN, which takes one sequence number,
    /// or if bytes are outstanding.
    fn fin_may_leave(&self) -> bool {
        self.send.window_room() > 0 || self.send.outstanding() > 0
    }

    /// Returns the inputs of segmentation.
    pub(super) fn situation(&self, device_max: u32, env: &Env<'_>) -> Situation {
        let full = self.mss(env);
        // A device that cuts frames is given full segments.
        let (mss, goal) = if device_max > full {
            (full, self.frame_goal(device_max, full, env))
        } else {
            let size = self.segment_size(env);
            (size, size)
        };
        Situation {
            allowance: self.send_allowance(env),
            unsent: self.send.unsent(),
            outstanding: self.send.outstanding(),
            mss,
            goal,
            max_snd_wnd: self.send.max_snd_wnd,
            nagle: self.settings.nagle,
            corked: self.settings.corked,
            uses_up_window: env.config.use_up_window,
            fin_queued: self.send.fin_queued,
            writer: match &self.send.blocked {
                None => Writer::Free,
                Some(blocked) if blocked.woken => Writer::Woken,
                Some(_) => Writer::Blocked,
            },
            override_sws: self.pending.override_sws,
        }
    }

    /// Charges time to `limit` while nothing leaves, and starts the timers that will end
    /// the wait.
    fn hold(&mut self, limit: Limit, env: &mut Env<'_>) {
        self.set_limit(self.charged_to(limit), env);
        self.pending.override_sws = false;
        match limit {
            Limit::Pacing => {
                self.timers.pacing.set(self.pacer.release_at());
                if self.recovery.board().lost() > 0 {
                    // Count the window as fully used, because the pacing rate derived from it
                    // delays the retransmission.
                    self.window_use.on_full();
                }
            }
            Limit::CwndSlowStart
            | Limit::CwndSteady
            | Limit::CwndAfterLoss
            | Limit::CwndAfterMark
            | Limit::CwndAfterIdle
            | Limit::Recovery => {
                self.window_use.on_full();
                // Set the pacing timer even if the limit is another bound, because the pacer may
                // delay a retransmission all the same.
                if self.recovery.board().lost() > 0 && !self.pacer.may_send(env.now) {
                    self.timers.pacing.set(self.pacer.release_at());
                }
            }
            Limit::Application
            | Limit::SendBuffer
            | Limit::Memory
            | Limit::Nagle
            | Limit::ReceiveWindow
            | Limit::ZeroWindow
            | Limit::Device
            | Limit::Handshake
            | Limit::Closing
            | Limit::Processor => {}
        }
        let nothing_in_flight = self.recovery.board().in_flight() == 0;
        // Set no persist timer while the device or the pacer delays payload: this wait ends by
        // itself, and the retransmission timer keeps running.
        let ends_itself = matches!(limit, Limit::Device | Limit::Pacing);
        if nothing_in_flight && !self.pending.probe && !ends_itself && self.has_data() {
            self.arm_persist(env);
        }
        let corked = self.settings.corked && limit == Limit::Nagle;
        if corked && !env.config.cork_timeout.is_zero() {
            self.timers.cork.set_once(env.now + env.config.cork_timeout);
        }
    }

    /// Marks rate samples as application-limited if less than a segment waits to be sent
    /// although congestion window and pacer would let a segment leave. Called before each
    /// write, ACK and timer. draft-ietf-ccwg-bbr-06 §4.1.2.4.
    pub(super) fn note_idle_path(&mut self, env: &Env<'_>) {
        let (board, mss) = (self.recovery.board(), self.mss(env));
        let is_idle = self.send.unsent() < mss
            && self.last_sent_at < env.now
            && board.lost() == 0
            && self.cwnd_room() >= mss
            && self.pacer.may_send(env.now);
        if is_idle {
            self.rate.mark_app_limited(board.in_flight());
        }
    }

    /// Starts the persist timer, because with nothing in flight no ACK will come without a probe.
    fn arm_persist(&mut self, env: &mut Env<'_>) {
        let wait = if self.send.snd_wnd == 0 || self.send.window_room() == 0 {
            self.rtt.rto(env.config)
        } else if matches!(
            self.limit.current(),
            Limit::ReceiveWindow | Limit::SendBuffer | Limit::Memory
        ) {
            // The window is smaller than a segment, or the last part of a write waits for more
            // payload. The writer was already woken, and may never write more.
            env.config.sws_override
        } else {
            return;
        };
        if self.send.outstanding() == 0 && !self.timers.persist.is_set() {
            // The user timeout counts from the start of the wait.
            self.progress_at = env.now;
        }
        let deadline = self.within_user_timeout(env.now + wait, env);
        self.timers.persist.set_once(deadline);
        // Stop the retransmission timer: outstanding payload waits for the window, not for an ACK.
        self.timers.retransmit.clear();
    }

    /// Returns a window probe: one byte beyond the window, or FIN. RFC 9293
    /// §3.8.6.1.
    fn poll_probe(&mut self, env: &mut Env<'_>) -> Option<SegmentOut> {
        if !core::mem::take(&mut self.pending.probe) {
            return None;
        }
        env.counters.win_probe += 1;
        self.totals.zero_window_probes += 1;
        // Set the timer before the probe leaves, because only a segment that leaves while the
        // persist timer runs counts as a window probe.
        self.arm_persist(env);
        let available = self.send.snd_una.room_to(self.send.payload_end());
        Some(self.data_segment(self.send.snd_una, available.min(1), env))
    }

    /// Returns a keepalive probe: its sequence number lies before the window, so the peer
    /// must answer. RFC 9293 §3.8.4.
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
        Some(self.segment(self.send.empty_segment_seq(), TcpFlags::ACK, 0..0, env))
    }

    /// Returns a segment of `len` bytes of payload from `seq` on, with FIN if it comes
    /// next.
    pub(super) fn data_segment(&mut self, seq: SeqNum, len: u32, env: &mut Env<'_>) -> SegmentOut {
        let start = self.send.offset_of(seq);
        let end = seq + len;
        let mut flags = TcpFlags::ACK;
        let (drains, window) = (end == self.send.payload_end(), self.send.max_snd_wnd);
        if len > 0 && self.send.push.take(end, drains, window, env.config.push) {
            flags |= TcpFlags::PSH;
        }
        if drains && self.send.fin_queued {
            flags |= TcpFlags::FIN;
        }
        self.segment(seq, flags, start..start + u64::from(len), env)
    }

    /// Returns a segment with the latest ACK, window and options.
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
            flags: flags | self.ecn.ack_flags(),
            dont_fragment: true,
            window,
            urgent: urgent.unwrap_or(0).min(u16::MAX.into()) as u16,
            options: self.segment_options(payload.is_empty(), env),
            payload,
            segment_size: 0,
            ecn: Ecn::NotEct,
        }
    }

    pub(super) fn segment_options(&mut self, without_payload: bool, env: &Env<'_>) -> TcpOptions {
        let timestamps = self
            .agreed
            .timestamps
            .then(|| self.timestamps.option(env.now));
        let sack = if self.agreed.has_sack() && without_payload && self.receive.has_sack_to_report()
        {
            self.receive.sack_blocks(self.most_sack_blocks(), env.pool)
        } else {
            SackBlocks::NONE
        };
        TcpOptions {
            timestamps,
            sack,
            ..TcpOptions::NONE
        }
    }

    /// Returns the number of SACK blocks for which a packet without payload has room. With
    /// an MTU of 68 bytes, the smallest of RFC 791, there is room for timestamps and one
    /// block.
    fn most_sack_blocks(&self) -> usize {
        let room = u32::from(self.path.limit()).min(TcpOptions::MAX_LEN as u32);
        TcpOptions::sack_blocks_in(room.saturating_sub(self.agreed.options_len()) as usize)
    }

    /// Counts and records a segment that leaves.
    fn on_sent(&mut self, segment: &SegmentOut, env: &mut Env<'_>) {
        if segment.flags.contains(TcpFlags::ACK) {
            self.receive.ack.on_sent();
            self.receive.last_ack_sent = segment.ack;
            self.timers.ack.clear();
        }
        let is_retransmission =
            !segment.is_empty() && (segment.seq + segment.len()).at_or_before(self.send.snd_nxt);
        if is_retransmission {
            env.counters.retrans_segs += Count::from(segment.segments());
        } else {
            env.counters.out_segs += Count::from(segment.segments());
        }
        let len = segment.payload_len();
        if len > 0 {
            self.pairs.on_sent();
        }
        env.record(TraceEvent::SegmentOut {
            seq: segment.seq.0,
            ack: segment.ack.0,
            window: u32::from(segment.window) << self.agreed.rcv_wscale,
            len,
            flags: segment.flags,
        });
        env.record_sack(&segment.options.sack);
        if !segment.is_empty() && !segment.flags.contains(TcpFlags::RST) {
            self.account_sequence_space(segment, is_retransmission, env);
        }
    }

    /// Updates recovery, `snd_nxt`, timers and totals for a segment that
    /// occupies sequence space.
    fn account_sequence_space(
        &mut self,
        segment: &SegmentOut,
        is_retransmission: bool,
        env: &mut Env<'_>,
    ) {
        let (len, end) = (segment.payload_len(), segment.seq + segment.len());
        let mss = self.mss(env).max(1);
        let nothing_outstanding = self.send.outstanding() == 0;
        // During an attempt to connect, the user timeout counts from the application's call, and
        // not from this segment.
        if nothing_outstanding && self.state.is_synchronized() {
            self.progress_at = env.now;
        }
        let new_bytes = self.send.snd_nxt.room_to(end).min(len);
        self.totals.bytes_sent += u64::from(new_bytes);
        self.totals.bytes_retransmitted += u64::from(len - new_bytes);
        self.limit.charge_bytes(new_bytes);
        self.last_sent_at = env.now;
        if is_retransmission {
            self.totals.segments_retransmitted += u64::from(segment.segments());
            if self.recovery.phase() == RecoveryPhase::Timeout {
                env.counters.slow_start_retrans += 1;
            }
            env.record(TraceEvent::Retransmission {
                seq: segment.seq.0,
                len,
            });
        } else if len > 0 {
            env.counters.orig_data_sent += Count::from(segment.segments());
        }
        if len > 0 {
            if self.recovery.board().in_flight() == 0 {
                self.start_flight(mss, env);
            }
            self.totals.segments_sent += u64::from(segment.segments());
            self.totals.full_sized_sent += u64::from(len / mss);
            let rate = self.rate_now(env.config);
            if env.config.pacing {
                self.pacer.on_sent(len, rate, mss, env.now);
            }
            self.note_size(segment, env);
        }
        let range = segment.seq..end;
        let snd_nxt = self.send.snd_nxt;
        self.recovery
            .on_sent(range, snd_nxt, env.now, &mut self.rate, env.sent);
        self.send.snd_nxt = snd_nxt.latest(end);
        if self.settings.unsent_low_water > 0 {
            self.note_readiness(env);
        }
        // The segment is a window probe, because only a probe may leave while the persist timer
        // runs. A probe is beyond the window, so no ACK of it is expected.
        if self.timers.persist.is_set() {
            return self.recovery.on_window_probe(env.sent);
        }
        // The oldest segment was retransmitted, perhaps long after its first
        // transmission. The segment gets a full timeout. Otherwise it could be sent a third time
        // before its ACK arrives.
        let is_oldest_again = is_retransmission && segment.seq == self.send.snd_una;
        // Restart the timer also if nothing was outstanding: it may run because an earlier segment
        // waited for its next hop.
        if is_oldest_again || nothing_outstanding || !self.timers.retransmit.is_set() {
            self.arm_retransmit(env);
        }
        if !is_retransmission || self.is_repairing() {
            self.arm_tail(env);
        }
    }

    /// Notes that payload leaves while nothing is in flight.
    fn start_flight(&mut self, mss: u32, env: &Env<'_>) {
        self.pacer.on_flight_start(mss);
        self.congestion.on_flight_start(FlightStart {
            now: env.now,
            app_limited: self.send.unsent() < mss,
            srtt_us: self.rtt.srtt().as_micros() as u32,
        });
    }

    /// Notes that the due segment waits until its next hop is resolved. Starts a timer unless the
    /// retransmission or the persist timer runs. With this timer, an attempt to connect ends after
    /// `tcp.syn_retries` timeouts, and an open connection after its own number of retries, or
    /// earlier if the user timeout is shorter. A segment that never left is not counted as lost.
    pub fn on_next_hop_pending(&mut self, env: &mut Env<'_>) {
        self.on_device_full(env);
        let has_work = match self.state {
            TcpState::Closed => self.pending.reset.is_some(),
            state if state.is_synchronized() => !self.send.is_idle(),
            _ => self.pending.syn,
        };
        let is_watched = self.timers.retransmit.is_set() || self.timers.persist.is_set();
        if !has_work || is_watched {
            return;
        }
        if self.send.outstanding() == 0 {
            if self.state.is_synchronized() {
                // The user timeout counts from the start of the wait.
                self.progress_at = env.now;
            }
            self.arm_next_hop(env);
        } else if self.pending.probe {
            self.arm_persist(env);
        } else {
            // Restart the timer: it was stopped for a tail loss probe, which now waits for the next
            // hop.
            self.arm_retransmit(env);
        }
    }

    /// Starts the retransmission timer for a wait for the next hop, with the same backoff
    /// as for retransmissions.
    pub(super) fn arm_next_hop(&mut self, env: &mut Env<'_>) {
        let rto = self.rtt.rto(env.config);
        let backoff = 1 << u32::from(self.unanswered).min(16);
        let deadline = env.now + (rto * backoff).min(env.config.rto_max);
        let deadline = self.within_user_timeout(deadline, env);
        self.timers.retransmit.set(deadline);
    }

    /// Notes that the device or the next hop cannot take the segment that is due.
    pub fn on_device_full(&mut self, env: &mut Env<'_>) {
        if self.wants_output && self.state.is_synchronized() && self.may_send_payload(env) {
            self.set_limit(Limit::Device, env);
        }
    }
}
