//! The limit of a transfer of datagrams.
//!
//! Rule: if datagrams were lost, the limit is the place that lost most of them, unless
//! the receiver's processor has no time left. If none was lost, it is a link that was
//! always busy, or the sender's own limit with the most time. Nothing is retransmitted
//! and nothing waits for an acknowledgment, so a buffer of the sender is never the limit.

use fullpipe_diagnose::facts::VerdictParts;
use fullpipe_scenario::{
    experiment::HostPlan,
    units::{grouped, rate_text, three_digits},
};
use fullpipe_sim::{Pace, link::Direction};
use fullpipe_tcp::{Limit, ReceiveLimit};

use super::{
    Cause, Evidence, Verdict,
    bounds::{self, Bound},
    datagram_bounds::{self, Costs},
    datagram_remedy, names, with_remedy, without_advice,
    wording::percent,
};

/// A link that is busy for at least this share of the time is full.
const USED_UP: f64 = 0.95;
/// A share of all datagrams below this is not mentioned.
const WORTH_SAYING: f64 = 0.001;

/// A limit with its figure, and sentences that prove it.
type Proof = (String, Vec<String>);

/// The verdict on datagrams.
pub fn of(evidence: &Evidence<'_>) -> Verdict {
    let measured = evidence.measured;
    let lost = measured.lost_share.unwrap_or(0.0);
    let sent = measured.datagrams_sent.unwrap_or(0.0);
    let later = lost * sent - at_start(evidence);
    let (cause, (limited_by, because)) = if later > sent * WORTH_SAYING {
        lossy(evidence, lost, later.round() as u64)
    } else {
        lossless(evidence)
    };
    let parts = VerdictParts {
        limited_by,
        because,
        ..VerdictParts::default()
    };
    let verdict = without_advice(cause, parts);
    match datagram_remedy::of(evidence, cause) {
        Some(remedy) => with_remedy(evidence, verdict, remedy, outlook(evidence)),
        None => verdict,
    }
}

/// Prediction for queues that are long enough; `None` for several flows.
fn outlook(evidence: &Evidence<'_>) -> Option<(super::Predicted, Bound)> {
    let next = bounds::tightest(&datagram_bounds::all(evidence.setup))?;
    let alone = evidence.is_alone();
    alone.then(|| (datagram_bounds::under(evidence.setup, next), next))
}

/// Number of datagrams lost while the neighbour's address was resolved, which happens
/// once and limits nothing. The counter counts packets, one for each frame of a datagram.
/// The queue for the neighbour keeps the newest packets, so a datagram may have lost only
/// its first frames.
fn at_start(evidence: &Evidence<'_>) -> f64 {
    let packets = evidence.demand.without_neighbour;
    let frames = datagram_bounds::frames(evidence.setup).len() as u64;
    packets.div_ceil(frames) as f64
}

/// The place that lost most of the `later` datagrams: all except those lost at the start.
fn lossy(evidence: &Evidence<'_>, lost: f64, later: u64) -> (Cause, Proof) {
    let (measured, receiver) = (evidence.measured, evidence.receiver());
    let in_queue = measured.udp_rcvbuf_errors.unwrap_or(0.0) as u64;
    let in_ring = measured.rx_ring_drops;
    let all_lost = format!(
        "{} of {} datagrams were lost.",
        percent(lost),
        grouped(measured.datagrams_sent.unwrap_or(0.0) as u64)
    );
    // Each frame that the ring drops loses at most one datagram.
    let at_receiver = in_queue + in_ring;
    let on_the_way = later.saturating_sub(at_receiver);
    if on_the_way > in_queue.max(in_ring) {
        return lost_on_the_way(evidence, on_the_way, at_receiver);
    }
    if is_overloaded(evidence) {
        let (limited_by, mut because) =
            at_work(evidence, receiver, Costs::of(evidence.setup).receiver_s);
        because.push(all_lost);
        return (Cause::Cpu, (limited_by, because));
    }
    let (cause, figure) = if in_queue < in_ring {
        (Cause::Descriptors, ring_full(evidence, in_ring))
    } else if evidence.demand.without_memory > in_queue / 2 {
        let blocks = receiver.config.pool.blocks.into();
        let setting = names::number(receiver, "pool.blocks", blocks);
        let figure = format!(
            "{} = {} had no room for {} datagrams",
            setting.name,
            setting.present,
            grouped(in_queue)
        );
        (Cause::PeerMemory, figure)
    } else {
        (Cause::ReceiveQueue, queue_full(evidence, in_queue))
    };
    let mut because = vec![all_lost];
    if cause != Cause::PeerMemory {
        let (holder, limit) = match cause {
            Cause::Descriptors => ("ring", ReceiveLimit::Descriptors),
            _ => ("queue", ReceiveLimit::Buffer),
        };
        let share = percent(evidence.limits.receiver.share(limit));
        because.push(format!("The {holder} was full {share} of the time."));
    }
    because.push(format!(
        "The processor of `{}` was {} busy.",
        receiver.name,
        percent(busy(evidence, receiver)),
    ));
    (cause, (format!("{}: {figure}", cause.words()), because))
}

fn queue_full(evidence: &Evidence<'_>, lost: u64) -> String {
    let receiver = evidence.receiver();
    let udp = &receiver.config.udp;
    let size = evidence.setup.flow().write;
    let by_bytes = udp.receive_buffer / size < udp.receive_queue;
    let setting = match by_bytes {
        true => names::number(receiver, "udp.receive_buffer", udp.receive_buffer.into()),
        false => names::number(receiver, "udp.receive_queue", udp.receive_queue.into()),
    };
    format!(
        "{} = {} had no room for {} datagrams",
        setting.name,
        setting.present,
        grouped(lost)
    )
}

