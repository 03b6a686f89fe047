//! One transfer between two kernel hosts, captured at both ends of its link.
//!
//! Rule: the frames are recorded by the link itself, when it reads and when it writes them, so the
//! captures at the hosts and at any tap between them have one clock.

use std::time::Duration;

use fullpipe_fit::frames::Captured;
use fullpipe_lab::KernelMeasured;
use fullpipe_perf::Stop;
use fullpipe_scenario::Setup;

use crate::{
    plan::KernelPlan,
    run::{KernelError, KernelOptions, LATE_US, run_followed},
};

/// Number of runs before a transfer counts although its link was late: a link that delivers late has
/// another delay, and other gaps between frames, than the transfer sets.
const RUNS: usize = 3;
/// Longest real time of the transfer.
const TIME: Duration = Duration::from_secs(15);

/// Runs `setup` on kernel hosts, again if the link was late. Returns the results, and the frames at the two ends of the link.
///
/// # Errors
/// Fails if kernel hosts cannot run the transfer, the system refuses an operation, or the user
/// interrupts.
pub fn captured_at_both_ends(
    setup: &Setup,
    seed: u64,
    stop: &Stop,
) -> Result<(KernelMeasured, Captured), KernelError> {
    let plan = KernelPlan::of(setup).map_err(std::io::Error::other)?;
    for _ in 1..RUNS {
        let (measured, captured) = run(&plan, seed, stop)?;
        if measured.link_late_p99_us <= LATE_US {
            return Ok((measured, captured));
        }
    }
    run(&plan, seed, stop)
}

fn run(
    plan: &KernelPlan,
    seed: u64,
    stop: &Stop,
) -> Result<(KernelMeasured, Captured), KernelError> {
    let captured = Captured::by_link();
    let options = KernelOptions {
        seed,
        time: TIME,
        capture: None,
        taps: Some(captured.clone()),
        stop,
        progress: &|_share| (),
    };
    let (measured, _) = run_followed(plan, &options)?;
    Ok((measured, captured))
}
