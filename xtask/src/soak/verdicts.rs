//! Worlds whose bottleneck is known, and the verdicts on them.
//!
//! The one rule: the shares that are promised are checked here, and for each world with a
//! wrong verdict the command that shows it is printed.
//!
//! `fullpipe-known-cause` makes and judges the worlds.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use fullpipe_known_cause::{Judged, KnownWorld, judge, tally};
use indicatif::ProgressBar;

/// Least share of worlds whose cause must be named.
const NAMED: f64 = 0.98;
/// Least share of advice that must help.
const HELPED: f64 = 0.95;
/// Largest median error of the predictions, as a share.
const MISSED: f64 = 0.15;

/// Judges `worlds` worlds from `first` on, and prints the built-in and the named causes.
///
/// # Errors
/// If a share or the error misses its bound above, or a world broke the stack.
pub fn run(first: u64, worlds: u64, jobs: Option<usize>) -> Result<()> {
    let start = Instant::now();
    let judged = judge_all(first, worlds, jobs)?;
    for world in judged.iter().filter(|world| is_remarkable(world)) {
        println!("{}", in_a_line(world));
    }
    let tally = tally(&judged);
    println!("{tally}");
    println!("{worlds} worlds in {:.1} s", start.elapsed().as_secs_f64());
    ensure!(
        tally.right_share() >= NAMED,
        "fewer than {} % named rightly",
        NAMED * 100.0
    );
    ensure!(
        tally.helped_share() >= HELPED,
        "advice helped in fewer than {} %",
        HELPED * 100.0
    );
    ensure!(
        tally.median_error.is_none_or(|error| error <= MISSED),
        "predictions missed by more than {} % at the median",
        MISSED * 100.0
    );
    Ok(())
}

/// Prints one world's file and the verdict on it.
///
/// # Errors
/// If the world broke the stack.
pub fn show(number: u64) -> Result<()> {
    println!("{}", KnownWorld::draw(number).file);
    let judged = judge(number).map_err(|error| anyhow!("world {number}: {error}"))?;
    println!("{}", in_a_line(&judged));
    Ok(())
}

fn judge_all(first: u64, worlds: u64, jobs: Option<usize>) -> Result<Vec<Judged>> {
    let jobs = match jobs {
        Some(jobs) => jobs.max(1),
        None => thread::available_parallelism()
            .context("counting cores")?
            .get(),
    };
    let bar = ProgressBar::new(worlds);
    let (next, done) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= worlds {
                return;
            }
            let outcome = judge(first + place);
            done.lock().expect("no worker died").push((place, outcome));
            bar.inc(1);
        }
    };
    thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    bar.finish_and_clear();
    let mut done = done.into_inner().expect("no worker died");
    done.sort_by_key(|(place, _)| *place);
    done.into_iter()
        .map(|(place, judged)| judged.map_err(|error| anyhow!("world {}: {error}", first + place)))
        .collect()
}

/// Returns true for a world whose named cause or prediction is wrong, or whose advice did
/// not help.
fn is_remarkable(world: &Judged) -> bool {
    let missed = world.treated.as_ref().is_some_and(|treated| {
        !treated.helped || treated.error().is_some_and(|error| error > MISSED)
    });
    world.built != world.named || missed
}

fn in_a_line(world: &Judged) -> String {
    let Judged {
        number,
        built,
        named,
        sentence,
        treated,
    } = world;
    let mut line = format!(
        "world {number}: {} was built, {} named",
        built.name(),
        named.name()
    );
    if let Some(treated) = treated {
        let of = |seconds| format!("{seconds:.2} s");
        let predicted = treated
            .predicted
            .map_or_else(String::new, |(predicted, elapsed_s)| {
                format!(
                    ", {} predicted, {} taken",
                    of(predicted.elapsed_s),
                    of(elapsed_s)
                )
            });
        line += &format!(
            "; advice: {:.2} to {:.2} Mbit/s{predicted}",
            treated.before_mbps, treated.after_mbps
        );
    }
    format!("{line}\n  {sentence}\n  again: cargo xtask soak --verdicts --world {number}")
}
