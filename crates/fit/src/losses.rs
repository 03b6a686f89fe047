//! Losses of the twin (the simulated copy of the captured connection): in a full queue, single
//! losses, bursts, and outages.
//!
//! Rule: if most losses of the connection happened in a full queue, the queue of the twin causes
//! the losses, and only outages are added. The queue counts as full if a recent round trip was long
//! ([`FULL`]).

use fullpipe_diagnose::observe::EpisodeKind;

use crate::{
    evidence::Evidence,
    plan::{Basis, Plan, micros_value},
};

/// The queue counts as full at a loss if one of the last four round trips before the loss exceeds
/// the smallest round trip of the connection by at least this share of the [`longest_wait`].
const FULL: f64 = 0.5;
/// Shortest wait that shows a queue, in transmission times of full frames.
const QUEUE_FRAMES: f64 = 4.0;
/// Shortest wait that shows a queue, as a multiple of the smallest round trip.
const QUEUE_TRIPS: f64 = 0.05;
/// Largest distance between two losses of one burst, in full segments.
const NEAR: u64 = 3;
/// Losses count as bursts if the average burst has at least this many losses.
const BURST: f64 = 1.5;
/// A silence (a time without ACKs of new payload) contains an outage only if the silence lasts at
/// least this share of the lifetime.
const OUTAGE: f64 = 0.1;

/// Longest wait in the path: the 99th percentile of the round trips minus the smallest round trip.
pub fn longest_wait(evidence: &Evidence<'_>) -> f64 {
    let rtts = evidence.trace.sorted_rtts();
    let Some(high) = rtts.get(rtts.len().saturating_sub(1 + rtts.len() / 100)) else {
        return 0.0;
    };
    high.saturating_sub(evidence.base_rtt()) as f64
}

/// Returns true if long waits show that the path had a queue.
fn has_queue(evidence: &Evidence<'_>, rate_bps: f64) -> bool {
    let frame = f64::from(evidence.mss + evidence.headers()) * 8e9 / rate_bps;
    let least = (QUEUE_FRAMES * frame).max(QUEUE_TRIPS * evidence.base_rtt() as f64);
    longest_wait(evidence) > least
}

/// Returns true if the path had a queue, and most losses happened while the queue was full
/// ([`FULL`]).
pub fn are_in_full_queue(evidence: &Evidence<'_>, rate_bps: f64) -> bool {
    let lost = lost(evidence);
    let base = evidence.base_rtt();
    let full = base + (FULL * longest_wait(evidence)) as u64;
    let rtts = &evidence.trace.rtts;
    let was_full = |at: u64| {
        let before = rtts.partition_point(|(time, _)| *time <= at);
        let recent = rtts[..before].iter().rev().take(4).map(|(_, rtt)| *rtt);
        recent.max().is_some_and(|rtt| rtt >= full)
    };
    let in_queue = lost.iter().filter(|(at, _)| was_full(*at)).count();
    has_queue(evidence, rate_bps) && in_queue * 2 > lost.len()
}

/// Time and position of the first retransmissions, as many of them as there were losses.
fn lost(evidence: &Evidence<'_>) -> Vec<(u64, u64)> {
    let data = evidence.observed.data();
    let count = (data.lost_before_tap + data.lost_after_tap) as usize;
    let again = evidence.trace.sent.iter().filter(|sent| !sent.is_new);
    let mut found: Vec<(u64, u64)> = again.map(|sent| (sent.at, sent.start)).collect();
    found.truncate(count);
    found
}

/// If a hop drops all long packets without an ICMP message, returns the payload of the first
/// shorter segment, in bytes. Returns `None` if four full segments or more had arrived earlier:
/// full segments then pass the hop, and the sender probably tried shorter segments because of an
/// outage.
pub fn hole(evidence: &Evidence<'_>) -> Option<u64> {
    let mut episodes = evidence.observed.episodes.iter();
    let hole = episodes.find(|one| one.kind == EpisodeKind::MtuHole)?;
    let acks = evidence.trace.acks.iter();
    let before = acks.take_while(|acked| acked.at < hole.at_ns);
    let arrived = before.map(|acked| acked.ack).max().unwrap_or(0);
    (arrived < 4 * u64::from(evidence.mss)).then_some(hole.count)
}

