//! Accounts inferred from captures, judged by the stack's own clock.
//!
//! The one rule: every wrong answer is printed in a line, with the number that repeats it.
//!
//! `fullpipe-judge` draws and judges the cases.

use anyhow::{Result, ensure};
use fullpipe_judge::captures::{CaptureTally, Case, judge_case};

use super::many;

/// Judges `cases` cases from `first` on, and prints the confusion matrix.
///
/// # Errors
/// If a figure misses its limit, or a case broke something.
pub fn run(first: u64, cases: u64, jobs: Option<usize>) -> Result<()> {
    let outcomes = many::each("cases", (first, cases), many::jobs(jobs)?, judge_case);
    let (mut judged, mut broken) = (Vec::new(), 0);
    for outcome in outcomes {
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
