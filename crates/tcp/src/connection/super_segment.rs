//! Frames that the device cuts into segments: their size, and the wait for a fuller frame.
//!
//! Rule: frame size, the wait (deferral) and the bound of the device backlog follow from one goal,
//! the payload that the next frame should carry. The goal is computed after congestion control has
//! set the rate. A frame that could be fuller waits for the next ACK, at most half a round trip;
//! the time is charged to the bound that left too little room. If the device does not cut frames, a
//! frame is one segment and never waits.

use super::{Connection, Env};
use crate::{
    config::{SegmentSizing, TcpConfig},
    recovery::{RecoveryPhase, SentStatus},
    send::{Decision, Situation, frame_goal, segmentize, whole_segments},
};

/// A frame of at least a third of the window does not wait to become fuller: three frames per round
/// trip keep ACKs coming.
const WINDOW_PARTS: u32 = 3;

impl Connection {
    /// Returns the pacing rate in bytes per second.
    pub(super) fn rate_now(&self, config: &TcpConfig) -> u64 {
        let srtt_us = self.rtt.srtt().as_micros() as u32;
        let recovering = self.recovery.phase() == RecoveryPhase::Fast;
        let rate = self.congestion.pacing_rate(srtt_us, recovering);
        match config.pacing_rate_max {
            0 => rate,
            most => rate.min(most.into()),
        }
    }

    /// Returns the largest payload, in bytes, that the next frame should carry: one segment, unless
    /// the device cuts frames of up to `device_max` bytes.
    pub(super) fn frame_goal(&self, device_max: u32, mss: u32, env: &Env<'_>) -> u32 {
        // Send urgent payload in single segments: an urgent pointer counts from the sequence number
        // of its own segment, and a device that cuts a frame does not adjust the pointer.
        let is_urgent = self
            .send
            .snd_up
            .is_some_and(|up| up.after(self.send.snd_nxt));
        // While CWR is due or F-RTO sends new data, a frame is one segment, too: the device would
        // repeat CWR in each segment that it cuts from the frame, and F-RTO counts the segments
        // that leave.
        if is_urgent || self.ecn.owes_cwr() || self.recovery.frto_prefers_new_data() {
            return mss;
        }
        match env.config.segment_sizing {
            SegmentSizing::Transmit => frame_goal(self.rate_now(env.config), mss, device_max),
            SegmentSizing::Write => {
                let next = self.send.offset_of(self.send.snd_nxt);
                whole_segments(self.send.buffers.left(next).min(device_max), mss)
            }
        }
    }

    /// Notes that the application wrote `taken` bytes, for sizing at the write (knob
    /// `tcp.segment_sizing`).
    pub(super) fn note_write(&mut self, taken: usize, env: &Env<'_>) {
        match env.config.segment_sizing {
            SegmentSizing::Write if taken > 0 => {
                let size = frame_goal(self.rate_now(env.config), self.mss(env), u32::MAX);
                let sent = self.send.offset_of(self.send.snd_nxt);
                let start = self.send.stream.end() - taken as u64;
                self.send.buffers.wrote(start, size, sent);
            }
            SegmentSizing::Transmit | SegmentSizing::Write => {}
        }
    }

    /// Decides which payload leaves now, or which limit stops it.
    pub(super) fn decide(&mut self, situation: &Situation, env: &Env<'_>) -> Decision {
        if self.should_defer(situation, env) {
            let wait = self.rtt.srtt() / 2;
            self.timers.deferral.set_once(env.now + wait);
            return Decision::Hold(situation.allowance.bound_by);
        }
        segmentize(situation)
    }

    /// Returns true if the next frame should wait to become fuller. All of these conditions must
    /// hold: the room that the bounds leave is at least a segment, smaller than a frame should be,
    /// and smaller than a third of the window; more payload waits than fits into this room; no
    /// recovery runs; no deferral has just ended; and the next ACK is due within half a round trip.
    fn should_defer(&self, situation: &Situation, env: &Env<'_>) -> bool {
        let &Situation {
            allowance,
            unsent,
            mss,
            goal,
            ..
        } = situation;
        let room = allowance.room;
        let falls_short = room >= mss && room < goal && room < unsent;
        if !falls_short
            || self.pending.deferred_enough
            || self.recovery.phase() != RecoveryPhase::Open
        {
            return false;
        }
        let window = self.congestion.cwnd().min(self.send.snd_wnd);
        if room >= window / WINDOW_PARTS {
            return false;
        }
        let oldest = self.recovery.board().iter(env.sent).next();
        let Some(oldest) = oldest.filter(|sent| sent.status == SentStatus::InFlight) else {
            return false;
        };
        let srtt = self.rtt.srtt();
        oldest.sent_at + srtt <= env.now + srtt / 2
    }

    /// Ends a deferral: payload leaves.
    pub(super) fn end_deferral(&mut self) {
        self.timers.deferral.clear();
        self.pending.deferred_enough = false;
    }

    /// Sets the device backlog of this connection to `held` bytes, for a device
    /// that takes up to `device_max` bytes of payload in a frame.
    ///
    /// Call it after each segment that was handed to a device that reports
    /// completions, and after each completion. Returns true if the backlog is
    /// full.
    pub fn on_device_backlog(&mut self, held: u32, device_max: u32, env: &mut Env<'_>) -> bool {
        let was_full = self.small_queue.is_full();
        let mss = self.mss(env);
        let goal = self.frame_goal(device_max, mss, env);
        self.small_queue.set(
            held,
            self.rate_now(env.config),
            goal,
            env.config.small_queue,
        );
        let is_full = self.small_queue.is_full();
        if was_full && !is_full {
            self.wants_output = true;
        }
        is_full
    }

    /// Returns the room in the device backlog in bytes: unlimited, or 0 if it is full.
    pub(super) fn device_room(&self) -> u32 {
        if self.small_queue.is_full() {
            0
        } else {
            u32::MAX
        }
    }
}
