//! The application of the twin (the simulated copy of the captured connection): amount, writes,
//! pauses, and the receiver's request.

use fullpipe_diagnose::observe::SeenLimit;
use fullpipe_scenario::units::{grouped, seconds_text};
use fullpipe_tcp::Limit;

use crate::{
    evidence::Evidence,
    plan::{Basis, Plan, micros_value},
};

/// Size of a write, in bytes, if segments do not show the writes.
const WRITE: u64 = 16_384;
/// Largest number of segments of payload in a twin's transfer.
const SEGMENTS: u64 = 20_000;
/// The pattern of writes is inferred only if the application was the limit for at least this share
/// of the lifetime.
const SHOWS: f64 = 0.1;
/// The sender mostly waited for its application if these waits took at least this share of the
/// lifetime.
const MOSTLY: f64 = 0.3;
/// Number of segments in the usual initial window.
const FIRST_FLIGHT: u64 = 10;
/// Smallest number of writes that count as a pattern.
const WRITES: usize = 3;

/// Adds the values of the application to `plan`.
pub fn add(plan: &mut Plan, evidence: &Evidence<'_>) {
    let trace = &evidence.trace;
    let all = evidence.observed.data().payload_bytes.max(trace.bytes);
    let all = all.max(1);
    let most = SEGMENTS * u64::from(evidence.mss);
    match all <= most {
        true => plan.set("workload.bytes", all, Basis::Seen, "payload of the sender"),
        false => {
            let why = format!(
                "the sender sent {} bytes; the twin sends only the first part",
                grouped(all)
            );
            plan.set("workload.bytes", most, Basis::Seen, why);
        }
    }
    question(plan, evidence);
    let has_pattern =
        pushed_writes(plan, evidence) || writes(plan, evidence) || joined_writes(plan, evidence);
    if !has_pattern {
        let why = "segments do not show the sizes of the writes";
        plan.set("workload.write", WRITE, Basis::Assumed, why);
    }
    let seconds = evidence.observed.lifetime_ns as f64 / 1e9;
    let patience = format!("{}s", (seconds * 20.0).clamp(60.0, 36_000.0).round());
    let why = format!(
        "the captured connection lasted {}; the twin may take much longer",
        seconds_text(seconds)
    );
    plan.set("workload.give_up", patience, Basis::Assumed, why);
}

/// If the receiver opened the connection and sent payload first, this payload is a request: adds
/// the request and the sender's think time.
fn question(plan: &mut Plan, evidence: &Evidence<'_>) {
    let observed = evidence.observed;
    let is_download = observed
        .client
        .is_some_and(|client| client != observed.sender);
    let first = evidence.trace.sent.first().map_or(0, |sent| sent.at);
    match evidence.trace.question {
        Some((bytes, at)) if is_download => {
            let why = "payload that the receiver sent first";
            plan.set("workload.ask", bytes, Basis::Seen, why);
            // Subtract the round-trip time between the tap (the place of the capture) and the
            // sender. At the tap, this time lies between request and answer, but it is not think
            // time.
            let think_ns = first.saturating_sub(at + evidence.trace.to_sender);
            let why = "time from the request to the first byte of the answer";
            let think = micros_value((think_ns as f64 / 1e3).max(1.0));
            plan.set("workload.think", think, Basis::Inferred, why);
        }
        Some(_) | None => {}
    }
}

/// If the sender mostly waited for its application, adds writes of equal size, each of which ends
/// with PSH. Returns true if it added writes.
fn pushed_writes(plan: &mut Plan, evidence: &Evidence<'_>) -> bool {
    if evidence.share(&[Limit::Application, Limit::Nagle]) < MOSTLY {
        return false;
    }
    let ends = evidence.trace.new_segments().filter(|sent| sent.has_push);
    let ends: Vec<(u64, u64)> = ends.map(|sent| (sent.at, sent.end)).collect();
    if ends.len() <= WRITES {
        return false;
    }
    let mut sizes: Vec<u64> = ends.windows(2).map(|two| two[1].1 - two[0].1).collect();
    sizes.sort_unstable();
    // Allow sizes to differ by less than a segment, because Nagle's algorithm joins the end of a
    // write with the beginning of the next one.
    let middle = sizes[sizes.len() / 2];
    let near = |size: &&u64| size.abs_diff(middle) < u64::from(evidence.mss);
    let equal = sizes.iter().filter(near).count();
    if equal * 5 < sizes.len() * 4 {
        return false;
    }
    let span = ends[ends.len() - 1].0 - ends[0].0;
    let bytes = ends[ends.len() - 1].1 - ends[0].1;
    let exact = sizes.iter().filter(|size| **size == middle).count();
    let write = match () {
        () if exact * 5 >= sizes.len() * 4 => middle,
        // If most writes are smaller than a segment, Nagle's algorithm may have joined some. Take a
        // low percentile, because the smallest sizes are those of single writes.
        () if middle < u64::from(evidence.mss) => sizes[sizes.len() / 10],
        () => (bytes as f64 / sizes.len() as f64).round() as u64,
    };
    let write = write.max(1);
    let why = format!(
        "payload from one segment with PSH to the next; {} segments have PSH",
        ends.len()
    );
    // A size of whole segments is only a guess, because a kernel also sets PSH at the end of each
    // of its own packet buffers.
    let basis = match write % u64::from(evidence.mss) {
        0 => Basis::Guessed,
        _ => Basis::Inferred,
    };
    plan.set("workload.write", write, basis, why);
    let pause = micros_value(span as f64 / 1e3 * write as f64 / bytes.max(1) as f64);
    plan.set(
        "workload.pause",
        pause,
        Basis::Inferred,
        "mean time between two of these writes",
    );
    true
}

