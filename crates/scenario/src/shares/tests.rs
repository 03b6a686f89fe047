//! Shares add up to 1 for any times.

use fullpipe_pool::{Duration, Rng};

use super::Shares;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

#[test]
fn shares_add_up_to_one_for_any_times() {
    let mut rng = Rng::seeded(5);
    for round in 0..1_000 {
        let times = NAMES.map(|name| {
            (
                name,
                Duration::from_nanos(rng.next_u64() >> rng.between(4, 63)),
            )
        });
        let shares = Shares::of(times);
        let sum: f64 = NAMES.iter().map(|name| shares.share(name)).sum();
        assert!((sum - 1.0).abs() < 1e-12, "round {round}: {sum}");
    }
}

#[test]
fn the_largest_come_first_and_the_absent_not_at_all() {
    let times = [("small", 1), ("none", 0), ("large", 3)];
    let shares = Shares::of(times.map(|(name, s)| (name, Duration::from_secs(s))));
    assert_eq!(shares.largest_first(), [("large", 0.75), ("small", 0.25)]);
}

#[test]
fn no_time_has_no_shares() {
    let shares = Shares::of(NAMES.map(|name| (name, Duration::ZERO)));
    assert!(shares.largest_first().is_empty());
}
