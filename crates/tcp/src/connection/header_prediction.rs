//! Header prediction: a short path for payload that arrives in order.
//!
//! Rule: the short path has the same effect as [`on_segment`](Connection::on_segment). The short
//! path takes a segment whose headers equal those of the segment before, except for sequence number
//! and PSH. `on_segment` accepted that earlier segment in the same batch, at the same
//! [`Env::now`]. The checks of the earlier segment are therefore valid for both segments, and the
//! ACK and the timestamp report nothing new. Nothing may be outstanding, because otherwise each ACK
//! counts.

use fullpipe_wire::TcpFlags;

use super::{Connection, Env, TcpState};
use crate::{Segment, SeqNum, trace::TraceEvent};

impl Connection {
    /// Processes `segment` as `on_segment` does. Returns true if a segment that has the same
    /// headers, except for sequence number and PSH, may be predicted as long as `env.now` is the
    /// same.
    pub fn on_segment_of_run(&mut self, segment: &Segment<'_>, env: &mut Env<'_>) -> bool {
        let is_next = segment.seq == self.receive.rcv_nxt;
        self.on_segment(segment, env);
        // If `rcv_nxt` has advanced by the payload, the segment has passed every check.
        is_next
            && !segment.payload.is_empty()
            && segment.payload.len() as u32 >= self.full_segment() / 2
            && segment.end() == self.receive.rcv_nxt
            && segment.flags.without(TcpFlags::PSH) == TcpFlags::ACK
            && segment.options.sack.is_empty()
            && segment.merged <= 1
            && self.only_receives()
    }

    /// Returns true if payload in order changes nothing but the receive half.
    fn only_receives(&self) -> bool {
        self.state == TcpState::Established
            && self.send.outstanding() == 0
            && !self.receive.has_hole()
            && !self.receive.fin_received()
            && !self.orphan
            && !self.settings.reads_closed
    }

    /// Returns true if a segment at `seq` with `len` bytes of payload is next in order, and
    /// may be passed to [`on_predicted`](Self::on_predicted).
    pub fn predicts(&self, seq: SeqNum, len: u32) -> bool {
        let fits = len <= self.receive.window_left();
        seq == self.receive.rcv_nxt && fits && self.only_receives()
    }

    /// Processes a segment that was [predicted](Self::predicts).
    pub fn on_predicted(&mut self, segment: &Segment<'_>, env: &mut Env<'_>) {
        let window = u32::from(segment.window) << self.agreed.snd_wscale;
        env.counters.in_segs += 1;
        env.record(TraceEvent::SegmentIn {
            seq: segment.seq.0,
            ack: segment.ack.0,
            window,
            len: segment.payload.len() as u32,
            flags: segment.flags,
        });
        // Store the window, because the window of the previous segment may have counted as old and
        // was then not stored. This happens if a segment with a higher sequence number arrived
        // before the previous segment and set SND.WL1 to that number.
        self.take_window(segment, window, env);
        self.take_payload_and_fin(segment, env);
        self.note_readiness(env);
    }
}
