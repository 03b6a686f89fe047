//! Tests with the built-in experiments in which peers vanish or become unreachable.

use fullpipe_explain::{Cause, Explanation};
use fullpipe_scenario::experiment::Experiment;

use crate::{
    advise::{Advice, MOST_STEPS, advise},
    catalogue::BUILT_IN,
    run::RunOptions,
};

fn advised(name: &str, label: &str) -> Advice {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name).unwrap();
    let experiment = Experiment::parse(name, name, text).unwrap();
    let mut rows = experiment.rows.iter();
    let row = rows.find(|row| row.label == label).unwrap();
    let options = RunOptions::plain(1);
    advise(&experiment, row, None, MOST_STEPS, &options).unwrap()
}

fn first(advice: &Advice) -> &Explanation {
    &advice.steps[0].verdict
}

#[test]
fn who_waits_for_the_memory_of_those_that_are_gone_has_it_after_the_user_timeout() {
    let advice = advised("netburner-vanish", "clients vanish");
    let verdict = first(&advice);
    assert_eq!(verdict.limit, Cause::PEER_GONE);
    for part in [
        "12 of 13 connections wait for peers",
        "384,000 bytes of packet memory",
        "`next` found no free packet memory for 247 s and was dropped",
    ] {
        assert!(
            verdict.parts.line().contains(part),
            "{}",
            verdict.parts.line()
        );
    }
    assert_eq!(verdict.advice[0].set, "device.tcp.user_timeout");
    let [before, after] = advice.steps.as_slice() else {
        panic!("one step is enough");
    };
    assert_eq!((before.outcome, after.outcome), ("dropped", "complete"));
    let predicted = after.predicted.unwrap().elapsed_s;
    assert!(
        (predicted / after.elapsed_s - 1.0).abs() < 0.01,
        "{predicted}"
    );
    assert!(after.verdict.advice.is_empty());
}

#[test]
fn retries_that_run_out_hold_it_for_a_quarter_of_an_hour() {
    let row = "clients vanish, the next comes after 20 minutes";
    let advice = advised("netburner-vanish", row);
    let verdict = first(&advice);
    assert!(
        verdict
            .parts
            .line()
            .contains("`device` gave up after 926 s")
    );
    // No other connection waits for the memory, so the advice is the shortest user timeout that RFC
    // 9293 recommends.
    assert_eq!(verdict.needed.as_deref(), Some("100s"));
}

#[test]
fn a_user_timeout_that_is_set_stays_where_nobody_waits() {
    let advice = advised("netburner-vanish", "clients vanish, user timeout 5 s");
    assert_eq!(first(&advice).limit, Cause::PEER_GONE);
    assert!(first(&advice).advice.is_empty());
    assert!(first(&advice).parts.line().contains("gave up after 5 s"));
}

#[test]
fn a_reader_that_stopped_is_named_beside_the_probes_that_were_lost() {
    let advice = advised("linux-buffers-d", "answers to probes lost");
    let verdict = first(&advice);
    let said = &verdict.parts.line();
    assert_eq!(verdict.limit, Cause::SLOW_READER, "{said}");
    assert!(said.contains("left received payload unread"), "{said}");
    assert!(said.contains("left 15 window probes unanswered"), "{said}");
    assert!(
        said.contains("dropped the connection after 927 s"),
        "{said}"
    );
    assert!(verdict.advice.is_empty());
    let verdict = advised("linux-buffers-d", "probes answered");
    assert_eq!(first(&verdict).limit, Cause::SLOW_READER);
}
