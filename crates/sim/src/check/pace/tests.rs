//! Tests of `pace.rs`.

use super::*;

fn at(now_ms: u64, in_flight: u32, sent: u64) -> PacingState {
    PacingState {
        now: Instant::from_millis(now_ms),
        rate: 1_000_000,
        mss: 1_000,
        in_flight,
        sent,
        probes: 0,
    }
}

#[test]
fn a_burst_and_a_quantum_are_free_and_no_more() {
    let mut watch = PaceChecker::default();
    assert!(watch.sent(&[1_000; 10], at(1, 10_000, 10_000)).is_ok());
    assert!(watch.sent(&[1_000; 3], at(1, 13_000, 13_000)).is_ok());
    assert!(watch.sent(&[1_000], at(1, 14_000, 14_000)).is_err());
}

#[test]
fn what_keeps_to_the_rate_is_never_too_early() {
    let mut watch = PaceChecker::default();
    for ms in 1..1_000 {
        assert!(
            watch.sent(&[1_000], at(ms, 50_000, 1_000 * ms)).is_ok(),
            "{ms}"
        );
    }
}

#[test]
fn a_tenth_faster_is_found_in_time() {
    let mut watch = PaceChecker::default();
    let found = (1..100).any(|ms| watch.sent(&[1_100], at(ms, 50_000, 1_100 * ms)).is_err());
    assert!(found);
}

#[test]
fn a_flight_that_began_unseen_has_its_burst_too() {
    let mut watch = PaceChecker::default();
    assert!(watch.sent(&[1_000; 13], at(1, 13_000, 13_000)).is_ok());
    // The total of sent bytes includes two segments that wait for ARP, which the checker has not
    // seen.
    assert!(watch.sent(&[1_000; 8], at(1, 10_000, 23_000)).is_ok());
    assert!(watch.sent(&[1_000; 8], at(1, 18_000, 31_000)).is_err());
}

#[test]
fn a_tail_loss_probe_leaves_when_its_timer_ends() {
    let mut watch = PaceChecker::default();
    assert!(watch.sent(&[1_000; 13], at(1, 13_000, 13_000)).is_ok());
    let probe = PacingState {
        probes: 1,
        ..at(1, 14_000, 14_000)
    };
    assert!(watch.clone().sent(&[1_000], probe).is_ok());
    assert!(watch.sent(&[1_000], at(1, 14_000, 14_000)).is_err());
}
