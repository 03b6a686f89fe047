//! The budget of an explanation, and the work done so far.
//!
//! Rule: work is counted in events of the simulator, never in time, so that an explanation is the
//! same on every machine. Every explanation may take a few seconds, because a short row (transfer)
//! needs as many runs as a long one. For a row with many events, the explanation may take half as
//! many events as the row's own run.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

/// For a row with many events, an explanation may take the row's events divided by this number.
const PART: u64 = 2;
/// Number of events that an explanation may take for a row with few events: about two seconds of
/// processor time.
const LEAST: u64 = 2_000_000;
/// The budget is this share, in percent, of the largest number of events ([`most`]). The last runs
/// may exceed the budget.
const PLANNED: u64 = 85;
/// Number of events that take as long as building the simulated hosts and links of one run.
const WORLD: u64 = 1_000;
/// Factor by which the budget grows if it ends before the needed levers (things that could be
/// changed) of a combination that helps are known.
const MORE: u64 = 4;
/// Share of all work after which the search for the cause ends.
pub const FOUND: f64 = 0.65;
/// Share of all work after which the search for the smallest values ends.
pub const ADVISED: f64 = 0.92;
/// Share of a search's events after which the runs of single levers (things that could be changed)
/// end.
pub const SINGLES: f64 = 0.35;
/// Share of a search's events after which the runs of combinations end.
pub const COMBINED: f64 = 0.6;
/// Share of a search's events after which the removal of needless levers from a combination ends.
pub const FEWEST: f64 = 0.75;
/// Share of a search's events after which the extension of a combination by further levers ends.
pub const EXTENDED: f64 = 0.82;
/// Share of a search's events after which the runs that confirm gains with more seeds end. The
/// remaining share is for slow readers and for impairments of the path.
pub const CONFIRMED: f64 = 0.87;
/// Share of a search's events after which the runs of other levers end, if no single lever of the
/// hosts helps.
pub const OTHERS: f64 = 0.5;
/// The progress of a finished explanation.
const ALL: f64 = 1.0;

/// Number of events that an explanation may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Half the events of the row's own run, or two million if that is more. Four times as many if
    /// settings help together, but the needed ones are not known.
    #[default]
    Usual,
    /// Up to sixteen times as many, as long as no cause is found.
    High,
}

impl Effort {
    /// Returns the largest number of times that the budget grows, if `is_proof` is true to find the
    /// needed levers of a combination that helps, otherwise to find a cause at all.
    const fn extensions(self, is_proof: bool) -> u32 {
        match (self, is_proof) {
            (Self::Usual, false) => 0,
            (Self::Usual, true) => 1,
            (Self::High, _) => 2,
        }
    }
}

/// Function that receives the finished share of an explanation, from 0 to 1. If it returns
/// `ControlFlow::Break`, the explanation ends.
pub type Progress<'a> = dyn Fn(f64) -> ControlFlow<()> + Sync + 'a;

/// The budget of an explanation, and the events so far.
pub struct Work<'a> {
    effort: Effort,
    /// Events that the explanation may take in total.
    budget: AtomicU64,
    /// Number of times that the budget has grown.
    extended: AtomicU32,
    /// Numbers of events at which the current search begins and ends.
    window: [AtomicU64; 2],
    /// Number of events after which no further run begins in the current step.
    limit: AtomicU64,
    /// Events so far.
    done: AtomicU64,
    /// Events so far of runs that the budget does not bound.
    beside: AtomicU64,
    progress: &'a Progress<'a>,
}

impl<'a> Work<'a> {
    /// Creates the budget for a row whose own runs took `steps` events.
    pub fn of_row(steps: u64, effort: Effort, progress: &'a Progress<'a>) -> Self {
        Self {
            effort,
            ..Self::up_to(most(steps) / 100 * PLANNED, progress)
        }
    }

    /// Creates an unlimited budget.
    pub fn any() -> Self {
        Self::up_to(u64::MAX, &|_share| ControlFlow::Continue(()))
    }

    fn up_to(budget: u64, progress: &'a Progress<'a>) -> Self {
        Self {
            effort: Effort::Usual,
            budget: AtomicU64::new(budget),
            extended: AtomicU32::new(0),
            window: [AtomicU64::new(0), AtomicU64::new(budget)],
            limit: AtomicU64::new(budget),
            done: AtomicU64::new(0),
            beside: AtomicU64::new(0),
            progress,
        }
    }

    /// Events that the explanation may take in total.
    pub fn budget(&self) -> u64 {
        self.budget.load(Ordering::Relaxed)
    }

    /// Effort of the explanation.
    pub const fn effort(&self) -> Effort {
        self.effort
    }

    /// Multiplies the budget by [`MORE`]. Returns false, without a change, if the effort allows no
    /// further extension or the budget is unlimited. `is_proof` is true if a combination of levers
    /// helps, and only the needed ones are to be found.
    pub fn extend(&self, is_proof: bool) -> bool {
        let most = self.effort.extensions(is_proof);
        let may = self.is_bounded() && self.extended.load(Ordering::Relaxed) < most;
        if may {
            self.extended.fetch_add(1, Ordering::Relaxed);
            let more = self.budget().saturating_mul(MORE);
            self.budget.store(more, Ordering::Relaxed);
        }
        may
    }

    /// Returns true if the budget is limited. In this case runs that rarely change the result are
    /// skipped.
    pub fn is_bounded(&self) -> bool {
        self.budget() < u64::MAX
    }

    /// Events so far, including `WORLD` events for each run.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Begins a search that may run until `share` of all work is done.
    pub fn begin(&self, share: f64) {
        let until = (self.budget() as f64 * share) as u64;
        let [from, to] = &self.window;
        from.store(self.done(), Ordering::Relaxed);
        to.store(until.max(self.done()), Ordering::Relaxed);
        self.allow(1.0);
    }

    /// Lets the current step run until `share` of the current search is done.
    pub fn allow(&self, share: f64) {
        let [from, to] = self.window.each_ref().map(|at| at.load(Ordering::Relaxed));
        let limit = from + ((to - from) as f64 * share) as u64;
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Returns true if the work allowed for the current step is done.
    pub fn is_done(&self) -> bool {
        self.done() >= self.limit.load(Ordering::Relaxed)
    }

    /// Adds the `steps` events of a run, and `WORLD` events for building the run's hosts and
    /// links.
    pub fn add(&self, steps: u64) {
        self.done.fetch_add(steps + WORLD, Ordering::Relaxed);
    }

    /// Adds the `steps` events of a run that the budget does not bound.
    pub fn add_beside(&self, steps: u64) {
        self.beside.fetch_add(steps + WORLD, Ordering::Relaxed);
    }

    /// Events so far, with those of the runs that the budget does not bound.
    pub fn total(&self) -> u64 {
        self.done() + self.beside.load(Ordering::Relaxed)
    }

    /// Reports the progress to the caller.
    pub fn advance(&self) -> ControlFlow<()> {
        let share = self.done() as f64 / self.budget() as f64;
        (self.progress)(share.min(ALL))
    }
}

/// Largest number of events for the explanation of a row whose own runs took `steps` events.
pub fn most(steps: u64) -> u64 {
    ((steps + WORLD) / PART).max(LEAST)
}

#[cfg(test)]
mod tests;
