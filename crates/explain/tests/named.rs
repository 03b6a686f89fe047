//! Tests of what explanations name, against runs of the whole transfer.
//!
//! Rule: each transfer has one known limit, or is run here without the search: whole, with the
//! changes that the explanation states.

use std::ops::ControlFlow;

use fullpipe_explain::{Cause, Change, Explanation, changed, explain};
use fullpipe_scenario::{Experiment, Outcome, Scene, Setup, experiment::RELIEFS, watch::Watch};

fn of_file(text: &str) -> Setup {
    let experiment = Experiment::parse("t", "t.toml", text).expect("no mistake");
    experiment.rows[0].setup.clone()
}

fn explained(setup: &Setup) -> Explanation {
    explain(setup, 1).expect("the stack is right")
}

/// Goodput of the first flow in a whole run, and true if the transfer completes.
fn whole(setup: &Setup, changes: &[Change], seed: u64) -> (f64, bool) {
    let setup = changed(setup, changes).expect("it is legal");
    let mut scene = Scene::new(&setup, seed, false, Watch::NONE);
    let played = scene.play(&|_share| ControlFlow::Continue(()));
    let measured = played
        .expect("the stack is right")
        .expect("nothing interrupts it");
    let measured = measured.measured;
    let is_complete = measured.outcome == Outcome::Complete;
    (measured.first_flow_mbps(&setup), is_complete)
}

