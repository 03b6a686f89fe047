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
use fullpipe_kernels::{
    check_privileges,
    views::{VIEW_HEADINGS, ViewCase, views as view},
    what_if::{WHAT_IF_HEADINGS, WhatIfCase, WhatIfTally, what_if},
};
use fullpipe_perf::Stop;

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
