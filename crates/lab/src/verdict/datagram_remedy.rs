//! Queue lengths for datagrams that arrive while their reader or the driver is not
//! running.
//!
//! Rule: the needed length is measured: a datagram that found no room counts as waiting
//! for as long as it would have waited. The advice is never less than the present length.

use fullpipe_scenario::units::{grouped, rate_text, three_digits};
use fullpipe_sim::Pace;

use super::{
    cause::Cause,
    datagram_bounds,
    evidence::Evidence,
    names,
    remedy::{Remedy, change, one},
};

/// Returns the setting that removes `cause`, if there is one.
pub fn of(evidence: &Evidence<'_>, cause: Cause) -> Option<Remedy> {
    if cause == Cause::ReceiveQueue {
        receive_queue(evidence)
    } else if cause == Cause::Descriptors {
        descriptors(evidence)
    } else if cause == Cause::PeerMemory {
        memory(evidence)
    } else {
        None
    }
}

/// Raises a queue's bound in datagrams, in bytes, or both.
fn receive_queue(evidence: &Evidence<'_>) -> Option<Remedy> {
    let receiver = evidence.receiver();
    let (udp, size) = (&receiver.config.udp, u64::from(evidence.setup.flow().write));
    let needed = evidence.demand.queue;
    let raise = |knob, present: u32, needed: u64| {
        let present = u64::from(present);
        (present < needed).then(|| names::number(receiver, knob, needed))
    };
    let raised = [
        raise("udp.receive_queue", udp.receive_queue, needed),
        raise("udp.receive_buffer", udp.receive_buffer, needed * size),
    ];
    let mut setting = raised.into_iter().flatten();
    let mut remedy = one(
        receiver,
        setting.next()?,
        formula(evidence, needed, "datagrams", "the reader"),
    );
    let others = setting.map(|other| change(receiver, &other));
    remedy.changes.extend(others);
    Some(remedy)
}

fn descriptors(evidence: &Evidence<'_>) -> Option<Remedy> {
    let receiver = evidence.receiver();
    let present = u64::from(receiver.device.rx_descriptors);
    let needed = evidence.demand.ring;
    let setting = names::device(receiver, "device.rx_descriptors", present, needed);
    let formula = formula(evidence, needed, "frames", "the driver");
    (present > 0 && needed > present).then(|| one(receiver, setting, formula))
}

/// Adds blocks for the datagrams that would wait.
fn memory(evidence: &Evidence<'_>) -> Option<Remedy> {
    let receiver = evidence.receiver();
    let pool = &receiver.config.pool;
    let (size, demand) = (
        u64::from(evidence.setup.flow().write),
        evidence.demand.queue,
    );
    let more = (demand * size).div_ceil(pool.block_size.into());
    let setting = names::number(receiver, "pool.blocks", u64::from(pool.blocks) + more);
    let formula = format!(
        "{}. They need {} blocks more",
        formula(evidence, demand, "datagrams", "the reader"),
        grouped(more),
    );
    (more > 0).then(|| one(receiver, setting, formula))
}

/// The number of waiting entries, and the size of the burst that they belong to.
fn formula(evidence: &Evidence<'_>, needed: u64, what: &str, whom: &str) -> String {
    let flow = evidence.setup.flow();
    let size = grouped(flow.write.into());
    let (frames, of) = match what {
        "frames" => (
            datagram_bounds::frames(evidence.setup).len() as u64,
            "frames of datagrams",
        ),
        _ => (1, "datagrams"),
    };
    if let Pace::Rate { bps, tick } = flow.datagram_plan().pace {
        let bits = bps as f64 * tick.as_secs_f64();
        let burst = (bits / 8.0 / f64::from(flow.write)).ceil() as u64 * frames;
        // Any beyond one burst belong to other flows, or still wait when the next burst
        // arrives.
        if needed <= burst {
            return format!(
                "at {}, {} {of} of {size} bytes arrive back to back every {} ms; up to {} of them wait \
                 for {whom}",
                rate_text(bps as f64),
                grouped(burst),
                three_digits(tick.as_secs_f64() * 1e3),
                grouped(needed),
            );
        }
    }
    format!(
        "at most {} {of} of {size} bytes would wait for {whom} at once, lost ones included",
        grouped(needed)
    )
}
