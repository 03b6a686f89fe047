//! Tests of the cautions about risky values, and about a buffer that a cap of the host makes
//! smaller.

use fullpipe_scenario::experiment::{Experiment, HostPlan};

use super::{capped, of};

/// Returns a Linux host with a receive buffer of 300,000 bytes and this cap.
fn host(cap: u32) -> HostPlan {
    let text = format!(
        r#"
title = "t"
hosts.a = {{ preset = "linux", set.tcp.receive_buffer = 300000, set.tcp.receive_buffer_max = 0, set.tcp.receive_buffer_limit = {cap} }}
hosts.b = {{}}
links.wire = {{ between = ["a", "b"], rate = "1mbit", delay = "1ms" }}
workload = {{ from = "b", to = "a", bytes = "1K" }}
rows = [{{ label = "r" }}]
"#
    );
    let experiment = Experiment::parse("t", "t.toml", &text).unwrap();
    experiment.rows[0].setup.hosts[0].clone()
}

#[test]
fn a_raised_cap_is_called_enough_only_if_it_is() {
    let caution = |after: u32| capped(&host(200_000), &host(after), "tcp.receive_buffer");
    let said = |after| caution(after).expect("the present cap is smaller than the buffer");
    assert!(said(300_000).contains("also raises rmem_max."));
    assert!(said(299_999).contains("raises rmem_max only to "));
    assert!(said(200_000).contains("needs a higher rmem_max"));
    assert_eq!(
        capped(&host(300_000), &host(300_000), "tcp.receive_buffer"),
        None
    );
}

#[test]
fn a_large_first_window_and_an_early_timeout_are_risky() {
    for (knob, wanted, expected) in [
        ("tcp.initial_window", "32", None),
        ("tcp.initial_window", "33", Some("33 segments at once")),
        ("tcp.initial_receive_window", "32", None),
        (
            "tcp.initial_receive_window",
            "1000",
            Some("the peer may send 1,000 segments in its first flight"),
        ),
        ("tcp.rto_min", "200ms", None),
        ("tcp.rto_min", "10ms", Some("spurious timeouts")),
    ] {
        let cautions = of(&host(200_000), knob, wanted);
        match (expected, &cautions[..]) {
            (None, []) => {}
            (Some(words), [caution]) => assert!(caution.contains(words), "{caution}"),
            _ => panic!("{knob} = {wanted}: {cautions:?}"),
        }
    }
}
