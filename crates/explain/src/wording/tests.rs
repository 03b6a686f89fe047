//! Tests of the words for a second cause.

use super::*;

/// A goodput of +49 % saves a third of the time, +131 % saves 57 %.
#[test]
fn a_much_smaller_gain_is_not_as_much() {
    let saved = |gain: f64| 1.0 - 1.0 / (1.0 + gain);
    assert_eq!(amount(false, saved(0.49) / saved(1.31)), ", too");
    assert_eq!(amount(false, saved(0.9) / saved(0.95)), " as much");
    assert_eq!(amount(true, saved(0.03) / saved(0.07)), " as much");
}
