//! Runs part of a transfer, and predicts the goodput of the whole transfer.
//!
//! Rule: the prediction extrapolates the rate at which the second half of the carried bytes
//! arrived. A row (scenario) with a one-time event, such as an outage, is run to its end.

use std::ops::ControlFlow;

use fullpipe_pool::{Duration, Instant};
use fullpipe_sim::{
    Goal, WorldFailure,
    app::{Ending, ReadPlan},
    link::Direction,
};

use super::{LONGEST_SLICE, Scene, ended::Ended, played::Played};
use crate::{
    experiment::{FlowPlan, LinkPlan, Setup, Stop},
    measured::Outcome,
    path::most_mbps,
};

/// Virtual time between the first two samples. Later intervals adapt to the rate of the transfer.
const FIRST_SLICE: Duration = Duration::from_micros(100);
/// Approximate number of samples in a shortened run.
const LOOKS: u64 = 16;
/// Two runs count as the same only if more than this number of their first samples are equal.
const LEAST_KNOWN: usize = 4;

/// A transfer is steady if predictions from two parts of it differ by at most this share.
const STEADY: f64 = 0.02;

/// The part of a transfer that is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Share of the first flow's bytes, or of its duration.
    pub share: f64,
    /// The run may end before its `share` is reached: once the first flow has carried this number
    /// of bytes and `least_s` has passed.
    pub most_bytes: u64,
    /// The number of bytes does not end the run before this time, in seconds, because a transfer
    /// that has just begun has no steady rate.
    pub least_s: f64,
    /// Events of the simulator after which the run ends in any case.
    pub most_steps: u64,
}

impl Part {
    /// The whole transfer.
    pub const WHOLE: Self = Self {
        share: 1.0,
        most_bytes: u64::MAX,
        least_s: 0.0,
        most_steps: u64::MAX,
    };

    /// Returns true if the transfer is not cut.
    pub fn is_whole(&self) -> bool {
        self.share >= 1.0 && self.most_bytes == u64::MAX && self.most_steps == u64::MAX
    }
}

/// A sample: the state of a run at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Time since the start of the first flow, in seconds.
    age_s: f64,
    /// Bytes that the first flow's receivers have read.
    bytes: u64,
    /// Events of the simulator so far.
    steps: u64,
}

impl Look {
    const START: Self = Self {
        age_s: 0.0,
        bytes: 0,
        steps: 0,
    };
}

/// Result of a run that may have been cut short.
#[derive(Clone, Debug)]
pub struct Foretold {
    /// Results of the simulated part.
    pub played: Played,
    /// Predicted goodput of the whole first flow, in Mbit/s.
    pub mbps: f64,
    /// False if the transfer was dropped, or ended without all bytes.
    pub is_complete: bool,
    /// True if the run was not cut.
    pub is_whole: bool,
    /// The samples of the run; empty if the whole transfer was requested or the row cannot be cut.
    pub looks: Vec<Look>,
    /// True if the run ended early because its samples equal the samples in the first half of the
    /// known run, an earlier run of the same row.
    pub is_known: bool,
}

/// Returns true if a run of `setup` can be cut, that is, ended early. All flows must be streams
/// that are measured from their start to an ordinary end. The row must have no one-time event, such
/// as an outage or a stall.
pub fn can_be_cut(setup: &Setup) -> bool {
    let is_plain = |plan: &FlowPlan| {
        plan.omit.is_zero()
            && plan.at_least.is_zero()
            && !plan.is_udp()
            && matches!(plan.reader_ending(), Ending::Graceful)
            && !matches!(plan.read_plan(), ReadPlan::Stalls(_))
    };
    let ways = |link: &LinkPlan| Direction::ALL.map(|way| link.link(way));
    let mut links = setup.links.iter().flat_map(ways);
    setup.flows.iter().all(is_plain) && links.all(|link| link.outage.is_none())
}

/// Returns true if some connections of `setup` may end before the last connection of the first
/// flow. In this case, a part of the transfer may not represent the whole.
pub fn has_early_ends(setup: &Setup) -> bool {
    let is_lasting = |plan: &FlowPlan| matches!(plan.stop, Stop::After(_));
    let is_alone = setup.flows.len() == 1 && setup.flow().count == 1;
    !is_alone && !setup.flows.iter().all(is_lasting)
}

/// Returns `setup` with every flow shortened to `share` of its bytes or duration. Returns `None` if
/// `share` is 1 or more, if a flow carries a stream or has an `omit`, `at_least` or `at_most`, or
/// if the row has an outage. A part of a datagram flow represents the whole flow, because no
/// congestion control must adapt first.
pub fn shortened(setup: &Setup, share: f64) -> Option<Setup> {
    let is_plain = |plan: &FlowPlan| {
        plan.is_udp() && plan.omit.is_zero() && plan.at_least.is_zero() && plan.at_most.is_none()
    };
    let ways = |link: &LinkPlan| Direction::ALL.map(|way| link.link(way));
    let mut links = setup.links.iter().flat_map(ways);
    let is_steady = links.all(|link| link.outage.is_none());
    if share >= 1.0 || !is_steady || !setup.flows.iter().all(is_plain) {
        return None;
    }
    let mut shorter = setup.clone();
    for plan in &mut shorter.flows {
        plan.stop = match plan.stop {
            Stop::Bytes(bytes) => Stop::Bytes(((bytes as f64 * share) as u64).max(1)),
            Stop::After(length) => {
                Stop::After(Duration::from_secs_f64(length.as_secs_f64() * share))
            }
        };
    }
    shorter.validate().ok().map(|()| shorter)
}

