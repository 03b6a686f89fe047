//! Samples, timeout and backoff.

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
