//! Worlds with one limit, which is known because it was built in.
//!
//! Rule: the cause is drawn first, and every other resource is at least twice what the
//! transfer needs. A verdict can therefore be judged by the built-in cause and not by
//! measured values. A world is a file like any other experiment, and its number
//! determines it.

#![forbid(unsafe_code)]

mod draw;
mod judge;
mod tally;

#[cfg(test)]
mod tests;

pub use judge::{Judged, Treated, judge};
pub use tally::{Tally, tally};

use fullpipe_lab::Cause;
use fullpipe_scenario::{Experiment, Mistake};

/// A world with one known bottleneck.
#[derive(Clone, Debug)]
pub struct KnownWorld {
    /// Its number.
    pub number: u64,
    /// Its limit.
    pub cause: Cause,
    /// The world as a file, for `fullpipe lab run`.
    pub file: String,
}

impl KnownWorld {
    /// The world of this number. Consecutive numbers have different causes.
    pub fn draw(number: u64) -> Self {
        draw::world(number)
    }

    /// The world as an experiment of one row.
    ///
    /// # Errors
    /// A mistake in the file, which means that it was drawn wrongly.
    pub fn experiment(&self) -> Result<Experiment, Mistake> {
        let name = format!("world-{}", self.number);
        Experiment::parse(&name, &format!("{name}.toml"), &self.file)
    }
}
