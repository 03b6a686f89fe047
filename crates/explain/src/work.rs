//! The work that an explanation may do.
//!
//! Rule: work is counted in events of the simulator, never in time, so that an explanation is
//! the same on every machine. Every explanation may take a few seconds, because a short row
//! needs as many runs as a long one; that of an expensive row costs half the row.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicU64, Ordering},
};

/// Part of an expensive row that its explanation costs, as a divisor.
const PART: u64 = 2;
/// Events that any explanation may have, also that of a row with hardly any: about two seconds
/// of processor time.
const LEAST: u64 = 2_000_000;
/// Part of the allowed work that is planned, in percent. The last runs may exceed the plan.
const PLANNED: u64 = 85;
/// Events that take as long as the building of a world.
const WORLD: u64 = 1_000;
/// Shares of all work after which the search for the cause and that for the smallest values
/// end.
pub const FOUND: f64 = 0.65;
pub const ADVISED: f64 = 0.92;
/// Shares of a search after which that for single levers ends, for levers together, for the
/// fewest of them, for further ones beside them, and the runs with more seeds that confirm the
/// result. The rest is for readers and for what impairs the path.
pub const SINGLES: f64 = 0.35;
pub const COMBINED: f64 = 0.6;
pub const FEWEST: f64 = 0.75;
pub const EXTENDED: f64 = 0.82;
pub const CONFIRMED: f64 = 0.87;
/// Share of a search after which that for levers that are not of the hosts ends, if no lever of
/// the hosts helps alone.
pub const OTHERS: f64 = 0.4;
/// All of a search, and a finished progress.
pub const ALL: f64 = 1.0;

/// A function that receives the finished share of an explanation, from 0 to 1; the explanation
/// ends if it breaks.
pub type Progress<'a> = dyn Fn(f64) -> ControlFlow<()> + Sync + 'a;

/// The work of an explanation: what may be done, and what is done.
pub struct Work<'a> {
    /// Events that may happen in all.
    budget: u64,
    /// Events at which the present search begins and ends.
    window: [AtomicU64; 2],
    /// Events after which nothing more is run at present.
    limit: AtomicU64,
    /// Events so far.
    done: AtomicU64,
    progress: &'a Progress<'a>,
}

impl<'a> Work<'a> {
    /// The work for a row whose own runs took `steps` events.
    pub fn of_row(steps: u64, progress: &'a Progress<'a>) -> Self {
        Self::up_to(most(steps) / 100 * PLANNED, progress)
    }

    /// Any amount of work.
    pub fn any() -> Self {
        Self::up_to(u64::MAX, &|_share| ControlFlow::Continue(()))
    }

    fn up_to(budget: u64, progress: &'a Progress<'a>) -> Self {
        Self {
            budget,
            window: [AtomicU64::new(0), AtomicU64::new(budget)],
            limit: AtomicU64::new(budget),
            done: AtomicU64::new(0),
            progress,
        }
    }

    /// Events that may happen in all.
    pub const fn budget(&self) -> u64 {
        self.budget
    }

    /// Returns true if runs that tell little are left out.
    pub const fn is_bounded(&self) -> bool {
        self.budget < u64::MAX
    }

    /// Events so far, with those that take as long as the building of the worlds.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Begins a search that may do work until `share` of all work is done.
    pub fn begin(&self, share: f64) {
        let until = (self.budget as f64 * share) as u64;
        let [from, to] = &self.window;
        from.store(self.done(), Ordering::Relaxed);
        to.store(until.max(self.done()), Ordering::Relaxed);
        self.allow(1.0);
    }

    /// Allows `share` of the work of the present search.
    pub fn allow(&self, share: f64) {
        let [from, to] = self.window.each_ref().map(|at| at.load(Ordering::Relaxed));
        let limit = from + ((to - from) as f64 * share) as u64;
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Returns true if all that is allowed at present is done.
    pub fn is_done(&self) -> bool {
        self.done() >= self.limit.load(Ordering::Relaxed)
    }

    /// Adds the `steps` of a run.
    pub fn add(&self, steps: u64) {
        self.done.fetch_add(steps + WORLD, Ordering::Relaxed);
    }

    /// Reports the progress.
    pub fn advance(&self) -> ControlFlow<()> {
        let share = self.done() as f64 / self.budget as f64;
        (self.progress)(share.min(ALL))
    }
}

/// Events that the explanation of a row may have, whose own runs took `steps`.
pub fn most(steps: u64) -> u64 {
    ((steps + WORLD) / PART).max(LEAST)
}

#[cfg(test)]
mod tests;
