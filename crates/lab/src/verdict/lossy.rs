//! What a transfer comes to over a path that loses by chance.
//!
//! Rule: the rounds of Padhye et al. (1998): a window leaves in a round trip, and what
//! is lost of it costs one to be noticed and one to be repaired, in which a window that
//! is full lets nothing new through. Rounds are drawn often from seeds that are always
//! the same, and the middle draw counts; nothing of the run goes in. What is drawn is
//! only where losses fall: growth and reduction are as RFC 5681 and RFC 9438 have them.

use fullpipe_pool::Rng;
use fullpipe_tcp::CongestionAlgorithm;

use super::{binding::is_window, bounds::Bound, cause::Cause, evidence::Scale};
use crate::{
    experiment::{Setup, Stop},
    path::Path,
    response::{CUBIC_BETA, CUBIC_C},
};

/// Draws of a transfer, of which the middle one is told.
const DRAWS: u64 = 41;
/// All draws together have about so many segments at most.
const MOST_SEGMENTS: f64 = 4e6;
/// BBR has at most so many times what the path holds on its way.
const BBR_FLIGHT: f64 = 2.0;
/// Losses up to which BBR keeps all of the path, ...
const FOR_CHANCE: f64 = 0.02;
/// ... and the part that it keeps of more: fitted to losses of 3 %.
const KEPT: f64 = 0.85;
/// Without SACK a second loss of a window of fewer segments than this is often repaired
/// by the timer alone, ...
const SMALL: f64 = 60.0;
/// ... with this probability: both fitted, over windows and losses of many sizes.
const BY_TIMER: f64 = 0.5;
/// Acknowledgments without news that tell of a loss. RFC 5681 §3.2.
const DUPLICATES: f64 = 3.0;

/// A sender on a path that loses. Windows and rates count segments.
#[derive(Clone, Copy, Debug)]
pub struct Lossy {
    algorithm: CongestionAlgorithm,
    has_sack: bool,
    /// Probability that a segment is lost.
    loss: f64,
    rtt_s: f64,
    /// Segments a second that are not held back by any window.
    rate: f64,
    /// The most that can be on its way.
    most: f64,
    initial: f64,
    rto_s: f64,
    /// Bytes of text in a segment.
    segment: f64,
}

/// A transfer as far as it came.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Course {
    /// Bytes.
    pub sent: f64,
    /// Seconds.
    pub elapsed_s: f64,
}

impl Lossy {
    /// The first flow of `setup` under `bounds`; `None` where nothing is lost, or
    /// nothing bounds it at all.
    pub fn of(setup: &Setup, scale: &Scale, bounds: &[Bound]) -> Option<Self> {
        let flow = setup.flow();
        let [from, to] = [flow.from, flow.to].map(|place| &setup.hosts[place].config.tcp);
        let loss = Path::of(setup, scale.segment as u64).loss;
        let least = |of_window: bool| {
            let own = bounds
                .iter()
                .filter(|bound| bound.cause != Cause::Loss && is_window(bound.cause) == of_window);
            own.map(|bound| bound.bps).fold(f64::INFINITY, f64::min)
        };
        let rate = least(false) / 8.0 / scale.segment;
        let most = least(true) / 8.0 * scale.cycle_s / scale.segment;
        (loss > 0.0 && loss < 1.0 && rate.min(most).is_finite()).then(|| Self {
            algorithm: from.congestion,
            has_sack: from.sack && to.sack,
            // The bound of the path is what is left of it by losses.
            rate: rate * kept(from.congestion, loss) / (1.0 - loss),
            loss,
            rtt_s: scale.rtt_s,
            most: most.max(1.0),
            initial: f64::from(from.initial_window),
            rto_s: from.rto_min.as_secs_f64() + scale.rtt_s,
            segment: scale.segment,
        })
    }

