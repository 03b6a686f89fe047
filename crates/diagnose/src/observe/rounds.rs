//! Distinguishes the limits "send buffer" and "congestion window" by the bytes in flight of many
//! round trips.
//!
//! A send buffer keeps the bytes in flight constant: their maximum is the same in each round trip,
//! and the segment before each wait carries PSH because it ends the written payload. A congestion
//! window grows by its rule, or falls after a loss. "Flight" stands for bytes in flight.
//!
//! Rule: a round trip's limits are decided when [`AHEAD`] further round trips are known, or at the
//! end. At most [`AHEAD`] undecided round trips are kept, each with at most [`SPANS`] spans (pieces
//! of waits). Of the last [`BEHIND`] decided round trips, only the bytes in flight are kept.

use std::collections::VecDeque;

use fullpipe_tcp::Limit;

use super::{
    ledger::Ledger,
    round::{Cause, EVEN_GAPS, Round, SPANS, Span, UNEVEN_NS},
    seen_limit::SeenLimit,
};

/// Number of later round trips that are compared with the round trip to decide.
const AHEAD: usize = 16;
/// Number of earlier round trips that are compared with the round trip to decide.
const BEHIND: usize = 16;
/// Number of consecutive ACKs (a train) from whose rate the path's rate is estimated.
const TRAIN: usize = 4;
/// A train this many times faster than the flow shows that the path does not limit the flow.
const FASTER: f64 = 1.3;
/// Smallest number of round trips from which joined small writes are inferred.
const LEAST_ROUNDS: usize = 3;
/// A smaller flight after a loss counts as a reduction only if more segments than this were in
/// flight before the loss.
const LEAST_REDUCED: u64 = 5;
/// Number of losses without a smaller flight, less those with one, that show a sender (such as BBR) that does
/// not respond to losses.
const KEPT: u32 = 3;
/// Smallest number of segments in flight at which a constant flight counts as a send buffer.
const LEAST_BUFFER: u64 = 3;
/// Smallest number of segments in flight at which an even spacing counts as a pacing rate.
const LEAST_PACED: u64 = 4;
/// Number of round trips of equal flight that show a send buffer, if there was no loss before.
const PLATEAU: usize = 4;
/// Number of round trips of equal flight that show a send buffer after a loss. It is larger than
/// [`PLATEAU`], because the window of CUBIC hardly grows near its size before the loss.
const PLATEAU_AFTER_LOSS: usize = 10;
/// Smallest number of round trips in which a level flight, which varies but does not grow, shows a
/// send buffer.
const LEVEL: usize = 12;
/// Largest ratio between the 90th and the 10th percentile of a level flight.
const LEVEL_SPREAD: f64 = 1.8;

/// The visible history of the congestion window.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    lost: bool,
    /// Value that `lost` had before the last loss.
    lost_before: bool,
    marked: bool,
    /// Largest flight before the last loss; 0 once the sender's response is known.
    before_loss: u64,
    /// True if the flight was once smaller after a loss than before it.
    reduced: bool,
    /// Number of round trips since the last loss was repaired.
    repaired: u32,
    /// True if slow start has ended without a loss.
    steady: bool,
    /// Flight before an idle time; 0 once the flight is as large again.
    before_idle: u64,
    /// Largest flight so far.
    largest: u64,
    /// Largest flight of the last round trip without loss and recovery.
    clean: u64,
    /// The value of `clean` before a loss that followed an earlier one; 0 once the sender's response
    /// is known.
    unproven: u64,
    /// Number of losses that did not reduce the flight, less those that reduced it.
    kept: u32,
    /// Flight of the last round trip that a send buffer limited.
    buffer: u64,
    last_peak: u64,
    slow_rounds: u32,
}

impl Window {
    /// Takes the largest flight of a round trip without loss and recovery.
    const fn note_clean(&mut self, peak: u64, mss: u64) {
        self.clean = peak;
        if self.unproven > LEAST_REDUCED * mss {
            // A later loss that does not reduce the flight contradicts the earlier reduction.
            self.reduced = peak * 20 <= self.unproven * 17;
            self.kept = match self.reduced {
                true => self.kept.saturating_sub(1),
                false => self.kept + 1,
            };
            if self.kept >= KEPT {
                (self.lost, self.steady) = (false, true);
            }
        }
        self.unproven = 0;
    }
}