/// Adds the losses that a full queue does not explain.
pub fn add(plan: &mut Plan, evidence: &Evidence<'_>) {
    let rate_bps = evidence.rate.map_or(f64::INFINITY, |rate| rate.payload_bps);
    let mut lost = lost(evidence);
    if lost.is_empty() || hole(evidence).is_some() {
        return;
    }
    if let Some((from, to)) = outage(evidence) {
        let why = "the longest time without an ACK of new payload";
        plan.set(
            "path.outage.after",
            micros_value(from as f64 / 1e3),
            Basis::Inferred,
            why,
        );
        let length = micros_value((to - from) as f64 / 1e3);
        plan.set("path.outage.length", length, Basis::Inferred, why);
        lost.retain(|(at, _)| !(from..=to + evidence.base_rtt() * 4).contains(at));
    }
    if !lost.is_empty() && !are_in_full_queue(evidence, rate_bps) {
        rates(
            plan,
            evidence,
            lost.iter().map(|(_, start)| *start).collect(),
        );
    }
}

/// Adds every loss as a loss of the link. Returns false if nothing was lost, if a hop drops long
/// packets, or if `plan` already has an outage or random losses.
pub fn add_all(plan: &mut Plan, evidence: &Evidence<'_>) -> bool {
    let lost = lost(evidence);
    let is_other = plan.is_random() || plan.get("path.outage.after").is_some();
    if lost.is_empty() || is_other || hole(evidence).is_some() {
        return false;
    }
    rates(
        plan,
        evidence,
        lost.iter().map(|(_, start)| *start).collect(),
    );
    true
}

/// Adds the rates of single or burst losses, from the positions of the lost segments.
fn rates(plan: &mut Plan, evidence: &Evidence<'_>, mut starts: Vec<u64>) {
    let count = starts.len();
    let sent = evidence.trace.sent.len().max(1) as f64;
    starts.sort_unstable();
    let mss = u64::from(evidence.mss);
    let bursts: Vec<&[u64]> = starts
        .chunk_by(|one, next| next - one <= NEAR * mss)
        .collect();
    let per_burst = count as f64 / bursts.len() as f64;
    if per_burst < BURST {
        let share = count as f64 / sent;
        let why = format!("{count} of {sent} segments were lost, mostly single ones");
        let share = format!("{share:.6}");
        return plan.set("path.forward.loss", share, Basis::Inferred, why);
    }
    let spans = bursts
        .iter()
        .map(|burst| ((burst[burst.len() - 1] - burst[0]) / mss + 1) as f64);
    let span = spans.sum::<f64>() / bursts.len() as f64;
    let values = [
        ("enter", (bursts.len() as f64 / sent).min(1.0)),
        ("leave", (1.0 / span).min(1.0)),
        ("loss_bad", (per_burst / span).min(1.0)),
    ];
    let why = format!(
        "{count} of {sent} segments were lost in {} bursts",
        bursts.len()
    );
    for (name, share) in values {
        let path = format!("path.forward.burst_loss.{name}");
        let percent = format!("{:.4}%", share * 100.0);
        plan.set(&path, percent, Basis::Inferred, why.clone());
    }
}

/// Begin and end of the outage. The silence is the longest time between two ACKs of new payload
/// that overlaps the longest timeout. The outage begins with the silence, and ends 1 ms after the
/// last segment in the silence that did not arrive. Returns `None` if there was no timeout, if the
/// silence was shorter than [`OUTAGE`], or if no segment was lost in the silence.
fn outage(evidence: &Evidence<'_>) -> Option<(u64, u64)> {
    let episodes = evidence.observed.episodes.iter();
    let timeouts = episodes.filter(|one| one.kind == EpisodeKind::Timeout);
    let longest = timeouts.max_by_key(|one| one.end_ns - one.at_ns)?;
    let trace = &evidence.trace;
    let acks = trace.acks.iter().filter(|acked| acked.bytes > 0);
    // The silence is the longest gap between two ACKs of new payload among the gaps that overlap
    // the timeout.
    let times: Vec<u64> = acks.map(|acked| acked.at).collect();
    let silences = times
        .windows(2)
        .filter(|two| two[1] > longest.at_ns && two[0] < longest.end_ns);
    let silence = silences.max_by_key(|two| two[1] - two[0])?;
    let (from, until) = (silence[0], silence[1]);
    if ((until - from) as f64) < OUTAGE * evidence.observed.lifetime_ns as f64 {
        return None;
    }
    // The segment whose ACK ended the silence arrived; the segments before it did not.
    let arrived = until.saturating_sub(evidence.base_rtt() * 9 / 10);
    let sent = trace
        .sent
        .iter()
        .filter(|sent| sent.at < arrived)
        .map(|sent| sent.at);
    let mut sent: Vec<u64> = sent.filter(|at| *at > from).collect();
    sent.pop();
    let last = sent.last().copied()?;
    (last > from).then_some((from, last + 1_000_000))
}
