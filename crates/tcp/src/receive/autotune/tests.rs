//! Tests of rounds of reads, and of the buffer sizes that follow.

use super::*;

const RTT: Duration = Duration::from_millis(100);

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

#[test]
fn a_steady_rate_needs_twice_its_bytes_of_a_round_trip() {
    let mut sizing = RightSizing::default();
    assert_eq!(sizing.on_read(10_000, at(0), Some(RTT), 1_000), None);
    assert_eq!(sizing.on_read(10_000, at(50), Some(RTT), 1_000), None);
    let _ = sizing.on_read(0, at(100), Some(RTT), 1_000);
    assert_eq!(sizing.on_read(10_000, at(150), Some(RTT), 1_000), None);
    let goal = sizing.on_read(10_000, at(200), Some(RTT), 1_000);
    assert_eq!(goal, Some(2 * 20_000 + 16_000));
}

#[test]
fn a_rate_that_doubles_gets_room_for_two_more_doublings() {
    let mut sizing = RightSizing::default();
    for round in 0..6 {
        let read = 10_000 << round;
        let goal = sizing.on_read(read, at(100 * round), Some(RTT), 0);
        if round > 2 {
            assert_eq!(goal, Some(4 * read), "round {round}");
        }
    }
}

#[test]
fn rounds_grow_with_the_echoes_but_a_pause_does_not_stretch_them_for_long() {
    let mut sizing = RightSizing::default();
    let _ = sizing.on_read(0, at(0), Some(RTT), 0);
    sizing.on_payload(Some(RTT * 50));
    assert!(sizing.on_read(1, at(100), Some(RTT), 0).is_some());
    // A round is at most twice as long as the round before.
    sizing.on_payload(Some(RTT + RTT / 2));
    sizing.on_payload(Some(RTT * 50));
    assert!(sizing.on_read(1, at(299), Some(RTT), 0).is_none());
    assert!(sizing.on_read(1, at(300), Some(RTT), 0).is_some());
    // The next round is as long as the smallest echo age in the previous round.
    assert!(sizing.on_read(1, at(449), Some(RTT), 0).is_none());
    assert!(sizing.on_read(1, at(450), Some(RTT), 0).is_some());
}

#[test]
fn without_any_round_trip_time_the_buffer_does_not_grow() {
    let mut sizing = RightSizing::default();
    for ms in 0..10 {
        assert_eq!(sizing.on_read(1_000, at(1_000 * ms), None, 1_000), None);
    }
}
