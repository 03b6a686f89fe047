//! Noticing that something was lost, and deciding what is sent again: one
//! engine for every congestion control. RFC 8985 (RACK-TLP), RFC 9937 (PRR),
//! RFC 6298, with undo.
//!
//! Rule: this part knows what is outstanding and where each piece stands; it
//! holds no text and makes no segments. How much may be in flight is congestion
//! control's word, except that PRR paces fast recovery.

mod prr;
mod rack;
mod rtt;
mod sent;
mod tail_loss;
mod undo;

pub use prr::{Prr, PrrAck};
pub use rack::{PathState, Rack};
pub use rtt::Rtt;
pub use sent::{Scoreboard, Sent, SentArena, SentStatus};
pub use tail_loss::{ProbeOutcome, TailLoss};
pub use undo::UndoDetector;

use core::ops::Range;

use fullpipe_pool::Instant;
use fullpipe_wire::SackBlock;

use crate::{
    SeqNum,
    congestion::{DeliveryRate, LostRange},
};

/// The tick of the timestamp clock in which `at` lies. Times that came back as
/// timestamps are compared in ticks, or rounding would pass for evidence.
pub fn tick(at: Instant) -> Instant {
    Instant::from_millis(at.as_millis())
}

/// What the connection is doing about loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryPhase {
    /// Nothing is known to be missing.
    Open,
    /// Fast recovery: ends when everything before `recover` is acknowledged.
    Fast,
    /// After a timeout: what was outstanding is sent again in slow start.
    Timeout,
}

/// F-RTO's question after a timeout: did what was outstanding arrive after all?
/// RFC 5682 §2.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frto {
    /// It is not asked, or has been answered.
    Over,
    /// Step 1: what `snd_una` waits for has been sent again.
    AwaitsFirstAck,
    /// Step 2b: so many new segments go first. What the next ACK brings is then no
    /// answer to anything sent again.
    SendsNewData(u8),
}

/// Segments of new text that tell whether a timeout was spurious.
const NEW_SEGMENTS: u8 = 2;

impl Frto {
    /// An ACK in [`RecoveryPhase::Timeout`].
    const fn after_ack(self, advanced: bool, is_duplicate: bool) -> Self {
        match self {
            Self::AwaitsFirstAck if advanced => Self::SendsNewData(NEW_SEGMENTS),
            Self::AwaitsFirstAck if !is_duplicate => Self::AwaitsFirstAck,
            Self::AwaitsFirstAck | Self::SendsNewData(_) | Self::Over => Self::Over,
        }
    }

    /// A segment of new text left.
    const fn after_new_data(self) -> Self {
        match self {
            Self::SendsNewData(left) => Self::SendsNewData(left.saturating_sub(1)),
            Self::AwaitsFirstAck | Self::Over => self,
        }
    }
}

/// Loss recovery of one connection. [`clear`](Self::clear) must be called before
/// it is dropped: the scoreboard's nodes belong to an arena.
#[derive(Debug)]
pub struct Recovery {
    phase: RecoveryPhase,
    /// `snd_nxt` when recovery began.
    recover: SeqNum,
    board: Scoreboard,
    rack: Rack,
    tail: TailLoss,
    prr: Prr,
    undo: UndoDetector,
    frto: Frto,
    /// What PRR lets be in flight in fast recovery.
    window: u32,
    /// Timeouts in a row.
    timeouts: u32,
    /// Duplicate ACKs of a peer without SACK, as segments beyond the first hole.
    duplicates: u32,
    /// A probe of the path MTU, until something is known of it.
    mtu_probe: Option<Range<SeqNum>>,
}

/// An ACK, as far as recovery is concerned.
#[derive(Clone, Copy, Debug)]
pub struct AckIn<'a> {
    /// When it arrived.
    pub now: Instant,
    /// SEG.ACK.
    pub ack: SeqNum,
    /// `snd_una` before it.
    pub snd_una: SeqNum,
    /// One past the highest sequence number sent.
    pub snd_nxt: SeqNum,
    /// Its SACK blocks; `None` when SACK is not used.
    pub sack: Option<&'a [SackBlock]>,
    /// A duplicate in the sense of RFC 5681 §2.
    pub is_duplicate: bool,
    /// The tick in which the timestamp left that it echoes.
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

