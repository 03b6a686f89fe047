//! Ages and PAWS.

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
