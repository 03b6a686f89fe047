//! Bursts: segments of one size that follow each other in one turn.
//!
//! Rule: a burst sends exactly the segments that [`poll_segment`](Connection::poll_segment) would
//! send. A burst continues only while all bounds have room for a next segment of the same size,
//! whose headers differ from those of the previous segment only in the sequence number and in PSH.
//! Debug builds compare each segment with the decision in `output`. All other segments, and the
//! last segment of the payload, leave through `poll_segment`.

use fullpipe_wire::TcpFlags;

use super::{Connection, Env};
use crate::{
    SegmentOut, SeqNum,
    recovery::RecoveryPhase,
    send::{Decision, segmentize},
    trace::TraceEvent,
};

/// A burst that has begun.
#[derive(Clone, Debug)]
pub struct Burst {
    /// The segment that left last.
    segment: SegmentOut,
    /// Bytes that all bounds but the pacer allow.
    room: u32,
    /// Effective segment size.
    mss: u32,
    /// Segment size that divides the send buffer evenly.
    fitting: u32,
    /// Pacing rate in bytes per second.
    rate: u64,
}

impl Connection {
    /// Returns SND.NXT, the sequence number with which new payload begins.
    pub const fn snd_nxt(&self) -> SeqNum {
        self.send.snd_nxt
    }

    /// Returns the burst that begins with `segment`, which `poll_segment` has just
    /// returned. Returns `None` if the next segment may differ in more than its sequence
    /// number. `snd_nxt` is SND.NXT before `segment` left: a segment that begins below `snd_nxt` is
    /// a retransmission, which begins no burst.
    ///
    /// The device must not cut frames, and must not report completions.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub fn begin_burst(
        &self,
        segment: &SegmentOut,
        snd_nxt: SeqNum,
        env: &Env<'_>,
    ) -> Option<Burst> {
        let is_new = segment.seq == snd_nxt && !segment.payload.is_empty();
        if !is_new || self.send.unsent() <= segment.payload_len() {
            return None;
        }
        self.burst_of(segment, env)
    }

    fn burst_of(&self, segment: &SegmentOut, env: &Env<'_>) -> Option<Burst> {
        let len = segment.payload_len();
        let room = self.burst_room();
        let is_plain = segment.flags.without(TcpFlags::PSH | TcpFlags::ECE) == TcpFlags::ACK
            && segment.dont_fragment
            && segment.segment_size == 0;
        if room < len || !is_plain || !self.is_steady() {
            return None;
        }
        let mss = self.mss(env);
        let fitting = self.fitting_size(mss, env);
        if len != self.cut(fitting, mss) {
            return None;
        }
        Some(Burst {
            segment: segment.clone(),
            room,
            mss,
            fitting,
            rate: self.rate_now(env.config),
        })
    }

    /// Returns the bytes of new payload that a burst may send. The last byte written is
    /// left to `poll_segment`.
    fn burst_room(&self) -> u32 {
        let unacknowledged = self.settings.unacknowledged;
        self.send
            .unsent()
            .saturating_sub(1)
            .min(unacknowledged.saturating_sub(self.send.outstanding()))
            .min(self.send.window_room())
            .min(self.cwnd_room())
    }

    /// Returns true if only new payload is due. A segment of the burst then changes only the room
    /// that the bounds (receive window, congestion window, `tcp.unacknowledged`) leave: it reduces
    /// this room by its length. The segment size stays the same.
    fn is_steady(&self) -> bool {
        self.recovery.phase() == RecoveryPhase::Open
            && self.recovery.board().lost() == 0
            && !self.pending.tail_probe
            && !self.receive.ack.is_due()
            && self.path.is_at_rest()
            && self.send.snd_up.is_none()
            && self.receive.burst.is_none()
            && self.settings.unsent_low_water == 0
            // Only `poll_segment` clears the cork's timer and the flag that overrides silly window
            // avoidance. A tail loss probe can leave them set, so no burst begins while one of them
            // is set.
            && !self.pending.override_sws
            && !self.timers.cork.is_set()
            && !self.timers.deferral.is_set()
            && !self.timers.persist.is_set()
            && self.timers.retransmit.is_set()
            && self.device_room() > 0
    }

    /// Returns the next segment of the burst, which counts as sent; `None` if the burst
    /// ends here. Call [`end_burst`](Self::end_burst) then.
    pub fn poll_burst<'b>(
        &mut self,
        burst: &'b mut Burst,
        env: &mut Env<'_>,
    ) -> Option<&'b SegmentOut> {
        let len = burst.segment.payload_len();
        let is_next_alike = len == self.cut(burst.fitting, burst.mss);
        if burst.room < len || !is_next_alike || !self.pacer.may_send(env.now) {
            return None;
        }
        debug_assert_eq!(
            segmentize(&self.situation(0, env)),
            Decision::Send(len),
            "a burst continues where no such segment may leave"
        );
        let (start, end) = (self.send.snd_nxt, self.send.snd_nxt + len);
        let segment = &mut burst.segment;
        segment.seq = start;
        segment.payload = segment.payload.end..segment.payload.end + u64::from(len);
        let window = self.send.max_snd_wnd;
        segment.flags = segment.flags.without(TcpFlags::PSH);
        if self.send.push.take(end, false, window, env.config.push) {
            segment.flags |= TcpFlags::PSH;
        }
        self.check_headers(segment, env);
        burst.room -= len;
        self.account_burst(burst, env);
        Some(&burst.segment)
    }

    /// Counts and records the most recently sent segment of a burst, as `on_sent` does for a
    /// segment of new payload that is sent while payload is in flight.
    fn account_burst(&mut self, burst: &Burst, env: &mut Env<'_>) {
        let segment = &burst.segment;
        let len = segment.payload_len();
        env.counters.out_segs += 1;
        env.counters.orig_data_sent += 1;
        self.pairs.on_sent();
        env.record(TraceEvent::SegmentOut {
            seq: segment.seq.0,
            ack: segment.ack.0,
            window: u32::from(segment.window) << self.agreed.rcv_wscale,
            len,
            flags: segment.flags,
        });
        self.totals.bytes_sent += u64::from(len);
        self.totals.segments_sent += 1;
        self.totals.full_sized_sent += u64::from(len >= burst.mss);
        self.limit.charge_bytes(len);
        if env.config.pacing {
            self.pacer.on_sent(len, burst.rate, burst.mss, env.now);
        }
        let range = segment.seq..segment.seq + len;
        self.recovery.on_sent(
            range.clone(),
            range.start,
            env.now,
            &mut self.rate,
            env.sent,
        );
        self.send.snd_nxt = range.end;
    }

    /// Ends a burst.
    pub fn end_burst(&mut self, env: &mut Env<'_>) {
        self.arm_tail(env);
    }

    /// In debug builds, checks ACK, window and options of a segment of a burst.
    fn check_headers(&mut self, segment: &SegmentOut, env: &mut Env<'_>) {
        if cfg!(debug_assertions) {
            let room = self.window_room(env);
            let window = self.receive.window_field(&room, env.pool);
            let options = self.segment_options(false, env);
            let headers = (segment.window, segment.ack, segment.options);
            let expected = (window, self.receive.rcv_nxt, options);
            assert_eq!(headers, expected, "the headers of a burst changed");
        }
    }
}
