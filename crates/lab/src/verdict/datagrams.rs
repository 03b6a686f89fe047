//! What bounds a row of datagrams.
//!
//! Rule: where datagrams were lost, the place that lost most of them is the
//! bound, on a host or on the way, unless the receiver's processor does no more; where
//! none were, it is a link that was busy all the time, or what held the sender
//! longest, by its own account. Nothing is sent again and
//! nothing waits for an acknowledgment, so no buffer at the sender ever binds.

use fullpipe_sim::{Pace, link::Direction};

use super::{
    Cause, Evidence, Verdict,
    bounds::{self, Bound},
    datagram_bounds::{self, Costs},
    datagram_remedy, names, plain, with_remedy,
    words::percent,
};
use crate::{
    experiment::HostPlan,
    units::{grouped, rate_text, three_digits},
};

/// A link that is in use for more than this share of the time is used up.
const USED_UP: f64 = 0.95;
/// A smaller share of all datagrams is not worth a word.
const WORTH_SAYING: f64 = 0.001;

/// The verdict on datagrams.
pub fn of(evidence: &Evidence<'_>) -> Verdict {
    let measured = evidence.measured;
    let lost = measured.lost_share.unwrap_or(0.0);
    let sent = measured.datagrams_sent.unwrap_or(0.0);
    let later = lost * sent - at_start(evidence);
    let (cause, sentence) = if later > sent * WORTH_SAYING {
        lossy(evidence, lost, later.round() as u64)
    } else {
        lossless(evidence)
    };
    let verdict = plain(cause, format!("{}: {sentence}", cause.heading()));
    match datagram_remedy::of(evidence, cause) {
        Some(remedy) => with_remedy(evidence, verdict, remedy, outlook(evidence)),
        None => verdict,
    }
}

/// What comes of a queue that is long enough; of several flows nobody can say.
fn outlook(evidence: &Evidence<'_>) -> Option<(super::Predicted, Bound)> {
    let next = bounds::tightest(&datagram_bounds::all(evidence.setup))?;
    let alone = evidence.is_alone();
    alone.then(|| (datagram_bounds::under(evidence.setup, next), next))
}

/// Datagrams that were lost while the neighbour's address was asked for. That happens
/// once and bounds nothing. What is counted are packets, of which a datagram has as
/// many as it has frames; the newest of them wait, so one may have lost only its first.
fn at_start(evidence: &Evidence<'_>) -> f64 {
    let packets = evidence.demand.without_neighbour;
    let frames = datagram_bounds::frames(evidence.setup).len() as u64;
    packets.div_ceil(frames) as f64
}

/// Where most of the `later` ones that are missing were lost: those that were not lost at
/// the start.
fn lossy(evidence: &Evidence<'_>, lost: f64, later: u64) -> (Cause, String) {
    let (measured, receiver) = (evidence.measured, evidence.receiver());
    let in_queue = measured.udp_rcvbuf_errors.unwrap_or(0.0) as u64;
    let in_ring = measured.rx_ring_drops;
    let sent = grouped(measured.datagrams_sent.unwrap_or(0.0) as u64);
    let share = percent(lost);
    // With each frame that the ring drops goes one datagram at most.
    let at_receiver = in_queue + in_ring;
    let on_the_way = later.saturating_sub(at_receiver);
    if on_the_way > in_queue.max(in_ring) {
        return lost_on_the_way(evidence, on_the_way, at_receiver);
    }
    if is_overloaded(evidence) {
        let sentence = format!(
            "{}, and {share} of {sent} datagrams were lost; no queue will help.",
            at_work(evidence, receiver, Costs::of(evidence.setup).receiver_s)
        );
        return (Cause::Cpu, sentence);
    }
    let (cause, place) = if in_queue < in_ring {
        (Cause::Descriptors, ring_full(evidence, in_ring))
    } else if evidence.demand.without_memory > in_queue / 2 {
        let blocks = receiver.config.pool.blocks.into();
        let spoken = names::number(receiver, "pool.blocks", blocks);
        let place = format!(
            "{} datagrams found no packet memory ({} = {}",
            grouped(in_queue),
            spoken.name,
            spoken.present
        );
        (Cause::PeerMemory, place)
    } else {
        (Cause::ReceiveQueue, queue_full(evidence, in_queue))
    };
    let full = if cause == Cause::PeerMemory {
        String::new()
    } else {
        let share = evidence.limits.receiver.share(cause.name());
        format!(", which was full for {} of the time", percent(share))
    };
    let sentence = format!(
        "{place} of `{}`){full}, and {share} of {sent} datagrams were lost; its processor was busy \
         {} of the time.",
        receiver.name,
        percent(busy(evidence, receiver)),
    );
    (cause, sentence)
}

fn queue_full(evidence: &Evidence<'_>, lost: u64) -> String {
    let receiver = evidence.receiver();
    let udp = &receiver.config.udp;
    let size = evidence.setup.flow().write;
    let by_bytes = udp.receive_buffer / size < udp.receive_queue;
    let spoken = match by_bytes {
        true => names::number(receiver, "udp.receive_buffer", udp.receive_buffer.into()),
        false => names::number(receiver, "udp.receive_queue", udp.receive_queue.into()),
    };
    format!(
        "{} datagrams found the receive queue full ({} = {}",
        grouped(lost),
        spoken.name,
        spoken.present
    )
}

