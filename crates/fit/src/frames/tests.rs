//! A test of a tap on the path.

use std::ops::ControlFlow;

use fullpipe_scenario::{Experiment, Scene, watch::Watch};

use super::*;

const LOSSY: &str = r#"
title = "losses in both directions"
hosts.sender = { acquainted = true }
hosts.receiver = { acquainted = true }
links.path = { between = ["sender", "receiver"], rate = "20mbit", delay = "5ms", loss = "1%" }
workload = { from = "sender", to = "receiver", bytes = 300000 }
rows = [{ label = "case" }]
"#;

/// The times of the frames in a capture.
fn times(captured: &Captured) -> Vec<i64> {
    let bytes = captured.bytes.lock().unwrap();
    let mut rest = &bytes[..];
    let mut all = Vec::new();
    while let Some((kind, body, next)) = block(rest) {
        if kind == 6 {
            let (high, low) = (u32_at(body, 4).unwrap(), u32_at(body, 8).unwrap());
            all.push(i64::from(high) << 32 | i64::from(low));
        }
        rest = next;
    }
    all
}

/// `fullpipe lab run --pcap` writes the frames that are put on the link, whether or not they arrive.
#[test]
fn the_tap_of_the_link_sees_what_a_capture_of_the_link_has() {
    let experiment = Experiment::parse("lossy", "lossy.toml", LOSSY).unwrap();
    let captures = [true, false].map(|of_link| {
        let mut scene = Scene::new(&experiment.rows[0].setup, 3, false, Watch::NONE);
        let captured = Captured::default();
        let out = Box::new(captured.clone());
        match of_link {
            true => scene.capture(out).unwrap(),
            false => scene.capture_hosts(out).unwrap(),
        }
        scene.play(&|_| ControlFlow::Continue(())).unwrap();
        scene.finish_capture().unwrap();
        captured
    });
    let [link, hosts] = &captures;
    let of = |tap: TapPlace| -> Vec<i64> {
        let seen = hosts.seen_at(tap);
        seen.iter().map(|segment| segment.at_ns).collect()
    };
    assert_eq!(of(TapPlace::LINK), times(link));
    assert!(of(TapPlace::SENDER).len() < times(link).len(), "a loss");
}

/// Each frame is recorded at both hosts. The file of one host has the frames of its interface only.
#[test]
fn the_file_of_one_host_has_the_frames_of_its_interface() {
    let experiment = Experiment::parse("lossy", "lossy.toml", LOSSY).unwrap();
    let mut scene = Scene::new(&experiment.rows[0].setup, 3, false, Watch::NONE);
    let captured = Captured::default();
    scene.capture_hosts(Box::new(captured.clone())).unwrap();
    scene.play(&|_| ControlFlow::Continue(())).unwrap();
    scene.finish_capture().unwrap();
    let frames = |bytes: &[u8]| {
        let (mut rest, mut counts) = (bytes, [0; 2]);
        while let Some((kind, body, next)) = block(rest) {
            if kind == 6 {
                counts[u32_at(body, 0).unwrap() as usize] += 1;
            }
            rest = next;
        }
        counts
    };
    let all = frames(&captured.bytes.lock().unwrap());
    assert!(all[0] > 100 && all[1] > 100, "{all:?}");
    assert_eq!(frames(&captured.at_host(0)), [all[0], 0]);
    assert_eq!(frames(&captured.at_host(1)), [0, all[1]]);
}