/// Collects round trips and decides their limits.
#[derive(Debug)]
pub struct Rounds {
    pub mss: u64,
    current: Round,
    /// Position whose ACK ends the current round trip.
    ends_at: u64,
    undecided: VecDeque<Round>,
    /// Largest flights of the decided round trips.
    decided: VecDeque<u64>,
    window: Window,
    prior: (SeenLimit, bool),
    ledger: Ledger,
    now: u64,
    base_rtt: Option<u64>,
    last_source: Option<(SeenLimit, bool)>,
    /// Longest time from an ACK to a segment that this ACK released.
    pub reaction: u64,
    /// True if the sender does not use Nagle's algorithm.
    pub has_no_delay: bool,
    /// True if the application's writes are longer than a segment, so Nagle's algorithm joins none.
    pub is_bulk_writer: bool,
    /// True if segments leave in super-segments, of which the path makes trains.
    pub has_super_segments: bool,
    /// True if the tap (the place of the capture) is at the sender, or if the gaps that the path
    /// before the tap makes between segments are known.
    pub shows_path: bool,
    /// True if queues before the tap are not visible.
    pub is_blind: bool,
    /// The last ACKs: time and bytes.
    train: VecDeque<(u64, u64)>,
    /// Highest rate of a train of ACKs, in bytes per second.
    train_rate: f64,
}

impl Rounds {
    pub fn new(mss: u64) -> Self {
        Self {
            mss,
            current: Round::default(),
            ends_at: 0,
            undecided: VecDeque::new(),
            decided: VecDeque::new(),
            window: Window::default(),
            prior: (SeenLimit::Unknown, false),
            ledger: Ledger::default(),
            now: 0,
            base_rtt: None,
            last_source: None,
            reaction: 0,
            has_no_delay: false,
            is_bulk_writer: false,
            has_super_segments: false,
            shows_path: true,
            is_blind: false,
            train: VecDeque::new(),
            train_rate: 0.0,
        }
    }

    /// Adds the next span.
    pub fn add(&mut self, span: Span) {
        let length = span.until.saturating_sub(self.now);
        self.now = self.now.max(span.until);
        let round = &mut self.current;
        match span.cause {
            Cause::Window => {
                round.window_ns += length;
                round.clocked += 1;
            }
            Cause::Paced | Cause::PacedOrApplication => {
                round.paced_ns += length;
                // Segments of a burst leave as fast as the host makes them, so they do not count as
                // paced.
                round.paced += u32::from(length > UNEVEN_NS);
            }
            Cause::Train => {
                round.window_ns += length;
                round.trains += 1;
                round.train_ns += length;
            }
            Cause::Is(Limit::Application, _) => {
                round.application_ns += length;
                round.idle_ns = round.idle_ns.max(length);
            }
            Cause::Is(Limit::Recovery, _) => round.recovery_ns += length,
            Cause::Is(Limit::ReceiveWindow, _) => round.filled_ns += length,
            Cause::Late => round.late_ns += length,
            Cause::Is(..) | Cause::Prior | Cause::Joined => {}
        }
        let is_full = round.spans.len() >= SPANS;
        match round.spans.last_mut() {
            Some(last) if last.cause == span.cause || is_full => {
                last.until = span.until;
                last.bytes += span.bytes;
            }
            Some(_) | None => round.spans.push(span),
        }
    }

    /// Notes that more payload followed at once: the application had written more than a segment,
    /// so Nagle's algorithm did not join writes.
    pub fn on_more(&mut self) {
        let rounds = self.undecided.back_mut().into_iter();
        let mut rounds = rounds.chain([&mut self.current]).rev();
        let span = rounds.find_map(|round| round.spans.last_mut());
        if let Some(span) = span.filter(|span| span.cause == Cause::Joined) {
            span.cause = Cause::Is(Limit::Application, true);
        }
    }

    /// Smallest round-trip time that was measured in the current and the previous round trip.
    pub fn recent_rtt(&self) -> u64 {
        let last = self.undecided.back().map_or(0, |round| round.least_rtt);
        match (last, self.current.least_rtt) {
            (0, least) | (least, 0) => least,
            (last, current) => last.min(current),
        }
    }

    /// Counts a segment with new payload.
    pub const fn on_new(&mut self) {
        self.current.sent += 1;
        self.current.is_bulk_writer = self.is_bulk_writer;
    }

    /// Notes a wait of [`Cause::Late`].
    pub const fn on_late(&mut self) {
        self.current.late += 1;
    }

