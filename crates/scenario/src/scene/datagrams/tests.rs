//! Tests of datagrams on long paths.

use std::ops::ControlFlow;

use crate::{Experiment, Scene, measured::Measured, watch::Watch};

/// Sends 80 datagrams of 1,000 bytes in one second over a link with the fields `link`.
fn measured(stop: &str, link: &str) -> Measured {
    let text = format!(
        r#"
title = "t"
hosts.near = {{ acquainted = true }}
hosts.far = {{ acquainted = true }}
links.path = {{ between = ["near", "far"], {link} }}
workload = {{ from = "near", to = "far", protocol = "udp", write = 1000, rate = "640kbit", {stop} }}
rows = [{{ label = "row" }}]
"#
    );
    let experiment = Experiment::parse("t", "t.toml", &text).unwrap();
    let mut scene = Scene::new(&experiment.rows[0].setup, 1, false, Watch::NONE);
    let played = scene.play(&|_share| ControlFlow::Continue(())).unwrap();
    played.expect("nothing breaks the run").measured
}

#[test]
fn a_datagram_is_not_lost_because_its_path_is_long_or_its_queue_is() {
    for link in [
        r#"delay = "800ms""#,
        r#"delay = "400ms", jitter = "900ms""#,
        r#"rate = "64kbit""#,
        r#"delay = "10ms", token_bucket = { rate = "100kbit", burst = 2000, latency = "10s" }"#,
    ] {
        for stop in [r#"duration = "1s""#, "bytes = 80000"] {
            let measured = measured(stop, link);
            assert_eq!(measured.lost_share, Some(0.0), "{stop}, {link}");
            assert!(measured.datagrams_sent >= Some(80.0), "{stop}, {link}");
        }
    }
    let cut = measured(r#"duration = "1s""#, r#"delay = "800ms", loss = "50%""#);
    assert!(cut.lost_share > Some(0.3));
}