fn ring_full(evidence: &Evidence<'_>, lost: u64) -> String {
    let receiver = evidence.receiver();
    let present = receiver.device.rx_descriptors.into();
    let setting = names::device(receiver, "device.rx_descriptors", present, present);
    format!(
        "{} = {} had no room for {} frames",
        setting.name,
        setting.present,
        grouped(lost)
    )
}

/// The limit if most datagrams were lost between the hosts: a link's queue was full, or
/// the path loses some.
fn lost_on_the_way(evidence: &Evidence<'_>, lost: u64, at_receiver: u64) -> (Cause, Proof) {
    let sent = evidence.measured.datagrams_sent.unwrap_or(0.0);
    let lost = format!(
        "{} of {} datagrams were lost on the path",
        percent(lost as f64 / sent),
        grouped(sent as u64)
    );
    let others = (at_receiver > 0).then(|| {
        format!(
            "The receiver had no room for {} more.",
            grouped(at_receiver)
        )
    });
    if evidence.measured.link_busy_share > USED_UP {
        let because = std::iter::once(format!("{lost}.")).chain(others);
        return (Cause::Path, (link_busy(evidence), because.collect()));
    }
    let limited_by = format!("{}: {lost}", Cause::Loss.words());
    (Cause::Loss, (limited_by, others.into_iter().collect()))
}

/// Returns true if more is sent than the receiver's processor can process.
fn is_overloaded(evidence: &Evidence<'_>) -> bool {
    let tightest = bounds::tightest(&datagram_bounds::all(evidence.setup));
    let costs = Costs::of(evidence.setup);
    let at_receiver = costs.receiver_s > costs.sender_s;
    at_receiver && tightest.is_some_and(|bound| bound.cause == Cause::Cpu)
}

/// The limit of the sender if everything that was sent arrived.
fn lossless(evidence: &Evidence<'_>) -> (Cause, Proof) {
    let shares = &evidence.limits.sender;
    let held = shares.largest_first();
    let mut limits = held.iter().map(|(limit, _)| *limit);
    let longest = limits
        .find(|limit| *limit != Limit::Closing)
        .unwrap_or(Limit::Application);
    let full = evidence.measured.link_busy_share > USED_UP;
    if full || longest == Limit::Device {
        // The device's queue may accept everything and still never be empty.
        let waited = match shares.share(Limit::Device) {
            share if share < WORTH_SAYING => offered(evidence).filter(|_| full),
            share => Some(format!(
                "The device's queue was full {} of the time.",
                percent(share)
            )),
        };
        let cause = if full { Cause::Path } else { Cause::Device };
        (cause, (link_busy(evidence), waited.into_iter().collect()))
    } else if longest == Limit::Processor {
        let costs = Costs::of(evidence.setup);
        (
            Cause::Cpu,
            at_work(evidence, evidence.sender(), costs.sender_s),
        )
    } else {
        (Cause::Application, no_more_sent(evidence))
    }
}

/// The sender's rate, beside a link that is full.
fn offered(evidence: &Evidence<'_>) -> Option<String> {
    match evidence.setup.flow().datagram_plan().pace {
        Pace::Rate { bps, .. } => Some(format!(
            "The sender's rate of {} is about what the link carries.",
            rate_text(bps as f64)
        )),
        Pace::Unpaced => None,
    }
}

fn no_more_sent(evidence: &Evidence<'_>) -> Proof {
    let rate = match evidence.setup.flow().datagram_plan().pace {
        Pace::Rate { bps, .. } => format!("it sent {}", rate_text(bps as f64)),
        Pace::Unpaced => "it sent no more".to_string(),
    };
    let lost = match evidence.demand.without_neighbour {
        0 => "no datagram was lost".to_string(),
        lost => format!(
            "only {} packets were lost, before the neighbour's address was known",
            grouped(lost)
        ),
    };
    let because = vec![
        format!(
            "{} of the time the sender's network device had accepted every datagram that was due.",
            percent(evidence.limits.sender.share(Limit::Application))
        ),
        format!(
            "Link `{}` was {} busy.",
            evidence.busiest().name,
            percent(evidence.measured.link_busy_share)
        ),
    ];
    let limited_by = format!("{}: {rate}, and {lost}", Cause::Application.words());
    (limited_by, because)
}

/// A processor that has no time left.
fn at_work(evidence: &Evidence<'_>, host: &HostPlan, datagram_s: f64) -> Proof {
    let size = f64::from(evidence.setup.flow().write);
    let limited_by = format!(
        "the processor of `{}`: {} busy",
        host.name,
        percent(busy(evidence, host)),
    );
    let because = format!(
        "A datagram of {} bytes takes {} us of processor time, which allows at most {}.",
        grouped(size as u64),
        three_digits(datagram_s * 1e6),
        rate_text(size * 8.0 / datagram_s),
    );
    (limited_by, vec![because])
}

fn link_busy(evidence: &Evidence<'_>) -> String {
    let plan = evidence.busiest();
    let rate = plan.link(Direction::Forward).rate_bps;
    format!(
        "link `{}` of {}: {} busy",
        plan.name,
        rate_text(rate as f64),
        percent(evidence.measured.link_busy_share),
    )
}

/// Share of the time in which the processor of `host` was busy.
fn busy(evidence: &Evidence<'_>, host: &HostPlan) -> f64 {
    let mut hosts = evidence.measured.hosts.iter();
    let found = hosts.find(|measured| measured.host == host.name);
    found.and_then(|host| host.cpu_busy_share).unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
