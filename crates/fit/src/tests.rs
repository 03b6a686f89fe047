//! Tests of whole fits, on transfers of the simulator.

use std::ops::ControlFlow;

use fullpipe_diagnose::{
    capture::{End, Segment},
    facts::{Connection, Segments, captured_end, mark_lost},
    observe::{Follower, ObservedConnection, SegmentLog},
};
use fullpipe_scenario::{Experiment, Measured, Scene, Setup, watch::Watch};

use fullpipe_pool::Rng;

use crate::{
    Basis, CaptureTwin, Compared, FitOptions, RecordedSizes, Verdict,
    estimate::estimate,
    evidence::Evidence,
    fit,
    frames::{Captured, TapPlace},
    run::followed,
};

mod causes;
mod merges;

fn parsed(text: &str) -> Setup {
    let experiment = Experiment::parse("case", "case.toml", text).expect("no mistake");
    experiment.rows[0].setup.clone()
}

fn play(setup: &Setup) -> Measured {
    let mut scene = Scene::new(setup, 1, false, Watch::NONE);
    let played = scene.play(&|_| ControlFlow::Continue(())).unwrap();
    played.unwrap().measured
}

fn segments(text: &str, tap: TapPlace) -> Vec<Segment> {
    let setup = parsed(text);
    let mut scene = Scene::new(&setup, 1, false, Watch::NONE);
    let captured = Captured::default();
    scene.capture_hosts(Box::new(captured.clone())).unwrap();
    scene.play(&|_| ControlFlow::Continue(())).unwrap();
    scene.finish_capture().unwrap();
    captured.seen_at(tap)
}

fn fitted(text: &str, preset: &str, tap: TapPlace) -> CaptureTwin {
    fitted_to(&segments(text, tap), preset)
}

fn fitted_to(segments: &[Segment], preset: &str) -> CaptureTwin {
    let (observed, log): (ObservedConnection, SegmentLog) = followed(segments);
    let options = FitOptions {
        preset: fullpipe::presets::find(preset).unwrap(),
        title: "Twin".to_string(),
        seed: 1,
        recorded: RecordedSizes::default(),
    };
    fit(&observed, &log, &options, &|_| ControlFlow::Continue(())).unwrap()
}

const SMALL_BUFFER: &str = r#"
title = "A send buffer of 16 KB"
hosts.near = { preset = "linux", set.SO_SNDBUF = "16K", set.tcp.send_payload_share = 60 }
hosts.far = { preset = "linux" }
links.path = { between = ["near", "far"], rate = "100mbit", delay = "10ms" }
workload = { from = "near", to = "far", bytes = 2000000 }
rows = [{ label = "case" }]
"#;

/// The fit finds the send buffer's size, the round trip and the rate; the advice is a larger send
/// buffer.
#[test]
fn a_send_buffer_is_found_and_enlarged() {
    let twin = fitted(SMALL_BUFFER, "linux", TapPlace::SENDER);
    let compared = twin.compared;
    assert!(compared.goodput_error.abs() < 0.05, "{compared:?}");
    assert_eq!(twin.plan.get("path.rate").unwrap().to, "100mbit");
    let explained = twin.explain(&|_| ControlFlow::Continue(())).unwrap();
    let explained = explained.expect("the twin reproduces the capture");
    assert_eq!(explained.knob.as_deref(), Some("SO_SNDBUF"));
    let predicted = explained.predicted.expect("advice has a prediction");
    let mut setup = parsed(SMALL_BUFFER);
    let needed = explained.needed.unwrap();
    setup.set("near.wmem_max", &needed).unwrap();
    setup.set("near.SO_SNDBUF", &needed).unwrap();
    let then = play(&setup).goodput_mbps;
    assert!(
        (predicted.goodput_mbps / then - 1.0).abs() < 0.1,
        "predicted {predicted:?}, then {then}"
    );
}

