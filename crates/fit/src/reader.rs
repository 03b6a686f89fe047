//! The receiving application of the twin (the simulated copy of the captured connection). The
//! application may read slowly, or stop for a time.
//!
//! Rule: a slow reader is inferred only if the receive window limits the sender, and the median
//! window is clearly smaller than the largest one.

use fullpipe_scenario::units::seconds_text;
use fullpipe_tcp::Limit;

use crate::{
    evidence::Evidence,
    plan::{Basis, Plan, micros_value},
};

/// A reader is inferred only if windows were the limit for at least this share of the lifetime.
const SHOWS: f64 = 0.1;
/// The reader is slow if the median window is below this share of the largest one.
const SMALL: f64 = 0.7;
/// A single pause counts if it is at least this share of the whole time with a closed window.
const PAUSE: f64 = 0.5;
/// Shortest pause that counts, in round trips.
const TRIPS: u64 = 5;
/// A window of at least this share of the largest one shows that the reader had then read nearly
/// everything. A pause begins after the last such window.
const OPEN: f64 = 0.9;

/// Adds the values of the reader to `plan`.
pub fn add(plan: &mut Plan, evidence: &Evidence<'_>) {
    if evidence.share(&[Limit::ReceiveWindow, Limit::ZeroWindow]) < SHOWS {
        return;
    }
    let trace = &evidence.trace;
    let acks = trace.acks.iter();
    let windows: Vec<(u64, u64, u64)> = acks
        .filter_map(|acked| Some((acked.at, acked.ack, acked.window?)))
        .collect();
    let mut sizes: Vec<u64> = windows.iter().map(|(.., window)| *window).collect();
    sizes.sort_unstable();
    let Some(&largest) = sizes.last() else { return };
    if let Some((from, to)) = pause(evidence, &windows) {
        let open = |one: &&(u64, u64, u64)| one.0 <= from && one.2 as f64 >= OPEN * largest as f64;
        let after = windows.iter().rev().find(open).map_or(0, |one| one.0);
        let why = "the last time before the pause at which the window was at least 90 % of the largest one";
        plan.set(
            "workload.read.stall_after",
            micros_value(after as f64 / 1e3),
            Basis::Inferred,
            why,
        );
        let lasted = (to - after) as f64;
        let why = format!(
            "the window was closed for {}",
            seconds_text((to - from) as f64 / 1e9)
        );
        plan.set(
            "workload.read.stall_for",
            micros_value(lasted / 1e3),
            Basis::Inferred,
            why,
        );
        return;
    }
    if (sizes[sizes.len() / 2] as f64) < SMALL * largest as f64 {
        pace(plan, evidence);
    }
}

/// Adds a reader that reads the same number of bytes at equal intervals. Returns false if no window
/// shows its reads.
pub fn pace(plan: &mut Plan, evidence: &Evidence<'_>) -> bool {
    let trace = &evidence.trace;
    let acks = trace.acks.iter();
    let edges: Vec<u64> = acks
        .filter_map(|acked| Some(acked.ack + acked.window?))
        .collect();
    let steps = edges.windows(2).map(|two| two[1].saturating_sub(two[0]));
    let mut reads: Vec<u64> = steps.filter(|read| *read > 0).collect();
    reads.sort_unstable();
    let Some(&read) = reads.get(reads.len() / 2) else {
        return false;
    };
    // Skip the first third of the payload, because the congestion window limits the sender there.
    let mut late = trace
        .acks
        .iter()
        .filter(|acked| acked.ack * 3 >= trace.bytes);
    let Some((first, last)) = late.next().zip(late.next_back()) else {
        return false;
    };
    let seconds = last.at.saturating_sub(first.at) as f64 / 1e9;
    let every_us = read as f64 * seconds / (last.ack - first.ack).max(1) as f64 * 1e6;
    let why = "median step by which the right edge of the window advanced";
    plan.set("workload.read.bytes", read, Basis::Inferred, why);
    let why = "with this interval, the application reads the payload in the captured time";
    let every = micros_value(every_us.max(1.0));
    plan.set("workload.read.every", every, Basis::Inferred, why);
    true
}

/// Begin and end of the longest time with a closed window; `None` if this time is too short for a
/// pause of the reader.
fn pause(evidence: &Evidence<'_>, windows: &[(u64, u64, u64)]) -> Option<(u64, u64)> {
    let mut closed: Option<u64> = None;
    let (mut all, mut longest) = (0, None::<(u64, u64)>);
    for (at, _, window) in windows {
        match (closed, *window < u64::from(evidence.mss)) {
            (None, true) => closed = Some(*at),
            (Some(from), false) => {
                closed = None;
                all += at - from;
                let length = longest.map_or(0, |(from, to)| to - from);
                if at - from > length {
                    longest = Some((from, *at));
                }
            }
            (None, false) | (Some(_), true) => {}
        }
    }
    longest.filter(|(from, to)| {
        let length = to - from;
        length as f64 >= PAUSE * all as f64 && length > TRIPS * evidence.base_rtt()
    })
}
