//! Tests of the words for a second cause.

use super::*;

/// Returns the words for two levers that gain time. `second` and `first` are the factors
/// by which they make the transfer faster.
fn words(is_equal: bool, [second, first]: [f64; 2]) -> String {
    let saved = [second, first].map(|ratio| 1.0 - 1.0 / ratio);
    let compared = Comparison {
        is_equal,
        share: saved[0] / saved[1],
        saved: Some(saved),
    };
    compared.words("x")
}

/// A goodput of +49 % saves a third of the time, +131 % saves 57 %.
#[test]
fn a_much_smaller_gain_is_not_as_much() {
    assert_eq!(words(false, [1.49, 2.31]), "; it is limited by x, too");
    assert_eq!(words(true, [1.03, 1.07]), "; it is limited as much by x");
    assert_eq!(
        words(false, [305.0, 24.7]),
        "; it is limited about as much by x, whose change saves 99.7 % of the time where the first \
         saves 96 %"
    );
}

#[test]
fn a_share_of_time_is_told_only_if_time_is_gained() {
    let compared = Comparison {
        is_equal: false,
        share: 0.9,
        saved: None,
    };
    assert_eq!(compared.words("x"), "; it is limited about as much by x");
}
