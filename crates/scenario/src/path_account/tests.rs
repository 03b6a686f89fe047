//! Tests of the path's account (frames and losses by place) with runs whose losses occur at one
//! known place.

use std::ops::ControlFlow;

use fullpipe_sim::link::{Direction, FrameLoss};

use super::{HostLoss, LossPlace, PathAccount};
use crate::{Experiment, Played, Scene, experiment::Setup, units::grouped, watch::Watch};

/// Returns a transfer of 4 MiB over a link with the fields `link`. `hosts` declares the hosts.
fn setup(hosts: &str, link: &str) -> Setup {
    let text = format!(
        r#"
title = "t"
{hosts}
links.path = {{ between = ["near", "far"], rate = "20mbit", delay = "10ms", {link} }}
workload = {{ from = "near", to = "far", bytes = 4194304, at_most = "60s" }}
rows = [{{ label = "row", set.near.tcp.send_buffer = "256K", set.far.tcp.receive_buffer = "256K" }}]
"#
    );
    let experiment = Experiment::parse("t", "t.toml", &text).unwrap();
    experiment.rows[0].setup.clone()
}

fn played(hosts: &str, link: &str) -> Played {
    let setup = setup(hosts, link);
    let mut scene = Scene::new(&setup, 1, false, Watch::NONE);
    let played = scene.play(&|_share| ControlFlow::Continue(())).unwrap();
    played.expect("nothing breaks the run")
}

const HOSTS: &str = "hosts.near = {}\nhosts.far = {}";

/// Returns the most frequent reason for losses in the forward direction of the only link.
fn main_loss(path: &PathAccount) -> Option<FrameLoss> {
    path.losses().into_iter().find_map(|loss| match loss.place {
        LossPlace::Link {
            direction: Direction::Forward,
            reason,
            ..
        } => Some(reason),
        LossPlace::Link { .. } | LossPlace::Host { .. } => None,
    })
}

