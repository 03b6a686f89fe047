//! Loss recovery: detection of losses and the choice of what to retransmit. One
//! engine for all congestion control algorithms. RFC 8985 (RACK-TLP), RFC 9937
//! (PRR), RFC 6298 (RTO), RFC 5682 (F-RTO), and undo.
//!
//! Rule: this module stores the ranges that are outstanding and the status of each; it holds no
//! payload and makes no segments. Congestion control decides how much may be in flight. In fast
//! recovery, PRR decides this unless the algorithm controls recovery.

mod prr;
mod rack;
mod rtt;
mod sent;
mod tail_loss;
mod undo;

pub use prr::{Prr, PrrAck};
use rack::DUPLICATE_THRESHOLD;
pub use rack::{PathState, Rack};
pub use rtt::Rtt;
pub use sent::{Scoreboard, Sent, SentArena, SentStatus};
pub use tail_loss::{ProbeOutcome, TailLoss};
pub use undo::UndoDetector;

use core::ops::Range;

use fullpipe_pool::{
    Instant, record,
    record::{Record, RecordReader, RecordWriter},
};
use fullpipe_wire::SackBlock;

use crate::{
    SeqNum,
    congestion::{DeliveryRate, LostRange},
};

/// Returns `at` rounded down to a tick of the timestamp clock. An echoed timestamp is in ticks, so
/// a time is rounded before it is compared with an echoed timestamp; otherwise the rounding alone
/// could make the echo look older.
pub fn tick(at: Instant) -> Instant {
    Instant::from_millis(at.as_millis())
}

/// Phase of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryPhase {
    /// No loss is known.
    Open,
    /// Fast recovery, until everything before `recover` is acknowledged.
    Fast,
    /// After a timeout: the outstanding payload is retransmitted in slow start.
    Timeout,
}

record!(
    enum RecoveryPhase {
        Open,
        Fast,
        Timeout,
    }
);

/// State of F-RTO, which detects a spurious timeout. RFC 5682 §2.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frto {
    /// F-RTO does not run, or has finished.
    Inactive,
    /// Step 1: the segment at `snd_una` was retransmitted.
    AwaitsFirstAck,
    /// Step 2b: this many segments of new data are still to be sent. No retransmission leaves
    /// before them, because it could cause the next ACK.
    SendsNewData(u8),
}

/// Number of new segments in step 2b.
const NEW_SEGMENTS: u8 = 2;

impl Record for Frto {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        to.number(match *self {
            Self::Inactive => 0,
            Self::AwaitsFirstAck => 1,
            Self::SendsNewData(left) => 2 + u64::from(left),
        });
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        match from.number() {
            0 => Self::Inactive,
            1 => Self::AwaitsFirstAck,
            left => Self::SendsNewData((left - 2) as u8),
        }
    }
}

impl Frto {
    /// Returns the state after an ACK in [`RecoveryPhase::Timeout`].
    const fn after_ack(self, advanced: bool, is_duplicate: bool) -> Self {
        match self {
            Self::AwaitsFirstAck if advanced => Self::SendsNewData(NEW_SEGMENTS),
            Self::AwaitsFirstAck if !is_duplicate => Self::AwaitsFirstAck,
            Self::AwaitsFirstAck | Self::SendsNewData(_) | Self::Inactive => Self::Inactive,
        }
    }

    /// Returns the state after a segment of new data left.
    const fn after_new_data(self) -> Self {
        match self {
            Self::SendsNewData(left) => Self::SendsNewData(left.saturating_sub(1)),
            Self::AwaitsFirstAck | Self::Inactive => self,
        }
    }
}

/// Loss recovery of one connection. [`clear`](Self::clear) must be called before a `Recovery` is
/// dropped: the scoreboard's nodes belong to an arena that all connections share, and must return
/// to it.
#[derive(Debug)]
pub struct Recovery {
    phase: RecoveryPhase,
    /// `snd_nxt` at the start of the present recovery or, outside of recovery, at the end of the
    /// last one.
    recover: SeqNum,
    board: Scoreboard,
    rack: Rack,
    tail: TailLoss,
    prr: Prr,
    undo: UndoDetector,
    frto: Frto,
    /// Bytes that PRR allows in flight during fast recovery.
    window: u32,
    /// Consecutive timeouts.
    timeouts: u32,
    /// Duplicate ACKs from a peer without SACK; each stands for one segment beyond the
    /// first hole.
    duplicates: u32,
    /// A SACK block was ignored because no node was free. Cleared once everything is acknowledged.
    has_ignored_reports: bool,
    /// The path MTU probe in flight.
    mtu_probe: Option<Range<SeqNum>>,
}

