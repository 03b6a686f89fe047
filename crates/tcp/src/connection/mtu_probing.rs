//! Path MTU discovery of a connection: packet-too-big messages and probes.
//!
//! Rule: a probe is new payload in a segment larger than the known path MTU, sent only if
//! enough payload follows to detect its loss. The loss of a probe is not a sign of
//! congestion. `send/path_mtu.rs` keeps the state of the search.

use fullpipe_pool::Count;
use fullpipe_wire::TcpOptions;

use super::{Connection, Env, IcmpError};
use crate::{
    Limit, SegmentOut, SeqNum,
    recovery::RecoveryPhase,
    send::{PacketTooBig, PtbOutcome},
};

/// Segments that must follow a probe so that its loss is detected without a
/// timeout.
const FOLLOWERS: u32 = 3;

/// Decision about a probe before other payload leaves.
pub(super) enum Probing {
    /// No probe.
    Idle,
    /// A probe is due but waits for an ACK; time is charged to this limit.
    Waits(Limit),
    /// A probe with this many bytes of payload leaves now.
    Due(u32),
}

impl Connection {
    /// Returns the present size of a full segment, payload and options.
    fn size_in_use(&self, env: &Env<'_>) -> u16 {
        (self.mss(env) + self.agreed.options_len()).min(u16::MAX.into()) as u16
    }

    /// Processes a packet-too-big message. RFC 1191.
    pub(super) fn on_packet_too_big(&mut self, report: PacketTooBig, env: &mut Env<'_>) {
        let is_about_ack = report.seq == self.send.snd_nxt;
        let outcome = match is_about_ack {
            true => self.path.on_ack_too_big(report, env.now, env.config),
            false => self.path.on_packet_too_big(report, env.now, env.config),
        };
        self.update_mss(env);
        match outcome {
            PtbOutcome::Ignored | PtbOutcome::Deferred => {}
            // Send another ACK in place of the lost ACK, which was too big. The new ACK reports
            // fewer SACK blocks, or may be fragmented.
            PtbOutcome::Accepted if is_about_ack => self.demand_ack(),
            PtbOutcome::Accepted => {
                // The segment that was too big is lost: retransmit its payload in smaller segments.
                self.recovery.on_packet_too_big(env.sent);
                self.wants_output = true;
            }
        }
    }

    /// Returns true if `error` may be about an ACK with SACK blocks. Such an ACK has the sequence
    /// number SND.NXT, and no other segment without payload exceeds 68 bytes, the smallest MTU. The
    /// error must also report an MTU below 80 bytes, the length of the longest headers, or below
    /// `ip.path_mtu_min`, where packets may be fragmented.
    pub(super) fn is_about_sack_ack(&self, error: IcmpError, seq: SeqNum) -> bool {
        let is_small = match error {
            IcmpError::FragmentationNeeded {
                mss_limit,
                fragment,
            } => fragment || usize::from(mss_limit) < TcpOptions::MAX_LEN,
            IcmpError::Unreachable { .. } | IcmpError::TimeExceeded => false,
        };
        is_small && self.agreed.has_sack() && seq == self.send.snd_nxt
    }

    /// Returns true if routers must not fragment the packets of `segment`.
    pub(super) fn forbids_fragments(&self, segment: &SegmentOut) -> bool {
        let payload = match segment.segment_size {
            0 => segment.payload_len(),
            size => size.into(),
        };
        !self.path.may_fragment(payload + self.agreed.options_len())
    }

    /// Responds to a retransmission timeout, which may mean that segments are too large
    /// for the path.
    pub(super) fn suspect_black_hole(&mut self, env: &mut Env<'_>) {
        let until = env.now + env.config.probe_interval;
        env.counters.mtup_fail += Count::from(self.path.on_probe_lost(until));
        let used = self.size_in_use(env);
        self.path
            .on_timeout(self.recovery.timeouts(), used, env.now, env.config);
        self.update_mss(env);
    }

    /// Notes that `segment`, which has payload, leaves.
    pub(super) fn note_size(&mut self, segment: &SegmentOut, env: &mut Env<'_>) {
        let (start, end) = (segment.seq, segment.seq + segment.len());
        if start.before(self.send.snd_nxt) {
            let until = env.now + env.config.probe_interval;
            let failed = self.path.on_retransmitted(start, end, until);
            env.counters.mtup_fail += Count::from(failed);
            return;
        }
        let payload = match segment.segment_size {
            0 => segment.payload_len(),
            size => size.into(),
        };
        let size = (payload + self.agreed.options_len()).min(u16::MAX.into()) as u16;
        self.path.on_sent(start, end, size);
    }

    /// Notes that `snd_una` advanced.
    pub(super) fn note_arrival(&mut self, env: &mut Env<'_>) {
        if self.path.on_ack(self.send.snd_una) {
            env.counters.mtup_success += 1;
            self.update_mss(env);
        }
    }

    /// Decides whether a probe leaves before other payload.
    pub(super) fn probing(&mut self, env: &Env<'_>) -> Probing {
        if self.path.is_at_rest() {
            return Probing::Idle;
        }
        self.path.on_time(env.now, env.config);
        self.update_mss(env);
        let options = self.agreed.options_len();
        let most = u32::from(self.agreed.peer_mss).min(self.mss_max(env));
        let Some(size) = self.path.candidate(most.min(u16::MAX.into()) as u16) else {
            return Probing::Idle;
        };
        let (len, mss) = (u32::from(size).saturating_sub(options), self.mss(env));
        let need = len + FOLLOWERS * mss;
        let in_order =
            self.recovery.phase() == RecoveryPhase::Open && self.recovery.board().lost() == 0;
        let loss_is_detectable = self.agreed.has_sack() && in_order && !self.recovery.is_probing();
        // Count the space that ACKs will free in the send buffer as payload that can follow the
        // probe, because a blocked writer will fill it.
        let (unsent, outstanding) = (self.send.unsent(), self.send.outstanding());
        let coming = if self.send.blocked.is_some() {
            unsent + outstanding
        } else {
            unsent
        };
        let possible = coming.min(self.send.snd_wnd).min(self.congestion.cwnd()) >= need;
        if !loss_is_detectable || !possible || len <= mss {
            return Probing::Idle;
        }
        let allowance = self.send_allowance(env);
        if allowance.room >= len && unsent.min(self.send.window_room()) >= need {
            Probing::Due(len)
        } else if outstanding > 0 {
            Probing::Waits(allowance.bound_by)
        } else {
            Probing::Idle
        }
    }

    /// Returns the probe of `len` bytes of new payload.
    pub(super) fn mtu_probe(&mut self, len: u32, env: &mut Env<'_>) -> SegmentOut {
        self.pending.override_sws = false;
        self.end_deferral();
        self.timers.cork.clear();
        self.timers.persist.clear();
        let start = self.send.snd_nxt;
        let mut segment = self.data_segment(start, len, env);
        self.mark_ect(&mut segment);
        let size = (len + self.agreed.options_len()) as u16;
        self.path.on_probe(start, start + len, size);
        self.recovery.on_mtu_probe(start..start + len);
        segment
    }
}
