//! Tests of the worlds (random transfers) and of the judge itself.
//!
//! Rule: the judge is tested with engines of known quality: one that always gives the same answer,
//! and one that knows the truth.

use std::ops::ControlFlow;

use fullpipe_explain::Change;
use fullpipe_scenario::{Played, Scene, Setup, watch::Watch};

use super::{judged::missed, known::Known, *};

/// A path of 20 Mbit/s and 40 ms: its bandwidth-delay product is 100 KB. Slow start is short.
const SMALL_SEND_BUFFER: &str = r#"
title = "A small send buffer"
hosts.sender = { set.tcp.send_buffer = 20000, set.tcp.initial_window = 80, set.tcp.hystart = false }
hosts.receiver = { set.tcp.receive_buffer = "1M", set.tcp.initial_receive_window = 1000, set.pool.blocks = 8192 }
links.path = { between = ["sender", "receiver"], rate = "20mbit", delay = "20ms" }
flows.main = { from = "sender", to = "receiver", bytes = 800000 }
rows = [{ label = "world" }]
"#;

const SEND_BUFFER: &str = "sender.tcp.send_buffer";

fn small_send_buffer() -> World {
    World {
        number: 7,
        dimensions: Vec::new(),
        file: SMALL_SEND_BUFFER.into(),
    }
}

fn play(setup: &Setup) -> Played {
    let mut scene = Scene::new(setup, 5, false, Watch::NONE);
    let played = scene.play(&|_share| ControlFlow::Continue(()));
    played
        .expect("no violation")
        .expect("nothing interrupts it")
}

fn send_buffer() -> Answer {
    Answer {
        levers: vec![SEND_BUFFER.into()],
        ..Answer::default()
    }
}

/// An answer may show its cause with values that the judge does not know, but only of the settings
/// that it names.
#[test]
fn the_values_that_an_answer_states_for_its_levers_are_run() {
    let world = small_send_buffer();
    let truth = Truth::of(&world).unwrap();
    let gain = |lever: &str, bytes: &str| {
        let answer = Answer {
            levers: vec![lever.into()],
            shown: vec![Change {
                set: SEND_BUFFER.into(),
                to: bytes.into(),
            }],
            ..Answer::default()
        };
        compare(&world, &truth, answer).unwrap().named_gain
    };
    let ample = gain(SEND_BUFFER, "9000");
    assert!(gain(SEND_BUFFER, "16777216") >= ample);
    assert!(gain("sender.tcp.small_queue", "80000") < 0.02);
}

#[test]
fn a_world_is_the_same_every_time_and_a_run_of_it_is_valid() {
    for number in 0..150 {
        let world = World::draw(number);
        assert_eq!(world, World::draw(number));
        assert!(world.setup().validate().is_ok(), "{}", world.file);
    }
}

#[test]
fn a_few_worlds_of_each_dimension_run_the_same_twice() {
    for dimension in dimensions() {
        let mut has = false;
        for number in 0..3 {
            let world = World::with(number, dimension);
            has |= world.dimensions.contains(&dimension);
            let setup = world.setup();
            let played = play(&setup);
            assert_eq!(played.measured, play(&setup).measured, "{}", world.file);
            let segments = played.measured.data_segments;
            let most = match world.dimensions.contains(&"long") {
                true => 30_000,
                false => 8_000,
            };
            assert!(segments <= most, "{segments} segments\n{}", world.file);
        }
        assert!(has, "no host takes {dimension}");
    }
}

#[test]
fn dimensions_have_names_of_their_own() {
    let mut names: Vec<_> = dimensions().collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}

#[test]
fn a_dimension_that_is_added_moves_no_other_draw() {
    for number in 0..40 {
        let (plain, lossy) = (World::draw(number), World::with(number, "back_loss"));
        let without = |world: &World| -> Vec<String> {
            let lines = world.file.lines();
            let kept =
                lines.filter(|line| !line.contains("back.loss") && !line.starts_with("title"));
            kept.map(ToString::to_string).collect()
        };
        assert_eq!(without(&plain), without(&lossy));
    }
}

