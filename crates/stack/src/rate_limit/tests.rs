//! Tests of `rate_limit`.

use super::*;

#[test]
fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
    let mut limit = RateLimit::new(10, 3);
    let start = Instant::from_secs(5);
    let passed_at = |limit: &mut RateLimit, now| (0..10).filter(|_| limit.allow(now)).count();
    assert_eq!(passed_at(&mut limit, start), 3);
    assert_eq!(passed_at(&mut limit, start + Duration::from_millis(99)), 0);
    assert_eq!(passed_at(&mut limit, start + Duration::from_millis(100)), 1);
    assert_eq!(passed_at(&mut limit, start + Duration::from_secs(60)), 3);
}

#[test]
fn an_event_is_allowed_at_the_next_allowed_time_and_not_before() {
    let mut limit = RateLimit::new(7, 1);
    assert!(limit.allow(Instant::from_secs(1)));
    let next = limit.next_allowed();
    assert!(!limit.allow(next - Duration::from_nanos(1)));
    assert!(limit.allow(next));
}

#[test]
fn a_rate_of_zero_allows_nothing() {
    assert!(!RateLimit::new(0, 5).allow(Instant::from_secs(1_000)));
}
