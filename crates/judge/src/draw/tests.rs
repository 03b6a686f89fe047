//! Tests that the worlds (random transfers) are as different as transfers can be.

use std::collections::BTreeSet;

use fullpipe::presets::PRESETS;
use fullpipe_scenario::experiment::Stop;
use fullpipe_sim::{
    Pace,
    link::{Direction, Queue},
};
use fullpipe_tcp::CongestionAlgorithm;

use crate::World;

/// Number of worlds that are drawn.
const WORLDS: u64 = 600;

#[test]
fn the_first_worlds_have_every_dimension_and_every_extreme() {
    let mut found = BTreeSet::new();
    for number in 0..WORLDS {
        let world = World::draw(number);
        found.extend(world.dimensions.iter().map(ToString::to_string));
        found.extend(traits(&world));
    }
    let dimensions = super::dimensions().map(|dimension| dimension.name.to_string());
    let presets = PRESETS
        .iter()
        .map(|preset| format!("preset {}", preset.name));
    let algorithms = CongestionAlgorithm::ALL.iter();
    let wanted = dimensions
        .chain(presets)
        .chain(algorithms.map(|algorithm| format!("congestion {algorithm}")))
        .chain(TRAITS.iter().map(ToString::to_string));
    let missing: Vec<_> = wanted.filter(|name| !found.contains(name)).collect();
    assert_eq!(missing, Vec::<String>::new());
}

/// Extremes of amounts that every world has.
const TRAITS: &[&str] = &[
    "MTU 68",
    "MTU 9000",
    "round trip below 200 us",
    "round trip above 600 ms",
    "500 times slower back",
    "queue of packets",
    "queue of bytes",
    "queue of the device",
    "queue without a limit",
    "queue below 0.2 products",
    "queue above 5 products",
    "a byte beside whole segments",
    "writes of less than 10 bytes",
    "datagrams at a rate",
    "datagrams at a tick",
    "datagrams without a pace",
    "datagrams in fragments",
    "datagrams for a time",
];

fn traits(world: &World) -> Vec<String> {
    let setup = world.setup();
    let flow = setup.flow();
    let [there, back] = [Direction::Forward, Direction::Back].map(|way| setup.links[0].link(way));
    let rtt_us = there.delay_us + back.delay_us;
    let product = (there.rate_bps as f64 * rtt_us as f64 / 8e6).max(2_048.0);
    let queue = |amount: f64| {
        let small = (amount < 0.2 * product).then_some("queue below 0.2 products");
        let large = (amount > 5.0 * product).then_some("queue above 5 products");
        small.or(large)
    };
    let frame = there.mtu as f64 + 14.0;
    let (kind, size) = match there.queue {
        Queue::Packets(packets) => ("queue of packets", queue(f64::from(packets) * frame)),
        Queue::Bytes(bytes) => ("queue of bytes", queue(bytes as f64)),
        Queue::Device => ("queue of the device", None),
        Queue::Unlimited => ("queue without a limit", None),
    };
    let segment = fullpipe_scenario::path::full_segment(&setup).max(1);
    let write = u64::from(flow.write);
    let all = [
        (there.mtu == 68, "MTU 68"),
        (there.mtu == 9_000, "MTU 9000"),
        (rtt_us < 200, "round trip below 200 us"),
        (rtt_us > 600_000, "round trip above 600 ms"),
        (
            there.rate_bps > 500 * back.rate_bps,
            "500 times slower back",
        ),
        (
            write > segment && write % segment == 1,
            "a byte beside whole segments",
        ),
        (write < 10, "writes of less than 10 bytes"),
    ];
    let mut names: Vec<&str> = all
        .iter()
        .filter(|(has, _)| *has)
        .map(|(_, name)| *name)
        .collect();
    names.push(kind);
    names.extend(size);
    if flow.is_udp() {
        names.push(match flow.datagram_plan().pace {
            Pace::Rate { tick, .. } if tick.is_zero() => "datagrams at a rate",
            Pace::Rate { .. } => "datagrams at a tick",
            _ => "datagrams without a pace",
        });
        if flow.write as usize > there.mtu {
            names.push("datagrams in fragments");
        }
        if matches!(flow.stop, Stop::After(_)) {
            names.push("datagrams for a time");
        }
    }
    let presets = setup
        .hosts
        .iter()
        .map(|host| format!("preset {}", host.preset.name));
    let congestion = setup.hosts[flow.from].get("tcp.congestion");
    let congestion = congestion.map(|name| format!("congestion {name}"));
    names
        .into_iter()
        .map(String::from)
        .chain(presets)
        .chain(congestion)
        .collect()
}
