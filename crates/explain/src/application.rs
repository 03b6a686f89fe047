//! Levers (things that somebody could change) of the applications and of the processors.

use crate::{
    cause::Cause,
    lever::{Ample, Change, Lever, LeverKind, Place},
};
use fullpipe_pool::Duration;
use fullpipe_scenario::{
    experiment::{FlowPlan, LowWater, Setup, Stop},
    path::largest_datagram,
    units::rate_setting,
};
use fullpipe_sim::{Pace, app::ReadPlan};

/// Numbers of connections that are tried in place of one.
const CONNECTIONS: [u32; 2] = [2, 4];

/// Factor by which the tried rate of datagrams exceeds the present rate.
const OFFERED: u64 = 4;

/// Returns the levers of both applications and both processors.
pub fn levers(setup: &Setup, ample: Ample) -> Vec<Lever> {
    let flow = setup.flow();
    let mut levers = flow_levers(setup, ample);
    for place in [flow.from, flow.to] {
        levers.extend(processor(setup, place));
    }
    levers
}

/// Returns the lever of a field of `flow`. `values` are the present value, about half or twice
/// that value, and the best value; an empty text omits a value.
fn lever(flow: &FlowPlan, cause: Cause, field: &'static str, values: [String; 3]) -> Lever {
    let [present, twice, ample] = values;
    let change = |to: String| vec![change(flow, field, to)];
    Lever {
        name: format!("{}.{field}", flow.name),
        called: None,
        kind: LeverKind::Application,
        cause,
        clues: &[],
        is_rare: false,
        place: Place::Flow,
        field,
        present: Some(present),
        range: None,
        twice: Some(twice).filter(|to| !to.is_empty()).map(change),
        ample: change(ample),
    }
}

fn change(flow: &FlowPlan, field: &str, to: String) -> Change {
    Change {
        set: format!("{}.{field}", flow.name),
        to,
    }
}

fn flow_levers(setup: &Setup, ample: Ample) -> Vec<Lever> {
    let flow = setup.flow();
    let mut levers = match flow.is_udp() {
        true => datagrams(setup, flow),
        false => {
            let write = u64::from(flow.write);
            let sizes = [write, write * 2, ample.bytes.min(1 << 20)].map(|size| size.to_string());
            vec![
                lever(flow, Cause::WRITE_SIZE, "write", sizes),
                connections(flow),
            ]
        }
    };
    let none = String::new;
    let pause = flow.pause();
    if !pause.is_zero() {
        let pauses = [pause, pause / 2, Duration::ZERO].map(|time| time.to_string());
        levers.push(lever(flow, Cause::APPLICATION, "pause", pauses));
    }
    if flow.is_no_push() {
        let values = ["true".into(), none(), "false".into()];
        levers.push(lever(flow, Cause::CORK, "no_push", values));
    }
    if flow.low_water() != LowWater::Bytes(1) {
        let values = [setup.low_water(flow).to_string(), none(), "1".into()];
        levers.push(lever(flow, Cause::APPLICATION, "low_water", values));
    }
    if let Some((_, think)) = flow.question()
        && !think.is_zero()
    {
        let times = [think.to_string(), (think / 2).to_string(), "1us".into()];
        levers.push(lever(flow, Cause::APPLICATION, "think", times));
    }
    levers.extend(reader(flow, ample));
    levers
}

/// Returns the levers of an application that sends datagrams.
fn datagrams(setup: &Setup, flow: &FlowPlan) -> Vec<Lever> {
    let mut levers: Vec<Lever> = datagram_size(setup, flow).into_iter().collect();
    let Pace::Rate { bps, tick } = flow.datagram_plan().pace else {
        return levers;
    };
    let rates = [1, 2, OFFERED].map(|times| rate_setting(bps.saturating_mul(times)));
    levers.push(lever(flow, Cause::APPLICATION, "rate", rates));
    if !tick.is_zero() {
        let ticks = [tick.to_string(), (tick / 2).to_string(), "1us".into()];
        levers.push(lever(flow, Cause::APPLICATION, "tick", ticks));
    }
    levers
}