#[test]
fn each_impairment_has_its_own_line_in_the_account_and_no_other() {
    for (fields, expected) in [
        (r#"forward.loss = "1%""#, Some(FrameLoss::Random)),
        (
            r#"forward.burst_loss = { enter = "0.5%", leave = "30%", loss_bad = "100%" }"#,
            Some(FrameLoss::Burst),
        ),
        (r#"queue = "20 packets""#, Some(FrameLoss::Queue)),
        (
            r#"forward.token_bucket = { rate = "5mbit", burst = 20000, latency = "1ms" }"#,
            Some(FrameLoss::TokenBucket),
        ),
        (
            r#"ecn_threshold = "20 packets""#,
            Some(FrameLoss::EcnThreshold),
        ),
        (
            r#"forward.codel = { target = "1ms", interval = "20ms" }"#,
            Some(FrameLoss::Codel),
        ),
        (
            r#"forward.hop = { mtu = 1400 }"#,
            Some(FrameLoss::PacketTooBig),
        ),
        (
            r#"forward.hop = { mtu = 1400, silent = true }"#,
            Some(FrameLoss::BlackHole),
        ),
        (
            r#"forward.outage = { after = "200ms", length = "300ms" }"#,
            Some(FrameLoss::Outage),
        ),
        (r#"jitter = "2ms""#, None),
    ] {
        let path = played(HOSTS, fields).path;
        let forward = &path.links[0].forward.counters;
        assert_eq!(main_loss(&path), expected, "{fields}");
        assert_eq!(
            expected.map_or(0, |reason| forward.lost.frames(reason)),
            forward.lost.all(),
            "{fields}"
        );
        let inside = forward.offered - forward.delivered - forward.lost.all();
        assert!(inside <= 2, "{fields}: {inside} in flight at the end");
    }
}

#[test]
fn thinned_acks_are_counted_where_they_were_dropped_and_no_payload_is_lost() {
    let thinning = r#"back.ack_thinning = { every = 8, wait = "5ms" }"#;
    let played = played(HOSTS, thinning);
    let [forward, back] = [Direction::Forward, Direction::Back]
        .map(|direction| &played.path.links[0].direction(direction).counters.lost);
    let thinned = back.frames(FrameLoss::AckThinning);
    assert!(thinned > 500, "{thinned}");
    assert_eq!((back.all(), forward.all()), (thinned, 0));
    assert_eq!(played.measured.retransmitted_segments, 0);
    assert_eq!(
        played.path.losses()[0].words(&setup(HOSTS, thinning)),
        format!(
            "{} frames were lost by ACK thinning on link `path` from `far` to `near`",
            grouped(thinned)
        )
    );
}

#[test]
fn a_full_receive_ring_and_corruption_are_losses_of_the_host() {
    let slow = r#"hosts.near = {}
hosts.far = { cpu.receive_packet = "2ms", device.rx_descriptors = 8 }"#;
    let played_in_ring = played(slow, "");
    let path = &played_in_ring.path;
    let in_ring = path.hosts[1].lost(HostLoss::ReceiveRing);
    assert!(in_ring > 0 && path.hosts[0].lost(HostLoss::ReceiveRing) == 0);
    assert_eq!(in_ring, played_in_ring.measured.rx_ring_drops);
    assert_eq!(
        path.losses()[0].words(&setup(slow, "")),
        format!("{in_ring} frames were lost in the receive ring of `far`")
    );

    let path = played(HOSTS, r#"corruption = "2%""#).path;
    for (host, direction) in [(1, Direction::Forward), (0, Direction::Back)] {
        let corrupted = path.links[0].direction(direction).counters.corrupted;
        assert_eq!(path.hosts[host].lost(HostLoss::Corruption), corrupted);
    }
    assert!(path.links[0].forward.counters.corrupted > 5);
}

#[test]
fn the_busy_share_and_the_queue_delay_belong_to_a_direction() {
    let played = played(HOSTS, r#"queue = "1000 packets""#);
    let link = &played.path.links[0];
    assert_eq!(link.busy_share(), played.measured.link_busy_share);
    assert!(link.forward.busy_share() > 0.9 && link.back.busy_share() < 0.1);
    // The bandwidth-delay product is 50 KB. The rest of the window of 256 KB waits in the queue,
    // for 80 ms at 20 Mbit/s.
    let wait_ms = link.forward.counters.longest_wait.as_millis();
    assert!((60..90).contains(&wait_ms), "{wait_ms}");
    assert!(link.back.counters.longest_wait.as_micros() < 1_000);
    let route = [(0, Direction::Forward)];
    let (_, acks) = played.path.against(&route).next().unwrap();
    assert_eq!(acks.counters, link.back.counters);
}

#[test]
fn counts_of_several_seeds_are_added_and_the_largest_values_remain() {
    let one = played(HOSTS, r#"loss = "1%""#);
    let both = Played::of_seeds(vec![one.clone(), one.clone()]);
    let [one, both] = [&one.path, &both.path].map(|path| &path.links[0].forward);
    assert_eq!(both.counters.offered, 2 * one.counters.offered);
    assert_eq!(both.counters.lost.all(), 2 * one.counters.lost.all());
    assert_eq!(both.counters.longest_wait, one.counters.longest_wait);
    assert_eq!(both.busy_share(), one.busy_share());
}

#[test]
fn the_account_in_json_has_counts_by_reason_and_milliseconds() {
    let path = played(HOSTS, r#"forward.loss = "1%""#).path;
    let json = serde_json::to_value(&path).unwrap();
    let forward = &json["links"][0]["forward"];
    let lost = path.links[0].forward.counters.lost;
    assert_eq!(
        forward["lost"]["random"]["frames"],
        lost.frames(FrameLoss::Random)
    );
    assert_eq!(
        forward["lost"]["random"]["bytes"],
        lost.bytes(FrameLoss::Random)
    );
    assert!(forward["lost"].get("queue").is_none());
    assert!(forward["mean_queue_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(json["hosts"][0]["lost"], serde_json::json!({}));
}

#[test]
fn the_page_of_the_json_lists_every_reason() {
    let page = include_str!("../../../../docs/json.md");
    let of_links = FrameLoss::ALL.iter().map(|reason| reason.name());
    let of_hosts = HostLoss::ALL.iter().map(|reason| reason.name());
    for name in of_links.chain(of_hosts) {
        assert!(
            page.contains(&format!("`{name}`")),
            "`{name}` is not in docs/json.md"
        );
    }
}

#[test]
fn datagrams_lost_in_a_full_receive_queue_are_in_the_account_of_their_host() {
    let text = r#"
title = "t"
hosts.near = {}
hosts.far = { preset = "unet3", cpu.call = "200us", cpu.receive_packet = "50us" }
links.path = { between = ["near", "far"], rate = "100mbit", delay = "1ms", loss = "2%" }
workload = { from = "near", to = "far", protocol = "udp", write = 1000, rate = "8mbit", tick = "10ms", duration = "1s" }
rows = [{ label = "row" }]
"#;
    let experiment = Experiment::parse("t", "t.toml", text).unwrap();
    let mut scene = Scene::new(&experiment.rows[0].setup, 1, false, Watch::NONE);
    let played = scene.play(&|_share| ControlFlow::Continue(())).unwrap();
    let played = played.expect("nothing breaks the run");
    let in_queue = played.path.hosts[1].lost(HostLoss::ReceiveQueue);
    assert_eq!(Some(in_queue as f64), played.measured.udp_rcvbuf_errors);
    let on_link = played.path.links[0]
        .forward
        .counters
        .lost
        .frames(FrameLoss::Random);
    let sent = played.measured.datagrams_sent.unwrap();
    let lost = played.measured.lost_share.unwrap() * sent;
    assert!(in_queue > 100 && on_link > 5, "{in_queue} {on_link}");
    assert_eq!(lost.round() as u64, in_queue + on_link);
}
