//! Cases with this machine's kernel. [`run`] applies advice to transfers of the kernel and measures
//! whether it helps. [`views`] compares three accounts of a transfer between fullpipe's stack and
//! the kernel. An account says for how long each limit applied.
//!
//! The one rule: cases run one after another, because they are measured in real time. Each case is
//! printed when it ends.
//!
//! `fullpipe-kernels` draws and runs the cases.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use fullpipe_judge::captures::{KernelCase, judge_kernel};
use fullpipe_kernels::{
    KernelError, captured_at_both_ends, check_privileges,
    views::{VIEW_HEADINGS, ViewCase, views as view},
    what_if::{WHAT_IF_HEADINGS, WhatIfCase, WhatIfTally, what_if},
};
use fullpipe_perf::Stop;

use super::many;

/// Runs `cases` cases from `first` on, and prints their table and its summary.
///
/// # Errors
/// Fails if this process may not create the namespaces and devices of the cases, or a goal is
/// missed.
pub fn run(first: u64, cases: u64) -> Result<()> {
    if let Err(why) = check_privileges() {
        bail!("{why}");
    }
    let stop = Stop::on_interrupt()?;
    println!("{WHAT_IF_HEADINGS}");
    let mut done = Vec::new();
    for number in first..first + cases {
        if stop.is_raised() {
            break;
        }
        match what_if(&WhatIfCase::draw(number), &stop) {
            Ok(case) => {
                println!("{case}");
                done.push(case);
            }
            Err(error) => println!("| {number} | {error} |"),
        }
    }
    let tally = WhatIfTally::new(&done);
    println!("\n{tally}");
    ensure!(tally.is_met(), "a goal of the summary above is missed");
    Ok(())
}

/// Runs `cases` constructed transfers between kernel hosts from number `first` on, one after another
/// unless `jobs` is given, judges their captures, and prints the confusion matrix. A single case is
/// printed with its settings. Each transfer overwrites the file `capture` with the frames at its
/// sender.
///
/// # Errors
/// Fails if this process may not create the namespaces and devices of the cases, a result misses its
/// threshold, or a case fails.
pub fn captures(first: u64, cases: u64, jobs: Option<usize>, capture: Option<&Path>) -> Result<()> {
    if let Err(why) = check_privileges() {
        bail!("{why}");
    }
    let stop = Stop::on_interrupt()?;
    let judge = |number: u64| {
        let case = KernelCase::draw(number);
        let (measured, captured) = captured_at_both_ends(&case.setup, number, &stop)?;
        if let Some(file) = capture {
            std::fs::write(file, captured.at_host(0))?;
        }
        let judged = judge_kernel(&case, &captured, &measured.by_socket.limits);
        Ok::<_, KernelError>((measured.notes, judged))
    };
    let outcomes = many::each("cases", (first, cases), jobs.unwrap_or(1), None, judge);
    let (mut judged, mut broken, mut others) = (Vec::new(), 0, 0);
    for (number, outcome) in (first..).zip(outcomes) {
        match outcome {
            Ok((notes, captures)) => {
                notes
                    .iter()
                    .for_each(|note| println!("case {number}: {note}"));
                match captures {
                    Ok(captures) => judged.extend(captures),
                    Err(own) => {
                        let family = KernelCase::draw(number).family;
                        println!("case {number} ({family:?}): not as constructed: {own}");
                        others += 1;
                    }
                }
            }
            Err(error) => {
                println!("case {number}: {error}");
                broken += 1;
            }
        }
    }
    if cases == 1 {
        println!("{}", KernelCase::draw(first).text);
        judged.iter().for_each(|one| println!("{one}"));
    }
    println!("{others} of {cases} cases were not as constructed, and are not judged");
    super::captures::conclude(&judged, broken)
}

/// Share of the cases in which the accounts of the sender, the receiver and the capture must
/// agree.
const AGREED: f64 = 0.95;

/// Compares the three accounts of `cases` transfers from number `first` on, and prints their table.
/// Each transfer overwrites the file `capture` with its frames, so at the end the file contains the
/// frames of the last transfer.
///
/// # Errors
/// Fails if this process may not create the namespaces and devices of the cases, or the three
/// accounts agree in too few cases.
pub fn views(first: u64, cases: u64, capture: Option<&Path>) -> Result<()> {
    if let Err(why) = check_privileges() {
        bail!("{why}");
    }
    let stop = Stop::on_interrupt()?;
    println!("{VIEW_HEADINGS}");
    let (mut judged, mut agreed) = (0, 0);
    for number in first..first + cases {
        if stop.is_raised() {
            break;
        }
        judged += 1;
        match view(&ViewCase::draw(number), capture, &stop) {
            Ok(case) => {
                println!("{case}");
                agreed += u32::from(case.agrees());
            }
            Err(error) => println!("| {number} | {error} |"),
        }
    }
    println!("\nthe three accounts agree in {agreed} of {judged} cases");
    let is_met = f64::from(agreed) >= AGREED * f64::from(judged);
    ensure!(
        is_met,
        "the accounts must agree in at least {:.0} % of the cases",
        AGREED * 100.0
    );
    Ok(())
}
