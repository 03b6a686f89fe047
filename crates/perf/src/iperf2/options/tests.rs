//! Tests of the quantities' parser against stock iperf's meaning of suffixes.

use super::*;

#[test]
fn an_upper_case_suffix_of_a_size_is_a_power_of_1024() {
    for (text, bytes) in [
        ("64000", Some(64_000)),
        ("16K", Some(16_384)),
        ("16k", Some(16_000)),
        ("1M", Some(1_048_576)),
        ("1.5m", Some(1_500_000)),
        ("2G", Some(2_147_483_648)),
        ("0", Some(0)),
        ("", None),
        ("K", None),
        ("-1", None),
        ("1e5", None),
        ("12Q", None),
        ("inf", None),
        ("99999999G", None),
    ] {
        assert_eq!(parse_bytes(text).ok(), bytes, "{text:?}");
    }
}

#[test]
fn a_rate_is_in_bits_or_in_packets_per_second() {
    for (text, rate) in [
        ("810M", Some(Rate::Bits(849_346_560))),
        ("500m", Some(Rate::Bits(500_000_000))),
        ("1000", Some(Rate::Bits(1_000))),
        ("2kpps", Some(Rate::Packets(2_000))),
        ("100pps", Some(Rate::Packets(100))),
        ("pps", None),
        ("0", None),
        ("fast", None),
    ] {
        assert_eq!(parse_rate(text).ok(), rate, "{text:?}");
    }
}

#[test]
fn a_time_is_a_positive_number_of_seconds() {
    assert_eq!(parse_seconds("0.5"), Ok(Duration::from_millis(500)));
    for text in ["0", "-1", "ten", "NaN", "inf", "1e300"] {
        assert!(parse_seconds(text).is_err(), "{text}");
    }
}
