//! Tests of the pacer's bound: the rate, a quantum (the bytes of a millisecond) and a burst.

use super::*;

const MSS: u32 = 1_000;
const RATE: u64 = 10_000_000;

/// Sends whenever the pacer allows, checked every `every_us`, for `for_us`.
fn sent(pacer: &mut SegmentPacer, from_us: u64, every_us: u64, for_us: u64) -> u64 {
    let mut bytes = 0;
    let mut us = from_us;
    while us < from_us + for_us {
        let now = Instant::from_micros(us);
        while pacer.may_send(now) {
            pacer.on_sent(MSS, RATE, MSS, now);
            bytes += u64::from(MSS);
        }
        us += every_us;
    }
    bytes
}

#[test]
fn a_flight_starts_with_a_burst_of_ten_segments_and_continues_at_the_rate() {
    let mut pacer = SegmentPacer::new();
    pacer.on_flight_start(MSS);
    let now = Instant::from_secs(1);
    let mut burst = 0;
    while pacer.may_send(now) {
        pacer.on_sent(MSS, RATE, MSS, now);
        burst += MSS;
    }
    let quantum = SegmentPacer::quantum(RATE, MSS);
    assert!(
        burst >= 10 * MSS && burst <= 10 * MSS + quantum + MSS,
        "{burst}"
    );
    assert!(pacer.release_at() > now);
}

#[test]
fn no_interval_sends_more_than_the_rate_plus_a_quantum_and_a_burst() {
    for every_us in [10, 100, 900, 1_000, 5_000] {
        for for_us in [1_000, 20_000, 300_000] {
            let mut pacer = SegmentPacer::new();
            pacer.on_flight_start(MSS);
            let bytes = sent(&mut pacer, 1_000_000, every_us, for_us);
            let quantum = SegmentPacer::quantum(RATE, MSS);
            let most = RATE * for_us / 1_000_000 + u64::from(quantum + 11 * MSS);
            assert!(bytes <= most, "every {every_us} us: {bytes} of {most}");
        }
    }
}

#[test]
fn a_sender_that_is_woken_every_millisecond_still_reaches_the_rate() {
    let mut pacer = SegmentPacer::new();
    let bytes = sent(&mut pacer, 0, 1_000, 1_000_000);
    assert!(bytes >= RATE * 99 / 100, "{bytes}");
}

#[test]
fn a_quantum_is_a_millisecond_within_two_segments_and_64_kib() {
    for (rate, expected) in [
        (0, 2 * MSS),
        (1_000_000, 2 * MSS),
        (12_500_000, 12_500),
        (1_250_000_000, 64 << 10),
        (u64::MAX, 64 << 10),
    ] {
        assert_eq!(SegmentPacer::quantum(rate, MSS), expected, "{rate} B/s");
    }
}

#[test]
fn without_a_rate_nothing_is_delayed() {
    let mut pacer = SegmentPacer::new();
    let now = Instant::from_secs(1);
    for _ in 0..1_000 {
        assert!(pacer.may_send(now));
        pacer.on_sent(64 << 10, u64::MAX, MSS, now);
    }
}

/// At 10 MB/s a quantum is 10,000 bytes, or 1 ms, and a segment takes 0.1 ms.
#[test]
fn each_segment_moves_the_release_time_by_its_length_over_the_rate() {
    let us = Instant::from_micros;
    let now = us(1_000_000);
    let mut pacer = SegmentPacer::new();
    assert!(pacer.may_send(now));
    pacer.on_sent(MSS, RATE, MSS, now);
    assert_eq!(pacer.release_at(), us(999_100), "late by a quantum at most");
    pacer.on_sent(20 * MSS, RATE, MSS, now);
    assert_eq!(pacer.release_at(), us(1_001_100));
    assert!(!pacer.may_send(now) && !pacer.may_send(us(1_001_099)));
    assert!(pacer.may_send(us(1_001_100)));
    // The burst is not charged, and lets segments leave before the release time.
    pacer.on_flight_start(MSS);
    assert!(pacer.may_send(now));
    pacer.on_sent(4 * MSS, RATE, MSS, now);
    assert_eq!(pacer.release_at(), us(1_001_100));
    assert!(pacer.may_send(now));
    pacer.on_sent(7 * MSS, RATE, MSS, now);
    assert_eq!(pacer.release_at(), us(1_001_200), "a segment beyond it");
    assert!(!pacer.may_send(now));
    pacer.on_sent(1, 0, MSS, now);
    assert_eq!(pacer.release_at(), us(2_001_200), "a rate of 0 counts as 1");
}
