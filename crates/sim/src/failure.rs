//! How a world fails, and what to type to see it again.
//!
//! Rule: whoever reads a failure can replay it. A random world is replayed from
//! its seed alone; a world that a test built is replayed by the test.

use std::fmt;

use fullpipe_pool::Instant;

use crate::Seed;

/// A world in which something did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldFailure {
    /// The seed of the world.
    pub seed: Seed,
    /// Whether the seed alone makes this world.
    pub random: bool,
    /// When it happened.
    pub at: Instant,
    /// Where: a host, a conversation, or the world.
    pub place: String,
    /// What was found.
    pub finding: String,
}

impl fmt::Display for WorldFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            seed,
            random,
            at,
            place,
            finding,
        } = self;
        write!(f, "at {:.6} s, {place}: {finding}", at.as_secs_f64())?;
        if *random {
            write!(f, "\nreplay: cargo xtask soak --world {}", seed.0)
        } else {
            write!(f, " (seed {})", seed.0)
        }
    }
}

impl std::error::Error for WorldFailure {}
