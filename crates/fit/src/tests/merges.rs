//! Tests of merging captures at both hosts of the simulator: clocks, losses, holes (segments that a
//! capture misses), offloads. A tap is the place of a capture.
//!
//! Rule: results are compared with the hosts' own traces, or with a merge of two captures by one
//! clock.

use fullpipe_diagnose::merge::{MergeFacts, MergeFailure, Merged, Tap, merge};

use super::*;

/// A path with losses in both directions and a queue.
const LOSSY: &str = ", queue = \"60 packets\", forward.loss = \"1%\", back.loss = \"1%\"";

/// The captures at both hosts, and the hosts' own traces.
fn both(path: &str, bytes: u32) -> ([Vec<Segment>; 2], Connection) {
    let setup = parsed(&ample(path, &format!(", bytes = {bytes}"), ""));
    let mut scene = Scene::new(&setup, 5, true, Watch::NONE);
    let captured = Captured::default();
    scene.capture_hosts(Box::new(captured.clone())).unwrap();
    let played = scene.play(&|_| ControlFlow::Continue(())).unwrap();
    scene.finish_capture().unwrap();
    let observed = played.unwrap().observed.expect("it was asked for");
    let segments = [TapPlace::SENDER, TapPlace::RECEIVER].map(|tap| captured.seen_at(tap));
    (segments, observed.connections[0].clone())
}

/// The capture as recorded by a clock that is ahead by `ahead_ns` and faster by `drift`.
fn by_clock(segments: &[Segment], ahead_ns: i64, drift: f64) -> Vec<Segment> {
    let first = segments[0].at_ns;
    let at = |at_ns: i64| at_ns + ahead_ns + ((at_ns - first) as f64 * drift) as i64;
    let moved = segments.iter().map(|one| Segment {
        at_ns: at(one.at_ns),
        ..*one
    });
    moved.collect()
}

fn merged(captures: [&[Segment]; 2]) -> Result<Merged, MergeFailure> {
    let seen = captures.map(followed);
    merge(seen.each_ref().map(|(observed, log)| Tap { observed, log }))
}

fn near(one: Option<f64>, other: Option<f64>, ratio: f64) -> bool {
    one.zip(other)
        .is_some_and(|(one, other)| (one / other - 1.0).abs() < ratio)
}

/// The merge finds the clocks' offset and drift, and every loss in the hosts' traces. The order of
/// the captures does not matter.
#[test]
fn clocks_and_losses_of_two_captures_are_found() {
    let ([sender, receiver], truth) = both(LOSSY, 12_000_000);
    let sent = &truth.first.sent;
    let lost = (0..sent.len()).filter(|place| sent.is_lost(*place));
    let lost: Vec<u64> = lost.map(|place| sent.seq[place]).collect();
    assert!(lost.len() > 30, "{}", lost.len());
    let plain = merged([&sender, &receiver]).unwrap().facts;
    for (ahead_ns, drift) in [(0, 0.0), (3_700_000_000, 120e-6), (-90_000_000_000, -60e-6)] {
        let moved = by_clock(&receiver, ahead_ns, drift);
        let there = merged([&sender, &moved]).unwrap().facts;
        let turned = merged([&moved, &sender]).unwrap().facts;
        assert_eq!((there.near, turned.near), (0, 1));
        assert_eq!(there.losses, turned.losses);
        let begin_error = (there.clock_ahead_ns - ahead_ns).abs();
        assert!(begin_error < 100_000, "{ahead_ns}: {begin_error} ns");
        let ppm = there.drift_ppm.unwrap_or(0.0);
        assert!((ppm - drift * 1e6).abs() < 5.0, "{drift}: {ppm}");
        let found: Vec<u64> = there.losses.iter().map(|one| one.seq).collect();
        assert_eq!(found, lost, "clock {ahead_ns} {drift}");
        let [one, other] = [&there, &plain].map(|facts: &MergeFacts| &facts.forward);
        assert_eq!(one.lost, other.lost);
        assert!(one.lost as usize >= lost.len(), "{one:?}");
        assert!(
            near(one.queue_largest_ms, other.queue_largest_ms, 0.1),
            "{one:?} {other:?}"
        );
        assert!(near(one.rate_bps, Some(20e6), 0.02), "{one:?}");
        assert!(there.back.lost > 10, "{:?}", there.back);
        assert!(
            one.unseen + there.back.unseen + there.filled_bytes == 0,
            "{there:?}"
        );
    }
}

/// Each end of a merged connection has the segments of that host's trace.
#[test]
fn the_ends_of_a_merged_connection_are_those_of_the_hosts() {
    let ([sender, receiver], truth) = both(LOSSY, 2_000_000);
    let moved = by_clock(&receiver, 500_000_000, 0.0);
    let ends = merged([&sender, &moved]).unwrap().ends();
    assert_eq!(ends.first.sent.status, truth.first.sent.status);
    let far = ends.second.expect("both ends were captured");
    let own = truth.second.expect("both hosts were observed");
    assert_eq!(far.received.seq[1..], own.received.seq);
    // Times may differ by the clock's error, a fraction of the transmission time of a full segment.
    let pairs = far.received.at_ns[1..].iter().zip(&own.received.at_ns);
    let begin = truth.first.sent.at_ns[0];
    let error = pairs
        .map(|(found, truth)| (found + begin).abs_diff(*truth))
        .max();
    assert!(error.is_some_and(|error| error < 100_000), "{error:?}");
}

