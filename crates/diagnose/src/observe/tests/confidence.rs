//! Tests of limits that are certain, and of limits that other limits imitate.

use crate::observe::spacing::Spacing;

/// The path passes a segment in 10 µs. A pacer sends at 70 % of this rate.
#[test]
fn segments_of_a_pacer_below_the_rate_of_the_path_do_not_wait_for_the_path() {
    let mut spacing = Spacing::default();
    let mut at = 0;
    for _ in 0..6 {
        at += 30_000;
        spacing.on_data(at, 1_448);
    }
    assert!(spacing.on_data(at + 31_000, 1_448));
    at += 31_000 + 200_000;
    spacing.on_data(at, 1_448);
    assert!(spacing.is_shown);
    assert!(!spacing.on_data(at + 43_000, 1_448));
}