    /// Notes a wait that ended because a window opened. `is_filled` is true if the receive window
    /// had no room for a segment during a part of the wait.
    pub fn on_wait(&mut self, is_filled: bool) {
        self.current.waits += 1;
        self.current.filled += u32::from(is_filled);
    }

    /// Adds payload that left without a wait.
    pub fn on_burst(&mut self, bytes: u64) {
        self.current.plain += 1;
        match self.current.spans.last_mut() {
            Some(last) => last.bytes += bytes,
            None => {
                let mut span = Span::new(self.now, Cause::Prior);
                span.bytes = bytes;
                self.current.spans.push(span);
            }
        }
    }

    /// Takes the flight after a send; `max` is the position after the last byte sent.
    pub fn on_flight(&mut self, _at: u64, flight: u64, max: u64) {
        self.current.peak = self.current.peak.max(flight);
        if self.ends_at == 0 {
            self.ends_at = max;
        }
    }

    /// Takes an ACK up to `ack`; `max` is the position after the last byte sent.
    pub fn on_acked(&mut self, at: u64, bytes: u64, ack: u64, max: u64) {
        self.note_train(at, bytes);
        self.current.acks += 1;
        self.current.acked += bytes;
        self.current.length = at - self.current.begin;
        if ack < self.ends_at || self.ends_at == 0 {
            return;
        }
        // The next round trip ends with the bytes now in flight or, if there are none, with the
        // next send.
        self.ends_at = if max > ack { max } else { 0 };
        let round = std::mem::take(&mut self.current);
        self.current.begin = at;
        self.undecided.push_back(round);
        if self.undecided.len() > AHEAD {
            self.decide();
        }
    }

    /// Takes the time between two sends of new payload; `None` if the second one belongs to the
    /// same super-segment.
    pub fn on_gap(&mut self, gap: Option<u64>, has_push: bool, is_computed: bool) {
        let round = &mut self.current;
        round.computed += u32::from(is_computed);
        round.segments += 1;
        round.pushes += u32::from(has_push);
        if round.gaps.len() < SPANS {
            round.gaps.extend(gap);
        }
    }

    /// Notes that the segment after the latest gap is a super-segment.
    pub const fn on_super(&mut self) {
        self.current.supers += 1;
    }

    fn note_train(&mut self, at: u64, bytes: u64) {
        // Start again: an ACK that ends a recovery covers bytes that arrived long before the ACK.
        if bytes > TRAIN as u64 * self.mss {
            self.train.clear();
            return;
        }
        self.train.push_back((at, bytes));
        if self.train.len() <= TRAIN {
            return;
        }
        let first = self.train.pop_front().map_or(at, |(first, _)| first);
        let bytes: u64 = self.train.iter().map(|(_, bytes)| bytes).sum();
        if at > first {
            self.train_rate = self
                .train_rate
                .max(bytes as f64 * 1e9 / (at - first) as f64);
        }
    }

    pub fn on_rtt(&mut self, sample: u64) {
        self.base_rtt = Some(self.base_rtt.map_or(sample, |base| base.min(sample)));
        let least = &mut self.current.least_rtt;
        *least = if *least == 0 {
            sample
        } else {
            sample.min(*least)
        };
    }

    /// Handles the proof that a recovery was spurious: the sender restores its window.
    pub fn on_undo(&mut self) {
        if std::mem::take(&mut self.current.has_loss) {
            return;
        }
        let mut lossy = self.undecided.iter_mut().rev();
        if let Some(round) = lossy.find(|round| round.has_loss) {
            round.has_loss = false;
        } else {
            self.window.lost = self.window.lost_before;
        }
    }

    pub const fn on_loss(&mut self) {
        self.current.has_loss = true;
    }

    pub const fn on_mark(&mut self) {
        self.current.has_mark = true;
    }

    /// Largest flight in the current round trip and in the two before it.
    pub fn recent_peak(&self) -> u64 {
        let last = self.undecided.iter().rev().take(2);
        last.map(|round| round.peak)
            .fold(self.current.peak, u64::max)
    }

    /// Decides all round trips and returns the ledger (time and bytes by limit).
    pub fn finish(&mut self) -> Ledger {
        let last = std::mem::take(&mut self.current);
        self.undecided.push_back(last);
        while !self.undecided.is_empty() {
            self.decide();
        }
        std::mem::take(&mut self.ledger)
    }

