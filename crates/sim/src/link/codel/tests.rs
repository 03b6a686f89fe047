//! Tests of CoDel's control law, step by step.

use super::*;

const MODEL: Codel = Codel::internet();
const FRAME: usize = 1_500;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Simulates a queue that always has waiting frames. In each millisecond, a frame leaves that
/// joined `sojourn_ms` earlier. Returns the times of drops.
fn drops(control: &mut CodelState, from: u64, until: u64, sojourn_ms: u64) -> Vec<u64> {
    let mut dropped = Vec::new();
    let mut line = FrameQueue::default();
    for now in from..until {
        // Fill the queue to six frames: up to three are dropped, one leaves, and at least two stay.
        while line.len() < 6 {
            line.join(vec![0; FRAME], at(now.saturating_sub(sojourn_ms)));
        }
        let drop_now = |_: &QueuedFrame| dropped.push(now);
        let (first, _) = control.deque(MODEL, &mut line, FRAME, at(now), drop_now);
        assert!(first.is_some(), "something always leaves");
        while line.leave().is_some() {}
    }
    dropped
}

#[test]
fn a_queue_below_the_target_is_left_alone() {
    assert_eq!(drops(&mut CodelState::default(), 1_000, 9_000, 4), []);
}

#[test]
fn a_standing_queue_is_dropped_from_ever_sooner_by_the_square_root() {
    let dropped = drops(&mut CodelState::default(), 1_000, 1_600, 20);
    // The first drop comes after 100 ms above the target, the others 100/√1, 100/√2,
    // 100/√3 … ms apart, each rounded up to the next millisecond.
    let mut expected = vec![1_100];
    let mut next = 1_100.0 + 100.0;
    for count in 2..20 {
        if next >= 1_599.0 {
            break;
        }
        expected.push(f64::ceil(next) as u64);
        next += 100.0 / f64::from(count).sqrt();
    }
    assert_eq!(dropped, expected);
}

#[test]
fn one_short_sojourn_ends_the_dropping_and_a_soon_return_goes_on_near_where_it_was() {
    let mut control = CodelState::default();
    let before = drops(&mut control, 1_000, 1_800, 20);
    assert!(before.len() > 8);
    assert_eq!(drops(&mut control, 1_800, 1_810, 1), []);
    let after = drops(&mut control, 1_810, 2_300, 20);
    assert_eq!(after[0], 1_910, "an interval of standing comes first");
    assert!(after[1] - after[0] < 50, "{after:?}");
    assert_eq!(drops(&mut control, 2_300, 9_000, 1), []);
    let late = drops(&mut control, 9_000, 9_250, 20);
    assert_eq!(late, [9_100, 9_200], "long ago is forgotten");
}

#[test]
fn the_last_frame_is_never_dropped() {
    let mut control = CodelState::default();
    let mut line = FrameQueue::default();
    for now in 0..2_000 {
        line.join(vec![0; FRAME], at(now));
        let never = |frame: &QueuedFrame| panic!("dropped {frame:?}");
        let (first, marked) = control.deque(MODEL, &mut line, FRAME, at(now + 50), never);
        assert!(first.is_some() && marked == 0);
    }
}

#[test]
fn what_can_be_marked_is_marked_and_leaves() {
    let model = Codel { ecn: true, ..MODEL };
    let mut control = CodelState::default();
    let mut line = FrameQueue::default();
    let mut total = 0;
    for now in 1_000..1_500 {
        while line.len() < 4 {
            let mut frame = vec![0; FRAME];
            frame[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0b10]);
            line.join(frame, at(now - 20));
        }
        let never = |frame: &QueuedFrame| panic!("dropped {frame:?}");
        let (first, marked) = control.deque(model, &mut line, FRAME, at(now), never);
        assert_eq!(marked == 1, first.unwrap().frame[15] == 0b11);
        total += marked;
        while line.leave().is_some() {}
    }
    assert!(total > 5, "{total}");
}