record!(Recovery {
    phase,
    recover,
    board,
    rack,
    tail,
    prr,
    undo,
    frto,
    window,
    timeouts,
    duplicates,
    has_ignored_reports,
    mtu_probe
});

/// Inputs from one ACK.
#[derive(Clone, Copy, Debug)]
pub struct AckIn<'a> {
    /// Arrival time.
    pub now: Instant,
    /// SEG.ACK.
    pub ack: SeqNum,
    /// `snd_una` before the ACK.
    pub snd_una: SeqNum,
    /// One past the highest sequence number sent.
    pub snd_nxt: SeqNum,
    /// SACK blocks; `None` if SACK is not used.
    pub sack: Option<&'a [SackBlock]>,
    /// The ACK is a duplicate by RFC 5681 §2.
    pub is_duplicate: bool,
    /// Tick of the timestamp that the ACK echoes.
    pub echoed_at: Option<Instant>,
    /// Round-trip times and segment size.
    pub path: PathState,
}

/// Change of the recovery phase that an ACK or the reordering timer caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryChange {
    /// The phase is the same as before.
    Unchanged,
    /// A loss was found: fast recovery has begun.
    LossFound,
    /// Only a path MTU probe was lost: retransmit it without a congestion
    /// response. RFC 4821 §7.6.2.
    MtuProbeLost,
    /// Everything that was outstanding when recovery began has arrived.
    Recovered,
    /// The recovery was spurious: undo it.
    Spurious,
}

/// Results of one ACK.
#[derive(Clone, Copy, Debug)]
pub struct AckOut {
    /// Change of the recovery phase.
    pub change: RecoveryChange,
    /// Bytes newly delivered, by ACK or SACK.
    pub delivered: u32,
    /// Bytes newly considered lost.
    pub lost: u32,
    /// The ACK carried a DSACK block.
    pub dsack: bool,
    /// A tail loss probe repaired a loss: the ACK covers the probe and reports no
    /// duplicate.
    pub probe_repaired: bool,
    /// New deadline of the reordering timer, or `Some(None)` to stop it; `None`
    /// if RACK did not run, so that the timer stays unchanged.
    pub reordering_deadline: Option<Option<Instant>>,
}

/// Ranges that one ACK newly delivered.
#[derive(Default)]
struct NewlyDelivered {
    bytes: u32,
    original_arrived: bool,
    retransmission_arrived: bool,
}

impl Recovery {
    /// Creates the engine before anything was sent; `iss` is the initial send
    /// sequence number.
    pub const fn new(iss: SeqNum) -> Self {
        Self {
            phase: RecoveryPhase::Open,
            recover: iss,
            board: Scoreboard::new(),
            rack: Rack::new(iss),
            tail: TailLoss::IDLE,
            prr: Prr::IDLE,
            undo: UndoDetector::NOTHING,
            frto: Frto::Inactive,
            window: 0,
            timeouts: 0,
            duplicates: 0,
            has_ignored_reports: false,
            mtu_probe: None,
        }
    }

    /// Returns the phase.
    pub const fn phase(&self) -> RecoveryPhase {
        self.phase
    }

    /// Returns true if duplicate ACKs of a peer without SACK have arrived since `snd_una` advanced.
    pub const fn has_duplicates(&self) -> bool {
        self.duplicates > 0
    }

    /// Returns the number of consecutive timeouts.
    pub const fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Returns the scoreboard.
    pub const fn board(&self) -> &Scoreboard {
        &self.board
    }

    /// Returns true if a tail loss probe is in flight.
    pub const fn is_probing(&self) -> bool {
        self.tail.is_probing()
    }

