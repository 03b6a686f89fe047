//! The failure of a world (a simulated network): what was wrong, where and when.
//!
//! Rule: a failure names the world's seed. The program that ran the world prints the
//! command that replays it; a world that a test built is replayed by the test.

use std::fmt;

use fullpipe_pool::Instant;

use crate::ids::Seed;

/// A violated rule in a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldFailure {
    /// The seed of the world.
    pub seed: Seed,
    /// Time of the failure.
    pub at: Instant,
    /// The host or the flow that failed, or the world as a whole.
    pub place: String,
    /// The rule that was violated, with the numbers.
    pub finding: String,
}

impl fmt::Display for WorldFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            seed,
            at,
            place,
            finding,
        } = self;
        let secs = at.as_secs_f64();
        write!(f, "at {secs:.6} s, {place}: {finding} (seed {})", seed.0)
    }
}

impl std::error::Error for WorldFailure {}
