//! Tests of the comparison of values.

use super::*;

#[test]
fn values_are_alike_if_they_lie_on_the_same_side_of_the_present_one() {
    for (one, other, present, expected) in [
        ("8", "64", Some(2.0), true),
        ("1", "8", Some(2.0), false),
        ("10ms", "100ms", Some(200_000.0), true),
        ("10ms", "400ms", Some(200_000.0), false),
        ("false", "true", None, false),
        ("true", "true", None, true),
        ("5us", "0us", None, true),
    ] {
        assert_eq!(is_alike(one, other, present), expected, "{one}, {other}");
    }
}
