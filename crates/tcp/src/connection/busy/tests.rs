//! Tests of the clock of the busy time.

use super::*;

#[test]
fn the_busy_time_is_the_sum_of_what_lies_between_starts_and_stops() {
    let at = Instant::from_millis;
    let mut clock = BusyClock::default();
    for (now, busy, total) in [
        (0, true, 0),
        (3, true, 3),
        (5, false, 5),
        (9, false, 5),
        (20, true, 5),
        (21, false, 6),
    ] {
        assert_eq!(clock.total(at(now)), Duration::from_millis(total), "{now}");
        clock.set(busy, at(now));
        assert_eq!(clock.total(at(now)), Duration::from_millis(total), "{now}");
    }
    assert_eq!(clock.total(at(100)), Duration::from_millis(6));
}