    /// Returns true while a later ACK may show that a recovery was spurious.
    pub const fn may_be_spurious(&self) -> bool {
        self.undo.is_running()
    }

    /// Returns true if F-RTO sends new data before retransmissions. RFC 5682
    /// §2.1 step 2b.
    pub const fn frto_prefers_new_data(&self) -> bool {
        matches!(self.frto, Frto::SendsNewData(1..))
    }

    /// Returns true if F-RTO's new data is in flight. Nothing is retransmitted
    /// before an ACK resolves F-RTO.
    pub const fn frto_awaits_new_data(&self) -> bool {
        matches!(self.frto, Frto::SendsNewData(0..NEW_SEGMENTS))
    }

    /// Returns the bytes that PRR allows in flight; meaningful in fast
    /// recovery.
    pub const fn window(&self) -> u32 {
        self.window
    }

    /// Returns the lost range with the lowest sequence numbers, which is retransmitted first.
    pub fn next_lost(&self, arena: &SentArena) -> Option<Range<SeqNum>> {
        self.board.next_lost(arena)
    }

    /// Notes that `range` leaves. The part before `snd_nxt` is a
    /// retransmission.
    pub fn on_sent(
        &mut self,
        range: Range<SeqNum>,
        snd_nxt: SeqNum,
        now: Instant,
        rate: &mut DeliveryRate,
        arena: &mut SentArena,
    ) {
        let len = range.start.room_to(range.end);
        let snapshot = rate.on_sent(len, self.board.in_flight(), now);
        let again = range.start..range.end.earliest(snd_nxt);
        if again.start.before(again.end) {
            let is_head = self.board.starts_at(again.start, arena);
            let bytes = again.start.room_to(again.end);
            self.undo.on_retransmission(is_head, bytes, tick(now));
            self.board.on_retransmitted(again, now, snapshot, arena);
        }
        let first = range.start.latest(snd_nxt)..range.end;
        if first.start.before(first.end) {
            self.board.on_sent(first, now, snapshot, arena);
            self.frto = self.frto.after_new_data();
        }
        if self.phase == RecoveryPhase::Fast {
            self.prr.on_sent(len);
        }
    }

    /// Marks all bytes in flight as lost after a zero-window probe: while the window is closed, the
    /// peer's answer does not acknowledge the probe's byte. The byte is retransmitted once the
    /// window opens.
    pub fn on_window_probe(&mut self, arena: &mut SentArena) {
        self.board.mark_all_lost(false, arena);
    }

    /// Notes that a tail loss probe left; `snd_nxt` is the value after the probe.
    pub fn on_tail_probe(&mut self, snd_nxt: SeqNum, is_retransmission: bool) {
        self.tail.on_probe(snd_nxt, is_retransmission);
    }

    /// Notes that `range` is a path MTU probe, whose loss is not congestion.
    #[cfg(feature = "path-mtu")]
    pub fn on_mtu_probe(&mut self, range: Range<SeqNum>) {
        self.mtu_probe = Some(range);
    }

    /// Processes an ACK. Calls `on_lost` for each range that is newly considered lost.
    pub fn on_ack(
        &mut self,
        input: &AckIn<'_>,
        rate: &mut DeliveryRate,
        on_lost: &mut dyn FnMut(LostRange),
        arena: &mut SentArena,
    ) -> AckOut {
        let newly = self.take_delivered(input, rate, arena);
        let dsack = self.take_dsack(input);
        let advanced = input.ack.after(input.snd_una);
        if advanced {
            self.timeouts = 0;
        }
        let bare = !advanced && newly.bytes == 0;
        let outcome = self.tail.on_ack(input.ack, dsack, bare);
        if self.phase == RecoveryPhase::Fast && !bare {
            self.tail.cancel();
        }
        let mut change = self.end_phase(input, &newly, arena);
        self.frto = if self.phase == RecoveryPhase::Timeout {
            self.frto.after_ack(advanced, input.is_duplicate)
        } else {
            Frto::Inactive
        };
        if self.board.head_is_sacked(arena) {
            self.board.mark_all_lost(true, arena);
        }
        // An ACK that reports nothing new starts no search for losses, so that a peer
        // cannot cause work by repeating an ACK.
        let reports_new = advanced || newly.bytes > 0 || input.sack.is_none();
        let (lost, reordering_deadline) = if reports_new {
            self.detect(input.path, input.now, rate, on_lost, arena)
        } else {
            (0, None)
        };
        if lost > 0 && self.phase == RecoveryPhase::Open {
            change = self.on_loss(input.ack.latest(input.snd_una), input.snd_nxt, lost, arena);
        }
        AckOut {
            change,
            delivered: newly.bytes,
            lost,
            dsack,
            probe_repaired: outcome == ProbeOutcome::LossRepaired,
            reordering_deadline: reports_new.then_some(reordering_deadline),
        }
    }

