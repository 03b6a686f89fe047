//! Levers of the applications and of the processors.

use crate::{
    cause::Cause,
    lever::{Ample, Change, Lever, LeverKind, Place},
};
use fullpipe_pool::Duration;
use fullpipe_scenario::experiment::{FlowPlan, LowWater, Setup, Stop};
use fullpipe_sim::{Pace, app::ReadPlan};

/// Connections that are tried together in place of one.
const CONNECTIONS: [u32; 2] = [2, 4];

/// Times the datagrams that the sender offers.
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

fn flow_levers(setup: &Setup, ample: Ample) -> Vec<Lever> {
    let flow = setup.flow();
    let name = |field: &str| format!("{}.{field}", flow.name);
    let change = |field: &str, to: String| Change {
        set: name(field),
        to,
    };
    let lever = |cause: Cause, field: &'static str, present: String, twice: Option<String>| Lever {
        name: name(field),
        called: None,
        kind: LeverKind::Application,
        cause,
        clues: &[],
        place: Place::Flow,
        field,
        present: Some(present),
        range: None,
        twice: twice.map(|to| vec![change(field, to)]),
        ample: Vec::new(),
    };
    let one = |cause, field: &'static str, values: [String; 3]| {
        let [present, twice, ample] = values;
        Lever {
            ample: vec![change(field, ample)],
            ..lever(
                cause,
                field,
                present,
                Some(twice).filter(|to| !to.is_empty()),
            )
        }
    };
    let none = String::new;
    let mut levers = Vec::new();
    if let Pace::Rate { bps, tick } = flow.datagram_plan().pace {
        let rate = |times: u64| format!("{}bit", bps.saturating_mul(times));
        let rates = [rate(1), rate(2), rate(OFFERED)];
        levers.push(one(Cause::APPLICATION, "rate", rates));
        if !tick.is_zero() {
            let ticks = [tick.to_string(), (tick / 2).to_string(), "1us".into()];
            levers.push(one(Cause::APPLICATION, "tick", ticks));
        }
    }
    if !flow.is_udp() {
        let write = u64::from(flow.write);
        let most = ample.bytes.min(1 << 20);
        let sizes = [write, write * 2, most].map(|size| size.to_string());
        levers.push(one(Cause::WRITE_SIZE, "write", sizes));
        levers.push(connections(flow));
    }
    let pause = flow.pause();
    if !pause.is_zero() {
        let pauses = [pause, pause / 2, Duration::ZERO].map(|time| time.to_string());
        levers.push(one(Cause::APPLICATION, "pause", pauses));
    }
    if flow.is_no_push() {
        levers.push(one(
            Cause::CORK,
            "no_push",
            ["true".into(), none(), "false".into()],
        ));
    }
    if flow.low_water() != LowWater::Bytes(1) {
        let present = setup.low_water(flow).to_string();
        levers.push(one(
            Cause::APPLICATION,
            "low_water",
            [present, none(), "1".into()],
        ));
    }
    if let Some((_, think)) = flow.question()
        && !think.is_zero()
    {
        let times = [think.to_string(), (think / 2).to_string(), "1us".into()];
        levers.push(one(Cause::APPLICATION, "think", times));
    }
    match flow.read_plan() {
        ReadPlan::Rate { bytes, every } => {
            let faster = vec![
                change("read.every", "1us".into()),
                change("read.bytes", (bytes.max(ample.bytes)).to_string()),
            ];
            let twice = Some((every / 2).to_string());
            levers.push(Lever {
                ample: faster,
                ..lever(Cause::SLOW_READER, "read.every", every.to_string(), twice)
            });
        }
        ReadPlan::Stalls(stalls) => {
            let present = stalls
                .first()
                .map_or_else(none, |(_, length)| length.to_string());
            let lengths = [present, none(), "1us".into()];
            levers.push(one(Cause::SLOW_READER, "read.stall_for", lengths));
        }
        ReadPlan::Eager => {}
    }
    levers
}

/// Returns the lever of several connections that share the bytes of one.
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
        place: Place::Flow,
        field: "count",
        present: Some(flow.count.to_string()),
        range: None,
        twice: Some(two),
        ample: four,
    }
}

/// Returns the lever of a processor, at half its costs and without any.
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
        place: Place::Hosts(vec![place]),
        field: "cpu",
        present: None,
        range: None,
        twice: Some(changes(1)),
        ample: changes(0),
    })
}
