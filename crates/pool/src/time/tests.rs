//! Tests of time arithmetic, and of the text forms of durations.

use super::*;
use alloc::format;
use alloc::string::ToString;
use proptest::prelude::*;

#[test]
fn a_duration_is_shown_in_the_largest_unit_that_keeps_a_whole_number() {
    for (nanos, shown) in [
        (0, "0s"),
        (15, "15ns"),
        (50_000, "50us"),
        (1_500, "1.5us"),
        (20_000_000, "20ms"),
        (1_500_000_000, "1.5s"),
        (60_000_000_000, "60s"),
        (1_000_000_001, "1.000000001s"),
        (u64::MAX, "18446744073.709551615s"),
    ] {
        assert_eq!(Duration::from_nanos(nanos).to_string(), shown);
    }
}

#[test]
fn debug_and_the_alternate_form_are_spaced_for_reading() {
    for (nanos, shown) in [
        (0, "0 s"),
        (839_000, "839 µs"),
        (1_500_000_000, "1.5 s"),
        (7, "7 ns"),
    ] {
        let length = Duration::from_nanos(nanos);
        assert_eq!(format!("{length:?}"), shown);
        assert_eq!(format!("{length:#}"), shown);
        assert_eq!(shown.parse(), Ok(length));
    }
    let at = Instant::from_millis(20);
    assert_eq!(format!("{at:?}"), "Instant(20 ms)");
}

#[test]
fn a_precision_cuts_the_decimals() {
    for (nanos, shown) in [
        (1_234_567, "1.23ms"),
        (1_200_000, "1.2ms"),
        (1_001_000, "1ms"),
        (7, "7ns"),
    ] {
        assert_eq!(format!("{:.2}", Duration::from_nanos(nanos)), shown);
    }
}

#[test]
fn a_text_is_read_exactly_or_refused_with_the_reason() {
    use ParseDurationError::{MissingUnit, Number, TooFine, TooLong, UnknownUnit};
    for (text, expected) in [
        ("200ms", Ok(200_000_000)),
        ("1s", Ok(1_000_000_000)),
        ("50us", Ok(50_000)),
        ("15ns", Ok(15)),
        ("1m", Ok(60_000_000_000)),
        ("0.5m", Ok(30_000_000_000)),
        ("1.5 s", Ok(1_500_000_000)),
        (" 0 ", Ok(0)),
        ("0.250s", Ok(250_000_000)),
        ("1.0000000010s", Ok(1_000_000_001)),
        ("", Err(Number)),
        ("ms", Err(Number)),
        ("-1ms", Err(Number)),
        (".5s", Err(Number)),
        ("1.s", Err(Number)),
        ("1.2.3s", Err(Number)),
        ("200", Err(MissingUnit)),
        ("3 weeks", Err(UnknownUnit)),
        ("0.5ns", Err(TooFine)),
        ("1.05ns", Err(TooFine)),
        ("1.00000000001s", Err(TooFine)),
        ("1.0000000001s", Err(TooFine)),
        ("18446744074s", Err(TooLong)),
        ("99999999999999999999999ns", Err(TooLong)),
    ] {
        assert_eq!(text.parse(), expected.map(Duration::from_nanos), "{text:?}");
    }
}

#[test]
fn arithmetic_saturates_at_both_ends() {
    let (early, late) = (Instant::from_secs(1), Instant::from_secs(3));
    assert_eq!(late - early, Duration::from_secs(2));
    assert_eq!(early - late, Duration::ZERO);
    assert_eq!(early.since(late), Duration::ZERO);
    assert_eq!(early - Duration::from_secs(2), Instant::ZERO);
    assert_eq!(early + Duration::MAX, Instant::from_nanos(u64::MAX));
    assert_eq!(Duration::MAX + Duration::from_nanos(1), Duration::MAX);
    assert_eq!(Duration::ZERO - Duration::from_nanos(1), Duration::ZERO);
    assert_eq!(Duration::from_secs(u64::MAX) * 2, Duration::MAX);
    assert_eq!(Duration::from_secs(3) / 2, Duration::from_millis(1500));
}

#[test]
fn seconds_as_floats_round_to_the_nearest_nanosecond() {
    for (secs, nanos) in [
        (1.5, 1_500_000_000),
        (0.000_000_000_6, 1),
        (-1.0, 0),
        (f64::NAN, 0),
        (f64::INFINITY, u64::MAX),
    ] {
        assert_eq!(Duration::from_secs_f64(secs).as_nanos(), nanos, "{secs}");
    }
}

#[test]
fn the_standard_duration_converts_both_ways() {
    let standard = core::time::Duration::new(3, 7);
    assert_eq!(
        core::time::Duration::from(Duration::from(standard)),
        standard
    );
    assert_eq!(Duration::from(core::time::Duration::MAX), Duration::MAX);
}

proptest! {
    #[test]
    fn every_duration_is_read_back_as_it_was_shown(nanos in any::<u64>(), shift in 0u32..64) {
        let length = Duration::from_nanos(nanos >> shift);
        prop_assert_eq!(length.to_string().parse(), Ok(length));
    }
}
