//! The limit of each wait between two sends of payload, at the sender.
//!
//! A wait is cut into pieces at the ACKs that arrive in it. Once the next segment leaves, the cause
//! of the wait is known: an ACK that arrived at the same time, a timer, or neither.
//!
//! Rule: a piece is charged here if its own state or the end of the wait shows the limit: the
//! handshake, a recovery, a closed or full receive window, Nagle's algorithm, the application or
//! the closing. The other pieces are left to `rounds`, which compares many round trips. At most
//! [`PIECES`] pieces are kept; if there are more, the last two are joined.

use fullpipe_tcp::Limit;

use super::{
    episodes::SeenEpisodes,
    joined::JoinedWrites,
    ledger::Ledger,
    observed::{EpisodeKind, SmallWrites},
    pieces::{Piece, Recovery, Wait},
    probes::Probes,
    pushes::{AfterWait, Pushes},
    round::{Cause, Span},
    rounds::Rounds,
    sender_events::{AckIn, Repair, SegmentSent},
    write_ends::WriteEnds,
};

/// Largest number of pieces of a wait.
const PIECES: usize = 256;
/// Smallest time, in nanoseconds, by which a retransmission timeout exceeds the smoothed RTT.
const RTO_MARGIN: u64 = 180_000_000;
/// If this number of consecutive segments have the same size as the segment before them, and this
/// size is smaller than that of full segments, it becomes the size of full segments.
const EQUAL: u32 = 4;
/// Number of partial segments, each sent while another was in flight, that show that Nagle's
/// algorithm is off.
const NO_DELAY: u32 = 4;
/// An ACK is expected one round trip after its segment. It counts as delayed if it arrives more
/// than this time, in nanoseconds, after the expected time.
const DELAYED: u64 = 15_000_000;

/// Divides the sender's time among its limits.
#[derive(Debug)]
pub struct Waits {
    pub mss: u64,
    /// Longest time from an ACK to a segment that this ACK released.
    pub reaction: u64,
    /// True if the latest segment sent followed the segment before it as closely as the path
    /// allows.
    pub in_train: bool,
    /// True if the time of sending of the latest segment sent was computed from a timestamp.
    pub is_computed: bool,
    /// True if segments may be lost between the sender and the tap (the place of the capture).
    pub sees_no_sender: bool,
    /// True if the time of sending is unknown for segments that waited before the tap.
    pub is_blurred: bool,
    base_rtt: Option<u64>,
    srtt: Option<u64>,
    una: u64,
    max: u64,
    /// Bytes in flight that SACK blocks report.
    sacked: u64,
    edge: Option<u64>,
    /// Position after the last partial segment.
    partial_end: u64,
    /// Number of partial segments sent while another one was in flight.
    partials_at_once: u32,
    is_zero: bool,
    now: u64,
    pieces: Vec<Piece>,
    wait: Wait,
    has_sent: bool,
    /// MSS from the handshake.
    agreed_mss: u64,
    /// True if some segment had the size `agreed_mss`.
    was_full: bool,
    /// Number of consecutive segments without PSH that have the same size, below `mss`, as the
    /// segment before them.
    equal: u32,
    /// True if payload was acknowledged.
    was_acked: bool,
    is_established: bool,
    fin_sent: bool,
    recovery: Option<Recovery>,
    last_recovery: Option<Recovery>,
    /// Number of duplicate ACKs, plus the number of ACKs with SACK blocks, since payload was last
    /// acknowledged.
    evidence: u32,
    last_ack_at: u64,
    /// Begin and payload of the last retransmitted segment.
    last_repair: Option<(u64, u32)>,
    joined: JoinedWrites,
    ends: WriteEnds,
    pushes: Pushes,
    /// True if an MTU hole was found.
    has_hole: bool,
    marked: bool,
    pub probes: Probes,
    /// True if the latest retransmission began with a timeout. Further segments that are retransmitted
    /// after a timeout leave without one.
    pub is_timeout: bool,
    pub small_writes: SmallWrites,
    pub largest_flight: u64,
    pub rounds: Rounds,
    pub episodes: SeenEpisodes,
}

