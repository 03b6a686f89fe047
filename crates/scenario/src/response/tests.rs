//! Tests of the response functions at points that are calculated by hand.

use super::*;
use crate::experiment::Experiment;

fn allowed(congestion: &str, loss: &str) -> Option<f64> {
    let file = format!(
        r#"
title = "t"
hosts.near.set.tcp.congestion = "{congestion}"
hosts.far = {{}}
links.path = {{ between = ["near", "far"], rate = "100mbit", delay = "20ms", forward.loss = "{loss}" }}
workload = {{ from = "near", to = "far", duration = "1s" }}
rows = [{{ label = "row" }}]
"#
    );
    let experiment = Experiment::parse("t", "t.toml", &file).unwrap();
    allowed_mbps(&experiment.rows[0].setup, 1_448)
}

fn assert_near(given: Option<f64>, expected: f64) {
    let given = given.unwrap();
    assert!(
        (given / expected - 1.0).abs() < 0.01,
        "{given}, expected {expected}"
    );
}

#[test]
fn newreno_has_the_square_root_of_the_loss() {
    // sqrt(1.5 / 0.01) = 12.25 segments of 1,448 bytes in 40.1 ms.
    assert_near(allowed("newreno", "1%"), 3.54);
    assert_near(allowed("newreno", "0.04%"), 17.7);
}

#[test]
fn cubic_is_never_below_its_reno_friendly_region() {
    // With alpha 0.529 and beta 0.7, the window is the same: sqrt(0.529 * 1.7 / (0.6 * 0.01)) =
    // 12.25 segments.
    assert_near(allowed("cubic", "1%"), 3.54);
    // 1.0538 * (0.0401 / 0.00001)^0.75 = 530 segments; the window of Reno would be 387 segments.
    assert_near(allowed("cubic", "0.001%"), 95.6);
    // 1.0538 * (0.0401 / 0.0001)^0.75 = 94.4 segments; the Reno-friendly window is larger: 122.5.
    assert_near(allowed("cubic", "0.01%"), 35.4);
}

#[test]
fn without_loss_the_path_is_what_is_allowed_and_bbr_has_no_function() {
    assert_near(allowed("newreno", "0"), 95.6);
    assert_eq!(allowed("bbr", "1%"), None);
}