/// The send buffer allows only a fifth of the path's rate.
#[test]
fn the_truth_of_a_small_send_buffer_is_the_send_buffer() {
    let world = small_send_buffer();
    let truth = Truth::of(&world).unwrap();
    let verdict_of = |levers: &[&str]| {
        let levers = levers.iter().map(ToString::to_string).collect();
        let answer = Answer {
            levers,
            ..Answer::default()
        };
        compare(&world, &truth, answer).unwrap()
    };
    assert_eq!(truth.best.levers, [SEND_BUFFER]);
    assert!(truth.best.is_of_host && truth.best.gain > 2.0);
    let right = verdict_of(&[SEND_BUFFER]);
    assert_eq!(
        (right.verdict, right.named_family.as_str()),
        (Verdict::Right, "send buffer")
    );
    // Naming the path is wrong here, because a setting of a host helps.
    let path = verdict_of(&["path.forward.delay"]);
    assert_eq!((path.verdict, path.named_gain), (Verdict::Wrong, 0.0));
    assert_eq!(verdict_of(&[]).verdict, Verdict::Wrong);
    assert_eq!(verdict_of(&["sender.no.such"]).named_family, "unknown");
    // If the answer names a lever (a setting) of a host that helps, this lever counts as the best
    // lever, even if the judge itself found only levers of the path.
    let mut blind = Truth::of(&world).unwrap();
    blind.best.levers = vec!["path.forward.rate".into()];
    blind.best.is_of_host = false;
    blind.best.gain *= 10.0;
    let right = compare(&world, &blind, send_buffer()).unwrap();
    assert_eq!(
        (right.verdict, right.best.levers),
        (Verdict::Right, vec![SEND_BUFFER.into()])
    );
    let both = verdict_of(&[SEND_BUFFER, "receiver.tcp.receive_buffer"]);
    assert_eq!(
        (both.verdict, both.named_family.as_str()),
        (Verdict::Right, "several")
    );
}

/// The engine of this test cannot change the send buffer.
#[test]
fn a_lever_that_the_engine_lacks_is_a_missing_lever() {
    let world = small_send_buffer();
    let blind = |setup: &_, measured: &_| Known::of(setup, measured).without(SEND_BUFFER);
    let truth = Truth::against(&world, blind).unwrap();
    assert_eq!(truth.best.missing, [SEND_BUFFER]);
    let judged = [compare(&world, &truth, Answer::default()).unwrap()];
    assert_eq!(judged[0].verdict, Verdict::Wrong);
    let printed = Tally::new(&judged, 0).to_string();
    let line = format!("missing lever: {SEND_BUFFER} in 1 worlds, at most ");
    assert!(printed.contains(&line), "{printed}");
    assert!(Truth::of(&world).unwrap().best.missing.is_empty());
}

#[test]
fn a_refuted_lever_that_helps_and_a_harmful_advice_are_found() {
    let world = small_send_buffer();
    let truth = Truth::of(&world).unwrap();
    let advised = |bytes: &str| Answer {
        advice: vec![Change {
            set: SEND_BUFFER.into(),
            to: bytes.into(),
        }],
        predicted_mbps: Some(40.0),
        refuted: vec![SEND_BUFFER.into(), "receiver.tcp.sack".into()],
        ..send_buffer()
    };
    let judged = compare(&world, &truth, advised("10000")).unwrap();
    let refuted = judged.false_refutations.iter().map(|(lever, _)| lever);
    assert_eq!(refuted.collect::<Vec<_>>(), [SEND_BUFFER]);
    let advice = judged.advice.clone().expect("there is advice");
    assert!(advice.is_worse && advice.gain < -0.4, "{judged}");
    assert_eq!(advice.missed, Some(missed(40.0, advice.mbps[1])));
    let judged = [judged];
    let figures = Tally::new(&judged, 0).figures();
    let missed: Vec<_> = figures.iter().filter(|figure| !figure.is_met()).collect();
    assert_eq!(
        missed.len(),
        4,
        "refuted, advice, and both errors: {missed:?}"
    );
    let refused = compare(&world, &truth, advised("-1")).unwrap();
    assert!(refused.advice.expect("there is advice").is_worse);
}

#[test]
fn the_error_of_a_prediction_is_a_share_of_what_was_measured() {
    assert_eq!(missed(1.5, 1.0), 0.5);
    assert_eq!(missed(0.5, 1.0), 0.5);
    assert_eq!(missed(0.0, 0.0), 0.0);
    assert_eq!(missed(1.0, 0.0), f64::INFINITY);
}

/// Numbers of the worlds for tests of whole engines: worlds with short runs.
const WORLDS: [u64; 4] = [11, 16, 33, 43];

#[test]
fn an_engine_that_knows_the_truth_keeps_every_limit_and_one_that_does_not_misses_them() {
    let (mut knowing, mut stubborn) = (Vec::new(), Vec::new());
    for number in WORLDS {
        let world = World::draw(number);
        let truth = Truth::of(&world).unwrap();
        let answer = Answer {
            levers: truth.best.levers.clone(),
            advice: truth.best.changes.clone(),
            ..Answer::default()
        };
        knowing.push(compare(&world, &truth, answer).unwrap());
        stubborn.push(compare(&world, &truth, send_buffer()).unwrap());
    }
    let tally = Tally::new(&knowing, 0);
    assert!(tally.is_met() && tally.worst().is_empty(), "{tally}");
    assert_eq!(tally.figures()[0].value, 1.0, "{tally}");
    let tally = Tally::new(&stubborn, 0);
    let figures = tally.figures();
    assert!(figures[0].value < 0.7 && figures[1].value > 0.3, "{tally}");
    assert!(!tally.is_met() && !tally.worst().is_empty(), "{tally}");
}

#[test]
fn a_world_that_broke_something_misses_a_limit() {
    assert!(Tally::new(&[], 0).figures()[1..].iter().all(Figure::is_met));
    assert!(!Tally::new(&[], 1).is_met());
}
