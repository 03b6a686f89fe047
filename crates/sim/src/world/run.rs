//! Runs a world (a simulated network) to a goal or for a time.
//!
//! Rule: a run ends with its goal, with a failure, or at its deadline. If no event is left and the
//! goal is not reached, the run fails at once. The exception is a world that resets ends whose peer
//! is gone: if an end was reset, the run goes on.

use fullpipe_pool::{Duration, Instant};

use super::network::{Deadline, World};
use crate::failure::WorldFailure;
use crate::flow::{Goal, Side};

impl World {
    /// Runs until `goal` is reached.
    ///
    /// # Panics
    /// Panics if a checker finds a violation, no event is left, or the deadline passes
    /// first.
    pub fn run_until(&mut self, goal: Goal, deadline: Deadline) {
        if let Err(failure) = self.try_run_until(goal, deadline) {
            panic!("{failure}");
        }
    }

    /// Runs until `goal` is reached.
    ///
    /// # Errors
    /// Returns an error if a checker finds a violation, no event is left, or the deadline passes
    /// first.
    pub fn try_run_until(&mut self, goal: Goal, deadline: Deadline) -> Result<(), WorldFailure> {
        let end = self.now + deadline.0;
        while !self.is_reached(goal) {
            match self.events.next_at() {
                Some(at) if at <= end => {
                    self.step()?;
                }
                Some(_) => {
                    self.now = end;
                    let what = format!("{goal:?} not reached in {}", deadline.0);
                    return Err(self.unfinished(&what));
                }
                None if self.reset_unreachable_ends()? => {}
                None => return Err(self.unfinished("no event is left to simulate")),
            }
        }
        self.verify_all()
    }

    /// Runs for `length`.
    ///
    /// # Panics
    /// Panics if a checker finds a violation.
    pub fn run_for(&mut self, length: Duration) {
        if let Err(failure) = self.try_run_for(length) {
            panic!("{failure}");
        }
    }

    /// Runs for `length`.
    ///
    /// # Errors
    /// Returns an error if a checker finds a violation.
    pub fn try_run_for(&mut self, length: Duration) -> Result<(), WorldFailure> {
        self.try_pass(length)?;
        self.verify_all()
    }

    /// Runs for `length` as part of a longer run. Omits the check of all memory at the end,
    /// because the check costs as much as thousands of events.
    ///
    /// # Errors
    /// Returns an error if a checker finds a violation.
    pub fn try_pass(&mut self, length: Duration) -> Result<(), WorldFailure> {
        let end = self.now + length;
        while self.events.next_at().is_some_and(|at| at <= end) {
            self.step()?;
        }
        self.pass_to(end);
        Ok(())
    }

    fn pass_to(&mut self, end: Instant) {
        self.watch.passed(self.now, end);
        self.now = end;
    }

    /// Returns true if `goal` has been reached.
    pub fn is_reached(&self, goal: Goal) -> bool {
        match goal {
            Goal::Done(flow) => self.flows[flow.0].finished.is_some(),
            Goal::AllDone => self.done == self.flows.len(),
            Goal::Received(flow, bytes) => {
                self.flows[flow.0].ends[Side::Server.index()].ledger.read >= bytes
            }
        }
    }
}
