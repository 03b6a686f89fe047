//! Tests of paths whose rate and round-trip time are calculated by hand.

use super::*;
use crate::{
    experiment::Experiment,
    measured::{FlowMeasured, Measured},
};

fn path(link: &str) -> Path {
    Path::of(&setup(link, ""), 1_448)
}

fn setup(link: &str, workload: &str) -> Setup {
    let file = format!(
        r#"
title = "t"
hosts.near = {{}}
hosts.far = {{}}
links.path = {{ between = ["near", "far"], {link} }}
workload = {{ from = "near", to = "far", duration = "1s"{workload} }}
rows = [{{ label = "row" }}]
"#
    );
    let experiment = Experiment::parse("t", "t.toml", &file).unwrap();
    experiment.rows[0].setup.clone()
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

/// A datagram of 1,000 bytes takes 1,042 bytes of Ethernet, IP and UDP. Eight thousand bytes take six
/// fragments: 8,008 bytes with the UDP header, and 34 bytes of headers for each fragment.
#[test]
fn datagrams_have_their_own_headers() {
    let rate_of = |write: u32| {
        let setup = setup(
            r#"rate = "10mbit""#,
            &format!(r#", protocol = "udp", rate = "20mbit", write = {write}"#),
        );
        let path = Path::of(&setup, full_segment(&setup));
        assert!((path.payload_bps / 1e6 - most_mbps(&setup)).abs() < 1e-9);
        path.payload_bps / 1e6
    };
    assert!((rate_of(1_000) - 10.0 * 1_000.0 / 1_042.0).abs() < 1e-9);
    let whole = 8_008.0 + 6.0 * 34.0;
    assert!((rate_of(8_000) - 10.0 * 8_000.0 / whole).abs() < 1e-9);
}

/// Connections that send one after another add up to more than the link carries.
#[test]
fn the_goodput_of_a_flow_is_at_most_what_its_links_carry() {
    let setup = setup(r#"rate = "10mbit""#, ", count = 2");
    let both = |goodput_mbps: f64| Measured {
        flows: vec![FlowMeasured {
            flow: "workload".into(),
            goodput_mbps,
            share: 1.0,
            payload_share: 1.0,
            connections_mbps: vec![goodput_mbps / 2.0; 2],
        }],
        ..Measured::default()
    };
    let most = most_mbps(&setup);
    assert_eq!(both(14.0).first_flow_mbps(&setup), most);
    assert_eq!(both(most / 2.0).first_flow_mbps(&setup), most / 2.0);
}

/// No prediction may promise more than the payload that fits into the frames of the slowest link.
#[test]
fn headers_reduce_the_highest_goodput_of_the_links() {
    let most = most_mbps(&setup(r#"rate = "200mbit""#, ""));
    assert!((most - 200.0 * 1_448.0 / 1_514.0).abs() < 1e-9, "{most}");
    assert!(most_mbps(&setup(r#"delay = "1ms""#, "")).is_infinite());
}
