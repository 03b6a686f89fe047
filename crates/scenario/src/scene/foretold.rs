//! A run that is cut short, and the goodput that the whole run would have.
//!
//! Rule: the second half of what was carried gives the rate of the rest. A row that does
//! not consist of one plain transfer is never cut.

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
};

/// First virtual time between two looks at the transfer.
const FIRST_SLICE: Duration = Duration::from_micros(100);
/// Looks at the transfer, about, until its cut.
const LOOKS: u64 = 16;

/// A transfer is steady if two parts of it foretell goodputs that differ by at most this.
const STEADY: f64 = 0.02;

/// The part of a transfer that is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Share of the first flow's bytes, or of its duration.
    pub share: f64,
    /// Bytes after which the run ends in any case.
    pub most_bytes: u64,
}

impl Part {
    /// The whole transfer.
    pub const WHOLE: Self = Self {
        share: 1.0,
        most_bytes: u64::MAX,
    };

    /// Returns true if the transfer is not cut.
    fn is_whole(&self) -> bool {
        self.share >= 1.0 && self.most_bytes == u64::MAX
    }
}

/// Result of a run that may have been cut short.
#[derive(Clone, Debug)]
pub struct Foretold {
    /// Results of the part that was run.
    pub played: Played,
    /// Goodput of the first flow in Mbit/s, as the whole run would have it.
    pub mbps: f64,
    /// False if the transfer broke down, or ended without all bytes.
    pub is_complete: bool,
    /// True if the run was not cut.
    pub is_whole: bool,
}

/// Returns true if a run of `setup` can be cut: one flow of a stream that starts at once
/// and is measured from its start to its ordinary end, and nothing that happens once.
pub fn can_be_cut(setup: &Setup) -> bool {
    let plan = setup.flow();
    let is_plain = plan.start.is_zero() && plan.omit.is_zero() && plan.at_least.is_zero();
    let ways = |link: &LinkPlan| Direction::ALL.map(|way| link.link(way));
    let mut links = setup.links.iter().flat_map(ways);
    setup.flows.len() == 1
        && is_plain
        && plan.at_most.is_none()
        && !plan.is_udp()
        && matches!(plan.reader_ending(), Ending::Graceful)
        && !matches!(plan.read_plan(), ReadPlan::Stalls(_))
        && links.all(|link| link.outage.is_none())
}

impl Scene<'_> {
    /// Runs `part` of the transfer. A row that cannot be cut is run whole.
    ///
    /// # Errors
    /// A violation that a checker of the simulator found.
    pub fn foretell(&mut self, part: Part) -> Result<Foretold, WorldFailure> {
        if part.is_whole() || !can_be_cut(self.built.setup) {
            let played = self.play(&|_share| std::ops::ControlFlow::Continue(()))?;
            return Ok(whole(played.expect("nothing interrupts it")));
        }
        let plan = self.built.setup.flow();
        let end = Instant::ZERO + plan.latest_end();
        let mut goal = Goals::of(plan, part);
        let mut looks = vec![(0.0, 0)];
        let mut slice = FIRST_SLICE;
        let is_over = loop {
            let rest = end.since(self.built.world.now());
            if rest.is_zero() || self.built.world.is_reached(Goal::AllDone) {
                break true;
            }
            self.run_for(slice.min(rest).min(goal.slice))?;
            self.silence_notes.note(&mut self.built);
            let (_, before) = looks[looks.len() - 1];
            let (age, bytes) = (self.built.age(), self.carried());
            looks.push((age.as_secs_f64(), bytes));
            let is_enough = bytes >= goal.bytes || age >= goal.age;
            if is_enough && (goal.is_longer || is_steady(plan, &looks)) {
                break self.built.world.is_reached(Goal::AllDone);
            }
            if is_enough {
                goal.go_on();
            }
            slice = goal.next_slice(slice, bytes - before);
        };
        self.built.world.try_run_for(Duration::ZERO)?;
        let ended: Vec<_> = (0..self.built.flows.len())
            .map(|number| Ended::of(&mut self.built, &self.omitted, number))
            .collect();
        let is_broken = ended.iter().any(|end| end.outcome == Outcome::Dropped);
        let played = self.played(&ended);
        if is_over || is_broken {
            return Ok(whole(played));
        }
        Ok(Foretold {
            mbps: goodput_mbps(plan, &looks, 0.5),
            played,
            is_complete: true,
            is_whole: false,
        })
    }

    /// Bytes that the readers of the first flow have read.
    fn carried(&mut self) -> u64 {
        let connections = 0..self.built.flows.len();
        connections
            .map(|number| self.built.facts(number).bytes)
            .sum()
    }
}

