//! RACK: a segment is lost if it left before a segment that was delivered, by
//! more than a reordering window. RFC 8985 §6.
//!
//! Rule: time decides, not a count of duplicates. Before any reordering is seen, the
//! reordering window is zero in recovery and after three SACKed segments. Otherwise it is a
//! quarter of the smallest round-trip time. DSACKs widen the window by another quarter at most once
//! a round trip. The window never exceeds the smoothed round-trip time. This file marks losses;
//! other files decide what to retransmit and when.

use fullpipe_pool::{Duration, Instant, record};

use super::sent::{Scoreboard, Sent, SentArena};
use crate::SeqNum;

/// Recoveries after which a widened window shrinks back. RFC 8985 §6.2 step 4.
const REORDERING_PERSISTS: u8 = 16;
/// SACKed segments, or duplicate ACKs, that prove a loss as long as no reordering was seen.
pub(super) const DUPLICATE_THRESHOLD: u32 = 3;

/// RACK's state of one connection.
#[derive(Clone, Debug)]
pub struct Rack {
    /// RACK.xmit_ts: send time of the delivered segment that was sent last.
    sent_at: Instant,
    /// RACK.end_seq: the end of that segment.
    end: SeqNum,
    /// RACK.rtt: round-trip time of the segment delivered last.
    rtt: Duration,
    /// RACK.fack: one past the highest sequence number delivered.
    fack: SeqNum,
    reordering_seen: bool,
    /// Reordering window in quarters of the smallest round-trip time.
    quarters: u8,
    persist: u8,
    /// The window is not widened again before this sequence number is
    /// acknowledged.
    dsack_round: Option<SeqNum>,
}

record!(Rack {
    sent_at,
    end,
    rtt,
    fack,
    reordering_seen,
    quarters,
    persist,
    dsack_round
});

/// Segment size and round-trip times, on which the reordering window depends.
#[derive(Clone, Copy, Debug)]
pub struct PathState {
    /// Effective segment size.
    pub mss: u32,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Smallest round-trip time; `None` before the first sample.
    pub min_rtt: Option<Duration>,
}

impl Rack {
    /// Creates the state before anything was delivered.
    pub const fn new(iss: SeqNum) -> Self {
        Self {
            sent_at: Instant::ZERO,
            end: iss,
            rtt: Duration::ZERO,
            fack: iss,
            reordering_seen: false,
            quarters: 1,
            persist: REORDERING_PERSISTS,
            dsack_round: None,
        }
    }

    /// Processes a delivered range. RFC 8985 §6.2 steps 1 to 3.
    ///
    /// `echoes_original` means that the echoed timestamp is older than the last
    /// retransmission. Returns true if the copy that was delivered is known to be older
    /// than the last retransmission.
    pub fn on_delivered(
        &mut self,
        sent: &Sent,
        echoes_original: bool,
        min_rtt: Option<Duration>,
        now: Instant,
    ) -> bool {
        let rtt = now.since(sent.sent_at);
        let retransmitted = sent.retransmissions > 0;
        // It is ambiguous which transmission was delivered. An ACK faster than the
        // smallest round-trip time is for an earlier transmission.
        let too_soon = min_rtt.is_some_and(|min_rtt| rtt < min_rtt);
        let was_original = retransmitted && (echoes_original || too_soon);
        if (!retransmitted || was_original) && sent.end.before(self.fack) {
            self.reordering_seen = true;
        }
        if was_original {
            return true;
        }
        self.fack = self.fack.latest(sent.end);
        self.rtt = rtt;
        if sent.left_after(self.sent_at, self.end) {
            self.sent_at = sent.sent_at;
            self.end = sent.end;
        }
        false
    }

    /// Processes a DSACK: a retransmission was spurious, so the window is widened, at
    /// most once per round trip. RFC 8985 §6.2 step 4.
    pub fn on_dsack(&mut self, snd_una: SeqNum, snd_max: SeqNum) {
        if self.dsack_round.is_some_and(|round| snd_una.before(round)) {
            return;
        }
        self.dsack_round = Some(snd_max);
        self.quarters = self.quarters.saturating_add(1);
        self.persist = REORDERING_PERSISTS;
        self.reordering_seen = true;
    }

    /// Responds to an undo: the originals of the retransmitted segments had arrived. The
    /// send time of the delivered copies is then unknown and must not make earlier
    /// segments count as lost; the next delivery sets a new send time.
    pub fn on_undo(&mut self) {
        self.sent_at = Instant::ZERO;
    }

    /// Notes the end of a recovery: a window that was not widened for 16 recoveries
    /// shrinks back.
    pub fn on_recovery_over(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// Returns the reordering window. RFC 8985 §6.2 step 4.
    fn reordering_window(&self, sacked: u32, expects_loss: bool, path: PathState) -> Duration {
        let impatient = expects_loss || sacked >= DUPLICATE_THRESHOLD * path.mss;
        if !self.reordering_seen && impatient {
            return Duration::ZERO;
        }
        // Without a sample, use RACK.rtt, which is the only known round-trip time. RFC 8985 §6.2
        // would already have taken it into the minimum (step 1) when it detects losses (step 5).
        let min_rtt = path.min_rtt.unwrap_or(self.rtt);
        let most = if path.srtt.is_zero() {
            self.rtt
        } else {
            path.srtt
        };
        (min_rtt * u32::from(self.quarters) / 4).min(most)
    }

    /// Marks lost ranges. Returns their bytes and the deadline of the
    /// reordering timer. RFC 8985 §6.2 step 5.
    ///
    /// `expects_loss` means that a recovery runs, or that a peer without SACK sent three
    /// duplicate ACKs.
    pub fn detect(
        &self,
        board: &mut Scoreboard,
        path: PathState,
        expects_loss: bool,
        now: Instant,
        on_lost: &mut dyn FnMut(&Sent),
        arena: &mut SentArena,
    ) -> (u32, Option<Instant>) {
        let window = self.reordering_window(board.sacked(), expects_loss, path);
        let deadline = |sent_at: Instant| sent_at + self.rtt + window;
        let is_suspect = |sent: &Sent| sent.left_before(self.sent_at, self.end);
        let lost = board.mark_lost(arena, &mut |sent| {
            let is_due = is_suspect(sent) && deadline(sent.sent_at) <= now;
            if is_due {
                on_lost(sent);
            }
            is_due
        });
        // The timer waits for the last of the ranges that may be lost (RFC 8985 §6.2 step 5). A
        // timer for each of these ranges would fire once per segment.
        let last = board.last_suspect(self.sent_at, &is_suspect, arena);
        (lost, last.map(deadline))
    }
}

#[cfg(test)]
mod tests;
