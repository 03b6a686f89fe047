//! Tests of paths whose rate and round-trip time are calculated by hand.

use super::*;
use crate::experiment::Experiment;

fn path(link: &str) -> Path {
    let file = format!(
        r#"
title = "t"
hosts.near = {{}}
hosts.far = {{}}
links.path = {{ between = ["near", "far"], {link} }}
workload = {{ from = "near", to = "far", duration = "1s" }}
rows = [{{ label = "row" }}]
"#
    );
    Path::of(
        &Experiment::parse("t", "t.toml", &file).unwrap().rows[0].setup,
        1_448,
    )
}

#[test]
fn headers_reduce_the_payload_rate_of_a_wire() {
    let path = path(r#"rate = "100mbit", delay = "10ms", loss = "1%""#);
    // 1,514 bytes at 100 Mbit/s are 121.1 us.
    assert!((path.frame_s * 1e6 - 121.12).abs() < 0.01, "{path:?}");
    assert!((path.rtt_s * 1e3 - 20.121).abs() < 0.001, "{path:?}");
    assert!((path.payload_bps / 1e6 - 95.64).abs() < 0.01, "{path:?}");
    assert!((path.loss - 0.01).abs() < 1e-9, "{path:?}");
}

#[test]
fn a_shaper_and_a_radio_take_longer_than_the_bits_do() {
    let shaped = path(
        r#"rate = "100mbit", token_bucket.rate = "500kbit", token_bucket.burst = 15000, token_bucket.latency = "50ms""#,
    );
    assert!((shaped.payload_bps / 1e3 - 478.2).abs() < 0.1, "{shaped:?}");
    // The bits of a segment take 1,101 µs, the bits of an ACK 48 µs. Two segments and their ACK
    // need three accesses of 675 µs, two contended backoffs of 100 µs and one backoff of 150 µs.
    // Half of the accesses, of the backoffs and of the ACK belongs to each segment.
    let radio = path(r#"rate = "11mbit", radio.access = "675us", radio.backoff = "300us""#);
    assert!((radio.frame_s * 1e6 - 2_312.6).abs() < 1.0, "{radio:?}");
}

#[test]
fn a_path_without_a_rate_carries_anything() {
    let path = path(r#"delay = "1ms""#);
    assert!(path.payload_bps.is_infinite() && path.frame_s == 0.0);
}
