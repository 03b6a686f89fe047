//! What people write is read, and what is not meant is refused.

use super::{grouped, parse_probability, parse_rate, rate_text, seconds_text, three_digits};

#[test]
fn rates_carry_their_unit() {
    for (text, expected) in [
        ("12mbit", Some(12_000_000)),
        ("1.5Gbit", Some(1_500_000_000)),
        ("500kbit", Some(500_000)),
        ("9600bit", Some(9_600)),
        ("12", None),
        ("12mb", None),
        ("mbit", None),
        ("-1mbit", None),
        ("1e3mbit", None),
        ("0bit", None),
        ("", None),
    ] {
        assert_eq!(parse_rate(text), expected, "{text}");
    }
}

#[test]
fn probabilities_are_percent_or_fractions_between_none_and_all() {
    for (text, expected) in [
        ("1%", Some(0.01)),
        ("0.25", Some(0.25)),
        ("100%", Some(1.0)),
        ("101%", None),
        ("1.01", None),
        ("-1%", None),
        ("nan", None),
        ("much", None),
    ] {
        assert_eq!(parse_probability(text), expected, "{text}");
    }
}

#[test]
fn numbers_are_shown_short() {
    assert_eq!(three_digits(5.349_9), "5.35");
    assert_eq!(three_digits(0.0), "0");
    assert_eq!(three_digits(948.4), "948");
    assert_eq!(rate_text(54_321.0), "54.3 kbit/s");
    assert_eq!(grouped(7), "7");
    assert_eq!(grouped(16_384), "16,384");
    assert_eq!(grouped(2_000_000), "2,000,000");
}

#[test]
fn a_time_has_a_unit_that_leaves_it_three_digits() {
    let times = [0.0, 24.31, 0.304, 0.020_53, 0.000_767, 0.000_057_3];
    let texts = times.map(seconds_text);
    assert_eq!(
        texts,
        ["0 s", "24.3 s", "0.304 s", "20.5 ms", "0.767 ms", "57.3 us"]
    );
}
