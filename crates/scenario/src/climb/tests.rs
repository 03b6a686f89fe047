//! Tests of the time at which a path counts as full.

use super::*;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

#[test]
fn a_path_is_full_after_two_round_trips_at_nine_tenths_of_it() {
    let mut climb = Climb::new(at(0), 0.1);
    assert_eq!(climb.step(), Some(Duration::from_millis(10)));
    // 500 bytes per millisecond for the first second, then 900 bytes per millisecond.
    let read = |ms: u64| ms.min(1_000) * 500 + ms.saturating_sub(1_000) * 900;
    for ms in (0..2_000).step_by(10) {
        climb.look(at(ms), read(ms), 8e6);
    }
    assert_eq!(climb.full_after_s(), Some(1.2));
    assert_eq!(climb.step(), None, "nothing is left to be seen");
}

#[test]
fn a_burst_of_one_round_trip_fills_nothing() {
    let mut climb = Climb::new(at(0), 0.1);
    for ms in (0..2_000).step_by(10) {
        let read = if ms < 1_000 { 0 } else { 100_000 };
        climb.look(at(ms), read, 8e6);
    }
    assert_eq!(climb.full_after_s(), None);
}

#[test]
fn a_connection_that_rests_is_looked_at_seldom_until_it_goes_on() {
    let mut climb = Climb::new(at(0), 0.01);
    for ms in 0..=100 {
        assert_eq!(climb.step(), Some(Duration::from_millis(1)), "{ms} ms");
        climb.look(at(ms), 5_000, 8e6);
    }
    assert_eq!(climb.step(), Some(Duration::from_millis(100)));
    climb.look(at(200), 6_000, 8e6);
    assert_eq!(climb.step(), Some(Duration::from_millis(1)));
}