impl Waits {
    /// Creates the waits of a sender that begins at `position`, with segments of `mss` bytes.
    pub fn new(position: u64, mss: u64) -> Self {
        Self {
            mss,
            reaction: 0,
            in_train: false,
            sees_no_sender: false,
            is_computed: false,
            is_blurred: false,
            base_rtt: None,
            srtt: None,
            una: position,
            max: position,
            edge: None,
            partial_end: 0,
            partials_at_once: 0,
            is_zero: false,
            now: 0,
            pieces: Vec::new(),
            wait: Wait::default(),
            has_sent: false,
            agreed_mss: mss,
            was_full: false,
            equal: 0,
            was_acked: false,
            is_established: false,
            fin_sent: false,
            recovery: None,
            last_recovery: None,
            evidence: 0,
            last_ack_at: 0,
            last_repair: None,
            joined: JoinedWrites::default(),
            ends: WriteEnds::new((position > 0).then_some(position)),
            pushes: Pushes::new(position > 0),
            has_hole: false,
            marked: false,
            probes: Probes::default(),
            is_timeout: false,
            small_writes: SmallWrites::default(),
            largest_flight: 0,
            sacked: 0,
            rounds: Rounds::new(mss),
            episodes: SeenEpisodes::default(),
        }
    }

    /// Makes positions start at `position`, the first sequence number that the capture shows.
    pub fn restart(&mut self, position: u64) {
        (self.una, self.max) = (position, position);
    }

    /// Records that the handshake ended at `at`; 0 if the capture has no handshake.
    pub fn on_established(&mut self, at: u64) {
        self.advance(at);
        self.is_established = true;
        for piece in std::mem::take(&mut self.pieces) {
            let cause = Cause::Is(Limit::Handshake, true);
            self.rounds.add(Span::new(piece.until, cause));
        }
        self.wait.since = self.now;
    }

    /// Takes a round-trip time of the whole path.
    pub fn on_rtt(&mut self, sample: u64) {
        let base = self.base_rtt.unwrap_or(u64::MAX).min(sample);
        self.base_rtt = Some(base);
        let srtt = self.srtt.unwrap_or(sample);
        self.srtt = Some(srtt - srtt / 8 + sample / 8);
    }

    /// Smallest round-trip time.
    pub fn base_rtt(&self) -> u64 {
        self.base_rtt.unwrap_or(0)
    }

    /// Smoothed round-trip time.
    pub fn srtt(&self) -> u64 {
        self.srtt.unwrap_or(0)
    }

    /// Bytes in flight.
    pub const fn flight(&self) -> u64 {
        self.max.saturating_sub(self.una)
    }

    /// Takes an ACK.
    pub fn on_ack(&mut self, ack: &AckIn) {
        self.advance(ack.at);
        let at = self.now;
        let before = self.flight();
        let advanced = ack.ack > self.una;
        let opened = ack.edge.zip(self.edge).is_some_and(|(new, old)| new > old);
        if ack.edge.is_some() {
            self.edge = self.edge.max(ack.edge);
        }
        self.sacked = ack.sacked;
        self.probes.on_ack();
        self.set_zero(ack.is_zero, at);
        if advanced {
            self.was_acked |= self.has_sent;
            if let Some(recovery) = &mut self.recovery {
                recovery.in_a_row = 0;
            }
            self.rounds
                .on_acked(at, ack.ack - self.una, ack.ack, self.max);
            self.una = ack.ack;
            self.max = self.max.max(ack.ack);
            self.evidence = 0;
        } else if before > 0 && !ack.has_payload {
            self.evidence += 1;
        }
        self.evidence += u32::from(ack.has_sack);
        self.last_ack_at = at;
        if advanced || opened {
            self.wait.freed_at = Some(at);
            self.wait.flight_before_ack = before;
        }
        self.wait.answered |= ack.has_payload;
        if ack.has_echo && !self.marked {
            self.rounds.on_mark();
        }
        self.marked = ack.has_echo;
        if let Some(recovery) = self.recovery {
            self.episodes.extend(recovery.place, at, 0);
            if self.una >= recovery.point {
                self.last_recovery = self.recovery.take();
            }
        }
    }

    /// Records that `count` retransmissions were spurious. If all retransmissions of a recovery
    /// were spurious, the sender restores its window.
    pub fn on_needless(&mut self, count: u64) {
        let recoveries = [&mut self.recovery, &mut self.last_recovery];
        let Some(recovery) = recoveries.into_iter().flatten().next() else {
            return;
        };
        recovery.needless += count;
        if recovery.needless >= recovery.repairs && recovery.by != Repair::TailProbe {
            self.rounds.on_undo();
            (self.recovery, self.last_recovery) = (None, None);
        }
    }

