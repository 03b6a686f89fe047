//! Tests of rows (scenarios) over IPv4 and IPv6, which differ by 20 bytes of header in each packet.

use std::ops::ControlFlow;

use crate::{Experiment, Scene, measured::Measured, path, watch::Watch};

fn experiment(family: u8, hosts: &str, link: &str, workload: &str) -> Result<Experiment, String> {
    let text = format!(
        r#"
title = "t"
hosts.near = {{ {hosts} }}
hosts.far = {{ {hosts} }}
links.path = {{ between = ["near", "far"], {link} }}
workload = {{ from = "near", to = "far", family = {family}, {workload} }}
rows = [{{ label = "row" }}]
"#
    );
    Experiment::parse("t", "t.toml", &text).map_err(|mistakes| mistakes.to_string())
}

fn measured(family: u8, hosts: &str, link: &str, workload: &str) -> Measured {
    let experiment = experiment(family, hosts, link, workload).unwrap();
    let mut scene = Scene::new(&experiment.rows[0].setup, 1, false, Watch::NONE);
    let played = scene.play(&|_share| ControlFlow::Continue(())).unwrap();
    played.expect("nothing breaks the run").measured
}

/// A full wire carries 1,448 bytes of payload in each frame of 1,514 bytes over IPv4, and 1,428
/// over IPv6.
#[test]
fn a_full_wire_carries_less_payload_over_ipv6_by_its_longer_header() {
    let goodput = |family| {
        let link = r#"rate = "10mbit", delay = "5ms""#;
        measured(family, "", link, r#"duration = "5s", omit = "1s""#).goodput_mbps
    };
    let ratio = goodput(6) / goodput(4);
    assert!((ratio - 1_428.0 / 1_448.0).abs() < 0.001, "{ratio}");
    let setup = |family| {
        let text = r#"duration = "1s""#;
        experiment(family, "", r#"rate = "10mbit""#, text)
            .unwrap()
            .rows[0]
            .setup
            .clone()
    };
    assert_eq!(
        [4, 6].map(|family| path::full_segment(&setup(family))),
        [1_448, 1_428]
    );
}

#[test]
fn every_impairment_meets_ipv6() {
    let workload = "bytes = 500000";
    for (link, sign) in [
        ("loss = \"1%\"", "loss"),
        ("duplication = \"5%\"", "duplication"),
        ("corruption = \"1%\"", "corruption"),
        (
            "reordering = { chance = \"2%\", late = \"5ms\" }",
            "reordering",
        ),
        ("ack_thinning = { every = 8, wait = \"2ms\" }", "thinning"),
        ("hop = { mtu = 1300, silent = false }", "hop"),
        ("hop = { mtu = 1300, silent = true }", "black hole"),
    ] {
        let link = format!(r#"rate = "20mbit", delay = "5ms", {link}"#);
        let measured = measured(6, "", &link, workload);
        assert_eq!(measured.delivered_bytes, 500_000, "{sign}");
    }
}

/// Beyond the threshold a packet is marked if its sender uses ECN, and otherwise dropped.
#[test]
fn a_queue_marks_packets_of_ipv6() {
    let link = r#"rate = "10mbit", delay = "5ms", ecn_threshold = "10 packets""#;
    let retransmitted = |ecn: &str| {
        let hosts = format!("set = {{ \"tcp.ecn\" = \"{ecn}\" }}");
        measured(6, &hosts, link, "bytes = 2000000").retransmitted_segments
    };
    assert_eq!(retransmitted("on"), 0);
    assert!(retransmitted("off") > 0);
}

#[test]
fn datagrams_of_hosts_that_know_each_other_arrive_over_ipv6() {
    let workload = r#"protocol = "udp", write = 4000, rate = "640kbit", duration = "1s""#;
    let measured = measured(6, "acquainted = true", r#"delay = "5ms""#, workload);
    assert_eq!(measured.lost_share, Some(0.0));
    assert!(measured.datagrams_sent >= Some(19.0));
}

#[test]
fn what_ipv6_needs_is_named() {
    let workload = "bytes = 1000";
    for (hosts, link, why) in [
        (
            "",
            "mtu = 1279",
            "needs an MTU of at least 1280 bytes (RFC 8200 §5), and path has 1279",
        ),
        (
            "",
            "hop = { mtu = 1000, silent = false }",
            "and path has 1000",
        ),
        (
            "set = { \"ip.addresses\" = 1 }",
            "mtu = 1500",
            "near.ip.addresses must be at least 2",
        ),
    ] {
        let refused = experiment(6, hosts, link, workload).unwrap_err();
        assert!(refused.contains(why), "{refused}");
        assert!(experiment(4, hosts, link, workload).is_ok());
    }
    let unknown = experiment(5, "", "mtu = 1500", workload).unwrap_err();
    assert!(unknown.contains("is not 4 or 6"), "{unknown}");
}