    /// How it goes from its first segment until it stops, without what came before.
    pub fn course(&self, stop: Stop) -> Course {
        let (bytes, until_s) = match stop {
            Stop::Bytes(bytes) => (bytes as f64, f64::INFINITY),
            Stop::After(length) => (f64::INFINITY, length.as_secs_f64()),
        };
        let all = (bytes / self.segment).ceil();
        let about = all.min(until_s * self.rate);
        let draws = DRAWS.min((MOST_SEGMENTS / about).ceil().max(1.0) as u64);
        let mut courses: Vec<_> = (0..draws)
            .map(|seed| Rounds::new(self, seed).run(all, until_s))
            .collect();
        courses.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
        let (segments, elapsed_s) = courses[courses.len() / 2];
        Course {
            sent: bytes.min(segments * self.segment),
            elapsed_s,
        }
    }
}

/// The part of the path that losses leave to an algorithm that does not answer them.
fn kept(algorithm: CongestionAlgorithm, loss: f64) -> f64 {
    match algorithm {
        CongestionAlgorithm::Bbr if loss >= FOR_CHANCE => KEPT,
        CongestionAlgorithm::NewReno | CongestionAlgorithm::Cubic | CongestionAlgorithm::Bbr => 1.0,
    }
}

/// One draw.
struct Rounds<'a> {
    of: &'a Lossy,
    rng: Rng,
    /// Segments that still arrive before the next is lost.
    until_loss: f64,
    window: f64,
    threshold: f64,
    cubic: Epoch,
}

/// CUBIC since the last reduction. RFC 9438 §4.2 and §4.3.
#[derive(Default)]
struct Epoch {
    since_s: f64,
    most: f64,
    friendly: f64,
    start: f64,
}

/// Where the losses of a flight are.
struct Lost {
    first: Option<f64>,
    count: i32,
}

impl<'a> Rounds<'a> {
    fn new(of: &'a Lossy, seed: u64) -> Self {
        let mut rounds = Self {
            of,
            rng: Rng::seeded(seed),
            until_loss: 0.0,
            window: of.initial,
            threshold: f64::INFINITY,
            cubic: Epoch::default(),
        };
        rounds.until_loss = rounds.gap();
        rounds
    }

    /// Segments sent and seconds taken, until all or the time is over.
    fn run(mut self, all: f64, until_s: f64) -> (f64, f64) {
        let (mut sent, mut elapsed_s) = (0.0, 0.0);
        while sent < all && elapsed_s < until_s {
            let flight = self
                .window
                .min(self.of.most)
                .min(all - sent)
                .floor()
                .max(1.0);
            let lost = self.lose(flight);
            let (more, takes_s) = match lost.first {
                Some(first) => self.repair(flight, first, lost.count, all - sent - flight),
                None => {
                    let takes_s = self.round_s(flight);
                    self.grow(flight, takes_s);
                    (0.0, takes_s)
                }
            };
            sent += flight + more;
            elapsed_s += takes_s;
        }
        (sent, elapsed_s)
    }

    /// Time in which a flight without a loss is acknowledged.
    fn round_s(&self, flight: f64) -> f64 {
        let Lossy { rtt_s, rate, .. } = *self.of;
        (rtt_s + 0.5 / rate).max(flight / rate)
    }

    /// A flight of which `first` segments arrived before the first of `count` was lost,
    /// while no more than `left` segments follow it: how many follow until that is
    /// repaired, and how long it takes.
    fn repair(&mut self, flight: f64, first: f64, count: i32, left: f64) -> (f64, f64) {
        let of = *self.of;
        let (before, left) = (self.window.min(flight), left.max(0.0));
        // What was acknowledged before it let as much follow.
        let following = first
            .min(of.most - (flight - first))
            .min(left)
            .max(0.0)
            .floor();
        let count = count + self.lose(following).count;
        self.reduce(before);
        let mut takes_s =
            first / flight * self.round_s(flight) + 2.0 * of.rtt_s + DUPLICATES / of.rate;
        let room = (of.most - (flight - first) - following)
            .max(0.0)
            .min(left - following);
        let of_window = match of.algorithm {
            CongestionAlgorithm::Bbr if of.has_sack => of.rate * takes_s - flight - following,
            CongestionAlgorithm::Bbr => 0.0,
            CongestionAlgorithm::NewReno | CongestionAlgorithm::Cubic => self.window,
        };
        let mut later = of_window.clamp(0.0, room).floor();
        let follows_model = of.algorithm == CongestionAlgorithm::Bbr;
        let is_lost_later = self.lose(later).first.is_some();
        let is_timed_out = !of.has_sack
            && !follows_model
            && self.waits_for_timer(flight, flight + following - 1.0 - first, count);
        if of.has_sack {
            let again = (0..count).filter(|_| self.rng.chance(of.loss)).count();
            takes_s += again as f64 * of.rtt_s;
        } else if !is_timed_out {
            // Each partial acknowledgment tells of one more. RFC 6582 §3.2.
            takes_s += f64::from(count - 1) * of.rtt_s;
        }
        if is_lost_later && !follows_model {
            self.reduce(self.window);
            takes_s += of.rtt_s;
        }
        if is_timed_out {
            takes_s += of.rto_s - of.rtt_s;
            later = 0.0;
            self.threshold = self.window;
            self.window = 1.0;
        }
        let sent = following + later;
        (sent, takes_s.max((flight + sent) / of.rate))
    }