    /// Takes new payload or FIN.
    pub fn on_new(&mut self, sent: &SegmentSent) {
        self.advance(sent.at);
        let at = self.now;
        self.note_size(sent);
        self.note_partial(sent);
        self.note_restart(at);
        self.end_wait(sent, None);
        self.max = self.max.max(sent.end);
        let flight = self.flight().saturating_sub(self.sacked);
        self.largest_flight = self.largest_flight.max(flight);
        self.rounds.on_flight(at, self.flight(), self.max);
        self.note_send(at, sent);
    }

    /// Takes a retransmission and returns its reason.
    pub fn on_again(&mut self, sent: &SegmentSent) -> Repair {
        self.advance(sent.at);
        let at = self.now;
        let repair = self.reason(at, sent);
        // Segments that follow the first one after a timeout are sent without a further timeout.
        let is_timer = repair == Repair::Timeout && self.is_silent(at);
        self.is_timeout = is_timer;
        let kind = match repair {
            Repair::Fast => EpisodeKind::FastRecovery,
            Repair::Timeout => EpisodeKind::Timeout,
            Repair::TailProbe => EpisodeKind::TailProbe,
        };
        self.end_wait(sent, Some(repair));
        match &mut self.recovery {
            Some(recovery) if repair != Repair::Timeout || recovery.by == Repair::Timeout => {
                let counts = repair == recovery.by && (is_timer || repair != Repair::Timeout);
                self.episodes.extend(recovery.place, at, counts.into());
                recovery.repairs += 1;
                recovery.point = recovery.point.max(sent.end);
            }
            Some(_) | None => {
                let begin = match repair {
                    Repair::Fast => at,
                    Repair::Timeout | Repair::TailProbe => self.last_activity(),
                };
                let place = self.episodes.begin(begin, kind, 1);
                self.episodes.extend(place, at, 0);
                self.recovery = Some(Recovery {
                    point: self.max,
                    by: repair,
                    place,
                    repairs: 1,
                    needless: 0,
                    in_a_row: 0,
                });
            }
        }
        if let Some(recovery) = self.recovery.as_mut().filter(|_| is_timer) {
            recovery.in_a_row += 1;
            self.episodes.raise(recovery.place, recovery.in_a_row);
        }
        self.note_hole(sent);
        if repair != Repair::TailProbe {
            self.rounds.on_loss();
        }
        self.note_send(at, sent);
        repair
    }

    /// Takes a window probe.
    pub fn on_probe(&mut self, at: u64) {
        self.advance(at);
        self.probes.on_probe(self.now, &mut self.episodes);
    }

    /// Divides the time until `end` among the limits.
    pub fn finish(&mut self, end: u64, is_closed: bool) {
        self.advance(end);
        self.probes.lose(self.now, &mut self.episodes);
        self.set_zero(false, self.now);
        let pieces = std::mem::take(&mut self.pieces);
        for piece in pieces {
            let cause = if !self.is_established {
                Cause::Is(Limit::Handshake, true)
            } else if let Some(fixed) = self.fixed(&piece, 1) {
                fixed
            } else if piece.is_closing || is_closed {
                Cause::Is(Limit::Closing, true)
            } else if piece.flight == 0 {
                Cause::Is(Limit::Application, true)
            } else {
                Cause::Prior
            };
            self.rounds.add(Span::new(piece.until, cause));
        }
    }

    /// Returns the time by limit. Call [`finish`](Self::finish) first.
    pub fn ledger(&mut self) -> Ledger {
        self.rounds.finish()
    }

    fn advance(&mut self, at: u64) {
        if at <= self.now {
            return;
        }
        let piece = Piece {
            until: at,
            flight: self.flight(),
            room: self.edge.map(|edge| edge.saturating_sub(self.max)),
            is_zero: self.is_zero,
            recovery: self.recovery.map(|recovery| recovery.by),
            is_closing: self.fin_sent,
            was_acked: self.was_acked,
        };
        if self.pieces.len() >= PIECES {
            self.pieces.pop();
        }
        self.pieces.push(piece);
        self.now = at;
    }

