//! Frames that the device cuts into segments: how large, and whether to wait
//! for a larger one.
//!
//! Rule: size, deferral and small queue go by the same goal, which is decided
//! after congestion control has spoken. What waits for more room waits for an
//! ACK that is due, for half a round trip at most, and is charged to the bound
//! that left too little room. A device that cuts nothing changes nothing here.

use super::{Connection, Env};
use crate::{
    config::{SegmentSizing, TcpConfig},
    recovery::{RecoveryPhase, SentStatus},
    send::{Decision, Situation, frame_goal, segmentize, whole_segments},
};

/// A frame that uses up this part of the window need not be fuller: the ACKs of
/// as many are enough to keep the pipe full.
const WINDOW_PARTS: u32 = 3;

impl Connection {
    /// Bytes a second at which text should leave.
    pub(super) fn rate_now(&self, config: &TcpConfig) -> u64 {
        let srtt_us = self.rtt.srtt().as_micros() as u32;
        let recovering = self.recovery.phase() == RecoveryPhase::Fast;
        let rate = self.congestion.pacing_rate(srtt_us, recovering);
        match config.pacing_rate_max {
            0 => rate,
            most => rate.min(most.into()),
        }
    }

    /// Most text that the next frame should carry: one segment, unless the
    /// device cuts frames of up to `device_max` bytes.
    pub(super) fn frame_goal(&self, device_max: u32, mss: u32, env: &Env<'_>) -> u32 {
        // The urgent pointer counts from a segment's own sequence number, which
        // a device that cuts does not know.
        let is_urgent = self
            .send
            .snd_up
            .is_some_and(|up| up.after(self.send.snd_nxt));
        // And of what a device cuts, each part could repeat the CWR.
        if device_max < 2 * mss || is_urgent || self.ecn.owes_cwr() {
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

    /// The application has just written `taken` bytes.
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

    /// What leaves now, or why nothing does.
    pub(super) fn decide(&mut self, situation: &Situation, env: &Env<'_>) -> Decision {
        if self.should_defer(situation, env) {
            let wait = self.rtt.srtt() / 2;
            self.timers.deferral.set_once(env.now + wait);
            return Decision::Hold(situation.allowance.bound_by);
        }
        segmentize(situation)
    }

    /// Whether a fuller frame is worth waiting for: the window has less room
    /// than a frame should carry, more text waits than it has room for, and the
    /// next ACK is due within half a round trip.
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

    /// Text leaves: nothing is deferred any more.
    pub(super) fn end_deferral(&mut self) {
        self.timers.deferral.clear();
        self.pending.deferred_enough = false;
    }

    /// The device holds `held` bytes of what this connection sent, and takes up
    /// to `device_max` bytes of text in a frame. To be called after each segment
    /// handed to a device that says so, and when it has sent some. Returns
    /// whether that is as much as it may hold.
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

    /// Bytes that may be handed to the device: any or none.
    pub(super) fn device_room(&self) -> u32 {
        if self.small_queue.is_full() {
            0
        } else {
            u32::MAX
        }
    }
}
