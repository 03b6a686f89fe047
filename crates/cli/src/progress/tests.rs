//! Tests of the times in the progress line.
//!
//! Rule: the times are given, and no clock is read.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn the_remaining_time_has_the_rate_of_the_time_before() {
    for (elapsed, share, expected) in [
        (30, 0.25, Some(90)),
        (30, 0.5, Some(30)),
        (3, 0.75, Some(1)),
        (30, 1.0, Some(0)),
        (30, 0.0, None),
        (0, 0.5, Some(0)),
    ] {
        let expected = expected.map(|seconds| SECOND * seconds);
        assert_eq!(
            remaining(SECOND * elapsed, share),
            expected,
            "{elapsed} {share}"
        );
    }
}

#[test]
fn the_line_has_the_time_since_the_start_and_the_time_until_the_end() {
    for (elapsed, share, expected) in [
        (0, 0.0, "0s, ETA unknown"),
        (1, 0.0, "1s, ETA unknown"),
        (10, 0.25, "10s, ETA 30s"),
        (600, 0.25, "10m, ETA 30m"),
        (7_200, 0.5, "2h, ETA 2h"),
        (10, 1.0, "10s, ETA 0s"),
    ] {
        assert_eq!(times(SECOND * elapsed, share), expected);
    }
}
