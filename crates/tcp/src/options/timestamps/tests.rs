//! Tests of the age of an echoed timestamp, and of PAWS.

use super::*;

#[test]
fn an_older_timestamp_is_refused_until_it_may_have_wrapped() {
    let start = Instant::from_secs(1);
    let clock = TimestampClock::new(7, 1_000, start);
    assert!(clock.is_old(999, start));
    assert!(!clock.is_old(1_000, start));
    assert!(!clock.is_old(999, start + Duration::from_secs(25 * 86_400)));
}

#[test]
fn an_echo_has_an_age_and_a_foreign_value_has_none() {
    let clock = TimestampClock::new(u32::MAX - 3, 0, Instant::ZERO);
    let sent = clock.value(Instant::from_millis(10));
    let age = clock.age(sent, Instant::from_millis(52));
    assert_eq!(age, Some(Duration::from_millis(42)));
    assert_eq!(
        clock.age(sent.wrapping_add(1_000), Instant::from_millis(52)),
        None
    );
}

/// A value that this side has not sent yet seems almost 2³² ms old.
#[test]
fn an_echo_is_believed_up_to_an_age_of_twelve_days() {
    let clock = TimestampClock::new(7, 0, Instant::ZERO);
    let now = Instant::from_millis(1 << 31);
    for (age_ms, known) in [(0, true), ((1 << 30) - 1, true), (1 << 30, false)] {
        let age = clock.age(clock.value(now).wrapping_sub(age_ms), now);
        let expected = known.then(|| Duration::from_millis(age_ms.into()));
        assert_eq!(age, expected, "{age_ms} ms");
    }
}

/// RFC 7323 §4.3 and §5.5: TS.Recent follows newer values, and any value after 24 days.
#[test]
fn the_recent_timestamp_never_goes_back_unless_it_is_24_days_old() {
    let start = Instant::from_secs(1);
    let mut clock = TimestampClock::new(7, 1_000, start);
    for (value, days, recent) in [
        (999, 0, 1_000),
        (1_001, 0, 1_001),
        (500, 23, 1_001),
        (500, 24, 500),
    ] {
        clock.remember(value, start + Duration::from_secs(days * 86_400));
        assert_eq!(clock.ts_recent(), recent, "{value} after {days} days");
    }
    assert_eq!(clock.option(start).echo, 500);
}
