//! Tests of samples, timeout and backoff.

use super::*;

fn config() -> TcpConfig {
    TcpConfig::default()
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn the_first_sample_sets_and_later_ones_move_the_estimate() {
    let mut rtt = Rtt::new(&config());
    rtt.add_sample(ms(100), &config());
    assert_eq!(rtt.srtt(), ms(100));
    assert_eq!(rtt.rto(&config()), ms(300));
    rtt.add_sample(ms(20), &config());
    assert_eq!(rtt.srtt(), ms(90));
    assert_eq!(rtt.min_rtt(), Some(ms(20)));
}

#[test]
fn backoff_doubles_up_to_the_ceiling_and_ends_with_a_sample() {
    let mut rtt = Rtt::new(&config());
    for _ in 0..40 {
        rtt.back_off();
    }
    assert_eq!(rtt.rto(&config()), config().rto_max);
    rtt.add_sample(ms(1), &config());
    assert_eq!(rtt.rto(&config()), config().rto_min + ms(1));
}

#[test]
fn a_round_trip_that_never_varies_still_leaves_the_timeout_a_margin() {
    let mut rtt = Rtt::new(&config());
    for _ in 0..100 {
        rtt.add_sample(ms(250), &config());
    }
    assert_eq!(rtt.rto(&config()), ms(250) + config().rto_min);
}

/// RFC 6298 §2.3: RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R'|, SRTT = 7/8 SRTT + 1/8 R'.
#[test]
fn the_variation_and_the_timeout_follow_the_formulas() {
    let mut rtt = Rtt::new(&config());
    assert_eq!((rtt.srtt(), rtt.min_rtt()), (Duration::ZERO, None));
    rtt.add_sample(ms(400), &config());
    assert_eq!((rtt.srtt(), rtt.rttvar()), (ms(400), ms(200)));
    assert_eq!(rtt.rto(&config()), ms(400 + 4 * 200));
    rtt.add_sample(ms(560), &config());
    // (3 · 200 + 160) / 4 and (7 · 400 + 560) / 8
    assert_eq!((rtt.srtt(), rtt.rttvar()), (ms(420), ms(190)));
    assert_eq!(rtt.rto(&config()), ms(420 + 4 * 190));
    assert_eq!(rtt.min_rtt(), Some(ms(400)));
    rtt.add_sample(Duration::ZERO, &config());
    assert_eq!(rtt.min_rtt(), Some(Duration::from_micros(1)));
    assert_eq!(rtt.srtt(), Duration::from_micros(367_500));
}

/// SRTT and RTTVAR are stored in fractions of a microsecond, so that both reach their limits
/// despite rounding.
#[test]
fn the_estimate_reaches_a_constant_round_trip_from_both_sides() {
    for (first, then) in [(1_000, 1_018), (1_036, 1_018), (1, 2), (50_000, 3)] {
        let mut rtt = Rtt::new(&config());
        rtt.add_sample(Duration::from_micros(first), &config());
        for _ in 0..200 {
            rtt.add_sample(Duration::from_micros(then), &config());
        }
        assert_eq!(rtt.srtt(), Duration::from_micros(then), "from {first}");
        assert_eq!(rtt.rttvar(), Duration::ZERO, "from {first}");
    }
}

#[test]
fn a_sample_of_any_length_is_taken() {
    let mut rtt = Rtt::new(&config());
    let largest = Duration::from_micros((u32::MAX / 8).into());
    for sample in [Duration::ZERO, Duration::MAX, Duration::ZERO, Duration::MAX] {
        for _ in 0..200 {
            rtt.add_sample(sample, &config());
            assert!(rtt.rttvar() <= largest);
        }
        let expected = sample.max(Duration::from_micros(1)).min(largest);
        assert_eq!(rtt.srtt(), expected);
    }
}

/// RFC 6298 §5.5 to §5.7.
#[test]
fn each_timeout_doubles_and_a_lost_syn_raises_the_first_one_to_three_seconds() {
    let mut rtt = Rtt::new(&config());
    let initial = config().rto_initial;
    for factor in [1, 2, 4, 8] {
        assert_eq!(rtt.rto(&config()), initial * factor);
        rtt.back_off();
    }
    rtt.end_backoff();
    assert_eq!(rtt.rto(&config()), initial);
    rtt.distrust_handshake();
    assert_eq!(rtt.rto(&config()), ms(3_000));
    rtt.add_sample(ms(400), &config());
    rtt.distrust_handshake();
    assert_eq!(rtt.rto(&config()), ms(1_200), "there is a sample");
    let mut slow = Rtt::new(&TcpConfig {
        rto_initial: ms(5_000),
        ..config()
    });
    slow.distrust_handshake();
    assert_eq!(slow.rto(&config()), ms(5_000));
    slow.add_sample(Duration::from_secs(100_000), &config());
    assert_eq!(slow.rto(&config()), config().rto_max);
}
