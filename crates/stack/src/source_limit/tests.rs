//! Tests of `source_limit`.

use super::*;

const SECRET: Secret = Secret([3; 16]);
const START: Instant = Instant::from_secs(1_000);
const RATES: Rates = Rates {
    per_second: 1_000,
    per_source: 10,
    burst: 5,
};

fn ip(n: u32) -> IpAddr {
    core::net::Ipv4Addr::from_bits(0x0a00_0000 + n).into()
}

#[test]
fn a_source_has_its_burst_and_its_rate_whatever_others_get() {
    let mut limit = SourceLimit::new(RATES, &SECRET);
    for source in 0..3 {
        let allowed = (0..20).filter(|_| limit.allow(ip(source), START)).count();
        assert_eq!(allowed, 5, "source {source}");
    }
    let later = START + Duration::from_millis(99);
    assert!(!limit.allow(ip(1), later));
    assert!(limit.allow(ip(1), START + Duration::from_millis(100)));
    assert!(!limit.allow(ip(1), START + Duration::from_millis(150)));
    let full = START + Duration::from_secs(10);
    let allowed = (0..20).filter(|_| limit.allow(ip(1), full)).count();
    assert_eq!(allowed, 5);
}

#[test]
fn all_sources_together_are_bounded_by_the_number_of_accounts() {
    let mut limit = SourceLimit::new(RATES, &SECRET);
    assert_eq!(limit.accounts.len(), 100);
    let mut allowed = 0;
    for n in 0..200_000_u32 {
        let now = START + Duration::from_micros(u64::from(n) * 50);
        allowed += u32::from(limit.allow(ip(n), now));
    }
    // For ten seconds, 20,000 sources a second ask, but only a thousand answers a second are
    // allowed.
    assert!((8_000..=10_100).contains(&allowed), "{allowed}");
}

#[test]
fn a_rate_of_zero_allows_nothing() {
    for rates in [
        Rates {
            per_second: 0,
            ..RATES
        },
        Rates {
            per_source: 0,
            ..RATES
        },
    ] {
        assert!(!SourceLimit::new(rates, &SECRET).allow(ip(1), START));
    }
}

#[test]
fn one_source_more_changes_the_chance_of_another_by_one_account_in_all() {
    // About a third of the accounts (each for one source) are in use. In every second trial an
    // unknown host uses one more account.
    let mut allowed = [0_u32; 2];
    for trial in 0..40_000_u32 {
        let more = trial % 2;
        let mut secret = SECRET;
        secret.0[..4].copy_from_slice(&trial.to_be_bytes());
        let mut limit = SourceLimit::new(RATES, &secret);
        for n in 0..40 {
            limit.allow(ip(n), START);
        }
        if more == 1 {
            limit.allow(ip(1_000), START);
        }
        allowed[more as usize] += u32::from(limit.allow(ip(2_000), START));
    }
    // About 33 of 100 accounts are in use, so about 13,400 of 20,000 answers are allowed, with a
    // standard deviation of 67. One more account in use in 100 would lower that number by about
    // 130. The test allows four standard deviations of the difference (94 each) more than that.
    let difference = allowed[0].abs_diff(allowed[1]);
    assert!(difference < 130 + 4 * 94, "{allowed:?}");
}

#[test]
fn a_shared_queue_refuses_more_the_fuller_it_is() {
    let mut limit = SourceLimit::new(RATES, &SECRET);
    let mut lucky = |taken| (0..4_000).filter(|_| limit.has_luck(taken, 64)).count();
    assert_eq!((lucky(0), lucky(64)), (4_000, 0));
    let half = lucky(32);
    assert!((1_880..=2_120).contains(&half), "{half}");
}
