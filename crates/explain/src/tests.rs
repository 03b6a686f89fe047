//! Tests of the levers and of the matrix (every lever with its gain).
//!
//! Rule: each simulated network has one known limit. Each setting that can change the speed of a
//! transfer has a lever (a thing that could be changed).

use std::{ops::ControlFlow, sync::Arc};

use fullpipe::config::Config;
use fullpipe_pool::Duration;

use super::{
    cause::Cause,
    engine::part,
    explain,
    explanation::Explanation,
    host,
    lever::{Ample, Change, Lever, changed},
    levers, matrix, path,
    twin::Twin,
    work::Work,
};
use fullpipe_scenario::{
    Scene,
    experiment::{Experiment, LINK_FIELDS, RELIEFS, Setup, Stop},
    scene::Part,
    watch::Watch,
};

/// Knobs that change no transfer's speed by themselves: limits on other connections, on attackers
/// and on replies; timers of idle and closed connections.
const NO_LEVERS: &[&str] = &[
    "pool.block_size",
    "pool.pressure_low",
    "pool.pressure_high",
    "tcp.mss_min",
    "tcp.probe_interval",
    "tcp.retries1",
    "tcp.orphan_retries",
    "tcp.keepalive_time",
    "tcp.keepalive_interval",
    "tcp.keepalive_probes",
    "tcp.time_wait",
    "tcp.fin_wait2",
    "tcp.challenge_ack_interval",
    "tcp.receive_tuning",
    "ip.addresses",
    "ip.accept_any",
    "ip.loopback",
    "ip.ttl",
    "ip.routes",
    "ip.reassembly_largest",
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

mod cost;
mod named_first;
mod own_names;
mod sentences;
mod worlds;

fn setup(text: &str) -> Setup {
    let head = "title = \"t\"\nhosts.near = {}\nhosts.far = {}\n";
    let tail = "workload = { from = \"near\", to = \"far\", bytes = 400000 }\nrows = [{ label = \"row\" }]\n";
    let file = format!("{head}{tail}\n{text}");
    let experiment = Experiment::parse("t", "t.toml", &file).expect("no mistake");
    experiment.rows[0].setup.clone()
}

const LINK: &str =
    "[links.path]\nbetween = [\"near\", \"far\"]\nrate = \"10mbit\"\ndelay = \"20ms\"\n";

/// A Linux host that sends to a host with the preset netburner.
fn systems() -> Setup {
    let text = "title = \"t\"\nhosts.near = { preset = \"linux\" }\nhosts.far = { preset = \"netburner\" }\nworkload = { from = \"near\", to = \"far\", bytes = 400000 }\nrows = [{ label = \"row\" }]\n";
    let file = format!("{text}{LINK}");
    let experiment = Experiment::parse("t", "t.toml", &file).expect("no mistake");
    experiment.rows[0].setup.clone()
}

fn with(settings: &str) -> Setup {
    let mut setup = setup(LINK);
    for line in settings.lines() {
        let (path, value) = line.split_once('=').expect("a setting");
        setup.set(path.trim(), value.trim()).expect("it is legal");
    }
    setup
}

/// The levers with a gain, the largest first, and the levers that help together.
fn best(settings: &str) -> (Vec<String>, Vec<String>) {
    let found = matrix("row", &with(settings), 1, &|_, _| ());
    let found = found.unwrap_or_else(|failure| panic!("{settings}\n{failure}"));
    let helps = found.levers.iter().filter(|line| line.best_gain() > 0.02);
    let together = found.together.map_or_else(Vec::new, |found| found.levers);
    (helps.map(|line| line.lever.clone()).collect(), together)
}

/// The impairment of the path whose removal helps most.
fn worst_impairment(settings: &str) -> String {
    let setup = with(settings);
    let twin = Twin::of(&setup, 1, Part::WHOLE, Arc::new(Work::any())).expect("the stack is right");
    let mut levers = path::levers(&setup);
    levers.retain(|lever| {
        !["rate", "delay", "mtu"]
            .iter()
            .any(|of_all| lever.name.ends_with(of_all))
    });
    let speed = |lever: &Lever| {
        let speed = twin
            .speed(&lever.ample, twin.seeds())
            .expect("the stack is right");
        speed.expect("it is legal").mean_mbps()
    };
    let speeds = levers.iter().map(|lever| (speed(lever), &lever.name));
    let best = speeds.max_by(|a, b| a.0.total_cmp(&b.0));
    best.expect("there are impairments").1.clone()
}

fn position(levers: &[String], name: &str) -> usize {
    let place = levers.iter().position(|lever| lever == name);
    place.unwrap_or_else(|| panic!("{name} is not among {levers:?}"))
}

#[test]
fn every_knob_of_the_path_of_data_has_a_lever() {
    let tried: Vec<_> = host::knobs().collect();
    let rows = Config::rows();
    let known = |name: &str| tried.contains(&name) || NO_LEVERS.contains(&name);
    let missing: Vec<_> = rows
        .iter()
        .map(|row| row.name.as_str())
        .filter(|name| !known(name) && !name.starts_with("stack.") && !name.starts_with("icmp."))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
    let is_knob = |name: &&&str| rows.iter().any(|row| row.name == **name);
    let mut stale = NO_LEVERS.iter().filter(|name| !is_knob(name));
    assert_eq!(stale.next(), None);
}

/// Tests that each row of the table makes a lever on at least one host. A row whose values all
/// hosts refuse would never be run.
#[test]
fn every_row_of_a_host_makes_a_lever_on_some_host() {
    let tight = [
        ("near.device.super_segment", "64K"),
        ("far.device.merge_quiet", "20us"),
        ("far.device.rx_descriptors", "64"),
        ("near.tcp.window_scaling", "false"),
        ("near.tcp.sack", "false"),
        ("far.tcp.timestamps", "false"),
        ("near.tcp.mss_max", "1000"),
        ("near.tcp.pacing_rate_max", "1000000"),
        ("near.tcp.write_atomic", "true"),
        ("near.tcp.segment_sizing", "write"),
        ("near.tcp.tail_loss_probe", "false"),
        ("near.tcp.user_timeout", "10s"),
        ("near.tcp.mtu_probing", "off"),
        ("near.tcp.send_payload_share", "50"),
        ("far.tcp.receive_payload_share", "50"),
        ("near.tcp.unacknowledged", "64K"),
        ("near.tcp.send_buffer_limit", "64K"),
        ("far.tcp.receive_buffer_limit", "64K"),
        ("near.tcp.small_queue", "64K"),
        ("far.tcp.out_of_order", "64K"),
        ("far.tcp.receive_buffer_max", "128K"),
        ("near.tcp.sws_override", "200ms"),
        ("near.tcp.cork_timeout", "200ms"),
    ];
    let mut names = Vec::new();
    for protocol in ["tcp", "udp"] {
        let mut setup = setup(LINK);
        setup
            .set("workload.protocol", protocol)
            .expect("a protocol");
        if protocol == "udp" {
            setup.set("workload.write", "1000").expect("a size");
            setup.set("workload.rate", "1mbit").expect("a rate");
        }
        for (path, value) in tight {
            setup
                .set(path, value)
                .unwrap_or_else(|error| panic!("{path}: {error}"));
        }
        let ample = Ample::of(&setup, 1e6, 0.04);
        names.extend(
            levers::all(&setup, ample)
                .into_iter()
                .map(|lever| lever.name),
        );
    }
    // Also collect the levers of a host whose send buffer an application has set. Only such a host
    // has a lever that lets the system grow the buffer again.
    let mut tuned = systems();
    tuned.set("near.SO_SNDBUF", "64K").expect("it is legal");
    let ample = Ample::of(&tuned, 1e6, 0.04);
    names.extend(
        levers::all(&tuned, ample)
            .into_iter()
            .map(|lever| lever.name),
    );
    let has = |knob: &str| {
        names.iter().any(|name| {
            name.split('=')
                .next()
                .is_some_and(|name| name.ends_with(knob))
        })
    };
    let missing: Vec<_> = host::knobs().filter(|knob| !has(knob)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn the_setting_of_the_system_has_the_value_that_makes_the_same_change() {
    let setup = &systems();
    let mut called = 0;
    for lever in levers::all(setup, Ample::of(setup, 1e6, 0.04)) {
        let Some((name, value)) = lever.called.as_ref().and_then(|own| own.split_once('=')) else {
            continue;
        };
        let host = lever.name.split(['.', '+']).next().expect("a host");
        let mut own = setup.clone();
        own.set(&format!("{host}.{name}"), value)
            .expect("it is legal");
        let mine: Vec<_> = lever
            .ample
            .iter()
            .filter(|change| change.set.starts_with(host))
            .cloned()
            .collect();
        assert_eq!(changed(setup, &mine), Some(own), "{}", lever.name);
        called += 1;
    }
    assert!(called > 15, "{called}");
}

#[test]
fn rare_losses_are_chance_although_two_seeds_have_none() {
    let setup = with("path.forward.loss = 0.001%");
    let twin = Twin::of(&setup, 1, Part::WHOLE, Arc::new(Work::any())).expect("the stack is right");
    assert_eq!((twin.seeds(), twin.runs()), (5, 5));
    let plain = with("workload.bytes = 300K");
    let twin = Twin::of(&plain, 1, Part::WHOLE, Arc::new(Work::any())).expect("the stack is right");
    assert_eq!((twin.seeds(), twin.runs()), (1, 2));
}

#[test]
fn a_transfer_that_does_not_end_is_no_gain() {
    let settings = "path.forward.outage.after = 100ms\npath.forward.outage.length = 30s\nnear.tcp.retries2 = 6";
    let found = matrix("row", &with(settings), 1, &|_, _| ()).expect("the stack is right");
    let lever = found.levers.iter().find(|line| !line.ample.is_complete);
    let lever = lever.expect("some lever makes the sender give up sooner");
    assert!(lever.best_gain() < found.levers[0].best_gain(), "{lever:?}");
    assert!(found.levers[0].ample.is_complete);
}

#[test]
fn every_impairment_of_a_link_has_a_relief() {
    for field in LINK_FIELDS.iter().filter(|field| field.name != "rtt") {
        let group = field.name.split('.').next().expect("a name");
        let has = RELIEFS.iter().any(|relief| relief.name == group);
        assert!(has, "{}", field.name);
    }
}

#[test]
fn the_receive_window_that_limits_is_the_first_lever_of_the_hosts() {
    let (helps, _) = best("far.tcp.receive_buffer = 8K");
    let own = helps
        .iter()
        .find(|name| name.starts_with("near.") || name.starts_with("far."));
    assert_eq!(own.map(String::as_str), Some("far.tcp.receive_buffer"));
    position(&helps, "path.forward.delay");
}

#[test]
fn two_windows_of_one_size_help_only_together() {
    let (helps, together) = best("far.tcp.receive_buffer = 8K\nnear.tcp.send_buffer = 8K");
    let alone = helps.iter().any(|name| name == "near.tcp.send_buffer");
    assert!(!alone, "{helps:?}");
    position(&together, "near.tcp.send_buffer");
    position(&together, "far.tcp.receive_buffer");
}

#[test]
fn a_full_link_is_freed_by_its_rate_alone() {
    let (helps, together) =
        best("workload.bytes = 2M\nnear.tcp.send_buffer = 256K\nfar.tcp.receive_buffer = 256K");
    assert_eq!(helps[0], "path.forward.rate");
    assert_eq!(together, Vec::<String>::new());
}

#[test]
fn each_impairment_is_named_by_its_own_lever() {
    for (settings, lever) in [
        ("path.forward.loss = 3%", "path.forward.loss"),
        (
            "path.forward.burst_loss.enter = 0.01\npath.forward.burst_loss.leave = 0.3\npath.forward.burst_loss.loss_bad = 0.9",
            "path.forward.burst_loss",
        ),
        ("path.forward.corruption = 3%", "path.forward.corruption"),
        (
            "path.back.ack_thinning.every = 64\npath.back.ack_thinning.wait = 60ms\nnear.tcp.send_buffer = 1M\nfar.tcp.receive_buffer = 1M",
            "path.back.ack_thinning",
        ),
        (
            "path.forward.token_bucket.rate = 1mbit\npath.forward.token_bucket.burst = 4K\npath.forward.token_bucket.latency = 50ms",
            "path.forward.token_bucket",
        ),
        (
            "path.forward.outage.after = 100ms\npath.forward.outage.length = 2s",
            "path.forward.outage",
        ),
    ] {
        // Add two impairments that hardly matter.
        let both = format!("{settings}\npath.back.duplication = 1%\npath.back.jitter = 100us");
        assert_eq!(worst_impairment(&both), lever);
    }
}

#[test]
fn amounts_are_sixteen_bandwidth_delay_products() {
    let ample = Ample::of(&setup(LINK), 1e6, 0.04);
    assert_eq!(ample.bytes, 1 << 20); // 16 x 50,000 bytes, rounded up
}

#[test]
fn each_cause_is_shown_by_what_the_account_has_of_it() {
    for (settings, cause, shown) in [
        ("workload.bytes = 4M", "rate", "Link(\"path\")"),
        (
            "path.rate = 1gbit\nnear.tcp.pacing = false\nnear.tcp.send_buffer = 8K",
            "send_buffer",
            "Limits([SendBuffer])",
        ),
        (
            "path.rate = 1gbit\nnear.tcp.pacing = false\nfar.tcp.receive_buffer = 8K",
            "receive_window",
            "Limits([ReceiveWindow])",
        ),
        (
            "path.rate = 1gbit\npath.delay = 0s\nfar.cpu.receive_packet = 2ms\nfar.tcp.delayed_ack = 0s",
            "host_cpu",
            "Processor(\"far\")",
        ),
        (
            "path.rate = 1gbit\nnear.tcp.send_buffer = 256K\nfar.tcp.receive_buffer = 256K\npath.delay = 1ms\nworkload.ask = 100\nworkload.think = 300ms",
            "application",
            "Limits([Application])",
        ),
        (
            "path.rate = 1gbit\npath.delay = 300ms\nnear.tcp.send_buffer = 1M\nfar.tcp.receive_buffer = 1M\nnear.tcp.initial_window = 1000\nnear.tcp.pacing = false",
            "delay",
            "Limits([Handshake])",
        ),
    ] {
        let found = explain(&with(settings), 1).expect("the stack is right");
        let seen = (found.limit.name, format!("{:?}", found.shown_by));
        assert_eq!(seen, (cause, shown.to_string()), "{settings}");
    }
}

fn explained(settings: &str) -> Explanation {
    let found = explain(&with(settings), 1);
    found.unwrap_or_else(|failure| panic!("{settings}\n{failure}"))
}

#[test]
fn every_lever_of_a_host_has_a_clue_and_every_cause_its_own_name() {
    for setup in [systems(), with("near.device.super_segment = 64K")] {
        let levers = levers::all(&setup, Ample::of(&setup, 1e6, 0.04));
        let mut silent = levers
            .iter()
            .filter(|lever| lever.kind.is_of_host() && lever.clues.is_empty());
        assert_eq!(silent.next(), None);
    }
    let mut names: Vec<_> = Cause::all().map(|cause| cause.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn a_small_send_buffer_is_named_with_the_smallest_value_that_suffices() {
    let found = explained("near.tcp.send_buffer = 8K");
    assert_eq!(found.limit, Cause::SEND_BUFFER);
    assert_eq!(found.knob.as_deref(), Some("tcp.send_buffer"));
    // The buffer must hold the bandwidth-delay product of 50,000 bytes and the segment that is
    // being sent.
    let needed: u64 = found
        .needed
        .as_deref()
        .expect("a value")
        .parse()
        .expect("a number");
    assert!((45_000..80_000).contains(&needed), "{needed}");
    let advice = found.advice.clone();
    assert_eq!(advice.len(), 1, "{advice:?}");
    // A run with the advised value gives the predicted goodput; a run with half of this value gives
    // less.
    let speed = |to: u64| {
        let change = [Change {
            to: to.to_string(),
            ..advice[0].clone()
        }];
        let setup = changed(&with("near.tcp.send_buffer = 8K"), &change).expect("it is legal");
        let twin =
            Twin::of(&setup, 1, Part::WHOLE, Arc::new(Work::any())).expect("the stack is right");
        twin.base().expect("the stack is right").mean_mbps()
    };
    let predicted = found.predicted.expect("an advice").goodput_mbps;
    assert!((predicted / speed(needed) - 1.0).abs() < 1e-9);
    assert!(speed(needed / 2) < 0.95 * predicted);
}

#[test]
fn two_windows_of_one_size_are_named_together() {
    // With the usual initial window, slow start takes more than a tenth of the time that remains, so
    // this window would be named, too.
    let found = explained(
        "near.tcp.send_buffer = 8K\nfar.tcp.receive_buffer = 8K\nnear.tcp.initial_window = 32",
    );
    let mut levers = found.levers.clone();
    levers.sort();
    assert_eq!(levers, ["far.tcp.receive_buffer", "near.tcp.send_buffer"]);
    assert_eq!(found.advice.len(), 2, "{:?}", found.advice);
}

/// With a smaller cap, a part of the advised buffer would be useless. A larger one is not needed.
#[test]
fn an_advised_buffer_is_as_large_as_its_advised_cap() {
    let found = explained(
        "far.tcp.receive_buffer = 8K\nfar.tcp.receive_buffer_limit = 8K\nfar.tcp.initial_receive_window = 2\npath.rate = 1gbit\npath.delay = 20ms",
    );
    let advised = |knob: &str| {
        let change = found.advice.iter().find(|change| change.set == knob);
        let change = change.unwrap_or_else(|| panic!("{knob}: {:?}", found.advice));
        change.to.parse::<u64>().expect("a number of bytes")
    };
    let buffer = advised("far.tcp.receive_buffer");
    let cap = advised("far.tcp.receive_buffer_limit");
    assert_eq!(buffer, cap, "{:?}", found.advice);
    assert!(buffer > 8192, "{:?}", found.advice);
}

/// Each round of slow start waits for its ACKs. Several connections hide that wait; no setting of
/// the hosts hides it.
#[test]
fn a_thin_ack_path_is_the_property_of_the_path_that_helps_most() {
    let found = explained(
        "path.back.ack_thinning.every = 64\npath.back.ack_thinning.wait = 60ms\npath.rate = 1gbit\npath.delay = 2ms\nnear.tcp.congestion = bbr\nnear.tcp.pacing = false\nnear.tcp.initial_window = 100\nnear.tcp.send_buffer = 1M\nfar.tcp.initial_receive_window = 1000\nfar.tcp.receive_buffer = 1M",
    );
    let mut others = found
        .tried
        .iter()
        .filter(|tried| tried.lever != "workload.count");
    let best = others.next().expect("levers were tried");
    let best = others.fold(best, |best, other| {
        if other.gain_share > best.gain_share {
            other
        } else {
            best
        }
    });
    assert_eq!(best.lever, "path.back.ack_thinning");
    assert!(best.gain_share > 2.0, "{}", best.gain_share);
    assert!(["ack_thinning", "connections"].contains(&found.limit.name));
    assert!(Cause::all().any(|cause| cause.name == "ack_thinning"));
}

#[test]
fn nothing_that_helps_is_refuted() {
    for settings in [
        "near.tcp.send_buffer = 8K",
        "far.tcp.receive_buffer = 8K",
        "near.tcp.send_buffer = 256K\nfar.tcp.receive_buffer = 256K\nworkload.bytes = 1M",
    ] {
        let found = explained(settings);
        for lever in &found.refuted {
            let tried = found.tried.iter().find(|tried| tried.lever == *lever);
            let gain = tried.map_or(0.0, |tried| tried.gain_share);
            assert!(
                gain < 0.02 && !found.levers.contains(lever),
                "{lever}: {gain}"
            );
        }
    }
}

#[test]
fn an_advice_has_the_name_of_its_system_and_can_be_set() {
    let mut setup = systems();
    setup.set("near.SO_SNDBUF", "8K").expect("it is legal");
    setup
        .set("far.tcp.receive_buffer", "1M")
        .expect("it is legal");
    let found = explain(&setup, 1).expect("the stack is right");
    assert_eq!(found.limit, Cause::SEND_BUFFER);
    assert_eq!(found.knob.as_deref(), Some("SO_SNDBUF"), "{found:?}");
    assert!(
        changed(&setup, &found.advice).is_some(),
        "{:?}",
        found.advice
    );
}

/// With one delayed ACK for each write, ten seconds carry a few kilobytes; with a larger buffer,
/// ten seconds would carry megabytes.
#[test]
fn a_transfer_without_a_last_byte_is_cut_if_a_change_makes_it_fast() {
    let mut file = with("near.tcp.send_buffer = 1460");
    file.flows[0].stop = Stop::After(Duration::from_secs(10));
    let mut scene = Scene::new(&file, 1, false, Watch::NONE);
    let played = scene.play(&|_share| ControlFlow::Continue(()));
    let played = played
        .expect("the stack is right")
        .expect("nothing interrupts it");
    assert!(part(&file, &played, 1_000_000).most_bytes < u64::MAX);
}
