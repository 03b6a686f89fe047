//! Send buffer or congestion window: told apart by the flight of many round trips.
//!
//! A send buffer holds the flight at one size: the largest flight of each round trip is the
//! same, and the segment before each wait ends what was written (PSH). A congestion window
//! grows by its rule, or falls after a loss.
//!
//! Rule: a round trip is decided when [`AHEAD`] further ones are known, or at the end. At most
//! [`AHEAD`] undecided and [`BEHIND`] decided round trips are kept, and [`SPANS`] spans of each.

use std::collections::VecDeque;

use fullpipe_tcp::Limit;

use super::{ledger::Ledger, seen_limit::SeenLimit};

/// Round trips after the one that is decided.
const AHEAD: usize = 16;
/// Round trips before it.
const BEHIND: usize = 16;
/// Spans of a round trip.
const SPANS: usize = 1_024;
/// Round trips of equal flight that show a send buffer, without a loss before.
const PLATEAU: usize = 4;
/// The same after a loss, when CUBIC is flat near its old window.
const PLATEAU_AFTER_LOSS: usize = 10;

/// The cause of a piece of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// This limit; true if it is sure.
    Is(Limit, bool),
    /// A window that an ACK opened: send buffer or congestion window.
    Window,
    /// The sender had more to send and no ACK came: its pacer.
    Paced,
    /// The pacer, or the application.
    PacedOrApplication,
    /// The cause of the span before.
    Prior,
}

/// A piece of a wait.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub until: u64,
    pub cause: Cause,
    pub bytes: u64,
    /// The segment before the wait had PSH.
    pub had_push: bool,
}

impl Span {
    pub const fn new(until: u64, cause: Cause) -> Self {
        Self {
            until,
            cause,
            bytes: 0,
            had_push: false,
        }
    }
}

/// A round trip.
#[derive(Clone, Debug, Default)]
struct Round {
    spans: Vec<Span>,
    /// Largest flight.
    peak: u64,
    begin: u64,
    has_loss: bool,
    has_mark: bool,
    /// Waits for an ACK, and how many of them followed a segment with PSH.
    waits: u32,
    pushed: u32,
    /// Segments that no wait preceded or that had no PSH.
    plain: u32,
    /// Time that windows explain.
    window_ns: u64,
    paced_ns: u64,
    application_ns: u64,
    /// Longest time with the application as limit, with nothing in flight.
    idle_ns: u64,
}

impl Round {
    /// True if a window or the pacer explains some of its time.
    const fn counts(&self) -> bool {
        self.window_ns + self.paced_ns > 0
    }
}

/// The history of the congestion window, as far as it shows.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    lost: bool,
    marked: bool,
    /// Slow start has ended without a loss.
    steady: bool,
    /// Flight before an idle time that has reduced the window.
    before_idle: u64,
    last_peak: u64,
    slow_rounds: u32,
}

