//! Tests of the experiments that run with many seeds.
//!
//! Rule: each experiment runs once. All tests use its report: they check the committed table, the
//! page made of several reports, and the required figures. The runs take minutes without
//! optimisation, so `cargo xtask test` runs them optimised, in a separate step. To accept a change:
//! `UPDATE_SNAPSHOTS=1 cargo test --profile tested -p fullpipe-lab --test tables -- --ignored`.

mod widths;

use std::{env, fs, path::Path, sync::LazyLock};

use fullpipe_lab::{
    Experiment, Measured, Report, RowReport, RunOptions, catalogue, goodput_markdown,
    layout::Layout, report_text, run,
};

static LOSS: LazyLock<Report> = LazyLock::new(|| report("loss"));
static MEMORY: LazyLock<Report> = LazyLock::new(|| report("memory"));
static SHALLOW: LazyLock<Report> = LazyLock::new(|| report("shallow"));
static AUTOTUNE: LazyLock<Report> = LazyLock::new(|| report("autotune"));
static FAIRNESS: LazyLock<Report> = LazyLock::new(|| report("fairness"));

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn report(name: &str) -> Report {
    let experiment = catalogue::find(name, root()).unwrap().parse().unwrap();
    let options = RunOptions::plain(1);
    run(&experiment, &options).unwrap()
}

fn compare(file: &str, text: &str) {
    let path = root().join(file);
    if env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "{file} is out of date; this came out:\n{text}"
    );
}

fn row<'a>(report: &'a Report, label: &str) -> &'a RowReport {
    let found = report.rows.iter().find(|row| row.label == label);
    found.unwrap_or_else(|| panic!("no row is called `{label}`"))
}

fn measured<'a>(report: &'a Report, label: &str) -> &'a Measured {
    &row(report, label).measured
}

#[test]
#[ignore = "many seeds: run by `cargo xtask test --only lab`"]
fn reports_of_many_seeds_fit_every_width_and_are_as_committed() {
    for report in [&*AUTOTUNE, &FAIRNESS, &LOSS, &SHALLOW] {
        let file = format!("crates/lab/tests/snapshots/{}.txt", report.experiment);
        widths::assert_fits(report);
        compare(&file, &report_text(report, Layout::plain(80)));
    }
}

#[test]
#[ignore = "many seeds: run by `cargo xtask test --only lab`"]
fn the_page_of_many_seeds_is_as_committed() {
    compare(
        "docs/goodput.md",
        &goodput_markdown(&[&LOSS, &MEMORY, &SHALLOW]),
    );
}

/// Tests that goodput with each kind of impairment is at least as high as required.
#[test]
#[ignore = "many seeds: run by `cargo xtask test --only lab`"]
fn loss_over_many_seeds_costs_no_more_than_these_figures() {
    for (label, least) in [
        ("newreno loss=0%", 91.0),
        ("cubic loss=0%", 91.0),
        ("bbr loss=0%", 91.0),
        ("cubic loss=0.1%", 13.0),
        ("cubic loss=1%", 3.2),
        ("cubic loss=3%", 1.7),
        ("bbr loss=0.1%", 86.0),
        ("bbr loss=1%", 79.0),
        ("bbr loss=3% threshold=off", 67.0),
    ] {
        let goodput = measured(&LOSS, label).goodput_mbps;
        assert!(goodput >= least, "{label}: {goodput} Mbit/s, not {least}");
    }
    for row in &LOSS.rows {
        let Measured {
            max_gap_ms,
            needless_share,
            ..
        } = row.measured;
        assert!(
            max_gap_ms <= 200.0,
            "{}: {max_gap_ms} ms of silence",
            row.label
        );
        assert!(
            needless_share < 0.02,
            "{}: {needless_share} sent needlessly",
            row.label
        );
    }
}

/// Goodput is below the response function, because that function models neither timeouts nor lost
/// retransmissions.
#[test]
#[ignore = "many seeds: run by `cargo xtask test --only lab`"]
fn loss_over_many_seeds_leaves_four_fifths_of_the_response_function() {
    for congestion in ["newreno", "cubic"] {
        for loss in ["0.1", "1", "3"] {
            let label = format!("{congestion} loss={loss}%");
            let &Measured {
                goodput_mbps,
                allowed_mbps,
                ..
            } = measured(&LOSS, &label);
            let allowed = allowed_mbps.expect("the path loses");
            assert!(
                goodput_mbps >= 0.8 * allowed,
                "{label}: {goodput_mbps} of {allowed} Mbit/s"
            );
        }
    }
}

#[test]
#[ignore = "many seeds: run by `cargo xtask test --only lab`"]
fn reordering_over_many_seeds_costs_less_than_a_twentieth() {
    for congestion in ["newreno", "cubic", "bbr"] {
        let goodput = |path: &str| measured(&LOSS, &format!("{congestion} {path}")).goodput_mbps;
        let (clean, reordered) = (goodput("loss=0%"), goodput("reorder=1%"));
        assert!(
            reordered > 0.95 * clean,
            "{congestion}: {reordered} of {clean}"
        );
    }
}

#[test]
#[ignore = "many seeds: run by `cargo xtask test --only lab`"]
fn goodput_never_falls_when_buffers_grow_over_many_seeds() {
    for congestion in ["cubic", "bbr"] {
        let rows = SHALLOW.rows.iter();
        let own: Vec<_> = rows
            .filter(|row| row.label.starts_with(congestion))
            .collect();
        assert_eq!(own.len(), 13, "from 4 KB to 16 MB");
        let mut best: f64 = 0.0;
        for row in own {
            let goodput = row.measured.goodput_mbps;
            assert!(
                goodput >= 0.98 * best,
                "{}: {goodput} after {best}",
                row.label
            );
            best = best.max(goodput);
        }
    }
}

