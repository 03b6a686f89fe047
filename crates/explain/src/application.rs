//! Levers of the applications and of the processors.

use crate::lever::{Ample, Change, Lever, LeverKind};
use fullpipe_scenario::experiment::{FlowPlan, HostPlan, LowWater, Setup, Stop};
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
        levers.extend(processor(&setup.hosts[place]));
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
    let lever = |field: &str, twice: Option<String>, ample: Vec<Change>| Lever {
        name: name(field),
        called: None,
        kind: LeverKind::Application,
        twice: twice.map(|to| vec![change(field, to)]),
        ample,
    };
    let one = |field: &str, twice: Option<String>, ample: String| {
        lever(field, twice, vec![change(field, ample)])
    };
    let mut levers = Vec::new();
    if let Pace::Rate { bps, tick } = flow.datagram_plan().pace {
        let rate = |times: u64| format!("{}bit", bps.saturating_mul(times));
        levers.push(one("rate", Some(rate(2)), rate(OFFERED)));
        if !tick.is_zero() {
            levers.push(one("tick", Some((tick / 2).to_string()), "1us".into()));
        }
    }
    if !flow.is_udp() {
        let write = u64::from(flow.write);
        let most = ample.bytes.min(1 << 20);
        levers.push(one(
            "write",
            Some((write * 2).to_string()),
            most.to_string(),
        ));
        levers.push(connections(flow));
    }
    let pause = flow.pause();
    if !pause.is_zero() {
        levers.push(one("pause", Some((pause / 2).to_string()), "0s".into()));
    }
    if flow.is_no_push() {
        levers.push(one("no_push", None, "false".into()));
    }
    if flow.low_water() != LowWater::Bytes(1) {
        levers.push(one("low_water", None, "1".into()));
    }
    if let Some((_, think)) = flow.question()
        && !think.is_zero()
    {
        levers.push(one("think", Some((think / 2).to_string()), "1us".into()));
    }
    match flow.read_plan() {
        ReadPlan::Rate { bytes, every } => {
            let faster = vec![
                change("read.every", "1us".into()),
                change("read.bytes", (bytes.max(ample.bytes)).to_string()),
            ];
            let twice = Some((every / 2).to_string());
            levers.push(lever("read.every", twice, faster));
        }
        ReadPlan::Stalls(_) => levers.push(one("read.stall_for", None, "1us".into())),
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
        twice: Some(two),
        ample: four,
    }
}

/// Returns the lever of a processor, at half its costs and without any.
fn processor(host: &HostPlan) -> Option<Lever> {
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
        twice: Some(changes(1)),
        ample: changes(0),
    })
}
