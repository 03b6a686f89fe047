//! Applies advice to kernel hosts, and prints the results before, as predicted, and after.
//!
//! The one rule: cases run one after another, because they are measured in real time. Each case is
//! printed when it ends.
//!
//! `fullpipe-kernels` draws and runs the cases.

use anyhow::{Result, bail, ensure};
use fullpipe_kernels::{
    check_privileges,
    what_if::{WHAT_IF_HEADINGS, WhatIfCase, WhatIfTally, what_if},
};
use fullpipe_perf::Stop;

/// Runs `cases` cases from `first` on, and prints their table and its summary.
///
/// # Errors
/// If the operating system refuses the hosts, a case fails, or a goal is missed.
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
    ensure!(tally.is_met(), "a goal is missed");
    Ok(())
}
