//! Tests of the plan: settings that a kernel has or lacks, and reasons for refusing a row.

use fullpipe_scenario::{
    Experiment, Setup,
    experiment::{HostStack, Place},
};

use crate::plan::KernelPlan;

/// Two kernel hosts and a link, with `settings` on top.
fn setup(settings: &[(&str, &str)]) -> Setup {
    let text = r#"
title = "A kernel"
hosts.near = { preset = "linux", stack = "kernel" }
hosts.far = { preset = "linux", stack = "kernel" }
links.path = { between = ["near", "far"], rate = "100mbit", delay = "10ms", queue = "100 packets" }
workload = { from = "near", to = "far", write = 16384, duration = "1s" }
rows = [{ label = "row" }]
"#;
    let experiment = Experiment::parse("kernel", "kernel.toml", text).expect("no mistake");
    let mut setup = experiment.rows[0].setup.clone();
    for (name, value) in settings {
        setup.set(name, value).expect("a setting and a value");
    }
    setup
}

fn plan(settings: &[(&str, &str)]) -> KernelPlan {
    KernelPlan::of(&setup(settings)).expect("kernel hosts run it")
}

fn refusal(settings: &[(&str, &str)]) -> String {
    KernelPlan::of(&setup(settings)).expect_err("kernel hosts cannot run it")
}

#[test]
fn a_buffer_that_is_set_is_no_larger_than_the_rows_own_cap() {
    for (settings, expected) in [
        (&[][..], None),
        (&[("near.SO_SNDBUF", "16K")], Some(16_384)),
        (
            &[("near.SO_SNDBUF", "256K"), ("near.wmem_max", "130K")],
            Some(133_120),
        ),
    ] {
        let near = &plan(settings).settings[0];
        assert_eq!(near.socket.send_buffer, expected, "{settings:?}");
        // Without SO_SNDBUF, the row's bounds of autotuning are applied as `tcp_wmem`.
        let is_tuned = near.sysctls.iter().any(|(name, _)| name == "ipv4/tcp_wmem");
        assert_eq!(is_tuned, expected.is_none(), "{settings:?}");
    }
}

#[test]
fn congestion_control_and_nagle_are_set_whatever_the_machines_defaults_are() {
    let near = &plan(&[]).settings[0];
    assert_eq!(near.socket.congestion, "cubic");
    assert!(!near.socket.no_delay);
    let near = &plan(&[
        ("near.tcp.congestion", "newreno"),
        ("near.TCP_NODELAY", "1"),
    ])
    .settings[0];
    assert_eq!(near.socket.congestion, "reno");
    assert!(near.socket.no_delay);
}

#[test]
fn a_knob_with_a_sysctl_of_its_own_becomes_that_sysctl() {
    for (name, value, sysctl, given) in [
        ("near.tcp.sack", "false", "ipv4/tcp_sack", "0"),
        ("near.tcp.ecn", "on", "ipv4/tcp_ecn", "1"),
        ("near.tcp.rto_min", "40ms", "ipv4/tcp_rto_min_us", "40000"),
        (
            "near.tcp_wmem",
            "4096 16384 262144",
            "ipv4/tcp_wmem",
            "4096 16384 262144",
        ),
    ] {
        let plan = plan(&[(name, value)]);
        let found = plan.settings[0].sysctls.iter();
        let found = found.filter(|(known, _)| known == sysctl);
        let values: Vec<_> = found.map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, [given], "{name}");
        assert_eq!(plan.not_applied, [""; 0], "{name}");
    }
}

/// A namespace begins with `tcp_mtu_probing` = 0, so a row that asks for the preset's value needs the
/// sysctl, too.
#[test]
fn the_probing_for_the_path_mtu_is_set_also_if_the_row_does_not_change_it() {
    for (settings, expected) in [
        (&[][..], "1"),
        (&[("near.tcp.mtu_probing", "off")], "0"),
        (&[("near.tcp_mtu_probing", "2")], "2"),
    ] {
        let plan = plan(settings);
        let found = plan.settings[0].sysctls.iter();
        let mut found = found.filter(|(name, _)| name == "ipv4/tcp_mtu_probing");
        let value = found.next().map(|(_, value)| value.as_str());
        assert_eq!(value, Some(expected), "{settings:?}");
        assert_eq!(plan.not_applied, [""; 0], "{settings:?}");
    }
}

#[test]
fn a_setting_that_the_kernel_lacks_is_named() {
    for (name, value, expected) in [
        ("near.pool.blocks", "4096", "near.pool.blocks = 4096"),
        (
            "near.tcp.send_payload_share",
            "58",
            "near.tcp.send_payload_share = 58",
        ),
        (
            "near.tcp.keepalive_time",
            "60s",
            "near.tcp.keepalive_time = 60s",
        ),
        (
            "near.device.super_segment",
            "64K",
            "near.device.super_segment = 65536",
        ),
        (
            "workload.low_water",
            "50%",
            "workload.low_water: Linux wakes a writer when a third of the send buffer is free",
        ),
    ] {
        assert_eq!(plan(&[(name, value)]).not_applied, [expected]);
    }
}

#[test]
fn a_row_that_no_kernel_can_run_says_why() {
    for (settings, reason) in [
        (
            &[("near.stack", "fullpipe")][..],
            "these hosts have fullpipe's own stack: near",
        ),
        (&[("near.cpu.call", "1us")], "near.cpu"),
        (&[("link.radio.access", "50us")], "path.radio"),
        (
            &[("workload.protocol", "udp"), ("workload.write", "1400")],
            "datagrams",
        ),
        (&[("workload.vanish_after", "1M")], "vanish"),
        (&[("workload.count", "65")], "65 connections"),
    ] {
        let why = refusal(settings);
        assert!(why.contains(reason), "{why}");
    }
    let mut switched = setup(&[]);
    switched.switches.push("switch".to_string());
    switched.links[0].between[1] = Place::Switch(0);
    let why = KernelPlan::of(&switched).expect_err("a switch");
    assert!(why.contains("switch"), "{why}");
}

#[test]
fn every_host_of_the_file_may_be_a_kernel_host() {
    let hosts = setup(&[("near.gso_max_segs", "1")]).hosts;
    assert!(hosts.iter().all(|host| host.stack == HostStack::Kernel));
    assert_eq!(hosts[0].gso_max_segs, Some(1));
    let mut other = setup(&[]);
    for (name, value) in [("near.stack", "linux"), ("near.gso_max_segs", "0")] {
        let error = other.set(name, value).expect_err("no value").to_string();
        assert!(error.contains("near."), "{error}");
    }
}
