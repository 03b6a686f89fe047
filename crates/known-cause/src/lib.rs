//! Worlds with one limit, which is known because it was built in.
//!
//! Rule: a world is drawn with ample resources on a random path. Then one cause is built
//! in: a resource becomes scarce, for example, or the sending application slow. A verdict
//! can therefore be judged by the built-in cause and not by measured values. A world is a
//! file like any other experiment. Its number determines everything that is drawn.

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