/// Two senders on a trunk to `sink`; with `apart`, the second one sends to a host that is not behind
/// the trunk. `settings` change the row.
fn two_flows(apart: bool, settings: &[(&str, &str)]) -> Setup {
    let (to, other) = match apart {
        true => (
            "other",
            "hosts.other = {}\nlinks.near-other = { between = [\"near\", \"other\"] }",
        ),
        false => ("sink", ""),
    };
    let mut setup = of_file(&format!(
        r#"
title = "t"
switches = ["near", "far"]
hosts.one = {{ set.tcp.send_buffer = "256K" }}
hosts.two = {{ set.tcp.send_buffer = "256K" }}
hosts.sink = {{ set.tcp.receive_buffer = "256K" }}
links.one-near = {{ between = ["one", "near"] }}
links.two-near = {{ between = ["two", "near"], rate = "50mbit" }}
links.trunk = {{ between = ["near", "far"], rate = "20mbit", delay = "20ms", queue = "100K bytes" }}
links.far-sink = {{ between = ["far", "sink"] }}
{other}
workload = {{ duration = "5s" }}
flows.first = {{ from = "one", to = "sink" }}
flows.second = {{ from = "two", to = "{to}" }}
rows = [{{ label = "row" }}]
"#
    ));
    for (path, value) in settings {
        setup
            .set(path, value)
            .unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    setup
}

/// The number in `said` that follows `words`.
fn number_after(said: &str, words: &str) -> f64 {
    let (_, after) = said.split_once(words).expect("the words");
    let number = after.split(' ').next();
    number.and_then(|text| text.parse().ok()).expect("a number")
}

#[test]
fn other_flows_are_named_with_a_run_without_them() {
    let setup = two_flows(false, &[]);
    let found = explained(&setup);
    let said = found.parts.line();
    assert_eq!(found.limit, Cause::SHARED_LINK, "{said}");
    let mut alone = setup.clone();
    alone.flows.truncate(1);
    let gain = whole(&alone, &[], 1).0 / whole(&setup, &[], 1).0 - 1.0;
    assert!(gain > 0.05, "{gain}");
    let told = "Without flow `second`, the simulated goodput of flow `first` rises by ";
    let percent = number_after(&said, told);
    assert!(
        (percent - gain * 100.0).abs() < percent * 0.01 + 0.1,
        "{percent} {gain}"
    );
    assert_eq!(found.runs, 1, "{said}");
}

#[test]
fn other_flows_are_not_named_if_they_are_not_the_limit() {
    for (name, apart, settings) in [
        ("they use other links", true, &[][..]),
        (
            "the first flow has its own rate",
            false,
            &[("one.tcp.pacing_rate_max", "60000")],
        ),
        (
            "the first flow never connects",
            false,
            &[
                ("one-near.outage.after", "0s"),
                ("one-near.outage.length", "1000s"),
            ],
        ),
        (
            "the first flow has a small buffer",
            false,
            &[("one.tcp.send_buffer", "4K")],
        ),
    ] {
        let found = explained(&two_flows(apart, settings));
        let said = found.parts.line();
        assert_ne!(found.limit, Cause::SHARED_LINK, "{name}: {said}");
    }
}

/// Transfers that end after a time, of which the search runs a part.
fn timed(congestion: &str, buffer: u32, queue: &str, rest: &str) -> Setup {
    of_file(&format!(
        r#"
title = "t"
hosts.near = {{ set.tcp.congestion = "{congestion}", set.tcp.send_buffer = {buffer}, set.pool.blocks = 4096 }}
hosts.far = {{ set.tcp.receive_buffer = {buffer}, set.pool.blocks = 4096 }}
links.path = {{ between = ["near", "far"], rate = "20mbit", delay = "50ms", queue = "{queue} bytes" {rest} }}
workload = {{ from = "near", to = "far", write = 16384, duration = "40s" }}
rows = [{{ label = "row" }}]
"#
    ))
}

#[test]
fn an_advice_for_a_transfer_with_a_duration_helps_the_whole_transfer() {
    for (congestion, buffer, queue) in [
        ("cubic", 16 << 10, "12K"),
        ("cubic", 1 << 20, "12K"),
        ("newreno", 1 << 20, "12K"),
    ] {
        let setup = timed(congestion, buffer, queue, "");
        let found = explained(&setup);
        let said = found.parts.line();
        assert!(!found.advice.is_empty(), "{said}");
        let (before, _) = whole(&setup, &[], 1);
        let (after, is_complete) = whole(&setup, &found.advice, 1);
        assert!(
            is_complete && after > before * 1.02,
            "{before} {after} {said}"
        );
        let predicted = found.predicted.expect("an advice").goodput_mbps;
        assert!(
            (predicted / after - 1.0).abs() < 0.15,
            "{predicted} {after} {said}"
        );
    }
}

/// The row has one seed, but gains are means over several seeds.
#[test]
fn a_prediction_with_several_seeds_is_compared_with_the_unchanged_row_at_these_seeds() {
    let setup = of_file(
        r#"
title = "t"
hosts.near = { set.tcp.send_buffer = "8K" }
hosts.far = {}
links.path = { between = ["near", "far"], rate = "10mbit", delay = "20ms", loss = "1%" }
workload = { from = "near", to = "far", bytes = 400000 }
rows = [{ label = "row" }]
"#,
    );
    let found = explained(&setup);
    let said = found.parts.line();
    let predicted = found.predicted.expect("a larger buffer helps");
    let runs: Vec<f64> = (1..=20).map(|seed| whole(&setup, &[], seed).0).collect();
    let mean = |count: usize| runs[..count].iter().sum::<f64>() / count as f64;
    let is_mean = |count: usize| (predicted.unchanged_mbps / mean(count) - 1.0).abs() < 1e-6;
    assert!((3..=20).any(is_mean), "{predicted:?} {runs:?} {said}");
    assert!(predicted.low_mbps < predicted.high_mbps, "{said}");
    // The gain in the list of runs is the gain in the sentences.
    let lever = found.levers.first().expect("a lever");
    let tried = found
        .tried
        .iter()
        .find(|tried| tried.lever == *lever)
        .expect("it was run");
    let gain = tried.gain_share * 100.0;
    let told = number_after(&said, "the simulated goodput rises by ");
    assert!(
        found.levers.len() > 1 || (told - gain).abs() < told * 0.01,
        "{told} {gain}"
    );
}

/// A policer has no queue that a smaller buffer would overflow less often.
#[test]
fn a_policer_has_no_short_queue_that_a_buffer_overflows() {
    let policer = ", token_bucket = { rate = \"10mbit\", burst = \"20K\", latency = \"1ms\" }";
    let setup = timed("newreno", 1 << 20, "1M", policer);
    let found = explained(&setup);
    let said = found.parts.line();
    assert_ne!(found.limit, Cause::UNKNOWN, "{said}");
    assert!(
        !said.contains("With a smaller buffer, the sender overflows"),
        "{said}"
    );
}

/// A longer wait would make a shaper of the policer, which is another change.
#[test]
fn the_burst_of_a_policer_is_changed_without_its_latency() {
    let policer = ", token_bucket = { rate = \"10mbit\", burst = \"20K\", latency = \"1ms\" }";
    let setup = timed("newreno", 1 << 20, "1M", policer);
    let relief = RELIEFS.iter().find(|relief| relief.name == "policer_burst");
    let relief = relief.expect("it is in the table");
    let link = setup.links[0].link(fullpipe_sim::link::Direction::Forward);
    let values = (relief.values)(&link).expect("it is a policer");
    let fields: Vec<_> = values.ample.iter().map(|(field, _)| *field).collect();
    assert_eq!(fields, ["token_bucket.burst"]);
}