    /// Updates the size of full segments: the path may carry less than the MSS of the handshake.
    fn note_size(&mut self, sent: &SegmentSent) {
        let len = u64::from(sent.payload);
        if len > self.mss {
            self.mss = len.min(self.agreed_mss.max(self.mss));
            self.equal = 0;
        } else if len < self.mss && len == self.wait.len && !sent.has_push && !self.wait.had_push {
            self.equal += 1;
            if self.equal >= EQUAL {
                self.mss = len;
            }
        } else {
            self.equal = 0;
        }
        self.rounds.mss = self.mss;
        self.was_full |= len >= self.agreed_mss;
    }

    /// Records a partial segment. Nagle's algorithm delays a partial segment while another is in
    /// flight, so a sender with several partial segments in flight does not use the algorithm (RFC
    /// 9293 §3.7.4).
    fn note_partial(&mut self, sent: &SegmentSent) {
        let len = u64::from(sent.payload);
        let cut_by_window = self.edge.is_some_and(|edge| edge < sent.end + self.mss);
        if len == 0 || len >= self.mss || sent.has_fin || !sent.has_push || cut_by_window {
            return;
        }
        self.ends.on_end(sent.end);
        self.partials_at_once += u32::from(self.partial_end > self.una);
        self.partial_end = sent.end;
        self.rounds.has_no_delay = self.partials_at_once >= NO_DELAY;
    }

    /// Records an idle restart: payload leaves after nothing was in flight for longer than the
    /// retransmission timeout.
    fn note_restart(&mut self, at: u64) {
        let idle_since = self.last_activity();
        let timeout = self.srtt() + RTO_MARGIN;
        if self.was_acked && self.flight() == 0 && !self.is_zero && at - idle_since > timeout {
            let place = self.episodes.begin(idle_since, EpisodeKind::IdleRestart, 0);
            self.episodes.extend(place, at, 0);
        }
    }

    /// Records an MTU hole: bytes that were lost in long segments are sent in shorter ones.
    fn note_hole(&mut self, sent: &SegmentSent) {
        let is_shorter = self.last_repair.is_some_and(|(start, payload)| {
            start == sent.start && sent.payload > 0 && sent.payload < payload
        });
        let is_repeated = self.recovery.is_some_and(|recovery| recovery.repairs > 1);
        if is_shorter && is_repeated && !self.has_hole {
            self.has_hole = true;
            let kind = EpisodeKind::MtuHole;
            let place = self
                .episodes
                .begin(self.wait.since, kind, sent.payload.into());
            self.episodes.extend(place, self.now, 0);
        }
        self.last_repair = Some((sent.start, sent.payload));
    }

    fn note_send(&mut self, at: u64, sent: &SegmentSent) {
        self.has_sent = true;
        self.fin_sent |= sent.has_fin;
        self.wait = Wait {
            since: at,
            len: u64::from(sent.payload),
            had_push: sent.has_push,
            ..Wait::default()
        };
    }

    fn set_zero(&mut self, is_zero: bool, at: u64) {
        self.probes.on_window(is_zero, at, &mut self.episodes);
        self.is_zero = is_zero;
    }

    /// Time of the last send or ACK.
    fn last_activity(&self) -> u64 {
        self.wait.since.max(self.last_ack_at)
    }

    /// Returns true if the silence before `at`, with nothing sent or received, was long enough for a timer to have
    /// expired.
    fn is_silent(&self, at: u64) -> bool {
        let silence = at - self.last_activity();
        silence > self.srtt().saturating_mul(7) / 4 && silence > 5_000_000
    }

    fn reason(&self, at: u64, sent: &SegmentSent) -> Repair {
        if self
            .recovery
            .is_some_and(|recovery| recovery.by == Repair::Timeout)
            && at - self.wait.since < self.srtt() * 3 / 2
        {
            return Repair::Timeout;
        }
        let silence = at - self.last_activity();
        let srtt = self.srtt();
        if !self.is_silent(at) || (self.evidence >= 3 && silence < srtt + RTO_MARGIN) {
            return Repair::Fast;
        }
        let is_last = sent.end >= self.max;
        let is_first = sent.start <= self.una;
        let is_timeout = silence >= srtt + RTO_MARGIN;
        if is_last && !(is_first && is_timeout) {
            Repair::TailProbe
        } else {
            Repair::Timeout
        }
    }