/// Returns the lever of the size of the datagrams, if it is not the size of the largest datagram
/// that the path carries without fragments.
fn datagram_size(setup: &Setup, flow: &FlowPlan) -> Option<Lever> {
    let largest = largest_datagram(setup);
    let size = u64::from(flow.write);
    // Fewer fragments are lost less often; larger datagrams have fewer headers.
    let toward = if size > largest { size / 2 } else { size * 2 };
    let twice = if toward.abs_diff(largest) < size.abs_diff(largest) {
        toward.to_string()
    } else {
        String::new()
    };
    let sizes = [size.to_string(), twice, largest.to_string()];
    (largest > 0 && largest != size).then(|| lever(flow, Cause::WRITE_SIZE, "write", sizes))
}

/// Returns the lever of a receiving application that does not read at once.
fn reader(flow: &FlowPlan, ample: Ample) -> Option<Lever> {
    match flow.read_plan() {
        ReadPlan::Rate { bytes, every } => {
            let times = [every.to_string(), (every / 2).to_string(), "1us".into()];
            let mut faster = lever(flow, Cause::SLOW_READER, "read.every", times);
            let most = bytes.max(ample.bytes).to_string();
            faster.ample.push(change(flow, "read.bytes", most));
            Some(faster)
        }
        ReadPlan::Stalls(stalls) => {
            let (_, length) = stalls.first()?;
            let lengths = [length.to_string(), String::new(), "1us".into()];
            Some(lever(flow, Cause::SLOW_READER, "read.stall_for", lengths))
        }
        ReadPlan::Eager => None,
    }
}

/// Returns the lever that divides the bytes of one connection among several connections.
fn connections(flow: &FlowPlan) -> Lever {
    let changes = |times: u32| -> Vec<Change> {
        let count = ("count", u64::from(flow.count * times));
        let bytes = match flow.stop {
            Stop::Bytes(bytes) => Some(("bytes", bytes.div_ceil(times.into()))),
            Stop::After(_) => None,
        };
        let fields = [count].into_iter().chain(bytes);
        let change = |(field, to): (&str, u64)| Change {
            set: format!("{}.{field}", flow.name),
            to: to.to_string(),
        };
        fields.map(change).collect()
    };
    let [two, four] = CONNECTIONS.map(changes);
    Lever {
        name: format!("{}.count", flow.name),
        called: None,
        kind: LeverKind::Application,
        cause: Cause::CONNECTIONS,
        clues: &[],
        is_rare: false,
        place: Place::Flow,
        field: "count",
        present: Some(flow.count.to_string()),
        range: None,
        twice: Some(two),
        ample: four,
    }
}

/// Returns the lever of one host's processor: half the costs, or no costs.
fn processor(setup: &Setup, place: usize) -> Option<Lever> {
    let host = &setup.hosts[place];
    let cpu = &host.cpu;
    let times = [
        ("receive_packet", cpu.receive.packet),
        ("send_packet", cpu.send.packet),
        ("call", cpu.call),
    ];
    let bytes = [
        ("receive_byte", cpu.receive.byte_ps),
        ("send_byte", cpu.send.byte_ps),
    ];
    let changes = |part: u32| -> Vec<Change> {
        let times = times.map(|(field, time)| (field, (time * part / 2).to_string()));
        let nanoseconds = |ps: u64| format!("{}.{:03}ns", ps / 1_000, ps % 1_000);
        let bytes = bytes.map(|(field, ps)| (field, nanoseconds(ps * u64::from(part) / 2)));
        let costs = times.into_iter().chain(bytes);
        let change = |(field, to)| Change {
            set: format!("{}.cpu.{field}", host.name),
            to,
        };
        costs.map(change).collect()
    };
    (!cpu.is_free()).then(|| Lever {
        name: format!("{}.cpu", host.name),
        called: None,
        kind: LeverKind::Processor,
        cause: Cause::CPU,
        clues: &[],
        is_rare: false,
        place: Place::Hosts(vec![place]),
        field: "cpu",
        present: None,
        range: None,
        twice: Some(changes(1)),
        ample: changes(0),
    })
}