impl Scene<'_> {
    /// Runs `part` of the transfer; a row that cannot be cut is run to its end. `known` contains
    /// the samples of an earlier run. If the first half of `known` equals the samples of this run,
    /// this run ends early. Calls `progress` from time to time; returns `None` if `progress`
    /// returns `ControlFlow::Break`.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
    pub fn foretell(
        &mut self,
        part: Part,
        known: &[Look],
        progress: &dyn Fn() -> ControlFlow<()>,
    ) -> Result<Option<Foretold>, WorldFailure> {
        if part.is_whole() || !can_be_cut(self.built.setup) {
            let played = self.play(&|_share| progress())?;
            let setup = self.built.setup;
            return Ok(played.map(|played| whole(setup, played)));
        }
        let mut run = Cut::of(self.built.setup, part);
        let end = Instant::ZERO + run.plan.latest_end();
        let ending = loop {
            let rest = end.since(self.built.world.now());
            if rest.is_zero() || self.is_first_flow_done() {
                break CutEnding::Over;
            }
            self.run_for(run.slice.min(rest).min(run.longest_slice))?;
            self.silence_notes.note(&mut self.built);
            if progress().is_break() {
                return Ok(None);
            }
            let look = self.look(run.plan);
            if let Some(ending) = run.next(look, known) {
                break ending;
            }
        };
        let is_over = ending == CutEnding::Over || self.is_first_flow_done();
        self.built.world.try_run_for(Duration::ZERO)?;
        let ended: Vec<_> = (0..self.built.flows.len())
            .map(|number| Ended::of(&mut self.built, &self.omitted, number))
            .collect();
        let is_broken = ended.iter().any(|end| end.outcome == Outcome::Dropped);
        let mut own = self.built.flows.iter().zip(&ended);
        let is_complete = own.all(|(flow, end)| flow.0 > 0 || end.outcome == Outcome::Complete);
        let played = self.played(&ended);
        if is_over || is_broken {
            return Ok(Some(Foretold {
                looks: run.looks,
                is_complete: is_complete && !is_broken,
                ..whole(self.built.setup, played)
            }));
        }
        let (mbps, is_complete) = run.goodput(0.5);
        Ok(Some(Foretold {
            mbps,
            played,
            is_complete,
            is_whole: false,
            looks: run.looks,
            is_known: ending == CutEnding::Known,
        }))
    }

    /// Returns true if every connection of the first flow has ended, so that other flows can no
    /// longer change its result.
    fn is_first_flow_done(&mut self) -> bool {
        let own = self.built.flows.iter().filter(|flow| flow.0 == 0);
        let own: Vec<_> = own.map(|flow| flow.1).collect();
        let world = &mut self.built.world;
        own.into_iter()
            .all(|handle| world.is_reached(Goal::Done(handle)))
    }

    /// Takes a sample of the first flow, whose plan is `plan`.
    fn look(&mut self, plan: &FlowPlan) -> Look {
        let connections = 0..self.built.flows.len();
        let own = connections.filter(|number| self.built.flows[*number].0 == 0);
        let own: Vec<_> = own.collect();
        let bytes = own.into_iter().map(|number| self.built.facts(number).bytes);
        let bytes = bytes.sum();
        Look {
            age_s: (self.built.age().as_secs_f64() - plan.start.as_secs_f64()).max(0.0),
            bytes,
            steps: self.built.world.steps(),
        }
    }
}

/// Reason that a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CutEnding {
    /// Every connection of the first flow has ended, or the first flow's latest end has passed.
    Over,
    /// The part to simulate has been simulated.
    Cut,
    /// The samples equal the samples in the first half of the known run.
    Known,
}

/// State of a run that will be cut.
struct Cut<'a> {
    plan: &'a FlowPlan,
    part: Part,
    /// Bytes of the first flow after which the run is cut.
    bytes: u64,
    /// Seconds since the start of the first flow after which the run is cut.
    age_s: f64,
    /// Even after `bytes`, the run continues until this many seconds since the start of the first
    /// flow.
    least_s: f64,
    /// Highest goodput that the links of the first flow's path allow, in Mbit/s.
    most_mbps: f64,
    /// Longest time between two samples.
    longest_slice: Duration,
    /// Time until the next sample.
    slice: Duration,
    /// False if the run may still be doubled in length. A run is doubled at most once, and only if
    /// the rate is not steady.
    is_final: bool,
    looks: Vec<Look>,
}

