//! Tests that omitting the beginning changes only the measurement.

use std::ops::ControlFlow;

use fullpipe_tcp::Limit;

use crate::{Experiment, Measured, Played, Scene, Shares, watch::Watch};

/// Runs the first row (scenario) of `experiment` with seed 1.
fn first_row(experiment: &Experiment) -> Played {
    let mut scene = Scene::new(&experiment.rows[0].setup, 1, false, Watch::NONE);
    let played = scene.play(&|_share| ControlFlow::Continue(())).unwrap();
    played.expect("nothing breaks the run")
}

fn played(omit: &str, flows: &str) -> Played {
    let text = format!(
        r#"
title = "t"
hosts.near = {{ cpu.send_packet = "20us" }}
hosts.far = {{}}
links.path = {{ between = ["near", "far"], rate = "10mbit", delay = "50ms" }}
workload = {{ from = "near", to = "far", duration = "4s"{omit}{flows} }}
rows = [{{ label = "row", set.near.tcp.send_buffer = "1M", set.far.tcp.receive_buffer = "1M" }}]
"#
    );
    first_row(&Experiment::parse("t", "t.toml", &text).unwrap())
}

#[test]
fn omitting_slow_start_leaves_a_full_path_and_accounts_of_the_rest() {
    let whole = played("", "");
    let rest = played(r#", omit = "2s""#, "");
    let (all, later) = (&whole.measured, &rest.measured);
    assert!(all.goodput_mbps < 9.2, "{}", all.goodput_mbps);
    assert!(
        (9.54..9.57).contains(&later.goodput_mbps),
        "{}",
        later.goodput_mbps
    );
    let path_mbps = 10.0 * later.segment_bytes as f64 / 1_514.0;
    assert!(later.goodput_mbps <= path_mbps, "{}", later.goodput_mbps);
    // The counted time begins at the last read before 2 s. This read is at most one frame time
    // before 2 s.
    let left_out_s = all.elapsed_s - later.elapsed_s;
    assert!((1.998..=2.0).contains(&left_out_s), "{left_out_s}");
    assert!(later.delivered_bytes < all.delivered_bytes);
    assert_eq!(
        later.data_segments, all.data_segments,
        "counted from the start"
    );
    // In the measured time, the link is idle for only 50 ms: the propagation delay of the last
    // frame.
    let idle = |row: &Measured| (1.0 - row.link_busy_share) * row.elapsed_s;
    assert!(
        idle(all) > 0.2 && (0.049..0.052).contains(&idle(later)),
        "{} {}",
        idle(all),
        idle(later)
    );
    let worked_s = |row: &Measured| row.cpu_busy_share.unwrap() * row.elapsed_s;
    let less = worked_s(later) / worked_s(all);
    assert!((0.3..0.6).contains(&less), "{less}");
    let seconds = |row: &Played| -> f64 {
        let times = row.sender.times();
        times.map(|(_, time)| time.as_secs_f64()).sum()
    };
    assert!((seconds(&whole) - seconds(&rest) - 2.0).abs() < 1e-9);
    assert!(Shares::of(rest.sender.times()).share(Limit::Handshake) == 0.0);
}

#[test]
fn processor_costs_count_only_the_frames_of_the_rest() {
    let text = r#"
title = "t"
hosts.near = {}
hosts.far = {}
links.path = { between = ["near", "far"], rate = "10mbit", delay = "5ms" }
workload = { from = "near", to = "far", duration = "4s", omit = "3s" }
rows = [{ label = "row" }]
"#;
    let experiment = Experiment::parse("t", "t.toml", text).unwrap();
    let played = first_row(&experiment);
    let measured = &played.measured;
    let segments = measured.delivered_bytes / measured.segment_bytes;
    let counted = measured.data_segments as f64 * played.activity.payload_share;
    assert!(segments * 3 < measured.data_segments, "{played:?}");
    assert!((counted - segments as f64).abs() < 5.0, "{played:?}");
}

/// An experiment with two flows to different hosts: one with the fields `one`, one with the fields
/// `other`.
fn two_flows(one: &str, other: &str) -> Result<Experiment, String> {
    let text = format!(
        r#"
title = "t"
hosts.near = {{}}
hosts.far = {{}}
hosts.farther = {{}}
switches = ["middle"]
links.here = {{ between = ["near", "middle"], rate = "100mbit", delay = "1ms" }}
links.there = {{ between = ["middle", "far"], rate = "10mbit", delay = "1ms" }}
links.beyond = {{ between = ["middle", "farther"], rate = "5mbit", delay = "1ms" }}
flows.one = {{ from = "near", to = "far", {one} }}
flows.other = {{ from = "near", to = "farther", {other} }}
rows = [{{ label = "row" }}]
"#
    );
    let checked = Experiment::check("t", "t.toml", &text);
    checked.map_err(|mistakes| format!("{mistakes:?}"))
}

#[test]
fn all_flows_count_from_one_common_moment() {
    let experiment = two_flows(
        r#"duration = "4s", omit = "1s", start = "1s""#,
        r#"duration = "3s""#,
    );
    let measured = first_row(&experiment.unwrap()).measured;
    assert!((2.99..3.1).contains(&measured.elapsed_s), "{measured:?}");
    let [one, other] = &measured.flows[..] else {
        panic!("{measured:?}");
    };
    assert!((9.4..9.7).contains(&one.goodput_mbps), "{measured:?}");
    assert!((4.6..4.9).contains(&other.goodput_mbps), "{measured:?}");
}

#[test]
fn a_flow_that_may_be_over_before_anything_counts_is_refused() {
    let omitting = r#"duration = "4s", omit = "1s", start = "1s""#;
    for other in [
        r#"duration = "2s""#,
        "bytes = 1000000",
        r#"duration = "3s", at_most = "2s""#,
    ] {
        let why = two_flows(omitting, other).unwrap_err();
        assert!(why.contains("other may end before"), "{other}: {why}");
        assert!(why.contains("2 s after"), "{other}: {why}");
        assert!(
            why.contains("give other a `duration` that ends later"),
            "{why}"
        );
    }
    let why = two_flows(
        r#"duration = "4s", omit = "1s", at_most = "1s""#,
        r#"duration = "4s""#,
    );
    assert!(why.unwrap_err().contains("one may end before"));
    assert!(two_flows(omitting, r#"duration = "2001ms""#).is_ok());
}

#[test]
fn each_of_several_connections_is_measured_over_the_rest() {
    let rest = played(r#", omit = "2s""#, ", count = 2").measured;
    let sum: f64 = rest.flows[0].connections_mbps.iter().sum();
    assert!((9.4..9.6).contains(&rest.goodput_mbps), "{rest:?}");
    assert!((sum - rest.goodput_mbps).abs() < 0.5, "{rest:?}");
}