    /// Records that `sent`, which has new payload, ends the wait: its gap, the meaning of PSH before
    /// it, and the ends of writes that it passes.
    fn note_new(&mut self, sent: &SegmentSent) {
        self.rounds.on_new();
        let gap = self.now - self.wait.since;
        let payload = u64::from(sent.payload);
        let is_clocked = self.is_clocked();
        if self.has_sent && payload > 0 {
            let after = AfterWait {
                gap,
                payload,
                after_full_push: self.wait.had_push && self.wait.len >= self.mss,
                after_push: self.wait.had_push,
                spacing: match self.srtt() {
                    0 => u64::MAX,
                    _ => self.spacing(self.wait.len),
                },
                is_train: self.in_train,
                is_clocked,
            };
            let paced = self.pushes.on_sent(after, self.mss);
            self.rounds.is_bulk_writer = self.pushes.is_bulk() && !self.ends.are_waited();
            self.rounds.has_super_segments = self.pushes.has_super_segments();
            if !self.in_train {
                self.rounds.on_gap(paced, sent.has_push, self.is_computed);
                if payload >= 2 * self.mss {
                    self.rounds.on_super();
                }
            }
        }
        if payload > 0 && !self.was_acked {
            self.pushes.on_opening(payload >= self.mss);
        }
        let is_wait = gap > self.pace().max(self.reaction) && !self.in_train;
        if is_wait && !is_clocked && self.has_sent {
            self.ends.on_wait(sent.start, self.mss);
        }
    }

    /// Returns true if the segment before the wait ended a write.
    const fn ended_write(&self) -> bool {
        let is_continued = match self.wait.len >= self.mss {
            true => self.pushes.are_continued(),
            false => self.ends.are_passed(),
        };
        self.wait.had_push && !is_continued
    }

    /// Assigns a cause to each piece of the wait that `sent` ends.
    fn end_wait(&mut self, sent: &SegmentSent, repair: Option<Repair>) {
        let mut pieces = std::mem::take(&mut self.pieces);
        let at = self.now;
        let is_timer = matches!(repair, Some(Repair::Timeout | Repair::TailProbe))
            || self.is_probe_of_new_data(at);
        if repair.is_none() {
            self.note_new(sent);
        }
        let overdue = is_timer.then(|| self.last_activity() + 2 * self.srtt());
        let next = u64::from(sent.payload).max(1);
        let gap = at - self.wait.since;
        if gap <= self.pace().min(self.srtt() / 2) && !self.wait.had_push {
            self.rounds.on_more();
        }
        let written = self.written(sent, repair, gap);
        let general = written.unwrap_or_else(|| self.general(sent));
        let last = pieces.len().saturating_sub(1);
        let mut from = self.wait.since;
        let (mut waited, mut is_filled) = (None, false);
        if pieces.is_empty() && repair.is_none() {
            self.rounds.on_burst(u64::from(sent.payload));
        }
        for (place, piece) in pieces.iter().enumerate() {
            let bytes = match repair {
                None if place == last => u64::from(sent.payload),
                None | Some(_) => 0,
            };
            let open = match overdue {
                Some(_) => Cause::Prior,
                None => self.open(piece, from, sent, general),
            };
            let mut cause = self.fixed(piece, next).unwrap_or(open);
            if let Some(overdue) = overdue.filter(|overdue| *overdue < piece.until)
                && !piece.is_zero
            {
                if overdue > from {
                    self.rounds.add(Span::new(overdue, cause));
                }
                cause = Cause::Is(Limit::Recovery, true);
            }
            // The time that the sender takes to react to an opened window belongs to the wait for
            // this window.
            let is_reaction = place == last && piece.until - from <= self.reaction;
            if let Some(waited) = waited.filter(|_| is_reaction && cause == Cause::Window) {
                cause = waited;
            }
            waited = match cause {
                Cause::Is(Limit::ReceiveWindow | Limit::ZeroWindow, _) => Some(cause),
                _ => None,
            };
            is_filled |= waited.is_some();
            if place == last && (waited.is_some() || cause == Cause::Window) {
                self.rounds.on_wait(is_filled);
            }
            if place == last && cause == Cause::Late {
                self.rounds.on_late();
            }
            self.rounds.add(Span {
                until: piece.until,
                cause,
                bytes,
            });
            from = piece.until;
        }
        // Keep the memory of the pieces for the next wait.
        pieces.clear();
        self.pieces = pieces;
    }