    /// Whether only the retransmission timer repairs it, where there is no SACK:
    /// `behind` segments behind the first that was lost tell of it.
    fn waits_for_timer(&mut self, flight: f64, behind: f64, count: i32) -> bool {
        let again = 1.0 - (1.0 - self.of.loss).powi(count);
        behind < DUPLICATES
            || self.rng.chance(again)
            || (count > 1 && flight < SMALL && self.rng.chance(BY_TIMER))
    }

    fn reduce(&mut self, before: f64) {
        let part = match self.of.algorithm {
            CongestionAlgorithm::NewReno => 0.5,
            CongestionAlgorithm::Cubic => CUBIC_BETA,
            CongestionAlgorithm::Bbr => return,
        };
        self.window = (before * part).max(2.0);
        self.threshold = self.window;
        // RFC 9438 §4.7: who had less than before leaves room for others.
        let most = if before >= self.cubic.most {
            before
        } else {
            before * (1.0 + CUBIC_BETA) / 2.0
        };
        self.cubic = Epoch {
            since_s: 0.0,
            most,
            friendly: self.window,
            start: self.window,
        };
    }

    /// A flight was acknowledged; a window that was not used up does not grow.
    fn grow(&mut self, flight: f64, takes_s: f64) {
        let of = self.of;
        let is_starting = of.algorithm != CongestionAlgorithm::Bbr && self.window < self.threshold;
        if flight < self.window.floor() {
            return;
        }
        if is_starting {
            self.window = (self.window * 2.0).min(self.threshold);
            return;
        }
        match of.algorithm {
            CongestionAlgorithm::Bbr => {
                let most = BBR_FLIGHT * of.rate * of.rtt_s + of.initial;
                self.window = (self.window * 2.0).min(most);
            }
            CongestionAlgorithm::NewReno => self.window += 1.0,
            CongestionAlgorithm::Cubic => self.window = self.cubic.next(self.window, takes_s),
        }
    }

    /// What a flight loses.
    fn lose(&mut self, flight: f64) -> Lost {
        let mut lost = Lost {
            first: None,
            count: 0,
        };
        let mut place = 0.0;
        while self.until_loss < flight - place {
            place += self.until_loss;
            lost.first = lost.first.or(Some(place));
            lost.count += 1;
            place += 1.0;
            self.until_loss = self.gap();
        }
        self.until_loss -= flight - place;
        lost
    }

    /// Segments that arrive before one is lost.
    fn gap(&mut self) -> f64 {
        let part = 1.0 - self.rng.unit();
        (part.ln() / (1.0 - self.of.loss).ln()).floor()
    }
}

impl Epoch {
    /// The window after another round.
    fn next(&mut self, window: f64, takes_s: f64) -> f64 {
        self.since_s += takes_s;
        let alpha = if self.friendly < self.most {
            3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA)
        } else {
            1.0
        };
        self.friendly += alpha;
        let until_s = ((self.most - self.start) / CUBIC_C).max(0.0).cbrt();
        let cubic = CUBIC_C * (self.since_s - until_s).powi(3) + self.most;
        self.friendly.max(cubic.clamp(window, 1.5 * window))
    }
}

#[cfg(test)]
mod tests;
