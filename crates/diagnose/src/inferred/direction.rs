//! The account of one direction of a path: frame counts, busy share, queue delay.
//!
//! Rule: this file only combines the results of the other files.

use super::acks::AckPath;
use super::delay::Delays;
use super::losses::Losses;
use super::matching::Matched;
use super::values::{
    Confidence, DirectionInference, FrameCounts, Inferred, LossReason, QueueDelay, Unknown,
};

/// Indices of the frames of `matched` that were lost. Frames that may have been in flight at
/// `end_ns` are left out.
pub fn decided(matched: &Matched<'_>, end_ns: u64) -> Vec<usize> {
    let last = matched.arrival.iter().rposition(Option::is_some);
    let delays = (0..matched.sent.len()).filter_map(|place| matched.delay_ns(place));
    let longest_ns = delays.max().unwrap_or(0);
    let is_lost = |&place: &usize| {
        let is_overdue = matched.sent[place].at_ns + 4 * longest_ns < end_ns;
        matched.arrival[place].is_none() && (Some(place) < last || is_overdue)
    };
    (0..matched.sent.len()).filter(is_lost).collect()
}

/// Returns the account of one direction, in which `lost` frames were lost.
pub fn account(
    matched: &Matched<'_>,
    delays: &Delays,
    lost: usize,
    losses: &Losses,
) -> DirectionInference {
    let frames = counts(matched, lost as u64);
    DirectionInference {
        losses: LossReason::ALL.map(|reason| losses.count(reason)),
        confidence: losses.confidence,
        mtu_hole: losses.hole,
        policer: losses.policer,
        rate_bps: delays.rate_bps,
        busy_share: busy_share(matched, delays, losses),
        queue_delay: queue_delay(delays),
        acks: AckPath::of(matched),
        frames,
    }
}

/// Counts the frames of `matched`, of which `lost` were lost.
fn counts(matched: &Matched<'_>, lost: u64) -> FrameCounts {
    let mut counts = FrameCounts {
        sent: matched.sent.len() as u64,
        lost,
        duplicated: matched.duplicated,
        foreign: matched.foreign,
        ..FrameCounts::default()
    };
    for (place, frame) in matched.sent.iter().enumerate() {
        counts.sent_bytes += u64::from(frame.len);
        if let Some(arrived) = matched.arrived(place) {
            counts.arrived += 1;
            counts.arrived_bytes += u64::from(frame.len);
            counts.damaged += u64::from(arrived.is_damaged);
            let is_marked = arrived.is_marked && !arrived.is_damaged;
            counts.marked += u64::from(is_marked && !frame.is_marked);
        }
    }
    counts.undecided = counts.sent - counts.arrived - lost;
    let count = |all: &[bool]| all.iter().filter(|own| **own).count() as u64;
    counts.overtaken = count(&matched.overtaken());
    counts.alike = count(&matched.is_alike);
    counts
}

/// Share of the time from the first frame to the last arrival in which the bottleneck transmitted
/// a frame or a frame waited for the bottleneck.
fn busy_share(matched: &Matched<'_>, delays: &Delays, losses: &Losses) -> Inferred<f64> {
    let (Some(first), Some(last)) = (matched.sent.first(), matched.received.last()) else {
        return Inferred::Unknown(Unknown::TooFewFrames);
    };
    let (mut busy_ns, mut free_ns) = (0.0, 0.0_f64);
    for (place, frame) in matched.sent.iter().enumerate() {
        let start_ns = free_ns.max(frame.at_ns as f64);
        let on_wire_ns = delays.on_wire_ns(frame.len);
        let time_ns = match (delays.wait_ns[place], losses.reason[place]) {
            (Some(wait_ns), _) => frame.at_ns as f64 + wait_ns + on_wire_ns - start_ns,
            (None, None) => on_wire_ns,
            (None, Some(reason)) if uses_wire(reason) => on_wire_ns,
            (None, Some(_)) => 0.0,
        };
        busy_ns += time_ns.max(0.0);
        free_ns = start_ns + time_ns.max(0.0);
    }
    let time_ns = last.at_ns.saturating_sub(first.at_ns).max(1) as f64;
    let share = (busy_ns / time_ns).min(1.0);
    match delays.rate_bps {
        Inferred::Known(..) if delays.is_bursty => Inferred::Known(share, Confidence::Low),
        known => known.map(|_| share),
    }
}

/// Returns true if frames that were lost for `reason` had occupied the wire.
const fn uses_wire(reason: LossReason) -> bool {
    match reason {
        LossReason::Random | LossReason::Burst | LossReason::Outage => true,
        LossReason::MtuHole | LossReason::Queue | LossReason::Policer | LossReason::Unclear => {
            false
        }
    }
}

/// Mean and largest wait in queues.
fn queue_delay(delays: &Delays) -> Inferred<QueueDelay> {
    let waits: Vec<f64> = delays.wait_ns.iter().flatten().copied().collect();
    if waits.is_empty() {
        return Inferred::Unknown(Unknown::TooFewFrames);
    }
    let mean_ms = waits.iter().sum::<f64>() / waits.len() as f64 / 1e6;
    let largest_ms = waits.iter().copied().fold(0.0, f64::max) / 1e6;
    let noise_ms = delays.noise_ns / 1e6;
    let confidence = match delays.rate_bps {
        Inferred::Unknown(Unknown::Noise) | Inferred::Known(_, Confidence::Low) => Confidence::Low,
        Inferred::Known(..) | Inferred::Unknown(_) if noise_ms * 10.0 > mean_ms.max(1.0) => {
            Confidence::Low
        }
        Inferred::Known(..) | Inferred::Unknown(_) => Confidence::High,
    };
    Inferred::Known(
        QueueDelay {
            mean_ms,
            largest_ms,
        },
        confidence,
    )
}
