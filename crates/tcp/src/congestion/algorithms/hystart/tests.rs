//! Rounds whose round-trip times are known.

use std::vec::Vec;

use super::*;

/// A round of `samples` ACKs of `rtt_us` each; the last verdict.
fn round(hystart: &mut HyStart, rtt_us: u32, samples: u8) -> SlowStartPhase {
    let verdicts: Vec<_> = (0..samples)
        .map(|n| hystart.on_ack(Some(rtt_us), n == 0))
        .collect();
    *verdicts.last().unwrap()
}

#[test]
fn growth_counts_from_an_eighth_between_4_and_16_ms() {
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

#[test]
fn seven_samples_are_too_few_to_judge() {
    let mut hystart = HyStart::new();
    round(&mut hystart, 40_000, 8);
    assert_eq!(round(&mut hystart, 90_000, 7), SlowStartPhase::Standard);
}

#[test]
fn five_rounds_of_doubt_end_slow_start() {
    let mut hystart = HyStart::new();
    round(&mut hystart, 40_000, 8);
    for _ in 0..5 {
        assert_eq!(round(&mut hystart, 50_000, 8), SlowStartPhase::Conservative);
    }
    assert_eq!(round(&mut hystart, 50_000, 1), SlowStartPhase::Over);
}

#[test]
fn jitter_that_passes_lets_slow_start_go_on() {
    let mut hystart = HyStart::new();
    round(&mut hystart, 40_000, 8);
    assert_eq!(round(&mut hystart, 50_000, 8), SlowStartPhase::Conservative);
    assert_eq!(round(&mut hystart, 41_000, 8), SlowStartPhase::Standard);
}
