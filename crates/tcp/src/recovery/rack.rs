//! RACK: lost is what left before something that has arrived, by more than a
//! reordering window. RFC 8985 §6.
//!
//! Rule: time decides, not counting. The window starts at nothing and grows
//! with each sign that the path reorders; it never exceeds a round trip. This
//! part marks; what is sent again and when is not its business.

use fullpipe_pool::{Duration, Instant};

use super::sent::{Scoreboard, Sent, SentArena};
use crate::SeqNum;

/// Recoveries after which a widened window is forgotten. RFC 8985 §6.2 step 4.
const REORDERING_PERSISTS: u8 = 16;
/// Segments SACKed that stand for a loss while no reordering was ever seen.
const DUPLICATE_THRESHOLD: u32 = 3;

/// RACK's view of one connection.
#[derive(Clone, Debug)]
pub struct Rack {
    /// When the segment left that left last of those that arrived.
    sent_at: Instant,
    /// Where it ends.
    end: SeqNum,
    /// Its round-trip time.
    rtt: Duration,
    /// One past the highest sequence number that arrived.
    fack: SeqNum,
    reordering_seen: bool,
    /// The reordering window in quarters of the smallest round-trip time.
    quarters: u8,
    persist: u8,
    /// No second widening before everything up to here is acknowledged.
    dsack_round: Option<SeqNum>,
}

/// What the reordering window depends on, besides RACK's own memory.
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
    /// Nothing has arrived.
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

    /// `sent` has arrived. `echoes_original` says that the timestamp which came
    /// back is older than the last retransmission. Returns whether it is known
    /// to have been an earlier copy than the last. RFC 8985 §6.2 steps 1 to 3.
    pub fn on_delivered(
        &mut self,
        sent: &Sent,
        echoes_original: bool,
        min_rtt: Option<Duration>,
        now: Instant,
    ) -> bool {
        let rtt = now.since(sent.sent_at);
        let sent_again = sent.retransmissions > 0;
        // Which transmission arrived is not known; one that came back faster
        // than anything ever did was the earlier one.
        let too_soon = min_rtt.is_some_and(|min_rtt| rtt < min_rtt);
        let was_original = sent_again && (echoes_original || too_soon);
        if (!sent_again || was_original) && sent.end.before(self.fack) {
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

    /// A DSACK says that something was sent again in vain: the window was too
    /// small. At most once a round trip. RFC 8985 §6.2 step 4.
    pub fn on_dsack(&mut self, snd_una: SeqNum, snd_max: SeqNum) {
        if self.dsack_round.is_some_and(|round| snd_una.before(round)) {
            return;
        }
        self.dsack_round = Some(snd_max);
        self.quarters = self.quarters.saturating_add(1);
        self.persist = REORDERING_PERSISTS;
        self.reordering_seen = true;
    }

    /// What was sent again had arrived the first time. When the copy left that
    /// counts as the latest arrival is then not known, and what left before it
    /// must not pass for lost: the next arrival tells.
    pub fn on_undo(&mut self) {
        self.sent_at = Instant::ZERO;
    }

    /// A recovery is over: a window that was not needed for long shrinks back.
    pub fn on_recovery_over(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// RFC 8985 §6.2 step 4.
    fn reordering_window(&self, sacked: u32, recovering: bool, path: PathState) -> Duration {
        let impatient = recovering || sacked >= DUPLICATE_THRESHOLD * path.mss;
        if !self.reordering_seen && impatient {
            return Duration::ZERO;
        }
        let min_rtt = path.min_rtt.unwrap_or(path.srtt);
        (min_rtt * u32::from(self.quarters) / 4).min(path.srtt)
    }

    /// Marks what is lost, and returns how many bytes that are, and when to
    /// look again if nothing else happens. RFC 8985 §6.2 step 5.
    pub fn detect(
        &self,
        board: &mut Scoreboard,
        path: PathState,
        recovering: bool,
        now: Instant,
        on_lost: &mut dyn FnMut(&Sent),
        arena: &mut SentArena,
    ) -> (u32, Option<Instant>) {
        let window = self.reordering_window(board.sacked(), recovering, path);
        let mut reordering_deadline: Option<Instant> = None;
        let lost = board.mark_lost(arena, &mut |sent| {
            if !sent.left_before(self.sent_at, self.end) {
                return false;
            }
            let deadline = sent.sent_at + self.rtt + window;
            let is_due = deadline <= now;
            if is_due {
                on_lost(sent);
            } else {
                reordering_deadline = Some(deadline);
            }
            is_due
        });
        (lost, reordering_deadline)
    }
}
