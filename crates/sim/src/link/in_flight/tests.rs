//! Tests of the order in which frames arrive.

use super::*;

/// Adds frames that arrive at these milliseconds, and returns the order in which they are taken.
fn taken(arrivals: &[(u64, Direction)]) -> Vec<u64> {
    let mut in_flight = InFlight::default();
    for (sequence, &(ms, direction)) in (0..).zip(arrivals) {
        in_flight.add(FlyingFrame {
            at: Instant::from_millis(ms),
            sequence,
            direction,
            frame: Vec::new(),
        });
    }
    assert_eq!(in_flight.len(), arrivals.len());
    let mut order = Vec::new();
    while let Some(at) = in_flight.next_at() {
        assert_eq!(
            in_flight.take(at - fullpipe_pool::Duration::from_nanos(1)),
            None
        );
        let frame = in_flight.take(at).expect("it has arrived");
        assert_eq!(frame.at, at);
        order.push(frame.sequence);
    }
    assert_eq!(in_flight.len(), 0);
    order
}

#[test]
fn frames_arrive_by_time_then_in_the_order_of_sending() {
    use Direction::{Back, Forward};
    for (name, arrivals, expected) in [
        (
            "one direction",
            &[(1, Forward), (2, Forward)][..],
            &[0, 1][..],
        ),
        ("both", &[(1, Forward), (1, Back), (1, Forward)], &[0, 1, 2]),
        (
            "the later direction first",
            &[(5, Forward), (3, Back)],
            &[1, 0],
        ),
        (
            "overtaking",
            &[(5, Forward), (9, Forward), (7, Forward), (7, Back)],
            &[0, 2, 3, 1],
        ),
        (
            "a tie with a late frame",
            &[(9, Forward), (4, Forward), (9, Forward)],
            &[1, 0, 2],
        ),
        (
            "many overtake",
            &[(9, Back), (4, Back), (3, Back), (4, Back)],
            &[2, 1, 3, 0],
        ),
    ] {
        assert_eq!(taken(arrivals), expected, "{name}");
    }
}
