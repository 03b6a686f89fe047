//! The path of the twin (the simulated copy of the captured connection): rate, delay and queue.

use fullpipe_scenario::units::rate_text;

use crate::{
    evidence::{Evidence, HEADERS},
    losses,
    plan::{Basis, Plan, micros_value, rate_value},
    rate::PathRate,
};

/// The usual MTU in bytes; packets of this size need no `mtu` in the experiment.
const USUAL_MTU: u32 = 1_500;
/// Bytes of the IP and TCP headers, without TCP options.
const IP_AND_TCP: u32 = 40;
/// Bytes of a SYN in the simulator.
const SYN: f64 = 78.0;
/// A path whose rate is unknown gets this many times the highest rate at which payload arrived.
const AMPLE: f64 = 4.0;
/// A lower bound of the rate is taken as the rate only if it is at least this many times the
/// delivered rate.
const BOUND: f64 = 1.1;
/// The rate is derived from the round-trip times of a long segment and of a SYN only if their
/// difference is more than this many times the variation of round trips.
const JITTER: u64 = 1;
/// Smallest length, in packets, of a queue whose length the segments do not show.
const USUAL_QUEUE: f64 = 100.0;

/// Adds the values of the link to `plan`.
pub fn add(plan: &mut Plan, evidence: &Evidence<'_>) {
    mtu(plan, evidence);
    hole(plan, evidence);
    let rate_bps = rate(plan, evidence);
    delay(plan, evidence, rate_bps);
    queue(plan, evidence, rate_bps);
}

fn mtu(plan: &mut Plan, evidence: &Evidence<'_>) {
    let mtu = evidence.mss + evidence.headers() - HEADERS + IP_AND_TCP;
    if mtu < USUAL_MTU {
        let why = format!("segments have at most {} bytes of payload", evidence.mss);
        plan.set("path.mtu", mtu.max(68), Basis::Inferred, why);
    }
}

/// Adds a hop that drops long packets without an ICMP message.
fn hole(plan: &mut Plan, evidence: &Evidence<'_>) {
    let Some(hole) = losses::hole(evidence) else {
        return;
    };
    let options = evidence.headers() - HEADERS + IP_AND_TCP;
    let why =
        format!("longer segments were lost, and segments with {hole} bytes of payload arrived");
    let mtu = (hole + u64::from(options)).max(68);
    plan.set("path.forward.hop.mtu", mtu, Basis::Inferred, why.clone());
    plan.set("path.forward.hop.silent", "true", Basis::Inferred, why);
}

/// Adds the rate to `plan`, and returns the rate in bit/s, headers of frames included.
fn rate(plan: &mut Plan, evidence: &Evidence<'_>) -> Option<f64> {
    let rate = evidence.rate.unwrap_or(PathRate {
        payload_bps: 0.0,
        is_seen: false,
    });
    let frame = f64::from(evidence.mss + evidence.headers()) / f64::from(evidence.mss);
    let bps = rate.payload_bps * frame;
    match rate.is_seen {
        true => {
            let why = "segments that left together were acknowledged at this rate";
            plan.set("path.rate", rate_value(bps), Basis::Inferred, why);
        }
        false => {
            if let Some(own) = by_length(evidence).filter(|own| *own >= bps) {
                let why = "from the difference between the round-trip times of a long segment and of a SYN";
                plan.set("path.rate", rate_value(own), Basis::Guessed, why);
                return Some(own);
            }
            // Use a lower bound only if it is clearly above the delivered rate; otherwise, the
            // path could limit the twin although it did not limit the connection.
            let delivered = evidence.observed.path.delivery_bps.unwrap_or(0.0) * frame;
            let assumed = if bps >= BOUND * delivered {
                bps
            } else {
                AMPLE * delivered.max(bps)
            };
            let why = format!(
                "the path carries at least {}; the capture does not show how much more",
                rate_text(bps)
            );
            plan.set("path.rate", rate_value(assumed), Basis::Assumed, why);
            return Some(assumed);
        }
    }
    Some(bps)
}

/// Rate from the difference between the round-trip times of a long segment and of a SYN. Returns
/// `None` if the tap (the place of the capture) is not at the sender, or if the difference is
/// within the variation of round trips.
fn by_length(evidence: &Evidence<'_>) -> Option<f64> {
    let vantage = &evidence.observed.vantage;
    let is_known = vantage.has_handshake && evidence.trace.to_sender == 0;
    let (len, longest) = evidence.trace.longest.filter(|_| is_known)?;
    let syn = vantage.to_sender_ns? + vantage.to_receiver_ns?;
    let more_ns = longest.checked_sub(syn)?;
    let rtts = evidence.trace.sorted_rtts();
    let jitter = rtts.get(rtts.len() / 10)? - rtts.first()?;
    let frame = len as f64 + f64::from(evidence.headers());
    let is_exact = more_ns > JITTER * jitter && more_ns > 0;
    (is_exact && frame > 2.0 * SYN).then(|| (frame - SYN) * 8e9 / more_ns as f64)
}

fn delay(plan: &mut Plan, evidence: &Evidence<'_>, rate_bps: Option<f64>) {
    let wire = |bytes: f64| rate_bps.map_or(0.0, |bps| bytes * 8e9 / bps);
    let vantage = &evidence.observed.vantage;
    // Subtract the transmission time only for a tap at the sender: elsewhere, the round trip does
    // not include the transmission time.
    let (len, longest) = evidence.trace.longest.unwrap_or((0, evidence.base_rtt()));
    let on_wire = match evidence.trace.to_sender {
        0 => wire(len as f64 + f64::from(evidence.headers())),
        _ => 0.0,
    };
    let by_data = (longest as f64 - on_wire).max(0.0);
    let both = vantage.to_sender_ns.zip(vantage.to_receiver_ns);
    let by_syn = both.filter(|_| vantage.has_handshake);
    let by_syn = by_syn.map(|(near, far)| ((near + far) as f64 - wire(SYN)).max(0.0));
    let rtt_ns = by_syn.map_or(by_data, |trip| trip.min(by_data));
    let why = "half of the smallest round trip, without the time that a frame takes on the wire";
    let half = micros_value(rtt_ns / 2e3);
    plan.set("path.delay", half, Basis::Inferred, why);
}

fn queue(plan: &mut Plan, evidence: &Evidence<'_>, rate_bps: Option<f64>) {
    let Some(rate_bps) = rate_bps else { return };
    let frame = f64::from(evidence.mss + evidence.headers());
    let product = rate_bps * evidence.base_rtt() as f64 / 8e9;
    let waiting = losses::longest_wait(evidence) * rate_bps / 8e9;
    let is_overflown = losses::are_in_full_queue(evidence, rate_bps);
    if is_overflown {
        let bytes = waiting.max(2.0 * frame).round();
        let why = "bytes that the path carries during the longest wait in the queue; most losses happened in a full queue";
        return plan.set(
            "path.forward.queue",
            bytes_value(bytes),
            Basis::Inferred,
            why,
        );
    }
    let usual = product.max(USUAL_QUEUE * frame).max(2.0 * waiting).round();
    let why = "the capture does not show the length of the queue; one bandwidth-delay product, at least 100 packets";
    plan.set(
        "path.forward.queue",
        bytes_value(usual),
        Basis::Assumed,
        why,
    );
}

fn bytes_value(bytes: f64) -> String {
    format!("{bytes} bytes")
}