/// Payload that is missing in the capture at the sender is taken from the other capture.
#[test]
fn holes_of_a_capture_are_filled_from_the_other() {
    let ([mut sender, receiver], _) = both("", 1_000_000);
    let whole = merged([&sender, &receiver]).unwrap();
    let mut place = 0;
    sender.retain(|segment| {
        place += usize::from(segment.payload > 0);
        segment.payload == 0 || place % 50 != 20
    });
    let (observed, _) = followed(&sender);
    assert!(
        observed.data().missing_bytes > 10_000,
        "the capture has holes"
    );
    let found = merged([&sender, &receiver]).unwrap();
    assert_eq!(found.facts.filled_bytes, observed.data().missing_bytes);
    assert_eq!(found.observed.data().missing_bytes, 0);
    assert_eq!(found.facts.forward.lost, 0);
    let [own, other] = [&found, &whole].map(|one| one.observed.data().payload_bytes);
    assert_eq!(own, other);
    assert_eq!(
        found.observed.main_limit().unwrap().0,
        whole.observed.main_limit().unwrap().0
    );
}

/// Segments that an offload joined at one tap do not count as losses at the other tap.
#[test]
fn offloads_at_one_tap_are_not_taken_for_losses() {
    let ([sender, receiver], _) = both(LOSSY, 3_000_000);
    let plain = merged([&sender, &receiver]).unwrap().facts;
    let mut joined: Vec<Segment> = Vec::new();
    for segment in &sender {
        match joined.last_mut() {
            Some(last)
                if last.from == segment.from
                    && last.payload >= 1_448
                    && segment.payload == 1_448
                    && last.payload < 10_000
                    && last.options.timestamps == segment.options.timestamps
                    && last.seq.wrapping_add(last.payload) == segment.seq =>
            {
                last.payload += segment.payload;
            }
            Some(_) | None => joined.push(*segment),
        }
    }
    assert!(joined.len() + 100 < sender.len(), "segments were joined");
    let found = merged([&joined, &receiver]).unwrap().facts;
    assert_eq!(found.forward.lost, plain.forward.lost);
    assert_eq!(found.filled_bytes, 0);
}

/// Segments that are missing in the receiver's capture count as arrived if they were acknowledged
/// and never retransmitted.
#[test]
fn segments_that_a_capture_dropped_are_not_taken_for_losses() {
    let ([sender, mut receiver], _) = both("", 1_000_000);
    let (mut place, mut dropped) = (0, 0);
    receiver.retain(|segment| {
        place += usize::from(segment.payload > 0);
        let is_dropped = segment.payload > 0 && place % 40 == 20;
        dropped += u64::from(is_dropped);
        !is_dropped
    });
    let found = merged([&sender, &receiver]).unwrap().facts;
    assert!(dropped > 10, "{dropped}");
    assert_eq!((found.forward.uncaptured, found.forward.lost), (dropped, 0));
}

/// A short snap length at one tap cuts timestamps and SACK blocks. Segments are recognised without
/// them.
#[test]
fn options_that_one_capture_lacks_are_not_taken_for_losses() {
    let ([sender, receiver], _) = both(LOSSY, 3_000_000);
    let plain = merged([&sender, &receiver]).unwrap().facts;
    let cut = receiver.iter().map(|segment| Segment {
        options: Default::default(),
        options_cut: true,
        ..*segment
    });
    let cut: Vec<Segment> = cut.collect();
    let found = merged([&sender, &cut]).unwrap().facts;
    let lost = |facts: &MergeFacts| [facts.forward.lost, facts.back.lost];
    assert_eq!(lost(&found), lost(&plain));
    assert_eq!(found.forward.unseen + found.back.unseen, 0);
}

/// Captures are refused if a clock was set during the capture, or drifts by too much to be
/// compared.
#[test]
fn clocks_that_cannot_be_compared_are_refused() {
    let ([sender, receiver], _) = both("", 3_000_000);
    let failure = |second: &[Segment]| merged([&sender, second]).err();
    let fast = by_clock(&receiver, 0, 2_500e-6);
    assert_eq!(failure(&fast), Some(MergeFailure::LargeDrift));
    let mut set = receiver.clone();
    let half = set.len() / 2;
    set[half..]
        .iter_mut()
        .for_each(|one| one.at_ns += 200_000_000);
    assert_eq!(failure(&set), Some(MergeFailure::ClockWasSet));
}

/// Captures of different connections, or from one place, are refused.
#[test]
fn captures_that_cannot_be_merged_are_refused() {
    let ([sender, receiver], _) = both("", 100_000);
    let refused = |first: &[Segment], second: &[Segment]| merged([first, second]).err();
    assert_eq!(refused(&sender, &sender), Some(MergeFailure::SamePlace));
    assert_eq!(
        refused(&sender, &receiver[5..]),
        Some(MergeFailure::NotTheSame)
    );
    let other: Vec<Segment> = receiver
        .iter()
        .map(|one| Segment {
            seq: one.seq.wrapping_add(9),
            ..*one
        })
        .collect();
    assert_eq!(refused(&sender, &other), Some(MergeFailure::NotTheSame));
    assert_eq!(
        refused(&sender, &receiver[..3]),
        Some(MergeFailure::NothingInCommon)
    );
}
