//! Judges numbered cases in several threads.
//!
//! The one rule: results are returned in the order of the numbers, regardless of the thread that
//! judged them.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};

/// Returns the number of threads: `jobs` if given, otherwise the number of cores.
///
/// # Errors
/// Fails if the operating system does not report the number of cores.
pub fn jobs(jobs: Option<usize>) -> Result<usize> {
    match jobs {
        Some(jobs) => Ok(jobs.max(1)),
        None => Ok(thread::available_parallelism()
            .context("counting cores")?
            .get()),
    }
}

/// Returns the results of `judge` for `count` numbers from `first` on, in the order of the numbers.
/// After the time `within`, no further number starts. A progress bar counts the finished `things`.
pub fn each<T: Send>(
    things: &str,
    (first, count): (u64, u64),
    jobs: usize,
    within: Option<Duration>,
    judge: impl Fn(u64) -> T + Sync,
) -> Vec<T> {
    let template = format!("{{bar:40}} {{pos}}/{{len}} {things}, {{elapsed}}, {{eta}} left");
    let style = ProgressStyle::with_template(&template).expect("the template is written here");
    let bar = ProgressBar::new(count).with_style(style);
    let start = Instant::now();
    let is_late = || within.is_some_and(|within| start.elapsed() >= within);
    let (next, done) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let work = || {
        while !is_late() {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= count {
                return;
            }
            let result = judge(first + place);
            done.lock().expect("no worker died").push((place, result));
            bar.inc(1);
        }
    };
    thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    bar.finish_and_clear();
    let mut done = done.into_inner().expect("no worker died");
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}
