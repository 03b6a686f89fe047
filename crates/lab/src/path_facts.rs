//! The path of a row's first flow, for graphs.
//!
//! Rule: nothing is measured or judged here. Capacity and round-trip time are those of
//! the idle path, and the setting that bounds the flow is the one behind the verdict's
//! cause.

use fullpipe_diagnose::facts::{PathFacts, SettingBound};
use fullpipe_scenario::experiment::HostPlan;
use fullpipe_sim::link::Direction;

use crate::verdict::{Buffer, Cause, Evidence, first_window, named, pool_bytes};

/// The path of `evidence`'s first flow, with the setting behind `cause`.
pub fn path_facts(evidence: &Evidence<'_>, cause: Cause) -> PathFacts {
    let flow = evidence.setup.flow();
    // A radio can carry more than `payload_bps`, which assumes the worst case: an ACK for
    // every second segment.
    let payload_bps = evidence.path().payload_bps.max(evidence.active_bps());
    let route = evidence.setup.route(flow.from, flow.to);
    let forward = |(link, way)| (link, way == Direction::Forward);
    PathFacts {
        sender: flow.from,
        receiver: flow.to,
        links: route.into_iter().map(forward).collect(),
        payload_bps: Some(payload_bps).filter(|bps| bps.is_finite()),
        rtt_ns: (evidence.scale().rtt_s * 1e9) as u64,
        bound: bound(evidence, cause),
    }
}

/// The setting that bounds the flow; `None` if no setting is behind `cause`.
fn bound(evidence: &Evidence<'_>, cause: Cause) -> Option<SettingBound> {
    let (sender, receiver) = (evidence.sender(), evidence.receiver());
    let sending = Buffer::sending(sender);
    let tcp = &sender.config.tcp;
    let (host, knob, bytes) = match cause {
        Cause::SendBuffer | Cause::DelayedAck => (sender, knob_of(&sending), Some(sending.text())),
        Cause::SendBufferLimit => (sender, sending.knobs.limit, Some(sending.text())),
        Cause::Unacknowledged => (
            sender,
            "tcp.unacknowledged",
            Some(u64::from(tcp.unacknowledged)),
        ),
        Cause::Memory => (sender, "pool.blocks", None),
        Cause::ReceiveWindow | Cause::SlowReader | Cause::ZeroWindow => {
            let receiving = Buffer::receiving(receiver);
            (receiver, knob_of(&receiving), Some(evidence.peer_window))
        }
        Cause::ReceiveBufferLimit => {
            let receiving = Buffer::receiving(receiver);
            (receiver, receiving.knobs.limit, Some(evidence.peer_window))
        }
        Cause::PeerMemory => (receiver, "pool.blocks", Some(evidence.peer_window)),
        Cause::OutOfOrder => (receiver, "tcp.out_of_order", None),
        Cause::InitialReceiveWindow => (
            receiver,
            "tcp.initial_receive_window",
            Some(first_window(evidence.setup, &evidence.scale())),
        ),
        Cause::Path
        | Cause::Application
        | Cause::Reassembly
        | Cause::SlowStart
        | Cause::Congestion
        | Cause::Loss
        | Cause::Pacing
        | Cause::PeerGone
        | Cause::Cpu
        | Cause::Descriptors
        | Cause::ReceiveQueue
        | Cause::Device
        | Cause::Nagle
        | Cause::Cork
        | Cause::RangeTable
        | Cause::Handshake
        | Cause::Closing
        | Cause::Nothing => return None,
    };
    let rtt_s = evidence.scale().rtt_s;
    let at_most = |bytes: u64| (bytes as f64 * 8.0 / rtt_s) * evidence.times();
    // The peer's delayed-ACK timer is part of each round trip, so there is no rate to
    // draw.
    let has_rate = rtt_s > 0.0 && cause != Cause::DelayedAck;
    Some(SettingBound {
        setting: setting(host, knob),
        host: host.name.clone(),
        bytes,
        at_most_bps: bytes.filter(|_| has_rate).map(at_most),
    })
}

/// The knob that decides a buffer's size: its maximum if it has autotuning, otherwise its
/// cap or its size.
fn knob_of(buffer: &Buffer) -> &'static str {
    match buffer.tuned_to {
        Some(_) => buffer.knobs.max,
        None if buffer.limit < buffer.set => buffer.knobs.limit,
        None => buffer.knobs.set,
    }
}

/// The knob's name in the operating system that the host imitates, and its value.
fn setting(host: &HostPlan, knob: &'static str) -> String {
    let named = named(host, knob, pool_bytes(host));
    format!("{} = {}", named.name, named.present)
}