/// What an ACK brought.
#[derive(Clone, Copy, Debug)]
pub struct AckOut {
    /// What it led to.
    pub change: RecoveryChange,
    /// Bytes newly delivered, by ACK or SACK.
    pub delivered: u32,
    /// Bytes newly taken for lost.
    pub lost: u32,
    /// It reported something received twice.
    pub dsack: bool,
    /// A tail loss probe had repaired a loss.
    pub probe_repaired: bool,
    /// RACK wants to look again then, or not; `None`: it has not looked, and
    /// what it said last holds.
    pub reordering_deadline: Option<Option<Instant>>,
}

/// What the ranges of one ACK add up to.
#[derive(Default)]
struct News {
    delivered: u32,
    original_arrived: bool,
}

impl Recovery {
    /// Nothing sent, nothing lost; `iss` is the initial send sequence number.
    pub const fn new(iss: SeqNum) -> Self {
        Self {
            phase: RecoveryPhase::Open,
            recover: iss,
            board: Scoreboard::new(),
            rack: Rack::new(iss),
            tail: TailLoss::IDLE,
            prr: Prr::IDLE,
            undo: UndoDetector::NOTHING,
            frto: Frto::Over,
            window: 0,
            timeouts: 0,
            duplicates: 0,
            mtu_probe: None,
        }
    }

    /// What is being done about loss.
    pub const fn phase(&self) -> RecoveryPhase {
        self.phase
    }

    /// Timeouts in a row.
    pub const fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// What is outstanding.
    pub const fn board(&self) -> &Scoreboard {
        &self.board
    }

    /// Whether a tail loss probe is under way.
    pub const fn is_probing(&self) -> bool {
        self.tail.is_probing()
    }

    /// Whether new text goes before what is lost, because the next ACK is to tell
    /// whether anything is: RFC 5682 §2.1 step 2b.
    pub const fn frto_prefers_new_data(&self) -> bool {
        matches!(self.frto, Frto::SendsNewData(1..))
    }

    /// Whether new text is on its way to tell that. Nothing is sent again before
    /// it does.
    pub const fn frto_awaits_new_data(&self) -> bool {
        matches!(self.frto, Frto::SendsNewData(0..NEW_SEGMENTS))
    }

    /// What PRR lets be in flight; meaningful in fast recovery.
    pub const fn window(&self) -> u32 {
        self.window
    }

    /// The oldest piece that is to be sent again.
    pub fn next_lost(&self, arena: &SentArena) -> Option<Range<SeqNum>> {
        self.board.next_lost(arena)
    }

    /// `range` leaves. Where it lies before `snd_nxt` it leaves again.
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
            self.board.on_sent_again(again, now, snapshot, arena);
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

    /// What just left is beyond the peer's window: a probe, not to be counted
    /// on. It is sent again with what follows once there is room.
    pub fn on_window_probe(&mut self, arena: &mut SentArena) {
        self.board.mark_all_lost(false, arena);
    }

    /// A tail loss probe left; `snd_nxt` is what it is after it.
    pub fn on_tail_probe(&mut self, snd_nxt: SeqNum, is_retransmission: bool) {
        self.tail.on_probe(snd_nxt, is_retransmission);
    }

    /// `range` is a probe of the path MTU: its loss is not congestion.
    pub fn on_mtu_probe(&mut self, range: Range<SeqNum>) {
        self.mtu_probe = Some(range);
    }

