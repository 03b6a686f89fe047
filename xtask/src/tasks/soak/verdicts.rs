//! Judges explanations of random transfers.
//!
//! The one rule: the command fails if a result in its summary misses its threshold. For each of the
//! worst worlds (random transfers, drawn from a number), the command that repeats the world is
//! printed.
//!
//! `fullpipe-judge` draws and judges the worlds.

use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use fullpipe_explain::{Cause, explain};
use fullpipe_judge::{Answer, Judged, Tally, World, judge};
use fullpipe_scenario::Setup;
use rustix::time::{ClockId, clock_gettime};

use super::many;

/// Judges the explanations of `worlds` worlds from `first` on, and prints the figures. After the
/// time `within`, no further world starts.
///
/// # Errors
/// Fails if a result in the printed summary misses its threshold, or a world fails.
pub fn run(
    (first, worlds): (u64, u64),
    within: Option<Duration>,
    jobs: Option<usize>,
) -> Result<()> {
    let (start, processor_start_s) = (Instant::now(), processor_s());
    let jobs = many::jobs(jobs)?;
    let clock = Clock::default();
    let outcomes = many::each("worlds", (first, worlds), jobs, within, |number| {
        outcome(number, &clock)
    });
    let worlds = outcomes.len() as u64;
    let mut judged = Vec::new();
    let mut broken = 0;
    for outcome in outcomes {
        match outcome {
            Ok(world) => judged.push(world),
            Err(error) => {
                broken += 1;
                println!("{error}");
            }
        }
    }
    let tally = Tally::new(&judged, broken);
    println!("{tally}");
    let engine_share = clock.engine().as_secs_f64() / clock.all().as_secs_f64().max(1e-9);
    println!(
        "{worlds} worlds from {first} on in {:.1} s with {jobs} jobs; {:.2} s of processor time for each world; {:.0} % of the jobs' time for explanations",
        start.elapsed().as_secs_f64(),
        (processor_s() - processor_start_s) / worlds.max(1) as f64,
        engine_share * 100.0,
    );
    ensure!(
        tally.is_met(),
        "a result in the summary above misses its threshold"
    );
    Ok(())
}

/// Judges one world and prints the result. Prints the world's file, or writes it to `save`.
///
/// # Errors
/// Fails if the world fails, or the file cannot be written.
pub fn show(number: u64, save: Option<&Path>) -> Result<()> {
    let world = World::draw(number);
    match save {
        Some(path) => {
            fs::write(path, &world.file).with_context(|| format!("writing {}", path.display()))?;
        }
        None => println!("{}", world.file),
    }
    println!("{}", outcome(number, &Clock::default())?);
    Ok(())
}

/// Returns the processor time of this process, in seconds.
fn processor_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Time that all workers spent, in total and in the engine of explanations, in microseconds.
#[derive(Default)]
struct Clock {
    all: AtomicU64,
    engine: AtomicU64,
}

impl Clock {
    fn add(place: &AtomicU64, since: Instant) {
        place.fetch_add(since.elapsed().as_micros() as u64, Ordering::Relaxed);
    }

    fn all(&self) -> Duration {
        Duration::from_micros(self.all.load(Ordering::Relaxed))
    }

    fn engine(&self) -> Duration {
        Duration::from_micros(self.engine.load(Ordering::Relaxed))
    }
}

/// Judges the world of `number`. A panic becomes an error.
fn outcome(number: u64, clock: &Clock) -> Result<Judged> {
    let engine = |setup: &Setup, seed: u64| {
        let start = Instant::now();
        let answer = engine(setup, seed);
        Clock::add(&clock.engine, start);
        answer
    };
    let start = Instant::now();
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| judge(&World::draw(number), &engine)));
    Clock::add(&clock.all, start);
    match outcome {
        Ok(judged) => judged.map_err(|failure| anyhow!("world {number}: {failure}")),
        Err(_) => Err(anyhow!("world {number} panicked, as printed above")),
    }
}

/// Returns the answer of the explanation engine, which is what this file judges.
fn engine(setup: &Setup, seed: u64) -> Result<Answer, String> {
    let found = explain(setup, seed).map_err(|error| error.to_string())?;
    Ok(Answer {
        names_others: found.limit == Cause::SHARED_LINK,
        levers: found.levers,
        rival: found.rival,
        shown: found.shown,
        advice: found.advice,
        predicted_mbps: found.predicted.map(|predicted| predicted.goodput_mbps),
        refuted: found.refuted,
    })
}
