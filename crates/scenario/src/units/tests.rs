//! Tests that amounts in their common forms are accepted, and that ambiguous ones are refused.

use super::{
    Amount, Unit, ambiguous_probability, ambiguous_share, counted, grouped, parse_probability,
    parse_rate, rate_text, seconds_text, three_digits,
};

#[test]
fn rates_carry_their_unit() {
    for (text, expected) in [
        ("12mbit", Some(12_000_000)),
        ("1.5Gbit", Some(1_500_000_000)),
        ("500kbit", Some(500_000)),
        ("9600bit", Some(9_600)),
        ("100mbps", Some(100_000_000)),
        ("100Mbit/s", Some(100_000_000)),
        ("100M", Some(100_000_000)),
        ("100 mbits/s", Some(100_000_000)),
        ("100Mb/s", Some(100_000_000)),
        ("1 Gbit/s", Some(1_000_000_000)),
        ("1g", Some(1_000_000_000)),
        ("9600bps", Some(9_600)),
        ("100MBps", None),
        ("100 MB/s", None),
        ("100MB", None),
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
        ("1", None),
        ("5", None),
        ("0", Some(0.0)),
        ("-1%", None),
        ("nan", None),
        ("much", None),
    ] {
        assert_eq!(parse_probability(text), expected, "{text}");
    }
}

#[test]
fn a_probability_of_one_without_percent_is_refused_with_both_readings() {
    assert_eq!(
        ambiguous_probability("1").unwrap(),
        "`1` may mean 1 % or 100 %: write 1% or 100%"
    );
    assert_eq!(
        ambiguous_probability("5").unwrap(),
        "`5` is above 1: write 5% for 5 of a hundred"
    );
    assert_eq!(ambiguous_probability("0.5"), None);
}

#[test]
fn a_share_of_one_without_percent_is_refused_without_the_reading_100_percent() {
    assert_eq!(
        ambiguous_share(" 1 ").unwrap(),
        "`1` is not below 1: write 1% for 1 of a hundred"
    );
    for text in ["0.5", "1%", "100%", "100", "much"] {
        assert_eq!(ambiguous_share(text), None, "{text}");
    }
}

#[test]
fn a_suffix_counts_bytes_except_in_a_rate() {
    let count = Amount::parse("100M").unwrap();
    assert_eq!((count.number, count.unit), (104_857_600.0, Unit::Count));
    let rate = Amount::of_setting("link.rate", "100M").unwrap();
    assert_eq!((rate.number, rate.unit), (1e8, Unit::Rate));
    let rate = Amount::parse("100mbps").unwrap();
    assert_eq!((rate.number, rate.unit), (1e8, Unit::Rate));
}

#[test]
fn numbers_are_shown_short() {
    assert_eq!(three_digits(5.349_9), "5.35");
    assert_eq!(three_digits(0.0), "0");
    assert_eq!(three_digits(0.011_25), "0.0112");
    assert_eq!(three_digits(0.000_04), "0");
    assert_eq!(three_digits(948.4), "948");
    assert_eq!(rate_text(54_321.0), "54.3 kbit/s");
    assert_eq!(grouped(7), "7");
    assert_eq!(grouped(16_384), "16,384");
    assert_eq!(grouped(2_000_000), "2,000,000");
    assert_eq!(counted(1, "probe"), "1 probe");
    assert_eq!(counted(1_500, "probe"), "1,500 probes");
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