impl<'a> Cut<'a> {
    fn of(setup: &'a Setup, part: Part) -> Self {
        let plan = setup.flow();
        let (bytes, age_s) = match plan.stop {
            Stop::Bytes(bytes) => {
                let all = bytes * u64::from(plan.count);
                ((all as f64 * part.share) as u64, 1e6)
            }
            Stop::After(length) => (u64::MAX, length.as_secs_f64() * part.share),
        };
        // Count the part's time from the latest start of any flow, so that every flow runs during
        // the part.
        let latest = setup.flows.iter().map(|flow| flow.start).max();
        let late = latest.unwrap_or_default().as_secs_f64() - plan.start.as_secs_f64();
        Self {
            plan,
            part,
            bytes: bytes.min(part.most_bytes).max(1),
            age_s: age_s + late,
            least_s: part.least_s + late,
            most_mbps: most_mbps(setup),
            longest_slice: Duration::from_secs_f64(age_s / LOOKS as f64).min(LONGEST_SLICE),
            slice: FIRST_SLICE,
            // Never double a run with several flows: runs with different settings are compared, and
            // each must cover the same time.
            is_final: setup.flows.len() > 1,
            looks: vec![Look::START],
        }
    }

    /// Adds a sample. Returns the reason to end the run, if there is one.
    fn next(&mut self, look: Look, known: &[Look]) -> Option<CutEnding> {
        let gained = look.bytes - self.looks[self.looks.len() - 1].bytes;
        self.looks.push(look);
        let half = half_of(known);
        if half > LEAST_KNOWN && self.looks.len() == half && self.looks == known[..half] {
            return Some(CutEnding::Known);
        }
        if look.steps >= self.part.most_steps {
            return Some(CutEnding::Cut);
        }
        let is_enough = look.bytes >= self.bytes && look.age_s >= self.least_s;
        if is_enough || look.age_s >= self.age_s {
            if self.is_final || self.is_steady() {
                return Some(CutEnding::Cut);
            }
            self.bytes = self.bytes.saturating_mul(2);
            self.age_s *= 2.0;
            self.is_final = true;
        }
        let wanted = self.bytes / LOOKS;
        self.slice = match gained {
            0 => self.slice * 2,
            _ if gained > wanted * 2 => self.slice / 2,
            _ if gained < wanted / 2 => self.slice * 2,
            _ => self.slice,
        }
        .clamp(Duration::from_micros(1), LONGEST_SLICE);
        None
    }

    /// Returns true if the last half and the last quarter of the carried bytes predict nearly the
    /// same goodput.
    fn is_steady(&self) -> bool {
        let [half, quarter] = [0.5, 0.75].map(|share| self.goodput(share).0);
        (half / quarter - 1.0).abs() <= STEADY
    }

    /// Predicts the goodput of the whole transfer in Mbit/s. The prediction ignores the first
    /// `share` of the carried bytes. It assumes that the transfer continues at the rate at which
    /// the other carried bytes arrived, but at most at the rate of the links. The second value is
    /// true if all bytes will be carried.
    fn goodput(&self, share: f64) -> (f64, bool) {
        let Look { age_s, bytes, .. } = self.looks[self.looks.len() - 1];
        let until = (bytes as f64 * share) as u64;
        let half = self.looks.iter().rev().find(|look| look.bytes <= until);
        let half = half.expect("the first sample has carried no bytes");
        let rate = (bytes - half.bytes) as f64 / (age_s - half.age_s).max(1e-9);
        let rate = rate.min(self.most_mbps * 1e6 / 8.0);
        let after = |length_s: f64| {
            (bytes as f64 + rate * (length_s - age_s).max(0.0)) * 8.0 / 1e6 / length_s
        };
        match self.plan.stop {
            Stop::Bytes(each) => {
                let all = (each * u64::from(self.plan.count)) as f64;
                let rest = (all - bytes as f64).max(0.0) / rate.max(1e-3);
                let most_s = self.plan.at_most;
                let most_s = most_s.map_or(f64::INFINITY, |most| most.as_secs_f64());
                match age_s + rest {
                    length_s if length_s > most_s => (after(most_s), false),
                    length_s => (all * 8.0 / 1e6 / length_s, true),
                }
            }
            Stop::After(length) => {
                let length = self.plan.at_most.map_or(length, |most| most.min(length));
                (after(length.as_secs_f64()), true)
            }
        }
    }
}

/// Number of samples in `looks` up to the sample at which half of the events had happened.
fn half_of(looks: &[Look]) -> usize {
    let all = looks.last().map_or(0, |last| last.steps);
    let before = looks.iter().take_while(|look| look.steps * 2 < all);
    (before.count() + 1).min(looks.len())
}

fn whole(setup: &Setup, played: Played) -> Foretold {
    Foretold {
        mbps: played.measured.first_flow_mbps(setup),
        is_complete: played.measured.outcome == Outcome::Complete,
        is_whole: true,
        looks: Vec::new(),
        is_known: false,
        played,
    }
}