#[test]
#[ignore = "many seeds: run by `cargo xtask test --only lab`"]
fn flows_of_one_algorithm_share_a_queue_evenly_over_many_seeds() {
    for who in ["newreno", "cubic", "bbr"] {
        for many in ["1 and 1", "4 and 4"] {
            let label = format!("{who}, {many}");
            let jain = measured(&FAIRNESS, &label).jain.unwrap();
            assert!(jain >= 0.95, "{label}: {jain}");
        }
    }
}

/// RFC 9438 §4.3: in the Reno-friendly region CUBIC is as fast as Reno. The test requires that
/// neither has more than twice the goodput of the other.
#[test]
#[ignore = "many seeds: run by `cargo xtask test --only lab`"]
fn cubic_and_newreno_share_a_queue_evenly_over_many_seeds() {
    for many in ["1 and 1", "4 and 4"] {
        let all = measured(&FAIRNESS, &format!("cubic against newreno, {many}"));
        let ratio = all.flows[0].goodput_mbps / all.flows[1].goodput_mbps;
        assert!((0.5..2.0).contains(&ratio), "{many}: {ratio}");
        let jain = all.jain.expect("there are several connections");
        assert!(jain >= 0.95, "{many}: {jain}");
    }
}

#[test]
#[ignore = "many connections: run by `cargo xtask test --only lab`"]
fn tuned_buffers_fill_a_gigabit_over_100_ms_within_three_seconds() {
    for label in ["tuned", "tuned, bbr"] {
        let seconds = measured(&AUTOTUNE, label).time_to_90_s.unwrap();
        assert!(seconds <= 3.0, "{label}: {seconds} s");
    }
    assert_eq!(measured(&AUTOTUNE, "fixed 64K").time_to_90_s, None);
}

/// Two hosts with the settings of a stock Linux. The maximum of the receive buffer is the limit, and
/// then that of the send buffer. All settings together help so much that the first search ends
/// before it knows which of them are needed.
#[test]
#[ignore = "long path: run by `cargo xtask test --only lab`"]
fn tuned_buffers_of_a_stock_linux_are_named_on_a_long_fat_path() {
    let file = r#"
title = "A long fat path"
hosts.host.preset = "linux"
hosts.peer.preset = "linux"
links.path = { between = ["host", "peer"], rate = "1gbit", delay = "50ms" }
workload = { from = "host", to = "peer", write = 16384, duration = "8s" }
rows = [{ label = "row" }]
"#;
    let experiment = Experiment::parse("long", "long.toml", file).unwrap();
    let report = run(&experiment, &RunOptions::plain(1)).unwrap();
    let found = report.rows[0].verdict.as_ref().unwrap();
    assert_eq!(found.limit.name, "receive_window", "{:?}", found.parts);
    let paste = &found.parts.change[0].paste;
    assert!(paste.contains("tcp_rmem"), "{paste}");
    let predicted = found.predicted.as_ref().unwrap().goodput_mbps;
    assert!(
        predicted > 1.25 * report.rows[0].measured.goodput_mbps,
        "{predicted}"
    );
}

#[test]
#[ignore = "many connections: run by `cargo xtask test --only lab`"]
fn a_thousand_connections_share_the_memory_without_a_stall() {
    let all = measured(&AUTOTUNE, "tuned, 1000 connections");
    assert_eq!(all.outcome, fullpipe_lab::Outcome::Complete);
    assert!(all.max_gap_ms <= 1_000.0, "{} ms", all.max_gap_ms);
    let each = &all.flows[0].connections_mbps;
    let least = each.iter().copied().fold(f64::MAX, f64::min);
    assert_eq!(each.len(), 1_000);
    // The fair share of each connection is 0.95 Mbit/s.
    assert!(least >= 0.1, "{least} Mbit/s");
}

/// Regression test of two faults. A simulated part of a transfer began in slow start and predicted
/// 1.9 Gbit/s for this experiment. For a row (scenario) with two small buffers, the verdict advised
/// one more connection.
#[test]
#[ignore = "many seeds: run by `cargo xtask test --only lab`"]
fn advice_over_many_seeds_is_faster_and_no_faster_than_a_shallow_link() {
    let verdict = |row: &RowReport| row.verdict.clone().expect("it was explained");
    for row in &SHALLOW.rows {
        if let Some(predicted) = verdict(row).predicted {
            let range = row.measured.goodput_mbps..=200.0;
            assert!(
                range.contains(&predicted.goodput_mbps),
                "{}: {predicted:?}",
                row.label
            );
        }
    }
    for congestion in ["cubic", "bbr"] {
        for size in ["16K", "32K", "64K", "128K"] {
            let label = format!("{congestion} {size}");
            let found = SHALLOW.rows.iter().find(|row| row.label == label);
            let row = found.expect("a row of the experiment");
            let verdict = verdict(row);
            let buffers = ["send_buffer", "receive_window"];
            assert!(
                buffers.contains(&verdict.limit.name),
                "{label}: {:?}",
                verdict.limit
            );
            let predicted = verdict.predicted.expect("larger buffers help");
            let least = row.measured.goodput_mbps * 10.0;
            assert!(predicted.goodput_mbps > least, "{label}: {predicted:?}");
        }
    }
}