    /// The cause of a piece that began at `from`. The state at that time allowed more to be sent,
    /// and no timer ended the wait.
    fn open(&self, piece: &Piece, from: u64, sent: &SegmentSent, general: Cause) -> Cause {
        let gap = self.now - self.wait.since;
        match () {
            () if piece.is_closing => Cause::Is(Limit::Closing, true),
            () if matches!(general, Cause::Is(Limit::Nagle, _)) => general,
            () if self.in_train && self.has_sent => Cause::Train,
            () if self.is_after_hole(sent, gap) => Cause::Is(Limit::Recovery, false),
            () if piece.flight == 0 && piece.until - from > self.reaction => {
                Cause::Is(Limit::Application, !self.is_blurred)
            }
            () => general,
        }
    }

    /// Returns true if segments were lost before the tap: a sender that had more to send was silent
    /// for a long time. The sender had more to send in two cases. Either no full segment has been
    /// seen yet, and the segment after the silence is short without PSH; or the segment before the
    /// silence had no PSH.
    fn is_after_hole(&self, sent: &SegmentSent, gap: u64) -> bool {
        // A short segment with PSH proves nothing, because the sender may have had no more to
        // send.
        let is_short = u64::from(sent.payload) * 8 < self.agreed_mss * 7 && !sent.has_push;
        let is_long = gap > RTO_MARGIN + 2 * self.srtt();
        let had_more = !self.was_full && is_short;
        self.sees_no_sender && is_long && (had_more || (self.has_sent && !self.wait.had_push))
    }

    /// Returns true for a tail loss probe with new data. Such a probe leaves after two silent round
    /// trips with bytes in flight, or a tick of the sender's timer later. RFC 8985 §7.3.
    fn is_probe_of_new_data(&self, at: u64) -> bool {
        let silence = at - self.last_activity();
        let srtt = self.srtt();
        let timeout = 2 * srtt;
        let is_near = silence + srtt / 8 > timeout && silence < timeout + srtt / 8 + 2_000_000;
        self.flight() > 0 && srtt > 0 && !self.wait.had_push && is_near
    }

    /// The cause that the piece's own state gives; `None` if the state allowed more to be sent.
    fn fixed(&self, piece: &Piece, next: u64) -> Option<Cause> {
        if let Some(by) = piece.recovery {
            // Nagle's algorithm delays the rest of a write until everything is acknowledged, also
            // while repaired segments are in flight. If an ACK released more than this rest, more
            // had waited for the recovery.
            let rest = self.rest_of_write();
            let is_more = self
                .ends
                .rest(self.max, self.mss)
                .is_some_and(|rest| next > rest);
            let is_held = by == Repair::Fast && !(is_more && self.is_clocked());
            if let Some(Cause::Is(Limit::Nagle, _)) = rest.filter(|_| is_held) {
                return rest;
            }
            // The limit is not certain in fast recovery: a sender may continue without responding
            // to losses.
            return Some(Cause::Is(Limit::Recovery, by != Repair::Fast));
        }
        if !self.is_established {
            return Some(Cause::Is(Limit::Handshake, true));
        }
        if piece.is_zero && piece.flight <= 1 {
            return Some(Cause::Is(Limit::ZeroWindow, true));
        }
        let room = piece.room?;
        // Do not charge the wait after the first flight to the receive window. The initial
        // congestion window limits this flight, even if less than a segment of the receive window
        // is left.
        if !piece.was_acked && room > 0 {
            return None;
        }
        (piece.is_zero || room < next.min(self.mss))
            .then_some(Cause::Is(Limit::ReceiveWindow, true))
    }

