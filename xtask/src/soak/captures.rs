//! Accounts inferred from captures, judged by the stack's own clock.
//!
//! The one rule: every wrong answer is printed in a line, with the number that repeats it.
//!
//! `fullpipe-judge` draws and judges the cases.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::{Context, Result, ensure};
use fullpipe_judge::captures::{CaptureTally, Case, judge_case};
use indicatif::{ProgressBar, ProgressStyle};

/// Judges `cases` cases from `first` on, and prints the confusion matrix.
///
/// # Errors
/// If a figure misses its limit, or a case broke something.
pub fn run(first: u64, cases: u64, jobs: Option<usize>) -> Result<()> {
    let jobs = match jobs {
        Some(jobs) => jobs.max(1),
        None => thread::available_parallelism()
            .context("counting cores")?
            .get(),
    };
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} cases, {elapsed}, {eta} left")
        .expect("the template is written here");
    let bar = ProgressBar::new(cases).with_style(style);
    let (next, done) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= cases {
                return;
            }
            let outcome = judge_case(first + place);
            done.lock().expect("no worker died").push((place, outcome));
            bar.inc(1);
        }
    };
    thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    bar.finish_and_clear();
    let mut done = done.into_inner().expect("no worker died");
    done.sort_by_key(|(place, _)| *place);
    let (mut judged, mut broken) = (Vec::new(), 0);
    for (_, outcome) in done {
        match outcome {
            Ok(captures) => judged.extend(captures),
            Err(failure) => {
                println!("{failure}");
                broken += 1;
            }
        }
    }
    for wrong in judged.iter().filter(|one| !one.is_right()) {
        println!("{wrong}");
    }
    let tally = CaptureTally::new(&judged, broken);
    println!("{tally}");
    ensure!(tally.is_met(), "a figure misses its limit");
    Ok(())
}

/// Judges one case; prints its settings and the three answers.
///
/// # Errors
/// If the case broke something.
pub fn show(number: u64) -> Result<()> {
    println!("{}", Case::draw(number).text);
    for one in judge_case(number)? {
        println!("{one}");
    }
    Ok(())
}
