//! Prediction of a transfer over a path with random losses.
//!
//! Rule: a transfer is a sequence of rounds, as in Padhye et al. (1998): a window leaves
//! in a round trip, and a loss takes one round trip to be detected and one to be
//! repaired. Meanwhile new segments leave only as far as the window allows. Growth and
//! reduction follow RFC 5681 and RFC 9438. Only the positions of losses are random, drawn
//! from fixed seeds, and the median of all simulations counts. Of the measured run only
//! the round-trip time and the segment size of [`Scale`] are used.

use fullpipe_pool::Rng;
use fullpipe_scenario::{
    experiment::{Setup, Stop},
    path::Path,
    response::{CUBIC_BETA, CUBIC_C},
};
use fullpipe_tcp::CongestionAlgorithm;

use super::{binding::is_window, bounds::Bound, cause::Cause, evidence::Scale};

/// Number of simulations of a transfer; their median counts.
const DRAWS: u64 = 41;
/// About the most segments that all simulations of one transfer may send together.
const MOST_SEGMENTS: f64 = 4e6;
/// BBR has at most this many bandwidth-delay products in flight.
const BBR_FLIGHT: f64 = 2.0;
/// Loss below which BBR fills the path.
const FOR_CHANCE: f64 = 0.02;
/// Share of the path that BBR reaches from that loss on; fitted to a loss of 3 %.
const KEPT: f64 = 0.85;
/// Duplicate ACKs that report a loss. RFC 5681 §3.2.
const DUPLICATES: f64 = 3.0;

/// A sender on a path with losses. Windows and rates count segments.
#[derive(Clone, Copy, Debug)]
pub struct Lossy {
    algorithm: CongestionAlgorithm,
    has_sack: bool,
    /// Probability that a segment is lost.
    loss: f64,
    rtt_s: f64,
    /// Segments a second that the path carries, without any window.
    rate: f64,
    /// Most segments in flight.
    most: f64,
    initial: f64,
    rto_s: f64,
    /// Payload of a segment, in bytes.
    segment: f64,
}

/// Courses of which the middle ones are a spread.
const ENOUGH: usize = 8;

/// The result of a simulated transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Course {
    /// Bytes sent.
    pub sent: f64,
    /// Duration in seconds.
    pub elapsed_s: f64,
}

impl Lossy {
    /// The first flow of `setup` under `bounds`; `None` if nothing is lost or no bound is
    /// finite.
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
            // The path's bound has losses already subtracted.
            rate: rate * kept(from.congestion, loss) / (1.0 - loss),
            loss,
            rtt_s: scale.rtt_s,
            most: most.max(1.0),
            initial: f64::from(from.initial_window),
            rto_s: from.rto_min.as_secs_f64() + scale.rtt_s,
            segment: scale.segment,
        })
    }

    /// Bytes and seconds from the first segment until the transfer stops: the median of all
    /// simulations, and the quartiles if there are enough, the faster one first.
    pub fn course(&self, stop: Stop) -> (Course, Option<[Course; 2]>) {
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
        let course = |place: usize| {
            let (segments, elapsed_s) = courses[place];
            Course {
                sent: bytes.min(segments * self.segment),
                elapsed_s,
            }
        };
        let count = courses.len();
        let quartiles = [course(count / 4), course(count * 3 / 4)];
        (course(count / 2), (count >= ENOUGH).then_some(quartiles))
    }
}

/// Share of the path that the algorithm reaches if no window limits it.
fn kept(algorithm: CongestionAlgorithm, loss: f64) -> f64 {
    match algorithm {
        CongestionAlgorithm::Bbr if loss >= FOR_CHANCE => KEPT,
        CongestionAlgorithm::NewReno | CongestionAlgorithm::Cubic | CongestionAlgorithm::Bbr => 1.0,
    }
}

/// One simulation of a transfer.
struct Rounds<'a> {
    of: &'a Lossy,
    rng: Rng,
    /// Number of segments that still arrive before the next one is lost.
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

/// Losses of a flight.
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

    /// Simulates until everything is sent or the time is over.
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

    /// Time until a flight without a loss is acknowledged, in seconds.
    fn round_s(&self, flight: f64) -> f64 {
        let Lossy { rtt_s, rate, .. } = *self.of;
        (rtt_s + 0.5 / rate).max(flight / rate)
    }

    /// Repairs a flight that lost `count` segments; `first` segments arrived before the
    /// first loss. At most `left` segments are still to send. Returns the segments that
    /// leave before the repair is complete, and its time.
    fn repair(&mut self, flight: f64, first: f64, count: i32, left: f64) -> (f64, f64) {
        let of = *self.of;
        let (before, left) = (self.window.min(flight), left.max(0.0));
        // As many segments follow as were acknowledged before the first loss.
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
        let is_timed_out =
            !of.has_sack && !follows_model && flight + following - 1.0 - first < DUPLICATES;
        if of.has_sack {
            let again = (0..count).filter(|_| self.rng.chance(of.loss)).count();
            takes_s += again as f64 * of.rtt_s;
        } else if !is_timed_out {
            // Each partial acknowledgment shows one more loss. RFC 6582 §3.2.
            let again = (0..count).filter(|_| self.rng.chance(of.loss)).count();
            takes_s += f64::from(count - 1 + again as i32) * of.rtt_s;
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

    fn reduce(&mut self, before: f64) {
        let part = match self.of.algorithm {
            CongestionAlgorithm::NewReno => 0.5,
            CongestionAlgorithm::Cubic => CUBIC_BETA,
            CongestionAlgorithm::Bbr => return,
        };
        self.window = (before * part).max(2.0);
        self.threshold = self.window;
        // Fast convergence: a flow whose window is smaller than before leaves room for
        // others. RFC 9438 §4.7.
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

    /// Processes an acknowledged flight; a window that was not used up does not grow.
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

    /// Losses of a flight.
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

    /// Draws the number of segments that arrive before one is lost.
    fn gap(&mut self) -> f64 {
        let part = 1.0 - self.rng.unit();
        (part.ln() / (1.0 - self.of.loss).ln()).floor()
    }
}

impl Epoch {
    /// Returns the window after another round.
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