fn ring_full(evidence: &Evidence<'_>, lost: u64) -> String {
    let receiver = evidence.receiver();
    let present = receiver.device.rx_descriptors.into();
    let spoken = names::device(receiver, "device.rx_descriptors", present, present);
    format!(
        "{} frames found the receive ring full ({} = {}",
        grouped(lost),
        spoken.name,
        spoken.present
    )
}

/// Most were lost on no host: a link's queue was full, or the path loses some.
fn lost_on_the_way(evidence: &Evidence<'_>, lost: u64, at_receiver: u64) -> (Cause, String) {
    let sent = evidence.measured.datagrams_sent.unwrap_or(0.0);
    let share = percent(lost as f64 / sent);
    let others = match at_receiver {
        0 => String::new(),
        others => format!(", and {} found no room at the receiver", grouped(others)),
    };
    let lost = format!(
        "{share} of {} datagrams were lost on the way{others}.",
        grouped(sent as u64)
    );
    if evidence.measured.link_busy_share > USED_UP {
        return (Cause::Path, format!("{}; {lost}", link_busy(evidence)));
    }
    (Cause::Loss, lost)
}

/// Whether more is sent than the receiver's processor can do.
fn is_overloaded(evidence: &Evidence<'_>) -> bool {
    let tightest = bounds::tightest(&datagram_bounds::all(evidence.setup));
    let costs = Costs::of(evidence.setup);
    let at_receiver = costs.receiver_s > costs.sender_s;
    at_receiver && tightest.is_some_and(|bound| bound.cause == Cause::Cpu)
}

/// What held the sender, where all that was sent arrived.
fn lossless(evidence: &Evidence<'_>) -> (Cause, String) {
    let shares = &evidence.limits.sender;
    let held = shares.largest_first();
    let mut names = held.iter().map(|(name, _)| *name);
    let longest = names
        .find(|name| *name != "closing")
        .unwrap_or("application");
    let full = evidence.measured.link_busy_share > USED_UP;
    if full || longest == "device" {
        // The device's queue may take whatever comes, and still never be empty.
        let waited = match shares.share("device") {
            share if share < WORTH_SAYING && longest == "application" => format!(
                ", and everything due had been handed to the device for {} of it",
                percent(shares.share(longest))
            ),
            share if share < WORTH_SAYING => String::new(),
            share => format!(", and the sender waited for it {} of it", percent(share)),
        };
        let sentence = format!("{}{waited}; no buffer will help.", link_busy(evidence));
        (if full { Cause::Path } else { Cause::Device }, sentence)
    } else if longest == "processor" {
        let costs = Costs::of(evidence.setup);
        let at_work = at_work(evidence, evidence.sender(), costs.sender_s);
        (Cause::Cpu, format!("{at_work}; no buffer will help."))
    } else {
        (Cause::Application, no_more_sent(evidence))
    }
}

fn no_more_sent(evidence: &Evidence<'_>) -> String {
    let rate = match evidence.setup.flow().datagram_plan().pace {
        Pace::Rate { bps, .. } => format!("no more than {} was sent", rate_text(bps as f64)),
        Pace::Unpaced => "no more was sent".to_string(),
    };
    let arrived = match evidence.demand.without_neighbour {
        0 => "all of it arrived".to_string(),
        lost => format!(
            "all of it arrived but {} packets, which were lost while the neighbour's address was \
             asked for",
            grouped(lost)
        ),
    };
    format!(
        "{rate}, and {arrived}: everything due had been handed to the device for {} of the \
         time, and link `{}` was busy {} of it.",
        percent(evidence.limits.sender.share("application")),
        evidence.busiest().name,
        percent(evidence.measured.link_busy_share),
    )
}

/// A processor that does no more.
fn at_work(evidence: &Evidence<'_>, host: &HostPlan, datagram_s: f64) -> String {
    let size = f64::from(evidence.setup.flow().write);
    format!(
        "the processor of `{}` was busy {} of the time; a datagram of {} bytes takes it {} us, \
         which is at most {}",
        host.name,
        percent(busy(evidence, host)),
        grouped(size as u64),
        three_digits(datagram_s * 1e6),
        rate_text(size * 8.0 / datagram_s),
    )
}

fn link_busy(evidence: &Evidence<'_>) -> String {
    let plan = evidence.busiest();
    let rate = plan.link(Direction::Forward).rate_bps;
    format!(
        "link `{}` (of {}) was busy {} of the time",
        plan.name,
        rate_text(rate as f64),
        percent(evidence.measured.link_busy_share),
    )
}

/// The share of the time in which the processor of `host` was at work.
fn busy(evidence: &Evidence<'_>, host: &HostPlan) -> f64 {
    let mut hosts = evidence.measured.hosts.iter();
    let found = hosts.find(|measured| measured.host == host.name);
    found.and_then(|host| host.cpu_busy_share).unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
