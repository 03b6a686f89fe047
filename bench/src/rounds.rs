//! Measures the CPU time of one unit of work, for several works in turn. A work is a benchmark case
//! on one stack.
//!
//! Rule: in each round, every work runs for the same number of units, one work after another. Only
//! times of the same round are compared, so that changes of the machine's speed that are slower
//! than a round cancel out.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::{
    cases::{Case, Work},
    stacks::{self, StackName},
};

/// Smallest CPU time of the baseline in a round.
const SLICE: Duration = Duration::from_millis(10);

/// Number of rounds before the first round that counts.
const WARM_UP: u32 = 3;

/// CPU time of one stack in one case.
pub struct Timing {
    /// The stack.
    pub stack: StackName,
    /// Median time of one unit in nanoseconds, for both ends together.
    pub ns: f64,
    /// Median ratio of this stack's time to the baseline's time in the same round.
    pub ratio: f64,
}

/// Returns the CPU time that this thread has used.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Runs at least `units` of work and returns the nanoseconds of one unit.
fn unit_ns(work: &mut dyn Work, units: u64) -> f64 {
    let start = cpu_time();
    let done = work.run(units);
    (cpu_time() - start).as_nanos() as f64 / done
}

/// Returns a number of units for which `work` needs at least the time [`SLICE`].
fn units_of_slice(work: &mut dyn Work) -> u64 {
    let mut units = 64;
    loop {
        let start = cpu_time();
        work.run(units);
        if cpu_time() - start >= SLICE {
            return units;
        }
        units *= 2;
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Measures `case` with each of `names` in `rounds` rounds. Compares every stack with
/// [`StackName::BASELINE`], which must be in `names`. Stacks that cannot run the case are omitted.
pub fn measure(case: Case, names: &[StackName], rounds: u32) -> Vec<Timing> {
    let runs = |name: &StackName| name.runs(case);
    let names: Vec<StackName> = names.iter().copied().filter(runs).collect();
    let start = |name: &StackName| stacks::start(*name, case);
    let mut works: Vec<Box<dyn Work>> = names.iter().map(start).collect();
    let baseline = names.iter().position(|name| *name == StackName::BASELINE);
    let baseline = baseline.expect("the baseline is measured too");
    let times = compare(&mut works, baseline, rounds);
    let timing = |(stack, (ns, ratio))| Timing { stack, ns, ratio };
    names.into_iter().zip(times).map(timing).collect()
}

/// Runs `works` in turn. Returns two medians for each: the nanoseconds of a unit, and the ratio to
/// the work with the index `baseline`.
pub fn compare(works: &mut [Box<dyn Work>], baseline: usize, rounds: u32) -> Vec<(f64, f64)> {
    let units = units_of_slice(works[baseline].as_mut());
    let mut times = vec![Vec::new(); works.len()];
    for round in 0..WARM_UP + rounds {
        // Rotate the order, because each work leaves its own memory in the caches.
        for turn in 0..works.len() {
            let index = (round as usize + turn) % works.len();
            let ns = unit_ns(works[index].as_mut(), units);
            if round >= WARM_UP {
                times[index].push(ns);
            }
        }
    }
    let base = times[baseline].clone();
    let medians = |own: Vec<f64>| {
        let ratios = own.iter().zip(&base).map(|(own, base)| own / base);
        let ratio = median(ratios.collect());
        (median(own), ratio)
    };
    times.into_iter().map(medians).collect()
}
