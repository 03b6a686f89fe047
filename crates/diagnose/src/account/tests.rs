//! Test that the shares of any times add up to 1.

use fullpipe_pool::{Duration, Rng};
use fullpipe_tcp::Limit;

use super::Shares;

const LIMITS: [Limit; 5] = [
    Limit::Application,
    Limit::SendBuffer,
    Limit::Nagle,
    Limit::Memory,
    Limit::Closing,
];

#[test]
fn shares_add_up_to_one_for_any_times() {
    let mut rng = Rng::seeded(5);
    for round in 0..1_000 {
        let times = LIMITS.map(|limit| {
            (
                limit,
                Duration::from_nanos(rng.next_u64() >> rng.between(4, 63)),
            )
        });
        let shares = Shares::of(times);
        let sum: f64 = LIMITS.iter().map(|limit| shares.share(*limit)).sum();
        assert!((sum - 1.0).abs() < 1e-12, "round {round}: {sum}");
    }
}

#[test]
fn the_largest_come_first_and_the_absent_not_at_all() {
    let times = [(Limit::Nagle, 1), (Limit::Memory, 0), (Limit::Device, 3)];
    let shares = Shares::of(times.map(|(limit, s)| (limit, Duration::from_secs(s))));
    assert_eq!(
        shares.largest_first(),
        [(Limit::Device, 0.75), (Limit::Nagle, 0.25)]
    );
}

#[test]
fn no_time_has_no_shares() {
    let shares = Shares::of(LIMITS.map(|limit| (limit, Duration::ZERO)));
    assert!(shares.largest_first().is_empty());
}
