//! Tests of the packed settings of a connection.

use super::*;

#[test]
fn a_time_below_a_millisecond_is_not_no_limit() {
    for (nanos, millis) in [(0, 0), (1, 1), (999, 1), (1_000_000, 1), (1_000_001, 2)] {
        let kept = Millis::new(Duration::from_nanos(nanos)).get();
        assert_eq!(kept, Duration::from_millis(millis), "{nanos} ns");
    }
    assert_eq!(Millis::new(Duration::MAX), Millis(u32::MAX));
}
