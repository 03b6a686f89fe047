//! Runs a planned world (a simulated network with its traffic) to its end.
//!
//! Rule: a world is checked for safety first, and then for liveness. While impairments last, no
//! rule may be violated, however slow the world is. After the impairments, every flow must end:
//! either both applications read to the end, or the flow was cut short for a reason. Finally every
//! block must be back in its pool.

use std::any::Any;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fullpipe_pool::{Duration, Instant};

use crate::check::CheckCoverage;
use crate::failure::WorldFailure;
use crate::flow::Goal;
use crate::ids::{HostId, LinkId, Seed};
use crate::world::{Deadline, World};
use crate::world_plan::{OutagePlan, WorldPlan};

/// The summary of a world in which no rule was violated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldSummary {
    /// The world's seed.
    pub seed: Seed,
    /// Number of hosts.
    pub hosts: usize,
    /// Number of flows.
    pub flows: usize,
    /// Flows whose applications both read to the end.
    pub finished: usize,
    /// Bytes read by all applications; each was verified.
    pub bytes: u64,
    /// Frames that left hosts.
    pub frames: u64,
    /// The checkers that had something to judge.
    pub judged: CheckCoverage,
    /// Events that happened.
    pub steps: u64,
    /// Virtual time at the end.
    pub lasted: Instant,
}

/// Longest time without progress after impairments end: twenty retransmission timeouts of 120 s. An
/// orphan (a connection whose application has closed it) may occupy memory for this time after its
/// peer has vanished, while other connections wait for memory.
const PATIENCE: Duration = Duration::from_secs(20 * 120);
/// Virtual time by which every flow must be over.
const LIVENESS: Deadline = Deadline::secs(24 * 3_600);
/// Time after the last flow within which the stacks must free every connection without an
/// application.
const AFTERLIFE: Duration = Duration::from_secs(3_600);

/// Runs the planned world to its end, with every checker.
///
/// # Errors
/// Returns the first violated rule, with time and place.
pub fn soak(plan: &WorldPlan) -> Result<WorldSummary, WorldFailure> {
    run(plan, &mut plan.build())
}

/// Runs the world as [`soak`] does, and writes the frames that leave and enter each host
/// to `out`.
///
/// # Errors
/// Returns the writer's error. A violated rule is in the inner result.
pub fn soak_captured(
    plan: &WorldPlan,
    out: Box<dyn Write + Send>,
) -> io::Result<Result<WorldSummary, WorldFailure>> {
    let (_, outcome) = run_captured(plan, out)?;
    Ok(outcome)
}

fn run_captured(
    plan: &WorldPlan,
    out: Box<dyn Write + Send>,
) -> io::Result<(World, Result<WorldSummary, WorldFailure>)> {
    let mut world = plan.build();
    world.capture(out)?;
    for host in 0..world.host_count() {
        world.tap_host(HostId(host), &format!("host {host}"))?;
    }
    let outcome = run(plan, &mut world);
    world.finish_capture()?;
    Ok((world, outcome))
}

/// Runs the world as [`soak`] does, once with bursts on every host and once without bursts (the
/// stack's setting `stack.bursts`). Both runs must have the same frames at the same times.
///
/// # Errors
/// Returns the first violated rule, or a failure if the frames differ.
pub fn soak_bursts(plan: &WorldPlan) -> Result<WorldSummary, WorldFailure> {
    let captured = |bursts| {
        let mut plan = plan.clone();
        for host in &mut plan.hosts {
            host.config.stack.bursts = bursts;
        }
        let hash = CaptureHash::default();
        let (world, outcome) = run_captured(&plan, Box::new(hash.clone())).expect("no I/O");
        outcome.map(|summary| (world, summary, hash.value()))
    };
    let (_, _, without) = captured(false)?;
    let (world, summary, with) = captured(true)?;
    if with == without {
        return Ok(summary);
    }
    Err(world.failure(
        "bursts".into(),
        "the runs with and without bursts have different frames",
    ))
}

/// A writer that keeps only a hash of the bytes written (FNV-1a).
#[derive(Clone)]
struct CaptureHash(Arc<AtomicU64>);

impl Default for CaptureHash {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(0xcbf2_9ce4_8422_2325)))
    }
}

impl CaptureHash {
    fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Write for CaptureHash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mix = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let hash = bytes.iter().fold(self.value(), mix);
        self.0.store(hash, Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn run(plan: &WorldPlan, world: &mut World) -> Result<WorldSummary, WorldFailure> {
    // Catch panics, because a failed assertion of the stack counts as a violation.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        match plan.outage {
            Some(OutagePlan {
                link,
                begin,
                length,
            }) => {
                world.try_run_for(begin)?;
                world.set_link_up(LinkId(link), false);
                world.try_run_for(length)?;
                world.set_link_up(LinkId(link), true);
                world.try_run_for(plan.impaired_for - begin - length)?;
            }
            None => world.try_run_for(plan.impaired_for)?,
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
        .unwrap_or_else(|| "a panic without a message".into())
}

#[cfg(test)]
mod tests;
