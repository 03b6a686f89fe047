//! Tests with times that go back, leap ahead, or have a coarse unit.

use super::{Clock, TimeCounters};

const S: i64 = 1_000_000_000;

fn times(capture: &[i64]) -> (Vec<i64>, TimeCounters) {
    let mut clock = Clock::new();
    let times = capture
        .iter()
        .map(|at| clock.time(Some(at * S / 10)) * 10 / S);
    (times.collect(), clock.counters())
}

#[test]
fn a_small_step_back_becomes_the_previous_time() {
    let (seen, counters) = times(&[100, 101, 99, 102]);
    assert_eq!(seen, [100, 101, 101, 102]);
    assert_eq!((counters.backwards, counters.steps), (1, 0));
}

#[test]
fn a_clock_that_was_set_back_goes_on_from_where_it_was() {
    let (seen, counters) = times(&[50_000, 50_010, 10_000, 10_005, 10_020]);
    assert_eq!(seen, [50_000, 50_010, 50_010, 50_015, 50_030]);
    assert_eq!((counters.steps, counters.absurd), (1, 0));
}

#[test]
fn a_single_absurd_time_changes_no_other() {
    for absurd in [0, 9_000_000_000] {
        let (seen, counters) = times(&[50_000, 50_010, absurd, 50_020, 50_030]);
        assert_eq!(seen, [50_000, 50_010, 50_010, 50_020, 50_030], "{absurd}");
        assert_eq!((counters.steps, counters.absurd), (0, 1));
    }
}

#[test]
fn a_pause_of_days_is_a_pause() {
    let day = 864_000;
    let (seen, _) = times(&[0, 10, 3 * day, 3 * day + 10]);
    assert_eq!(seen, [0, 10, 10, 3 * day + 10]);
}

#[test]
fn times_of_whole_milliseconds_are_coarse() {
    let mut clock = Clock::new();
    for step in 0..30 {
        clock.time(Some(step * 20_000_000));
    }
    assert_eq!(clock.unit_ns(), Some(10_000_000));
    clock.time(Some(600_123_456));
    assert_eq!(clock.unit_ns(), None);
}

#[test]
fn a_first_time_before_1970_does_not_precede_a_frame_without_a_time() {
    let mut clock = Clock::new();
    assert_eq!(clock.time(Some(-5 * S)), -5 * S);
    let mut clock = Clock::new();
    assert_eq!(clock.time(None), 0);
    assert_eq!(clock.time(Some(-5 * S)), 0);
    assert_eq!(clock.time(Some(S)), S);
}
