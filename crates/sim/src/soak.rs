//! One random world, lived through to its end.
//!
//! Rule: first safety, then liveness. While impairments last, nothing may go
//! wrong, however slow; once they are over, everything must come to an end:
//! each conversation reads to its end or has been cut short for a reason, and
//! when all is closed every block is back in its pool.

use std::any::Any;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use fullpipe_pool::{Duration, Instant};

use crate::check::CheckCoverage;
use crate::random_world::RandomWorld;
use crate::{Deadline, Goal, HostId, Seed, WorldFailure};

/// What a random world came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldSummary {
    /// Its seed.
    pub seed: Seed,
    /// Hosts in it.
    pub hosts: usize,
    /// Conversations in it.
    pub conversations: usize,
    /// Those whose applications both read to the end.
    pub finished: usize,
    /// Bytes read by all applications; each was verified.
    pub bytes: u64,
    /// Frames that left hosts.
    pub frames: u64,
    /// Checkers that had something to judge.
    pub judged: CheckCoverage,
    /// Events that happened.
    pub steps: u64,
    /// How long it lasted, in virtual time.
    pub lasted: Instant,
}

/// Longest time without progress once nothing hinders it: an orphan whose peer has
/// vanished may hold the memory that others wait for through as many of the
/// longest retransmission timeouts as are drawn.
const PATIENCE: Duration = Duration::from_secs(20 * 120);
/// Everything is over by then, however slow.
const LIVENESS: Deadline = Deadline::secs(24 * 3_600);
/// Longer than any connection without an application lives.
const AFTERLIFE: Duration = Duration::from_secs(3_600);

/// Lives through the random world of `seed`, with every checker.
///
/// # Errors
/// What did not hold, and how to replay it.
pub fn soak(seed: u64) -> Result<WorldSummary, WorldFailure> {
    live(&mut RandomWorld::draw(Seed(seed)))
}

/// As [`soak`], and captures what leaves and enters each host into `out`.
///
/// # Errors
/// What the writer says. What did not hold is in the answer.
pub fn soak_captured(
    seed: u64,
    out: Box<dyn Write + Send>,
) -> io::Result<Result<WorldSummary, WorldFailure>> {
    let mut drawn = RandomWorld::draw(Seed(seed));
    drawn.world.capture(out)?;
    for host in 0..drawn.world.host_count() {
        drawn
            .world
            .tap_host(HostId(host), &format!("host {host}"))?;
    }
    let lived = live(&mut drawn);
    drawn.world.finish_capture()?;
    Ok(lived)
}

fn live(drawn: &mut RandomWorld) -> Result<WorldSummary, WorldFailure> {
    let RandomWorld {
        world,
        hardship,
        outage,
    } = drawn;
    let hardship = *hardship;
    // The stack's own assertions are checkers too.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        match *outage {
            Some((link, begin, length)) => {
                world.try_run_for(begin)?;
                world.set_link_up(link, false);
                world.try_run_for(length)?;
                world.set_link_up(link, true);
                world.try_run_for(hardship - begin - length)?;
            }
            None => world.try_run_for(hardship)?,
        }
        world.remove_impairments();
        world.reset_abandoned_ends()?;
        world.set_patience(PATIENCE);
        world.try_run_until(Goal::AllDone, LIVENESS)?;
        world.try_run_for(AFTERLIFE)?;
        world.check_all_returned()
    }));
    match outcome {
        Ok(outcome) => outcome.map(|()| world.summary()),
        Err(panic) => Err(world.failure("an assertion".into(), words_of(panic.as_ref()))),
    }
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".into())
}

#[cfg(test)]
mod tests;