    /// An ACK, with SACK blocks or without. `on_lost` is told of each range
    /// that is newly taken for lost.
    pub fn on_ack(
        &mut self,
        input: &AckIn<'_>,
        rate: &mut DeliveryRate,
        on_lost: &mut dyn FnMut(LostRange),
        arena: &mut SentArena,
    ) -> AckOut {
        let news = self.take_arrivals(input, rate, arena);
        let dsack = self.take_duplicate_report(input);
        let advanced = input.ack.after(input.snd_una);
        if advanced {
            self.timeouts = 0;
        }
        let bare = !advanced && news.delivered == 0;
        let outcome = self.tail.on_ack(input.ack, dsack, bare);
        if self.phase == RecoveryPhase::Fast && !bare {
            self.tail.cancel();
        }
        let mut change = self.end_phase(input, &news, arena);
        self.frto = if self.phase == RecoveryPhase::Timeout {
            self.frto.after_ack(advanced, input.is_duplicate)
        } else {
            Frto::Over
        };
        if self.board.head_is_sacked(arena) {
            self.board.mark_all_lost(true, arena);
        }
        // What brings nothing new tells RACK nothing: a peer that repeats itself
        // causes no search.
        let has_news = advanced || news.delivered > 0 || input.sack.is_none();
        let (lost, reordering_deadline) = if has_news {
            self.detect(input.path, input.now, rate, on_lost, arena)
        } else {
            (0, None)
        };
        if lost > 0 && self.phase == RecoveryPhase::Open {
            change = self.on_loss(input.ack, input.snd_nxt, lost, arena);
        }
        AckOut {
            change,
            delivered: news.delivered,
            lost,
            dsack,
            probe_repaired: outcome == ProbeOutcome::LossRepaired,
            reordering_deadline: has_news.then_some(reordering_deadline),
        }
    }

    /// Tells scoreboard, RACK and the rate estimator what has arrived.
    fn take_arrivals(
        &mut self,
        input: &AckIn<'_>,
        rate: &mut DeliveryRate,
        arena: &mut SentArena,
    ) -> News {
        let mut news = News::default();
        let Self {
            board,
            rack,
            undo,
            phase,
            ..
        } = self;
        let after_timeout = *phase == RecoveryPhase::Timeout;
        let mut arrived = |sent: &Sent| {
            // Only an ACK of what was at `snd_una` echoes the copy that arrived.
            let echoes_original = sent.start == input.snd_una
                && input
                    .echoed_at
                    .is_some_and(|echoed| echoed < tick(sent.sent_at));
            let ambiguous = sent.retransmissions > 0;
            news.delivered += sent.len();
            news.original_arrived |=
                after_timeout && sent.status == SentStatus::Lost && sent.retransmissions == 0;
            let min_rtt = input.path.min_rtt;
            if rack.on_delivered(sent, echoes_original, min_rtt, input.now) {
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
        board.on_ack(input.ack, arena, &mut arrived);
        match input.sack {
            Some(blocks) => {
                for block in blocks {
                    let (left, right) = (SeqNum(block.left), SeqNum(block.right));
                    let credible = left.after(input.ack) && right.at_or_before(input.snd_nxt);
                    if credible && left.before(right) {
                        board.on_sack(left..right, arena, &mut arrived);
                    }
                }
            }
            None => self.count_duplicates(input, arena),
        }
        news
    }

    /// A peer without SACK: each duplicate ACK stands for one segment beyond
    /// the first hole, and is treated as if it had said so. RFC 6675 §1's
    /// reading of RFC 5681 §3.2.
    fn count_duplicates(&mut self, input: &AckIn<'_>, arena: &mut SentArena) {
        if input.ack.after(input.snd_una) {
            // Whatever was assumed to have arrived is in flight again; after a
            // partial ACK the next hole begins right there. RFC 6582 §3.2.
            self.board.forget_sacked(arena);
            self.duplicates = 0;
            let partial = self.phase == RecoveryPhase::Fast && input.ack.before(self.recover);
            if partial {
                self.board.mark_head_lost(input.path.mss, arena);
            }
        } else if input.is_duplicate {
            self.duplicates += 1;
            let hole = input.snd_una + input.path.mss;
            let beyond = hole + self.duplicates * input.path.mss;
            let arrived = hole..beyond.earliest(input.snd_nxt);
            if arrived.start.before(arrived.end) {
                let Self { board, rack, .. } = self;
                let min_rtt = input.path.min_rtt;
                board.on_sack(arrived, arena, &mut |sent| {
                    rack.on_delivered(sent, false, min_rtt, input.now);
                });
            }
        }
    }

    /// RFC 2883: the first block lies below the ACK, or inside the second.
    fn take_duplicate_report(&mut self, input: &AckIn<'_>) -> bool {
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

    /// Whether the ACK ends what is being done about loss.
    fn end_phase(
        &mut self,
        input: &AckIn<'_>,
        news: &News,
        arena: &mut SentArena,
    ) -> RecoveryChange {
        let echoed_at = input.echoed_at.filter(|_| input.ack.after(input.snd_una));
        if self.undo.is_spurious(echoed_at, news.original_arrived) {
            self.board.unmark_lost(arena);
            self.rack.on_undo();
            self.phase = RecoveryPhase::Open;
            self.undo.forget();
            return RecoveryChange::Spurious;
        }
        if self.phase != RecoveryPhase::Open && input.ack.at_or_after(self.recover) {
            self.phase = RecoveryPhase::Open;
            self.rack.on_recovery_over();
            self.undo.on_recovered();
            return RecoveryChange::Recovered;
        }
        RecoveryChange::Unchanged
    }

    /// RACK looks at what is outstanding.
    fn detect(
        &mut self,
        path: PathState,
        now: Instant,
        rate: &mut DeliveryRate,
        on_lost: &mut dyn FnMut(LostRange),
        arena: &mut SentArena,
    ) -> (u32, Option<Instant>) {
        let recovering = self.phase != RecoveryPhase::Open;
        let probe = self.mtu_probe.clone();
        let mut lost = |sent: &Sent| {
            let range = rate.on_lost(sent.len(), sent.snapshot, now);
            if probe != Some(sent.start..sent.end) {
                on_lost(range);
            }
        };
        self.rack
            .detect(&mut self.board, path, recovering, now, &mut lost, arena)
    }

    /// The reordering window of something has passed. Returns the verdict and
    /// when to look again.
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
            return (change, reordering_deadline);
        }
        (RecoveryChange::Unchanged, reordering_deadline)
    }

    /// RACK has just taken `lost` bytes for lost, and nothing else is.
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
        self.undo.start(snd_una, self.board.sent_again(), false);
        self.prr = Prr::start(self.board.in_flight() + lost);
        self.window = self.board.in_flight();
    }

