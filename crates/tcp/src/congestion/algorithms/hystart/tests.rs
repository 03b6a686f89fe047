//! Tests of HyStart++ with rounds of known round-trip times.

use std::vec::Vec;

use super::*;

/// Runs a round of `samples` ACKs of `rtt_us` each. Returns the last phase.
fn round(hystart: &mut HyStart, rtt_us: u32, samples: u8) -> SlowStartPhase {
    let verdicts: Vec<_> = (0..samples)
        .map(|n| hystart.on_ack(Some(rtt_us), n == 0))
        .collect();
    *verdicts.last().unwrap()
}

/// RFC 9406 §4.2: RttThresh = max(MIN_RTT_THRESH, min(lastRoundMinRTT /
/// MIN_RTT_DIVISOR, MAX_RTT_THRESH)).
#[test]
fn an_eighth_of_the_round_trip_between_4_and_16_ms_is_significant_growth() {
    use SlowStartPhase::*;
    for (first_us, second_us, expected) in [
        (40_000, 44_900, Standard),
        (40_000, 45_000, Conservative),
        (1_000, 4_900, Standard),
        (1_000, 5_000, Conservative),
        (400_000, 415_900, Standard),
        (400_000, 416_000, Conservative),
    ] {
        let mut hystart = HyStart::new();
        round(&mut hystart, first_us, 8);
        let phase = round(&mut hystart, second_us, 8);
        assert_eq!(phase, expected, "{first_us} then {second_us}");
    }
}

/// RFC 9406 §4.2: N_RTT_SAMPLE is 8.
#[test]
fn seven_samples_are_too_few() {
    let mut hystart = HyStart::new();
    round(&mut hystart, 40_000, 8);
    assert_eq!(round(&mut hystart, 90_000, 7), SlowStartPhase::Standard);
}

/// RFC 9406 §4.2: currentRoundMinRTT is the least of the whole round. A queue that
/// grows in the middle of a round counts in the next one.
#[test]
fn a_queue_within_a_round_is_seen_in_the_next() {
    let mut hystart = HyStart::new();
    round(&mut hystart, 100_000, 8);
    assert_eq!(
        hystart.on_ack(Some(100_000), true),
        SlowStartPhase::Standard
    );
    for _ in 0..100 {
        assert_eq!(
            hystart.on_ack(Some(190_000), false),
            SlowStartPhase::Standard
        );
    }
    for _ in 0..7 {
        assert_eq!(
            hystart.on_ack(Some(190_000), false),
            SlowStartPhase::Standard
        );
    }
    assert_eq!(round(&mut hystart, 118_000, 7), SlowStartPhase::Standard);
    assert_eq!(
        hystart.on_ack(Some(118_000), false),
        SlowStartPhase::Conservative
    );
}

/// RFC 9406 §4.2: the minima of both rounds must be valid, so the first round never starts CSS.
#[test]
fn a_round_without_samples_compares_with_nothing() {
    let mut hystart = HyStart::new();
    assert_eq!(round(&mut hystart, 900_000, 20), SlowStartPhase::Standard);
    assert_eq!(hystart.on_ack(None, true), SlowStartPhase::Standard);
    assert_eq!(round(&mut hystart, 2_000_000, 20), SlowStartPhase::Standard);
}

/// RFC 9406 §4.2: a partial round counts towards CSS_ROUNDS, and after five rounds slow start is
/// over.
#[test]
fn five_rounds_of_css_end_slow_start() {
    let mut hystart = HyStart::new();
    round(&mut hystart, 40_000, 8);
    for _ in 0..5 {
        assert_eq!(round(&mut hystart, 50_000, 8), SlowStartPhase::Conservative);
    }
    assert_eq!(round(&mut hystart, 50_000, 1), SlowStartPhase::Over);
}

/// RFC 9406 §4.2: slow start resumes if the round-trip time falls below cssBaselineMinRtt. This
/// check also takes eight samples.
#[test]
fn slow_start_resumes_when_the_round_trip_falls_again() {
    let mut hystart = HyStart::new();
    round(&mut hystart, 40_000, 8);
    assert_eq!(round(&mut hystart, 50_000, 8), SlowStartPhase::Conservative);
    assert_eq!(round(&mut hystart, 41_000, 8), SlowStartPhase::Standard);
}