/// The bytes and the time after which a run is cut.
struct Goals {
    bytes: u64,
    age: Duration,
    /// Longest time between two looks.
    slice: Duration,
    /// True if the run was made longer because it was not steady. That is done once.
    is_longer: bool,
}

impl Goals {
    fn of(plan: &FlowPlan, part: Part) -> Self {
        let (bytes, age) = match plan.stop {
            Stop::Bytes(bytes) => {
                let all = bytes * u64::from(plan.count);
                ((all as f64 * part.share) as u64, 1e6)
            }
            Stop::After(length) => (u64::MAX, length.as_secs_f64() * part.share),
        };
        Self {
            bytes: bytes.min(part.most_bytes).max(1),
            age: Duration::from_secs_f64(age),
            slice: Duration::from_secs_f64(age / LOOKS as f64).min(LONGEST_SLICE),
            is_longer: false,
        }
    }

    /// Runs the transfer twice as long as planned so far.
    fn go_on(&mut self) {
        self.bytes = self.bytes.saturating_mul(2);
        self.age = self.age + self.age;
        self.is_longer = true;
    }

    /// The next time between two looks, if `gained` bytes came in the last one of `slice`.
    fn next_slice(&self, slice: Duration, gained: u64) -> Duration {
        let wanted = self.bytes / LOOKS;
        match gained {
            0 => slice * 2,
            _ if gained > wanted * 2 => slice / 2,
            _ if gained < wanted / 2 => slice * 2,
            _ => slice,
        }
        .clamp(Duration::from_micros(1), LONGEST_SLICE)
    }
}

fn whole(played: Played) -> Foretold {
    let flows = played.measured.flows.first();
    Foretold {
        mbps: flows.map_or(played.measured.goodput_mbps, |flow| flow.goodput_mbps),
        is_complete: played.measured.outcome == Outcome::Complete,
        is_whole: true,
        played,
    }
}

/// Returns true if the last half and the last quarter of what was carried foretell nearly the
/// same.
fn is_steady(plan: &FlowPlan, looks: &[(f64, u64)]) -> bool {
    let [half, quarter] = [0.5, 0.75].map(|share| goodput_mbps(plan, looks, share));
    (half / quarter - 1.0).abs() <= STEADY
}

/// Goodput of the whole transfer of `plan`, if it goes on as fast as after the first `share`
/// of what was carried at the last of `looks`.
fn goodput_mbps(plan: &FlowPlan, looks: &[(f64, u64)], share: f64) -> f64 {
    let (age, bytes) = looks[looks.len() - 1];
    let until = (bytes as f64 * share) as u64;
    let half = looks.iter().rev().find(|(_, before)| *before <= until);
    let &(half_age, half_bytes) = half.expect("nothing was carried at first");
    let rate = (bytes - half_bytes) as f64 / (age - half_age).max(1e-9);
    match plan.stop {
        Stop::Bytes(each) => {
            let all = (each * u64::from(plan.count)) as f64;
            let rest = (all - bytes as f64).max(0.0) / rate.max(1e-3);
            all * 8.0 / 1e6 / (age + rest)
        }
        Stop::After(length) => {
            let length = length.as_secs_f64();
            (bytes as f64 + rate * (length - age)) * 8.0 / 1e6 / length
        }
    }
}
