//! The judge's levers (things to change) of the applications and the processors: write size and
//! pattern, pauses, think time, readers, several connections at once, processor costs.

use fullpipe_explain::{Change, LeverKind};
use fullpipe_pool::Duration;
use fullpipe_scenario::{
    HostPlan, Setup,
    experiment::{FlowPlan, LowWater, Stop},
    path::full_segment,
    units::rate_setting,
};
use fullpipe_sim::{Pace, app::ReadPlan};

use super::{
    lever::{Lever, change},
    sizes::Sizes,
};

/// Numbers of connections that are tried in place of one.
const CONNECTIONS: [u32; 2] = [2, 4];
/// Whole segments of a write that ends with a full segment.
const WHOLE: u64 = 8;
/// Bytes of the headers of a datagram: IPv4 and UDP.
const DATAGRAM_HEADERS: usize = 28;

/// Returns the levers of both applications and both processors.
pub fn levers(setup: &Setup, sizes: Sizes) -> Vec<Lever> {
    let flow = setup.flow();
    let mut levers = match flow.is_udp() {
        true => datagrams(setup, flow),
        false => stream(setup, flow, sizes),
    };
    levers.push(connections(flow));
    for place in [flow.from, flow.to] {
        levers.extend(processor(&setup.hosts[place]));
    }
    levers
}

/// A lever of one field of the flow with these values.
fn field(flow: &FlowPlan, name: &str, values: &[String]) -> Lever {
    let set = format!("{}.{name}", flow.name);
    let values = values.iter();
    Lever {
        name: set.clone(),
        kind: LeverKind::Application,
        values: values.map(|to| vec![change(set.clone(), to)]).collect(),
    }
}

fn texts<T: ToString, const N: usize>(values: [T; N]) -> [String; N] {
    values.map(|value| value.to_string())
}

fn stream(setup: &Setup, flow: &FlowPlan, sizes: Sizes) -> Vec<Lever> {
    let write = u64::from(flow.write);
    let whole = full_segment(setup) * WHOLE;
    let ample = sizes.ample.min(1 << 20);
    let mut levers = vec![field(flow, "write", &texts([whole, write * 2, ample]))];
    let pause = flow.pause();
    if !pause.is_zero() {
        levers.push(field(flow, "pause", &texts([pause / 2, Duration::ZERO])));
    }
    let cork = !flow.is_no_push();
    levers.push(field(flow, "no_push", &[cork.to_string()]));
    if flow.low_water() != LowWater::Bytes(1) {
        levers.push(field(flow, "low_water", &["1".into()]));
    }
    if let Some((_, think)) = flow.question()
        && !think.is_zero()
    {
        let shorter = [(think / 2).to_string(), "1us".into()];
        levers.push(field(flow, "think", &shorter));
    }
    levers.extend(reader(flow, sizes));
    levers
}

/// The lever of a receiving application that does not read at once.
fn reader(flow: &FlowPlan, sizes: Sizes) -> Option<Lever> {
    match flow.read_plan() {
        ReadPlan::Rate { bytes, every } => {
            let mut faster = field(flow, "read.every", &[(every / 2).to_string(), "1us".into()]);
            let most = sizes.ample.max(bytes);
            let bytes = change(format!("{}.read.bytes", flow.name), most);
            faster.values.last_mut()?.push(bytes);
            Some(faster)
        }
        ReadPlan::Stalls(stalls) => {
            let (_, length) = stalls.first()?;
            let shorter = [(*length / 2).to_string(), "1us".into()];
            Some(field(flow, "read.stall_for", &shorter))
        }
        ReadPlan::Eager => None,
    }
}

fn datagrams(setup: &Setup, flow: &FlowPlan) -> Vec<Lever> {
    let route = setup.route(flow.from, flow.to).into_iter();
    let mtus = route.map(|(number, way)| setup.links[number].link(way).mtu);
    let one_packet = mtus.min().unwrap_or(1_500).saturating_sub(DATAGRAM_HEADERS);
    // A datagram that needs no fragments is lost less often.
    let size = u64::from(flow.write);
    let sizes = texts([size / 2, size * 2, one_packet as u64]);
    let mut levers = vec![field(flow, "write", &sizes)];
    if let Pace::Rate { bps, tick } = flow.datagram_plan().pace {
        let half = rate_setting((bps / 2).max(1));
        // A lower rate is another remedy than a higher one.
        let set = format!("{}.rate", flow.name);
        levers.push(Lever {
            name: format!("{set}={half}"),
            kind: LeverKind::Application,
            values: vec![vec![change(set, half)]],
        });
        let more = [2, 4].map(|times| rate_setting(bps.saturating_mul(times)));
        levers.push(field(flow, "rate", &more));
        if !tick.is_zero() {
            let shorter = [(tick / 2).to_string(), "1us".into()];
            levers.push(field(flow, "tick", &shorter));
        }
    }
    levers
}

/// The lever that divides the bytes of one connection among several.
fn connections(flow: &FlowPlan) -> Lever {
    let set = |field: &str| format!("{}.{field}", flow.name);
    let values = CONNECTIONS.map(|times| -> Vec<Change> {
        let mut changes = vec![change(set("count"), u64::from(flow.count * times))];
        if let Stop::Bytes(bytes) = flow.stop {
            changes.push(change(set("bytes"), bytes.div_ceil(times.into())));
        }
        changes
    });
    Lever {
        name: set("count"),
        kind: LeverKind::Application,
        values: values.into(),
    }
}

/// The lever of one host's processor: half the costs, or no costs.
fn processor(host: &HostPlan) -> Option<Lever> {
    let cpu = &host.cpu;
    if cpu.is_free() {
        return None;
    }
    let changes = |part: u32| -> Vec<Change> {
        let set = |field: &str| format!("{}.cpu.{field}", host.name);
        let time = |field: &str, cost: Duration| change(set(field), cost * part / 2);
        let byte = |field: &str, ps: u64| {
            let ps = ps * u64::from(part) / 2;
            change(set(field), format!("{}.{:03}ns", ps / 1_000, ps % 1_000))
        };
        vec![
            time("receive_packet", cpu.receive.packet),
            time("send_packet", cpu.send.packet),
            time("call", cpu.call),
            byte("receive_byte", cpu.receive.byte_ps),
            byte("send_byte", cpu.send.byte_ps),
        ]
    };
    Some(Lever {
        name: format!("{}.cpu", host.name),
        kind: LeverKind::Processor,
        values: vec![changes(1), changes(0)],
    })
}
