//! Tests of the caution about a buffer that a cap of the host makes smaller.

use fullpipe_scenario::experiment::{Experiment, HostPlan};

use super::capped;

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