    /// Updates the scoreboard, RACK and the rate estimator with the ranges that the ACK newly
    /// delivered.
    fn take_delivered(
        &mut self,
        input: &AckIn<'_>,
        rate: &mut DeliveryRate,
        arena: &mut SentArena,
    ) -> NewlyDelivered {
        let mut newly = NewlyDelivered::default();
        let after_timeout = self.phase == RecoveryPhase::Timeout;
        let Self {
            board, rack, undo, ..
        } = self;
        let mut arrived = |sent: &Sent| {
            // The peer echoes the timestamp of the segment at `snd_una`, not the timestamps of
            // segments behind it (RFC 7323 §4.3), so only this range can be recognised as the
            // original.
            let echoes_original = sent.start == input.snd_una
                && input
                    .echoed_at
                    .is_some_and(|echoed| echoed < tick(sent.sent_at));
            let ambiguous = sent.retransmissions > 0;
            newly.bytes += sent.len();
            newly.retransmission_arrived |= ambiguous;
            newly.original_arrived |= sent.status == SentStatus::Lost && sent.retransmissions == 0;
            // Ignore the arrival time of a cumulative ACK after a timeout, and leave the decision
            // to F-RTO: the path may have become faster, and while everything is retransmitted no
            // round-trip sample shows this. A SACK that arrives too early for the retransmission is
            // for the original even after a timeout. RFC 8985 §6.2 does not distinguish cumulative
            // ACKs and SACKs here.
            let is_acknowledged = sent.end.at_or_before(input.ack);
            let is_trusted = after_timeout && is_acknowledged;
            let min_rtt = input.path.min_rtt.filter(|_| !is_trusted);
            let was_original = rack.on_delivered(sent, echoes_original, min_rtt, input.now);
            if was_original {
                undo.on_original(sent.len());
            }
            rate.on_delivered(
                sent.len(),
                sent.sent_at,
                sent.snapshot,
                ambiguous,
                input.now,
            );
        };
        self.has_ignored_reports &= input.ack.before(input.snd_nxt);
        board.on_ack(input.ack, arena, &mut arrived);
        match input.sack {
            Some(blocks) => {
                for block in blocks {
                    let (left, right) = (SeqNum(block.left), SeqNum(block.right));
                    let credible = left.after(input.ack.latest(input.snd_una))
                        && right.at_or_before(input.snd_nxt);
                    if credible && left.before(right) {
                        self.has_ignored_reports |=
                            !board.on_sack(left..right, arena, &mut arrived);
                    }
                }
            }
            None => self.count_duplicates(input, arena),
        }
        // Originals beyond the hole that no SACK block reported may have arrived before the
        // timeout. They prove nothing: the ACK covers them only because the retransmission has
        // filled the hole.
        if input.sack.is_none() || self.has_ignored_reports {
            newly.original_arrived &= !newly.retransmission_arrived;
        }
        newly
    }

    /// Processes an ACK of a peer without SACK: each duplicate ACK counts as a SACK of one segment,
    /// the one that left first among those in flight beyond the first hole.
    fn count_duplicates(&mut self, input: &AckIn<'_>, arena: &mut SentArena) {
        let PathState { mss, min_rtt, .. } = input.path;
        let Self { board, rack, .. } = self;
        if input.ack.after(input.snd_una) {
            // The segments that were assumed to be SACKed count as in flight again. After
            // a partial ACK the next hole begins at the ACK. RFC 6582 §3.2.
            board.forget_sacked(arena);
            self.duplicates = 0;
            let partial = self.phase == RecoveryPhase::Fast && input.ack.before(self.recover);
            if partial {
                board.mark_head_lost(mss, arena);
            }
        } else if input.is_duplicate {
            self.duplicates = self.duplicates.saturating_add(1);
            board.sack_oldest_beyond_head(mss, arena, &mut |sent| {
                rack.on_delivered(sent, false, min_rtt, input.now);
            });
        }
    }

