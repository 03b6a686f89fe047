//! Predictions beside simulated results.

use fullpipe_pool::Duration;
use fullpipe_scenario::experiment::{Experiment, Row};

use super::*;
use crate::{
    run::{RunOptions, run},
    verdict::{Predicted, bounds, predict},
};

/// Seeds of each row.
const SEEDS: u32 = 20;

/// Rate in Mbit/s, round-trip time in microseconds, and receive buffer.
const PATHS: &[(u32, u32, u32)] = &[
    (25, 6_100, 30_000),
    (25, 6_100, 60_000),
    (100, 20_000, 131_072),
    (20, 60_000, 1_048_576),
];

fn experiment(congestion: &str, sack: bool) -> Experiment {
    let mut file = format!(
        r#"
title = "t"
hosts.near = {{ set.pool.blocks = 16384, set.tcp = {{ congestion = "{congestion}", send_buffer = "4M" }} }}
hosts.far = {{ set.pool.blocks = 16384, set.tcp.sack = {sack} }}
links.path = {{ between = ["near", "far"], rate = "100mbit" }}
workload = {{ from = "near", to = "far", bytes = 4000000, write = 16384, give_up = "3000s" }}
"#
    );
    for (rate, rtt_us, window) in PATHS {
        for loss in ["0.1%", "0.3%", "1%", "3%"] {
            file += &format!(
                r#"
[[rows]]
label = "{rate} Mbit/s, {rtt_us} us, {window} bytes, {loss} lost"
seeds = {SEEDS}
set.path = {{ rate = "{rate}mbit", delay = "{}us", forward.loss = "{loss}" }}
set.far.tcp.receive_buffer = {window}
"#,
                rtt_us / 2
            );
        }
    }
    Experiment::parse("t", "t.toml", &file).unwrap()
}

/// Predicted result of a row.
fn predicted(row: &Row) -> Predicted {
    let path = Path::of(&row.setup, 1_448);
    let scale = Scale {
        segment: 1_448.0,
        rtt_s: path.rtt_s,
        cycle_s: path.rtt_s + path.frame_s,
    };
    let bound = bounds::tightest(&bounds::all(&row.setup, &scale)).unwrap();
    predict::under(&row.setup, &scale, bound)
}

/// The relative error of each row, with its label, the smallest first. The second value is
/// the median of the predicted spreads, each divided by the simulated one.
fn missed(congestion: &str, sack: bool) -> (Vec<(f64, String)>, f64) {
    let experiment = experiment(congestion, sack);
    let report = run(&experiment, &RunOptions::plain(1)).unwrap();
    let rows = experiment.rows.iter().zip(&report.rows);
    let mut missed: Vec<_> = rows
        .map(|(row, came)| {
            let (told, came) = (predicted(row).elapsed_s, came.measured.elapsed_s);
            let label = format!("{}: {told:.2} s predicted, {came:.2} s", row.label);
            ((told / came - 1.0).abs(), label)
        })
        .collect();
    missed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let rows = experiment.rows.iter().zip(&report.rows);
    let mut widths: Vec<_> = rows
        .map(|(row, came)| {
            let [fast, slow] = predicted(row).quartiles.unwrap().elapsed_s;
            let spread = came.measured.spread("elapsed_s").unwrap();
            (slow - fast) / (spread.q3 - spread.q1)
        })
        .collect();
    widths.sort_by(f64::total_cmp);
    (missed, widths[widths.len() / 2])
}

fn assert_near(congestion: &str, sack: bool, middle: f64, worst: f64) {
    let (missed, width) = missed(congestion, sack);
    let [median, last] = [&missed[missed.len() / 2], &missed[missed.len() - 1]];
    println!(
        "{congestion}: {:.1} % at the median, {last:?} at most; spread {width:.2} times as wide",
        median.0 * 100.0
    );
    assert!(median.0 <= middle && last.0 <= worst, "{missed:#?}");
    assert!((0.5..=2.0).contains(&width), "{width}");
}

#[test]
fn cubic_is_predicted_at_four_losses_on_four_paths() {
    assert_near("cubic", true, 0.05, 0.3);
}

#[test]
fn newreno_is_predicted_without_sack_too() {
    assert_near("newreno", true, 0.06, 0.2);
    assert_near("newreno", false, 0.1, 0.25);
}

#[test]
fn bbr_loses_what_a_window_that_is_full_waits_for() {
    assert_near("bbr", true, 0.05, 0.2);
}

#[test]
fn the_same_is_predicted_every_time_and_a_duration_is_as_long_as_it_was_given() {
    let row = experiment("cubic", true).rows.remove(3);
    assert_eq!(predicted(&row), predicted(&row));
    let path = Path::of(&row.setup, 1_448);
    let scale = Scale {
        segment: 1_448.0,
        rtt_s: path.rtt_s,
        cycle_s: path.rtt_s + path.frame_s,
    };
    let lossy = Lossy::of(&row.setup, &scale, &bounds::all(&row.setup, &scale)).unwrap();
    let (course, _) = lossy.course(Stop::After(Duration::from_secs(20)));
    assert!((20.0..21.0).contains(&course.elapsed_s), "{course:?}");
    let rate = course.sent / course.elapsed_s;
    let (whole, _) = lossy.course(Stop::Bytes(4_000_000));
    assert!((rate / (whole.sent / whole.elapsed_s) - 1.0).abs() < 0.1);
}