    /// The cause of a wait that neither the receive window nor recovery explains.
    fn general(&mut self, sent: &SegmentSent) -> Cause {
        if !self.has_sent {
            return Cause::Is(Limit::Application, true);
        }
        let at = self.now;
        let gap = at - self.wait.since;
        if self.wait.answered && self.flight() == 0 {
            return Cause::Is(Limit::Application, true);
        }
        if self.is_clocked() {
            if self.is_nagle(sent) {
                self.note_nagle(gap);
                return Cause::Is(Limit::Nagle, true);
            }
            return Cause::Window;
        }
        let is_late = gap > self.pace().max(self.srtt() / 4);
        if !self.ended_write() || self.is_continued(sent) {
            // The gap is longer than any that a pacer makes between two segments. Either Nagle's
            // algorithm delayed a partial segment, or the sender waited for a window.
            let is_late =
                !self.rounds.has_no_delay && is_late && !self.is_computed && !self.is_blurred;
            if is_late && self.flight() > 0 {
                return Cause::Late;
            }
            return Cause::Paced;
        }
        let is_full = u64::from(sent.payload) >= self.mss;
        let may_join = !self.rounds.has_no_delay && !self.is_blurred;
        if is_full && !sent.has_push && self.flight() > 0 && may_join {
            if self.ends.rest(self.max, self.mss) == Some(0) {
                return Cause::Is(Limit::Application, true);
            }
            return Cause::Joined;
        }
        let is_short = gap <= self.pace() && self.wait.len >= self.mss;
        if is_short || self.is_blurred {
            Cause::PacedOrApplication
        } else {
            Cause::Is(Limit::Application, true)
        }
    }

    /// Returns true if `sent` shows that PSH before the wait was not the end of a write. With
    /// segmentation offload, Linux sets PSH also where a write waits for room in the send buffer, and
    /// once for each half of the largest window. A super-segment without PSH continues such a write:
    /// writes that Nagle's algorithm joins fill one segment only.
    fn is_continued(&self, sent: &SegmentSent) -> bool {
        u64::from(sent.payload) >= 2 * self.mss && !sent.has_push
    }

    /// The cause of a wait before `sent` whose cause follows from the sizes of the application's
    /// writes.
    fn written(&mut self, sent: &SegmentSent, repair: Option<Repair>, gap: u64) -> Option<Cause> {
        if repair.is_some() {
            self.joined.reset();
            return None;
        }
        let payload = u64::from(sent.payload);
        let is_clocked = self.is_clocked();
        if is_clocked && self.is_nagle(sent) {
            self.joined.on_released();
            return None;
        }
        let flight = self.flight();
        let is_joined = self
            .joined
            .on_sent(payload, sent.has_push, self.mss, flight, gap);
        if is_joined {
            return Some(Cause::Is(Limit::Nagle, true));
        }
        if is_clocked || gap <= self.pace() || !self.has_sent {
            return None;
        }
        self.rest_of_write()
    }

    /// The cause of a wait in which the sender had no full segment to send, because it had sent all
    /// full segments of a write.
    fn rest_of_write(&self) -> Option<Cause> {
        match self.ends.rest(self.max, self.mss)? {
            0 => Some(Cause::Is(Limit::Application, true)),
            rest if rest < self.mss && !self.rounds.has_no_delay => {
                Some(Cause::Is(Limit::Nagle, true))
            }
            _ => None,
        }
    }

    /// Returns true if an ACK that freed bytes arrived just before the present time.
    fn is_clocked(&self) -> bool {
        let freed = self.wait.freed_at;
        freed.is_some_and(|freed| self.now - freed <= self.reaction)
    }

    /// Longest time for which a pacer would wait after the latest segment sent.
    fn pace(&self) -> u64 {
        let spacing = self.spacing(self.wait.len.max(self.pushes.burst()));
        spacing + spacing / 2
    }

    /// Time for `len` bytes at the rate of the latest round trips.
    fn spacing(&self, len: u64) -> u64 {
        let peak = self.rounds.recent_peak().max(1);
        self.srtt().saturating_mul(len.max(1)) / peak
    }

    /// Returns true if Nagle's algorithm delayed the segment `sent`: the segment is partial, and
    /// the ACK of everything in flight released it.
    fn is_nagle(&self, sent: &SegmentSent) -> bool {
        let is_partial = u64::from(sent.payload) < self.mss && !sent.has_fin;
        is_partial && self.flight() == 0 && self.wait.flight_before_ack > 0 && sent.has_push
    }

    fn note_nagle(&mut self, gap: u64) {
        let rtt = self.base_rtt.unwrap_or(gap).min(gap);
        let delay = gap - rtt;
        let delayed = if delay > DELAYED { delay } else { 0 };
        self.small_writes.waits += 1;
        self.small_writes.nagle_ns += gap - delayed;
        self.small_writes.delayed_ack_ns += delayed;
    }
}