    /// Reports a DSACK to RACK and the undo detector. The first block is a DSACK if it is below the
    /// ACK or inside the second block. RFC 2883.
    fn take_dsack(&mut self, input: &AckIn<'_>) -> bool {
        let Some([first, rest @ ..]) = input.sack else {
            return false;
        };
        let (left, right) = (SeqNum(first.left), SeqNum(first.right));
        let below = right.at_or_before(input.ack);
        let inside = rest.first().is_some_and(|outer| {
            left.at_or_after(SeqNum(outer.left)) && right.at_or_before(SeqNum(outer.right))
        });
        if !below && !inside {
            return false;
        }
        self.rack.on_dsack(input.ack, input.snd_nxt);
        self.undo.on_dsack(left, left.room_to(right));
        true
    }

    /// Ends the phase if the ACK completes the phase, or shows that the phase was spurious.
    fn end_phase(
        &mut self,
        input: &AckIn<'_>,
        newly: &NewlyDelivered,
        arena: &mut SentArena,
    ) -> RecoveryChange {
        let echoed_at = input.echoed_at.filter(|_| input.ack.after(input.snd_una));
        let is_over = input.ack.at_or_after(self.recover);
        let is_needless = self.phase == RecoveryPhase::Fast && is_over && self.undo.sent_nothing();
        if is_needless || self.undo.is_spurious(echoed_at, newly.original_arrived) {
            self.board.unmark_lost(arena);
            self.rack.on_undo();
            self.phase = RecoveryPhase::Open;
            self.undo.forget();
            return RecoveryChange::Spurious;
        }
        if self.phase != RecoveryPhase::Open && is_over {
            self.phase = RecoveryPhase::Open;
            self.recover = input.snd_nxt;
            self.rack.on_recovery_over();
            self.undo.on_recovered();
            return RecoveryChange::Recovered;
        }
        if self.phase == RecoveryPhase::Open {
            self.undo.expire(input.ack, self.recover);
        }
        RecoveryChange::Unchanged
    }

    /// Runs RACK's loss detection.
    fn detect(
        &mut self,
        path: PathState,
        now: Instant,
        rate: &mut DeliveryRate,
        on_lost: &mut dyn FnMut(LostRange),
        arena: &mut SentArena,
    ) -> (u32, Option<Instant>) {
        let expects_loss =
            self.phase != RecoveryPhase::Open || self.duplicates >= DUPLICATE_THRESHOLD;
        let probe = self.mtu_probe.clone();
        let mut lost = |sent: &Sent| {
            let range = rate.on_lost(sent.len(), sent.snapshot, now);
            if probe != Some(sent.start..sent.end) {
                on_lost(range);
            }
        };
        self.rack
            .detect(&mut self.board, path, expects_loss, now, &mut lost, arena)
    }

    /// Responds to the reordering timer. Returns the change of phase and the timer's next
    /// deadline.
    pub fn on_reordering_timeout(
        &mut self,
        input: &AckIn<'_>,
        rate: &mut DeliveryRate,
        on_lost: &mut dyn FnMut(LostRange),
        arena: &mut SentArena,
    ) -> (RecoveryChange, Option<Instant>) {
        let (lost, reordering_deadline) = self.detect(input.path, input.now, rate, on_lost, arena);
        self.window = self.window.saturating_sub(lost);
        if lost > 0 && self.phase == RecoveryPhase::Open {
            let change = self.on_loss(input.snd_una, input.snd_nxt, lost, arena);
            // Without an ACK, PRR grants nothing, so one segment is granted here: the
            // first retransmission leaves at once (RFC 9937 §6.2, RFC 8985 §6.2 step 5).
            self.window = self.window.saturating_add(input.path.mss);
            return (change, reordering_deadline);
        }
        (RecoveryChange::Unchanged, reordering_deadline)
    }