    /// Decides the first undecided round trip.
    fn decide(&mut self) {
        let plateau = self.plateau();
        let source = self.source();
        let Some(round) = self.undecided.pop_front() else {
            return;
        };
        let (limit, is_sure) = self.window_limit(&round, plateau, source);
        // The segments of a train left the sender at once, and then the sender waited. The time of
        // a [`Cause::Train`] span therefore belongs to the wait after the span, and gets the limit
        // of that wait.
        let mut after = (limit, is_sure);
        let mut resolved = Vec::with_capacity(round.spans.len());
        for span in round.spans.iter().rev() {
            let own = match span.cause {
                Cause::Is(Limit::Recovery, is_sure) => {
                    Some((Limit::Recovery.into(), is_sure || self.window.reduced))
                }
                Cause::Is(limit, is_sure) => Some((limit.into(), is_sure)),
                Cause::Window | Cause::Paced => Some((limit, is_sure)),
                Cause::Late if round.is_bulk() => Some((limit, false)),
                Cause::Late => Some((Limit::Nagle.into(), true)),
                Cause::Train => Some(after),
                Cause::Joined => Some((Limit::Nagle.into(), true)),
                Cause::PacedOrApplication if round.application_ns > round.window_ns => {
                    Some((Limit::Application.into(), false))
                }
                Cause::PacedOrApplication => Some((limit, false)),
                Cause::Prior => None,
            };
            after = own.unwrap_or(after);
            resolved.push((own, span));
        }
        for (own, span) in resolved.into_iter().rev() {
            self.prior = own.unwrap_or(self.prior);
            let (limit, is_sure) = self.prior;
            self.ledger.charge(span.until, limit, is_sure, span.bytes);
        }
        self.note(&round, limit == Limit::SendBuffer.into());
    }

    /// Number of consecutive round trips, with the first undecided one among them, whose largest
    /// flights are equal within one MSS.
    fn plateau(&self) -> usize {
        let Some(first) = self.undecided.front() else {
            return 0;
        };
        let (mut low, mut high) = (first.peak, first.peak);
        let mut count = 1;
        let mss = self.mss;
        let mut fits = |peak: u64| {
            let (least, most) = (low.min(peak), high.max(peak));
            let fits = most - least <= mss;
            if fits {
                (low, high) = (least, most);
            }
            fits
        };
        let ahead = self.undecided.iter().skip(1);
        let ahead = ahead.filter(|round| round.counts());
        for round in ahead {
            if !fits(round.peak) {
                break;
            }
            count += 1;
        }
        for &peak in self.decided.iter().rev() {
            if !fits(peak) {
                break;
            }
            count += 1;
        }
        count
    }

    /// Returns true if the flights around the first undecided round trip vary and do not grow. Such
    /// flights come from a writer that the kernel wakes only when a third of its send buffer is
    /// free. With a congestion window as the limit, flights grow by half a segment per round trip
    /// or more, unless a loss reduced the window.
    fn is_level(&self) -> bool {
        if self.undecided.iter().any(|round| round.has_loss) {
            return false;
        }
        let ahead = self.undecided.iter().filter(|round| round.counts());
        let ahead = ahead.map(|round| round.peak);
        let peaks: Vec<u64> = self.decided.iter().copied().chain(ahead).collect();
        if peaks.len() < LEVEL {
            return false;
        }
        let (before, after) = peaks.split_at(peaks.len() / 2);
        let mean = |half: &[u64]| half.iter().sum::<u64>() / half.len() as u64;
        let mut sorted = peaks.clone();
        sorted.sort_unstable();
        let [low, high] = [1, 9].map(|tenths| sorted[sorted.len() * tenths / 10]);
        let is_near = high as f64 <= LEVEL_SPREAD * low as f64;
        is_near && low >= LEAST_BUFFER * self.mss && mean(before).abs_diff(mean(after)) <= self.mss
    }