    /// Fast recovery: how much may be in flight after this ACK.
    ///
    /// PRR grants what leaves with each ACK, and expects it to leave at once. What
    /// the pacer holds back of it must not be forgotten, or a recovery that lost
    /// much grows by what pacing exceeds the ACKs' rate by, and not twofold in a
    /// round trip: below `ssthresh` the window is never less than it was, plus the
    /// segment that a safe ACK adds, minus what was found lost.
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
        let kept = if in_flight > ssthresh {
            0
        } else {
            let grown = if is_safe { mss } else { 0 };
            let before = self.window.saturating_sub(out.lost);
            before.saturating_add(grown).min(ssthresh)
        };
        self.window = granted.max(kept);
    }

    /// The retransmission timer ran out: all that is in flight is taken for lost.
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
            let sent_again = self.board.sent_again();
            self.undo
                .start(snd_una, sent_again, self.phase == RecoveryPhase::Open);
        }
        self.frto = if self.phase == RecoveryPhase::Open {
            Frto::AwaitsFirstAck
        } else {
            Frto::Over
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

    /// A hop cannot carry what was sent: it is lost, and nobody's fault.
    pub fn on_packet_too_big(&mut self, arena: &mut SentArena) {
        self.board.mark_all_lost(false, arena);
        self.undo.forget();
    }

    /// Forgets everything and returns the nodes.
    pub fn clear(&mut self, arena: &mut SentArena) {
        self.board.clear(arena);
    }
}

#[cfg(test)]
mod tests;