/// Adds writes with pauses between them. Returns true if the segments show such writes.
fn writes(plan: &mut Plan, evidence: &Evidence<'_>) -> bool {
    let sent: Vec<_> = evidence.trace.new_segments().collect();
    let Some(first) = sent.first() else {
        return false;
    };
    if evidence.share(&[Limit::Application]) < SHOWS {
        return false;
    }
    let limit = SeenLimit::from(Limit::Application);
    // Begin and payload of each burst. A burst is the segments sent between two waits for the
    // application.
    let mut bursts: Vec<(u64, u64)> = vec![(first.at, 0)];
    let bands = evidence.observed.bands.iter();
    let mut bands = bands.filter(|band| band.limit == limit && band.at_ns >= first.at);
    let mut band = bands.next();
    for one in sent {
        let mut is_begin = false;
        while let Some(wait) = band
            && wait.end_ns <= one.at
        {
            is_begin = true;
            band = bands.next();
        }
        if is_begin && bursts.last().is_some_and(|(_, bytes)| *bytes > 0) {
            bursts.push((one.at, 0));
        }
        if let Some((_, bytes)) = bursts.last_mut() {
            *bytes += one.end - one.start;
        }
    }
    if bursts.len() < WRITES {
        return false;
    }
    let (write, period) = medians(&bursts);
    let why = format!(
        "median payload of {} bursts, between which the sender waited for its application",
        bursts.len()
    );
    plan.set("workload.write", write, Basis::Inferred, why);
    let pause = micros_value(period as f64 / 1e3);
    plan.set(
        "workload.pause",
        pause,
        Basis::Inferred,
        "median time from the start of one burst to the start of the next",
    );
    true
}

/// Median payload of a burst, and median time from the begin of a burst to the begin of the next
/// one.
fn medians(bursts: &[(u64, u64)]) -> (u64, u64) {
    let mut sizes: Vec<u64> = bursts.iter().map(|(_, bytes)| *bytes).collect();
    // Ignore the last burst, because it may be incomplete.
    sizes.pop();
    sizes.sort_unstable();
    let mut gaps: Vec<u64> = bursts.windows(2).map(|two| two[1].0 - two[0].0).collect();
    gaps.sort_unstable();
    (sizes[sizes.len() / 2].max(1), gaps[gaps.len() / 2])
}

/// Adds writes that Nagle's algorithm joined. The first burst is the first write without its last,
/// partial segment, because this segment had to wait for an ACK. Returns true if it added writes.
pub fn joined_writes(plan: &mut Plan, evidence: &Evidence<'_>) -> bool {
    let trace = &evidence.trace;
    let Some(first) = trace.sent.first() else {
        return false;
    };
    let span = trace.sent.last().map_or(0, |last| last.at - first.at);
    if span == 0 || evidence.share(&[Limit::Nagle]) < MOSTLY {
        return false;
    }
    let mss = u64::from(evidence.mss);
    let until = first.at + evidence.base_rtt() / 8;
    let burst = trace.sent.iter().take_while(|sent| sent.at <= until);
    let burst = burst.map(|sent| sent.end).max().unwrap_or(0) - first.start;
    let write = match burst {
        // The initial window may have cut the first write, so the write may be larger than the
        // burst.
        burst if burst >= FIRST_FLIGHT * mss => WRITE.max(burst),
        burst if burst % mss == 0 => burst + mss / 2,
        burst => burst,
    };
    let pause_us = span as f64 / 1e3 * write as f64 / trace.bytes.max(1) as f64;
    let why = "from the payload of the first burst, which did not wait for an ACK";
    plan.set("workload.write", write, Basis::Inferred, why);
    let why = "with this pause, the application writes the payload in the captured time";
    let pause = micros_value(pause_us);
    plan.set("workload.pause", pause, Basis::Inferred, why);
    true
}