    /// Returns the limit of the time that `round` spent waiting for a window, and true if the limit
    /// is certain.
    fn window_limit(
        &self,
        round: &Round,
        plateau: usize,
        source: Option<(SeenLimit, bool)>,
    ) -> (SeenLimit, bool) {
        let Window {
            lost,
            marked,
            steady,
            before_idle,
            ..
        } = self.window;
        if let Some(found) = source {
            return found;
        }
        // If the flight fills the receive window, the window is the limit: a send buffer smaller
        // than the window would not let the flight fill it.
        let constant = match round.fills_window() {
            true => Limit::ReceiveWindow.into(),
            false => Limit::SendBuffer.into(),
        };
        let is_after = lost || marked;
        let needed = if is_after {
            PLATEAU_AFTER_LOSS
        } else {
            PLATEAU
        };
        let is_clocked = round.window_ns + round.late_window_ns() >= round.paced_ns;
        // If the flight fills a queue, the path bounds the rate, and a constant flight does not
        // show a send buffer.
        let in_trains = round.train_ns * 100 >= 85 * (round.window_ns + round.paced_ns);
        let is_longer = |base: u64| round.least_rtt > base / 4 * 5;
        let has_queue = round.least_rtt > 0 && self.base_rtt.is_some_and(is_longer);
        let is_full = has_queue || (in_trains && round.train_ns > 0);
        // A send buffer bounds every flight and does not shrink.
        let is_largest = round.peak >= LEAST_BUFFER * self.mss
            && round.peak + 2 * self.mss >= self.window.largest;
        let is_known = round.peak.abs_diff(self.window.buffer) <= self.mss;
        let is_flat = (plateau >= needed || is_known) && is_largest;
        if is_flat && is_clocked && !is_full {
            return (constant, self.shows_path && !is_after);
        }
        if !is_after && is_clocked && !is_full && self.is_level() {
            return (constant, false);
        }
        let grows = self.window.last_peak == 0
            || round.peak * 4 >= self.window.last_peak * 5
            || round.peak <= self.window.last_peak / 2;
        if plateau >= needed && is_clocked && !is_after {
            return (Limit::CwndSteady.into(), false);
        }
        if !is_after && !steady && plateau >= 3 && is_clocked && !grows && !is_full && is_largest {
            return (constant, false);
        }
        if before_idle > 0 && round.peak < before_idle && !lost {
            return (Limit::CwndAfterIdle.into(), true);
        }
        // Slow start is certain only if segments waited for ACKs: writes at equal intervals make
        // the first flights grow, too.
        let waits_for_acks = round.window_ns * 4 >= round.paced_ns;
        match (lost, marked, steady) {
            (true, ..) => (Limit::CwndAfterLoss.into(), self.window.reduced),
            (false, true, _) => (Limit::CwndAfterMark.into(), true),
            (false, false, true) => (Limit::CwndSteady.into(), true),
            (false, false, false) => (Limit::CwndSlowStart.into(), waits_for_acks),
        }
    }

    /// Returns the limit of round trips in which segments left one by one, ACKs did not release
    /// these segments, and the path could carry more. The limit is a pacing rate, or Nagle's
    /// algorithm, which joins writes. Joined writes leave in full segments without PSH.
    fn source(&mut self) -> Option<(SeenLimit, bool)> {
        let first = self.undecided.front()?;
        if first.has_loss || !first.counts() {
            return None;
        }
        let mut all = Round::default();
        let mut rounds = 0;
        for round in &self.undecided {
            let is_enough = all.gaps.len() >= 4 * EVEN_GAPS && rounds >= LEAST_ROUNDS;
            if round.has_loss || is_enough {
                break;
            }
            rounds += usize::from(round.peak > 0);
            all.trains += round.trains;
            all.gaps.extend(&round.gaps);
            all.clocked += round.clocked;
            all.paced += round.paced;
            all.pushes += round.pushes;
            all.segments += round.segments;
            all.supers += round.supers;
            all.computed += round.computed;
            all.acks += round.acks;
            all.peak = all.peak.max(round.peak);
            all.least_peak = match (all.least_peak, round.peak) {
                (0, peak) | (peak, 0) => peak,
                (least, peak) => least.min(peak),
            };
            all.least_rtt = all.least_rtt.max(round.least_rtt);
            all.acked += round.acked;
            all.length += round.length;
        }
        if all.gaps.len() < EVEN_GAPS {
            return self.last_source;
        }
        self.last_source = self.source_of(&all, rounds);
        self.last_source
    }