/// The twin of a capture of IPv6 has IPv4 and an MTU that is 20 bytes smaller: its segments have the
/// size of the captured ones.
#[test]
fn a_capture_of_ipv6_has_a_twin() {
    let text = SMALL_BUFFER.replace("bytes = 2000000", "bytes = 2000000, family = 6");
    let twin = fitted(&text, "linux", TapPlace::SENDER);
    assert_eq!(twin.compared.verdict, Verdict::Reproduces);
    assert_eq!(value(&twin, "path.mtu"), 1_480.0);
}

/// The written file describes the experiment that was run.
#[test]
fn the_file_of_a_twin_gives_its_results() {
    let twin = fitted(SMALL_BUFFER, "linux", TapPlace::SENDER);
    let found = play(&parsed(&twin.file()));
    assert_eq!(found, play(&twin.setup));
}

fn value(twin: &CaptureTwin, set: &str) -> f64 {
    let found = twin.plan.get(set);
    let found = found.unwrap_or_else(|| panic!("{set} is fitted: {}", twin.file()));
    let digits = found
        .to
        .trim_end_matches(|letter: char| !letter.is_ascii_digit());
    digits.parse().expect("a number")
}

/// Returns an experiment: a path between hosts of the default preset, whose buffers are too large
/// to be the limit.
fn ample(path: &str, workload: &str, sender: &str) -> String {
    format!(
        r#"
title = "A case"
hosts.near = {{ set.tcp.send_buffer = "4M", set.tcp.receive_buffer = "4M", set.pool.blocks = 16384{sender} }}
hosts.far = {{ set.tcp.send_buffer = "4M", set.tcp.receive_buffer = "4M", set.pool.blocks = 16384 }}
links.path = {{ between = ["near", "far"], rate = "20mbit", delay = "10ms"{path} }}
workload = {{ from = "near", to = "far"{workload} }}
rows = [{{ label = "case" }}]
"#
    )
}

/// A receive window limits the sender, and the fit finds the receiver's SO_RCVBUF that causes it.
#[test]
fn a_receive_buffer_is_found_and_enlarged() {
    let text = SMALL_BUFFER
        .replace("set.SO_SNDBUF = \"16K\", ", "")
        .replace(
            "hosts.far = { preset = \"linux\" }",
            "hosts.far = { preset = \"linux\", set.SO_RCVBUF = \"24K\" }",
        );
    let twin = fitted(&text, "linux", TapPlace::SENDER);
    assert_eq!(value(&twin, "receiver.SO_RCVBUF"), 24_576.0);
    let explained = twin.explain(&|_| ControlFlow::Continue(())).unwrap();
    let explained = explained.expect("the twin reproduces the capture");
    assert_eq!(explained.knob.as_deref(), Some("SO_RCVBUF"));
}

/// The fit finds the link's rate, delay and losses from captures at both ends.
#[test]
fn the_path_is_found_from_both_ends() {
    let text = ample(", forward.loss = \"1%\"", ", bytes = 3000000", "");
    for tap in [TapPlace::SENDER, TapPlace::RECEIVER] {
        let twin = fitted(&text, "default", tap);
        assert!(
            twin.compared.is_reproduced(),
            "{tap:?}: {:?}",
            twin.compared
        );
        let delay_us = value(&twin, "path.delay");
        assert!(
            (delay_us - 10_000.0).abs() < 200.0,
            "{tap:?}: {delay_us} us"
        );
        let loss = value(&twin, "path.forward.loss");
        assert!((0.005..0.02).contains(&loss), "{tap:?}: {loss}");
    }
}

/// The length of a queue that overflowed is found from the longest wait; the link has no losses.
#[test]
fn a_queue_that_overflows_needs_no_losses() {
    let text = ample(
        ", queue = \"60000 bytes\"",
        ", bytes = 6000000",
        ", set.tcp.hystart = false",
    );
    let twin = fitted(&text, "default", TapPlace::SENDER);
    assert!(
        twin.plan.get("path.forward.loss").is_none(),
        "{}",
        twin.file()
    );
    let queue = value(&twin, "path.forward.queue");
    assert!((40_000.0..80_000.0).contains(&queue), "{queue} bytes");
}