    /// Responds to `lost` bytes that RACK newly marked as lost outside of a recovery:
    /// begins fast recovery, unless only a path MTU probe was lost.
    fn on_loss(
        &mut self,
        snd_una: SeqNum,
        snd_nxt: SeqNum,
        lost: u32,
        arena: &SentArena,
    ) -> RecoveryChange {
        if let Some(probe) = self.mtu_probe.take()
            && self.board.lost() == probe.start.room_to(probe.end)
            && self.next_lost(arena) == Some(probe)
        {
            return RecoveryChange::MtuProbeLost;
        }
        self.begin_fast(snd_una, snd_nxt, lost);
        RecoveryChange::LossFound
    }

    fn begin_fast(&mut self, snd_una: SeqNum, snd_nxt: SeqNum, lost: u32) {
        self.phase = RecoveryPhase::Fast;
        self.recover = snd_nxt;
        self.tail.cancel();
        self.undo.start(snd_una, self.board.retransmitted(), false);
        self.prr = Prr::start(self.board.in_flight() + lost);
        self.window = self.board.in_flight();
    }

    /// Updates the window of fast recovery after an ACK.
    ///
    /// PRR computes the bytes that may leave with this ACK and assumes that they leave at once. The
    /// pacer may delay them, so the bytes that PRR granted before stay granted. Otherwise, after
    /// many losses, the window would hardly grow while the pacer delays segments, instead of
    /// doubling in a round trip. While the bytes in flight are at most `ssthresh`, the window is
    /// therefore at least its previous value, less the bytes newly lost, plus a segment for a safe
    /// ACK, but at most `ssthresh`.
    pub fn pace(&mut self, out: &AckOut, advanced: bool, ssthresh: u32, mss: u32) {
        let in_flight = self.board.in_flight();
        let is_safe = advanced && out.lost == 0;
        let granted = self.prr.on_ack(PrrAck {
            delivered: out.delivered,
            in_flight,
            ssthresh,
            mss,
            is_safe,
        });
        let grown = if is_safe { mss } else { 0 };
        let before = self.window.saturating_sub(out.lost);
        // With more than `ssthresh` in flight, PRR grants more than `kept`.
        let kept = before.saturating_add(grown).min(ssthresh);
        self.window = granted.max(kept);
    }

    /// Responds to the retransmission timer: all bytes in flight are considered lost.
    pub fn on_timeout(
        &mut self,
        snd_una: SeqNum,
        snd_nxt: SeqNum,
        now: Instant,
        rate: &mut DeliveryRate,
        on_lost: &mut dyn FnMut(LostRange),
        arena: &mut SentArena,
    ) {
        self.timeouts = self.timeouts.saturating_add(1);
        if self.phase != RecoveryPhase::Timeout {
            let retransmitted = self.board.retransmitted();
            self.undo
                .start(snd_una, retransmitted, self.phase == RecoveryPhase::Open);
        }
        self.frto = if self.phase == RecoveryPhase::Open {
            Frto::AwaitsFirstAck
        } else {
            Frto::Inactive
        };
        self.phase = RecoveryPhase::Timeout;
        self.recover = snd_nxt;
        self.duplicates = 0;
        self.tail.cancel();
        self.mtu_probe = None;
        if self.board.head_is_sacked(arena) {
            self.board.mark_all_lost(true, arena);
        }
        self.board.mark_lost(arena, &mut |sent| {
            on_lost(rate.on_lost(sent.len(), sent.snapshot, now));
            true
        });
    }

    /// Marks all bytes in flight as lost because a packet was too big. Their
    /// retransmission causes no congestion response.
    #[cfg(feature = "path-mtu")]
    pub fn on_packet_too_big(&mut self, arena: &mut SentArena) {
        self.board.mark_all_lost(false, arena);
        self.undo.forget();
    }

    /// Clears the scoreboard and frees its nodes.
    pub fn clear(&mut self, arena: &mut SentArena) {
        self.board.clear(arena);
    }
}

#[cfg(test)]
mod tests;