    fn source_of(&self, all: &Round, rounds: usize) -> Option<(SeenLimit, bool)> {
        let is_faster = self.train_rate > FASTER * all.rate();
        let has_flight = all.peak >= LEAST_PACED * self.mss;
        // A path that is full makes equal gaps, too, but it has a queue, behind the tap or before it.
        let is_empty = self
            .base_rtt
            .is_none_or(|base| all.least_rtt / 5 <= base / 4);
        let is_empty = is_empty && !self.is_blind && all.computed * 4 <= all.segments;
        let is_bulk_writer = self.is_bulk_writer && is_empty;
        // By chance, some segments of a pacer leave just after an ACK: at most half of them, if
        // every second segment is acknowledged.
        let trains = all.trains as usize;
        let is_alone = trains * 3 < all.gaps.len()
            || (is_bulk_writer && self.has_super_segments && trains <= 3 * all.gaps.len());
        let is_released = all.clocked * 10 > 7 * (all.clocked + all.paced);
        if all.is_even(is_bulk_writer) && has_flight && is_alone && !is_released {
            return is_faster.then_some((Limit::Pacing.into(), true));
        }
        // Allow for sends that follow an ACK by chance.
        let chance = self.reaction as f64 * f64::from(all.acks) / all.length.max(1) as f64;
        let waits = f64::from(all.clocked + all.paced);
        let is_unclocked = f64::from(all.clocked) <= (0.1 + 3.0 * chance).min(0.6) * waits;
        let is_steady =
            rounds >= LEAST_ROUNDS && all.peak <= all.least_peak + all.least_peak / 3 + self.mss;
        let is_longer = |base: u64| all.least_rtt > base + base / 8;
        let has_queue = self.base_rtt.is_some_and(is_longer);
        let is_exact = all.computed == 0 && !self.is_blind && !has_queue;
        if !(is_unclocked && is_steady && is_exact && all.pushes * 8 <= all.segments) {
            return None;
        }
        // Writes that Nagle's algorithm joins fill one segment; a pacer of Linux sends
        // super-segments.
        match all.supers * 2 > all.segments {
            true => Some((Limit::Pacing.into(), false)),
            false if self.is_bulk_writer => None,
            false => (!self.has_no_delay).then_some((Limit::Nagle.into(), false)),
        }
    }

    /// Updates the history with a decided round trip.
    fn note(&mut self, round: &Round, is_buffer: bool) {
        let window = &mut self.window;
        window.largest = window.largest.max(round.peak);
        if is_buffer {
            window.buffer = round.peak;
        }
        if round.has_loss {
            if !window.lost || window.before_loss > 0 {
                // Count the flight at the loss only in slow start, where the flight doubles until
                // the loss. After slow start the flight includes bytes that wait for the repair of
                // the loss.
                let is_climbing = !window.steady && !window.lost;
                let own = if is_climbing { round.peak } else { 0 };
                let largest = window.last_peak.max(own);
                window.before_loss = window.before_loss.max(largest);
            }
            if window.lost && window.before_loss == 0 {
                window.unproven = window.clean;
            }
            (window.lost_before, window.lost) = (window.lost, true);
            window.repaired = 0;
        } else if window.before_loss > 0 && round.counts() && round.recovery_ns == 0 {
            window.repaired += 1;
            // If the flight is as large as before the loss, the sender (such as BBR) does not
            // respond to losses.
            if round.peak * 10 >= window.before_loss * 9 && round.peak > 8 * self.mss {
                (window.lost, window.steady) = (false, true);
            }
            // Require many segments in flight: a smaller flight of few segments may mean that the
            // application sent less.
            let is_large = window.before_loss > LEAST_REDUCED * self.mss;
            // A loss halves the window at most. BBR's flight becomes smaller than that at the end of
            // its startup, without a response to the loss.
            let is_response = round.peak * 20 <= window.before_loss * 17
                && round.peak * 20 >= window.before_loss * 9;
            window.reduced |= is_large && is_response;
            if window.repaired >= 2 {
                window.before_loss = 0;
            }
        }
        if !round.has_loss && round.recovery_ns == 0 && round.counts() {
            window.note_clean(round.peak, self.mss);
        }
        window.marked |= round.has_mark;
        if round.counts() {
            let grew = round.peak * 5 >= window.last_peak * 6;
            window.slow_rounds = if grew { 0 } else { window.slow_rounds + 1 };
            window.steady |= window.slow_rounds >= 3;
            if round.peak >= window.before_idle {
                window.before_idle = 0;
            }
            if self.decided.len() >= BEHIND {
                self.decided.pop_front();
            }
            self.decided.push_back(round.peak);
            window.last_peak = round.peak;
        }
        let longest = 1_000_000_000;
        let rtt = self.base_rtt.map_or(longest, |base| base.min(longest));
        if round.idle_ns > 200_000_000 + rtt {
            window.before_idle = window.before_idle.max(round.peak);
            window.last_peak = 0;
        }
    }
}
