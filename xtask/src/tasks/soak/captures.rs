//! Judges accounts (the time for each limit of a sender) that were inferred from captures, by
//! comparing them with the stack's own limit clock.
//!
//! The one rule: every wrong account is printed in one line, with the number of its case (a random
//! transfer). The number is enough to repeat the case.
//!
//! `fullpipe-judge` draws and judges the cases.

use anyhow::{Result, ensure};
use fullpipe_judge::captures::{
    CaptureTally, Case, JudgedCapture, TwinTally, judge_case, judge_twins,
};

use super::many;

/// Relative error above which a prediction is printed.
const TELLING: f64 = 0.15;

/// Judges `cases` cases from `first` on, and prints the confusion matrix.
///
/// # Errors
/// Fails if a result in the printed summary misses its threshold, or a case fails.
pub fn run(first: u64, cases: u64, jobs: Option<usize>) -> Result<()> {
    let outcomes = many::each("cases", (first, cases), many::jobs(jobs)?, None, judge_case);
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
    conclude(&judged, broken)
}

/// Prints the wrong accounts and the confusion matrix.
///
/// # Errors
/// Fails if a result in the printed summary misses its threshold, or a case failed.
pub fn conclude(judged: &[JudgedCapture], broken: usize) -> Result<()> {
    for wrong in judged.iter().filter(|one| !one.is_right()) {
        println!("{wrong}");
    }
    let tally = CaptureTally::new(judged, broken);
    println!("{tally}");
    ensure!(
        tally.is_met(),
        "a result in the summary above misses its threshold, or a case failed"
    );
    Ok(())
}

/// Judges the twins (simulated copies of the captured transfers) of `cases` cases from `first` on,
/// and the advice that results from them.
///
/// # Errors
/// Fails if a case fails, or an advice makes a transfer slower.
pub fn twins(first: u64, cases: u64, jobs: Option<usize>) -> Result<()> {
    let outcomes = many::each(
        "cases",
        (first, cases),
        many::jobs(jobs)?,
        None,
        judge_twins,
    );
    let (mut judged, mut broken) = (Vec::new(), 0);
    for outcome in outcomes {
        match outcome {
            Ok(twins) => judged.extend(twins),
            Err(failure) => {
                println!("{failure}");
                broken += 1;
            }
        }
    }
    for one in &judged {
        let is_wrong = one
            .advice
            .as_ref()
            .is_some_and(|one| one.error().abs() > TELLING);
        if is_wrong || !one.is_reproduced {
            println!("{one}");
        }
    }
    let tally = TwinTally::new(&judged, broken);
    println!("{tally}");
    let harmful = tally.advice().into_iter().filter(|one| !one.is_harmless());
    let harmful = harmful.count();
    ensure!(
        broken == 0,
        "{broken} cases failed; their errors are printed above"
    );
    ensure!(
        harmful == 0,
        "{harmful} advices make their transfers slower"
    );
    Ok(())
}

/// Judges one case; prints its settings, its three inferred accounts and its three twins (simulated
/// copies of the transfer).
///
/// # Errors
/// Fails if the case fails.
pub fn show(number: u64) -> Result<()> {
    println!("{}", Case::draw(number).text);
    for one in judge_case(number)? {
        println!("{one}");
    }
    for one in judge_twins(number)? {
        println!("{one}");
    }
    Ok(())
}
