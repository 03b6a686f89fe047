//! Tests that the judge's list of levers is complete.

use fullpipe::config::Config;
use fullpipe_scenario::{
    Experiment,
    experiment::{FLOW_FIELDS, LINK_FIELDS},
};

use super::*;

/// Knobs that a person would not change to make a transfer faster: names of addresses and ports,
/// answers to strangers, limits of connections that are closing, and diagnosis.
const NO_LEVERS: &[&str] = &[
    "pool.block_size",
    "pool.pressure_low",
    "pool.pressure_high",
    "tcp.mss_min",
    "tcp.probe_interval",
    "tcp.orphan_retries",
    "tcp.keepalive_time",
    "tcp.keepalive_interval",
    "tcp.keepalive_probes",
    "tcp.time_wait",
    "tcp.fin_wait2",
    "tcp.challenge_ack_interval",
    "stack.connections",
    "stack.listeners",
    "stack.half_open_per_source",
    "stack.syn_cookies",
    "stack.orphans",
    "stack.orphan_share",
    "stack.time_wait_entries",
    "stack.reset_queue",
    "stack.resets_per_source",
    "stack.resets_burst",
    "stack.resets_per_second",
    "stack.busy_connections",
    "stack.request_timeout",
    "stack.cookie_queue",
    "stack.bursts",
    "stack.ephemeral_low",
    "stack.ephemeral_high",
    "ip.ttl",
    "ip.addresses",
    "ip.accept_any",
    "ip.loopback",
    "ip.routes",
    "ip.reassembly_timeout",
    "ip.autoconfiguration",
    "ip.temporary_addresses",
    "ip.dad_probes",
    "arp.entries",
    "arp.requests",
    "arp.requests_per_second",
    "arp.reachable_time",
    "arp.failed_time",
    "arp.replies",
    "udp.sockets",
    "trace.records",
];

#[test]
fn every_knob_has_a_lever_or_is_known_to_need_none() {
    let tried: Vec<_> = hosts::knobs().collect();
    let rows = Config::rows();
    let is_known = |name: &str| tried.contains(&name) || NO_LEVERS.contains(&name);
    let names = rows.iter().map(|row| row.name.as_str());
    let missing: Vec<_> = names
        .filter(|name| !is_known(name) && !name.starts_with("icmp."))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
    let is_knob = |name: &&&str| rows.iter().any(|row| row.name == **name);
    let stale = NO_LEVERS.iter().find(|name| !is_knob(name));
    assert_eq!(stale, None);
}

/// A transfer with every impairment of the path and every habit of the applications that can occur
/// together.
const IMPAIRED: &str = r#"
title = "Impaired"
hosts.near = { cpu.call = "10us" }
hosts.far = { set.tcp.receive_buffer = "300K" }
rows = [{ label = "world" }]
[flows.main]
from = "near"
to = "far"
bytes = 100000
ask = 100
think = "1ms"
pause = "1ms"
read.bytes = 1000
read.every = "1ms"
[links.path]
between = ["near", "far"]
rate = "1mbit"
delay = "10ms"
mtu = 1000
jitter = "1ms"
loss = 0.01
burst_loss.enter = 0.01
burst_loss.loss_bad = 0.5
reordering.chance = 0.01
reordering.late = "1ms"
duplication = 0.01
corruption = 0.01
ack_thinning.every = 8
queue = "20 packets"
ecn_threshold = "10 packets"
codel.target = "5ms"
codel.interval = "100ms"
token_bucket.rate = "2mbit"
token_bucket.burst = 10000
token_bucket.latency = "10ms"
radio.access = "10us"
radio.backoff = "10us"
hop.mtu = 500
hop.silent = true
outage.after = "1s"
outage.length = "100ms"
"#;

fn impaired() -> Vec<Lever> {
    let experiment = Experiment::parse("impaired", "impaired.toml", IMPAIRED).expect("no mistake");
    let setup = &experiment.rows[0].setup;
    let mut scene =
        fullpipe_scenario::Scene::new(setup, 1, false, fullpipe_scenario::watch::Watch::NONE);
    let played = scene.play(&|_share| std::ops::ControlFlow::Continue(()));
    let played = played
        .expect("no violation")
        .expect("nothing interrupts it");
    all(setup, &played.measured)
}

#[test]
fn every_property_of_a_link_has_a_lever() {
    let levers = impaired();
    let sets = || {
        levers
            .iter()
            .flat_map(|lever| lever.values.iter().flatten())
    };
    for field in LINK_FIELDS {
        let name = field.name.split('.').next().expect("a name");
        // `rtt` is another name of the delay.
        let has = sets().any(|change| change.set.split('.').nth(2) == Some(name));
        assert!(has || name == "rtt", "{}", field.name);
    }
}

#[test]
fn every_habit_of_an_application_has_a_lever() {
    let levers = impaired();
    // Fields that say which bytes are transferred when, and not how.
    let given = [
        "duration",
        "bytes",
        "give_up",
        "at_most",
        "omit",
        "at_least",
        "ask",
        "reverse",
        "family",
        "protocol",
        "rate",
        "tick",
        "start",
        "vanish_after",
    ];
    for field in FLOW_FIELDS
        .iter()
        .filter(|field| !given.contains(&field.name))
    {
        let set = format!("main.{}", field.name);
        let mut changes = levers
            .iter()
            .flat_map(|lever| lever.values.iter().flatten());
        let has = changes.any(|change| change.set == set);
        // A reader that pauses has no stall, and the other way round; nobody vanishes.
        let is_other = field.name.starts_with("read.stall") || field.name.ends_with("vanish_after");
        assert!(has || is_other, "{}", field.name);
    }
}

#[test]
fn a_value_that_changes_nothing_is_left_out() {
    for lever in impaired() {
        assert!(!lever.values.is_empty(), "{lever:?}");
        assert!(
            !lever.name.ends_with("tcp.nagle=true"),
            "Nagle is on: {lever:?}"
        );
    }
}