/// The fit finds writes and the pauses between them.
#[test]
fn an_application_that_pauses_has_its_writes() {
    let text = ample(
        "",
        ", bytes = 600000, write = 9000, pause = \"50ms\"",
        ", set.tcp.nagle = false",
    );
    let twin = fitted(&text, "default", TapPlace::SENDER);
    assert!(twin.compared.is_reproduced(), "{:?}", twin.compared);
    assert_eq!(value(&twin, "workload.write"), 9_000.0);
    let pause_us = value(&twin, "workload.pause");
    assert!((pause_us - 50_000.0).abs() < 500.0, "{pause_us} us");
}

/// A pause of the reader gives no advice: a larger buffer would only hide the pause.
#[test]
fn a_reader_that_pauses_gives_no_advice() {
    let reader = ", bytes = 3000000, read.stall_after = \"300ms\", read.stall_for = \"4s\"";
    let text = ample("", reader, "").replace(
        "hosts.far = { set.tcp.send_buffer = \"4M\", set.tcp.receive_buffer = \"4M\"",
        "hosts.far = { set.tcp.receive_buffer = \"64K\"",
    );
    let twin = fitted(&text, "default", TapPlace::SENDER);
    assert!(
        twin.plan.get("workload.read.stall_for").is_some(),
        "{}",
        twin.file()
    );
    assert!(twin.no_advice().is_some());
    let explained = twin.explain(&|_| ControlFlow::Continue(())).unwrap();
    assert!(explained.is_err());
}

/// A twin (a fitted experiment) that does not reproduce its capture gives no advice.
#[test]
fn a_twin_that_misses_its_capture_gives_no_advice() {
    let mut twin = fitted(SMALL_BUFFER, "linux", TapPlace::SENDER);
    let mut slower = twin.twin.clone();
    slower.goodput_mbps *= 0.7;
    twin.compared = Compared::of(&twin.capture, &slower);
    assert_eq!(twin.compared.verdict, Verdict::GoodputDiffers);
    let why = twin.no_advice().expect("it misses the capture");
    assert!(why.contains("-30 %") || why.contains("-31 %"), "{why}");
    let explained = twin.explain(&|_| ControlFlow::Continue(())).unwrap();
    assert!(explained.is_err());
}

/// Without SYNs, the window scale and the options are unknown, so a limiting window may look like
/// a full buffer.
#[test]
fn a_capture_without_its_handshake_gives_no_advice() {
    let whole = segments(SMALL_BUFFER, TapPlace::SENDER);
    let twin = fitted_to(&whole[200..], "linux");
    let explained = twin.explain(&|_| ControlFlow::Continue(())).unwrap();
    let why = explained.expect_err("the windows are unknown");
    assert!(why.contains("begins after the handshake"), "{why}");
}

/// A cause that rests on a guess is not reported, because another guess may have another cause.
#[test]
fn a_guessed_buffer_is_no_cause() {
    let mut twin = fitted(SMALL_BUFFER, "linux", TapPlace::SENDER);
    for value in &mut twin.plan.values {
        value.basis = Basis::Guessed;
    }
    let explained = twin.explain(&|_| ControlFlow::Continue(())).unwrap();
    let why = explained.expect_err("it is a guess");
    assert!(why.contains("guessed value, sender.SO_SNDBUF"), "{why}");
}

#[test]
fn a_syn_without_a_window_scale_is_one_of_hosts_that_do_not_scale() {
    let text = SMALL_BUFFER.replace(
        "hosts.far = { preset = \"linux\" }",
        "hosts.far = { preset = \"linux\", set.tcp.window_scaling = false }",
    );
    let twin = fitted(&text, "linux", TapPlace::SENDER);
    let scaling = twin.plan.get("receiver.tcp.window_scaling");
    assert_eq!(scaling.expect("the SYN shows it").to, "false");
}

