//! Tests of the counts and sentences for an experiment with four published figures.

use fullpipe_scenario::Experiment;

use super::*;
use crate::{RunOptions, layout::Layout, report_text, run};

const FILE: &str = r#"
title = "Four published figures"
source = "a document"
stated = ["path.delay", "workload"]

[hosts.near]
set.tcp.send_buffer = "16K"
[hosts.far]

[links.path]
between = ["near", "far"]
rate = "100mbit"
delay = "10ms"

[workload]
from = "near"
to = "far"
write = 16384
bytes = 500_000

[[fitted]]
setting = "path.rate"
tried = "steps of 10mbit"
rows = ["first"]
quantities = ["elapsed_s"]

[[chosen]]
settings = ["near.tcp.send_buffer"]
reason = "it is usual"

[[implied]]
rows = ["second"]
quantities = ["goodput_mbps"]
reason = "it follows from the time"

[[rows]]
label = "first"
published = { elapsed_s = 1, outcome = "complete" }

[[rows]]
label = "second"
set.path.delay = "20ms"
published = { elapsed_s = 1, goodput_mbps = 4 }
"#;

fn report() -> crate::Report {
    let experiment = Experiment::parse("four", "four.toml", FILE).unwrap();
    run(&experiment, &RunOptions::quick(1)).unwrap()
}

#[test]
fn a_figure_is_a_prediction_unless_it_is_fitted_or_implied() {
    let report = report();
    let reference = report.reference.as_ref().unwrap();
    let counts = [
        reference.published,
        reference.fitted,
        reference.implied,
        reference.predicted,
    ];
    assert_eq!(counts, [4, 1, 1, 2]);
    assert_eq!(
        (
            reference.outcomes_as_published,
            reference.outcomes_not_as_published
        ),
        (1, 0)
    );
    // The time of the second row (scenario) is the only predicted number.
    let deviation = report.rows[1].measured.elapsed_s - 1.0;
    assert_eq!(reference.median_deviation, Some(deviation.abs()));
    let worst = reference.worst.as_ref().unwrap();
    assert_eq!(
        (worst.named(), worst.deviation),
        ("seconds of `second`".to_string(), Some(deviation))
    );
}

#[test]
fn the_text_counts_figures_and_names_parameters_with_their_values() {
    let text = report_text(&report(), Layout::plain(500));
    for line in [
        "4 published results: 1 fitted with 1 parameter, 1 implied, 2 predicted. ",
        " 1 of 1 predicted outcome is as published. 1 setting was chosen by judgement.\n",
        "fitted: path.rate = 100mbit (tried: steps of 10mbit). The fit uses seconds of `first`.\n",
        "chosen: near.tcp.send_buffer = 16K. it is usual.\n",
        "implied: Mbit/s of `second`. it follows from the time.\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn an_experiment_that_set_changes_has_no_reference() {
    let mut report = report();
    report.set_overrides(vec!["path.rate=1mbit".to_string()]);
    assert_eq!(report.reference, None);
    let text = report_text(&report, Layout::plain(100));
    assert!(!text.contains("fitted: "), "{text}");
}

#[test]
fn the_median_of_an_even_number_is_the_middle_of_two() {
    for (sizes, expected) in [
        (vec![], None),
        (vec![0.5], Some(0.5)),
        (vec![0.5, 0.25], Some(0.375)),
        (vec![0.5, 0.0, 0.25], Some(0.25)),
    ] {
        assert_eq!(median(sizes), expected);
    }
}