/// Collects round trips and decides.
#[derive(Debug)]
pub struct Rounds {
    mss: u64,
    current: Round,
    /// Position whose ACK ends the round trip.
    ends_at: u64,
    undecided: VecDeque<Round>,
    decided: VecDeque<(u64, bool)>,
    window: Window,
    prior: (SeenLimit, bool),
    ledger: Ledger,
    now: u64,
    base_rtt: u64,
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
            base_rtt: u64::MAX,
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
                round.waits += 1;
                round.pushed += u32::from(span.had_push);
            }
            Cause::Paced | Cause::PacedOrApplication => round.paced_ns += length,
            Cause::Is(Limit::Application, _) => {
                round.application_ns += length;
                round.idle_ns = round.idle_ns.max(length);
            }
            Cause::Is(..) | Cause::Prior => {}
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

    /// Takes the flight after a send at `at`; `max` is the position after it.
    pub fn on_flight(&mut self, _at: u64, flight: u64, max: u64) {
        self.current.peak = self.current.peak.max(flight);
        if self.ends_at == 0 {
            self.ends_at = max;
        }
    }

    /// Takes an ACK up to `ack`, while `max` is the position after the last byte sent.
    pub fn on_acked(&mut self, at: u64, _bytes: u64, ack: u64, max: u64) {
        if ack < self.ends_at || self.ends_at == 0 {
            return;
        }
        // The next round trip ends with what is in flight now, or with what is sent next.
        self.ends_at = if max > ack { max } else { 0 };
        let round = std::mem::take(&mut self.current);
        self.current.begin = at;
        self.undecided.push_back(round);
        if self.undecided.len() > AHEAD {
            self.decide();
        }
    }

    pub fn on_rtt(&mut self, sample: u64) {
        self.base_rtt = self.base_rtt.min(sample);
    }

    pub const fn on_loss(&mut self) {
        self.current.has_loss = true;
    }

    pub const fn on_mark(&mut self) {
        self.current.has_mark = true;
    }

    /// Largest flight of this round trip and the last ones.
    pub fn recent_peak(&self) -> u64 {
        let last = self.undecided.iter().rev().take(2);
        last.map(|round| round.peak)
            .fold(self.current.peak, u64::max)
    }

    /// Decides everything and returns the ledger.
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
        let Some(round) = self.undecided.pop_front() else {
            return;
        };
        let (limit, is_sure) = self.window_limit(&round, plateau);
        for span in &round.spans {
            let (limit, is_sure) = match span.cause {
                Cause::Is(limit, is_sure) => (limit.into(), is_sure),
                Cause::Window | Cause::Paced => (limit, is_sure),
                Cause::PacedOrApplication => {
                    let is_idle = round.application_ns > round.window_ns;
                    if is_idle {
                        (Limit::Application.into(), false)
                    } else {
                        (limit, false)
                    }
                }
                Cause::Prior => self.prior,
            };
            self.prior = (limit, is_sure);
            self.ledger.charge(span.until, limit, is_sure, span.bytes);
        }
        self.note(&round);
    }

    /// Number of round trips around the first undecided one with the same largest flight.
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
            if round.has_loss || !fits(round.peak) {
                break;
            }
            count += 1;
        }
        for &(peak, has_loss) in self.decided.iter().rev() {
            if has_loss || !fits(peak) {
                break;
            }
            count += 1;
        }
        count
    }

    /// The limit that the windows of `round` have.
    fn window_limit(&mut self, round: &Round, plateau: usize) -> (SeenLimit, bool) {
        let Window {
            lost,
            marked,
            steady,
            before_idle,
            ..
        } = self.window;
        let is_after = lost || marked;
        let needed = if is_after {
            PLATEAU_AFTER_LOSS
        } else {
            PLATEAU
        };
        let pushes = round.waits > 0 && round.pushed * 10 >= round.waits * 8;
        let is_clocked = round.window_ns >= round.paced_ns;
        if plateau >= needed && pushes && is_clocked && !round.has_loss {
            return (Limit::SendBuffer.into(), true);
        }
        let grows = self.window.last_peak == 0
            || round.peak * 4 >= self.window.last_peak * 5
            || round.peak <= self.window.last_peak / 2;
        if !is_after && !steady && plateau >= 2 && pushes && is_clocked && !grows {
            return (Limit::SendBuffer.into(), false);
        }
        if before_idle > 0 && round.peak < before_idle && !lost {
            return (Limit::CwndAfterIdle.into(), true);
        }
        match (lost, marked, steady) {
            (true, ..) => (Limit::CwndAfterLoss.into(), true),
            (false, true, _) => (Limit::CwndAfterMark.into(), true),
            (false, false, true) => (Limit::CwndSteady.into(), true),
            (false, false, false) => (Limit::CwndSlowStart.into(), true),
        }
    }

    /// Updates the history with a decided round trip.
    fn note(&mut self, round: &Round) {
        let window = &mut self.window;
        window.lost |= round.has_loss;
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
            self.decided.push_back((round.peak, round.has_loss));
            window.last_peak = round.peak;
        }
        if round.idle_ns > 200_000_000 + self.base_rtt.min(1_000_000_000) {
            window.before_idle = window.before_idle.max(round.peak);
            window.last_peak = 0;
        }
    }
}