/// Only segments of the requested connection are kept, and only a limited number of them.
#[test]
fn a_log_is_bounded() {
    use fullpipe_diagnose::capture::Analysis;
    let mut follower = Follower::new(false);
    follower.on_segment(&Segment::EMPTY);
    assert!(follower.conclude(0).log.is_none());
    let mut log = SegmentLog::new();
    for _ in 0..SegmentLog::SEGMENTS + 3 {
        log.on_segment(&Segment::EMPTY);
    }
    assert_eq!(log.segments().len(), SegmentLog::SEGMENTS);
    assert_eq!(log.omitted(), 3);
}

/// Segments with arbitrary numbers give an estimate or a reason, and never a panic.
#[test]
fn damaged_segments_give_an_estimate_or_a_reason() {
    let text = SMALL_BUFFER.replace("2000000", "200000");
    let whole = segments(&text, TapPlace::RECEIVER);
    let mut rng = Rng::seeded(7);
    let preset = fullpipe::presets::find("linux").unwrap();
    for _ in 0..300 {
        let mut damaged = whole.clone();
        for _ in 0..rng.between(1, 30) {
            let place = rng.below(damaged.len() as u64) as usize;
            let segment = &mut damaged[place];
            let any = rng.between(0, u64::from(u32::MAX)) as u32;
            match rng.below(7) {
                0 => segment.seq = any,
                1 => segment.ack = any,
                2 => segment.payload = any % 100_000,
                3 => segment.window = any as u16,
                4 => segment.at_ns = segment.at_ns.wrapping_add(i64::from(any) << rng.below(30)),
                5 => segment.from = segment.from.other(),
                _ => {
                    damaged.remove(place);
                }
            }
        }
        let (observed, log) = followed(&damaged);
        if let Ok(evidence) = Evidence::of(&log, &observed) {
            // A refused value is returned as a reason.
            let _ = estimate(&evidence, preset, "Damaged".to_string()).setup();
        }
    }
}

/// Two captures of a transfer show what the hosts' own traces show: the same segments,
/// retransmissions and losses.
#[test]
fn ends_of_captures_have_the_segments_of_the_hosts_traces() {
    let setup = parsed(&ample(", loss = \"2%\"", ", bytes = 1000000", ""));
    let mut scene = Scene::new(&setup, 3, true, Watch::NONE);
    let captured = Captured::default();
    scene.capture_hosts(Box::new(captured.clone())).unwrap();
    let played = scene.play(&|_| ControlFlow::Continue(())).unwrap();
    scene.finish_capture().unwrap();
    let observed = played.unwrap().observed.expect("it was asked for");
    let truth = &observed.connections[0];
    let of = |tap: TapPlace, own: fn(End) -> End, host: usize| {
        let (seen, log) = followed(&captured.seen_at(tap));
        captured_end(&log, &seen, own(seen.sender), host)
    };
    let mut found = Connection {
        first: of(TapPlace::SENDER, |sender| sender, 0),
        second: Some(of(TapPlace::RECEIVER, End::other, 1)),
    };
    mark_lost(&mut found);
    let columns = |table: &Segments| (table.seq.clone(), table.len.clone(), table.status.clone());
    let lost = |table: &Segments| {
        (0..table.len())
            .filter(|place| table.is_lost(*place))
            .count()
    };
    assert!(lost(&truth.first.sent) > 3);
    assert_eq!(columns(&found.first.sent), columns(&truth.first.sent));
    assert_eq!(found.first.received.ack, truth.first.received.ack);
    assert_eq!(found.first.received.window, truth.first.received.window);
    assert_eq!(
        found.first.sacks_received.left,
        truth.first.sacks_received.left
    );
    let far = truth.second.as_ref().expect("both hosts were observed");
    let seen = found.second.expect("both ends were captured");
    // The trace of a host that accepts a connection begins only after SYN and SYN-ACK.
    assert_eq!(seen.received.seq[1..], far.received.seq);
    assert_eq!(seen.sent.ack[1..], far.sent.ack);
}
