//! Tests of rate samples from flights of known rate.

use std::vec::Vec;

use super::*;

const MSS: u32 = 1_000;

fn at_us(us: u64) -> Instant {
    Instant::from_micros(us)
}

/// Sends segments at `sent_us` and acknowledges each at `acked_us`. Returns the
/// sample of each ACK.
fn exchange(estimator: &mut DeliveryRate, times: &[(u64, u64)]) -> Vec<RateSample> {
    let mut events: Vec<(u64, bool, usize)> = Vec::new();
    for (index, &(sent_us, acked_us)) in times.iter().enumerate() {
        events.push((sent_us, false, index));
        events.push((acked_us, true, index));
    }
    events.sort_unstable();
    let mut snapshots = std::vec![Snapshot::default(); times.len()];
    let mut in_flight = 0;
    let mut samples = Vec::new();
    for (us, is_ack, index) in events {
        if is_ack {
            in_flight -= MSS;
            let sent_at = at_us(times[index].0);
            estimator.on_delivered(MSS, sent_at, snapshots[index], false, at_us(us));
            samples.push(estimator.sample(0));
        } else {
            snapshots[index] = estimator.on_sent(MSS, in_flight, at_us(us));
            in_flight += MSS;
        }
    }
    samples
}

#[test]
fn a_snapshot_is_as_small_as_five_words() {
    assert_eq!(size_of::<Snapshot>(), 20);
}

#[test]
fn the_rate_is_the_slower_of_sending_and_acknowledging() {
    let steady = |count: u64, sent_gap: u64, acked_gap: u64| {
        (0..count)
            .map(|n| (n * sent_gap, 40_000 + n * acked_gap))
            .collect::<Vec<_>>()
    };
    for (name, times, expected) in [
        (
            "sent and acknowledged at 1 MB/s",
            steady(200, 1_000, 1_000),
            1_000_000,
        ),
        (
            "a burst that a 1 MB/s link spreads out, and the round trip before it",
            steady(200, 0, 1_000),
            200_000 * 1_000 / 239,
        ),
        (
            "sent at 1 MB/s, all ACKs at once",
            steady(40, 1_000, 0),
            1_000_000,
        ),
    ] {
        let last = *exchange(&mut DeliveryRate::new(), &times).last().unwrap();
        let error = last.rate().abs_diff(expected);
        assert!(error <= expected / 20, "{name}: {} B/s", last.rate());
    }
}

#[test]
fn a_round_trip_begins_when_a_range_sent_after_the_last_one_is_acknowledged() {
    let times: Vec<_> = (0..100).map(|n| (n * 1_000, 10_500 + n * 1_000)).collect();
    let samples = exchange(&mut DeliveryRate::new(), &times);
    let starts = samples.iter().filter(|sample| sample.round_start).count();
    assert!((9..=11).contains(&starts), "{starts} rounds in 10 flights");
}

#[test]
fn samples_are_app_limited_until_the_bytes_in_flight_at_the_pause_are_delivered() {
    let mut estimator = DeliveryRate::new();
    let before = estimator.on_sent(MSS, 0, at_us(0));
    estimator.mark_app_limited(MSS);
    let after = estimator.on_sent(MSS, MSS, at_us(10));
    assert!(!before.is_app_limited() && after.is_app_limited());
    assert_eq!(after.tx_in_flight(), 2 * MSS);
    for (snapshot, sent_us, expected) in [(before, 0, false), (after, 10, true)] {
        estimator.on_delivered(MSS, at_us(sent_us), snapshot, false, at_us(40_000));
        assert_eq!(estimator.sample(0).app_limited, expected);
    }
    let later = estimator.on_sent(MSS, 0, at_us(50_000));
    assert!(!later.is_app_limited(), "the pause is over");
}

#[test]
fn the_latest_rate_ignores_slower_app_limited_samples() {
    let mut estimator = DeliveryRate::new();
    assert_eq!(estimator.latest(), 0);
    let steady: Vec<_> = (0..100).map(|n| (n * 1_000, 40_000 + n * 1_000)).collect();
    exchange(&mut estimator, &steady);
    let of_path = estimator.latest();
    assert!(of_path.abs_diff(1_000_000) < 50_000, "{of_path} B/s");
    estimator.mark_app_limited(0);
    exchange(&mut estimator, &[(300_000, 340_000)]);
    assert_eq!(estimator.latest(), of_path);
    assert!(!estimator.latest_is_app_limited());
    estimator.mark_app_limited(0);
    exchange(&mut estimator, &[(400_000, 400_100)]);
    assert_eq!(
        estimator.latest(),
        10_000_000,
        "a pause makes nothing faster"
    );
    assert!(estimator.latest_is_app_limited());
}

#[test]
fn an_ambiguous_ack_gives_neither_rate_nor_round_trip() {
    let mut estimator = DeliveryRate::new();
    estimator.on_sent(MSS, 0, at_us(0));
    let again = estimator.on_sent(MSS, 0, at_us(90_000));
    estimator.on_delivered(MSS, at_us(90_000), again, true, at_us(91_000));
    let sample = estimator.sample(40_000);
    assert_eq!((sample.rate(), sample.rtt_us), (0, None));
    assert_eq!(sample.newly_acked, MSS, "it arrived all the same");
}

#[test]
fn loss_is_counted_from_when_the_newest_range_left() {
    let mut estimator = DeliveryRate::new();
    let first = estimator.on_sent(MSS, 0, at_us(0));
    let second = estimator.on_sent(MSS, MSS, at_us(1));
    let found = estimator.on_lost(MSS, first, at_us(2));
    assert_eq!((found.lost, found.tx_in_flight), (MSS, MSS));
    let third = estimator.on_sent(MSS, MSS, at_us(3));
    for (snapshot, sent_us, lost) in [(second, 1, MSS), (third, 3, 0)] {
        estimator.on_delivered(MSS, at_us(sent_us), snapshot, false, at_us(40_000));
        let sample = estimator.sample(0);
        assert_eq!((sample.lost, sample.newly_lost), (lost, lost));
    }
}

#[test]
fn counters_and_clocks_wrap_without_a_jump_in_the_rate() {
    let mut estimator = DeliveryRate::new();
    estimator.delivered = u64::from(u32::MAX) - 5_000;
    let start_us = u64::from(u32::MAX) - 5_000;
    let times: Vec<_> = (0..200)
        .map(|n| (start_us + n * 1_000, start_us + 40_000 + n * 1_000))
        .collect();
    for sample in exchange(&mut estimator, &times).iter().skip(41) {
        assert!(sample.rate().abs_diff(1_000_000) < 50_000, "{sample:?}");
        assert!(sample.prior_delivered < sample.total_delivered);
    }
}

/// A range is delivered after a range that left later. The ACK of the older range gives a sample of
/// that range.
#[test]
fn a_range_that_was_overtaken_still_gives_a_sample() {
    let mut estimator = DeliveryRate::new();
    let older = estimator.on_sent(MSS, 0, at_us(0));
    let newer = estimator.on_sent(MSS, MSS, at_us(1_000));
    estimator.on_delivered(MSS, at_us(1_000), newer, false, at_us(41_000));
    estimator.sample(0);
    estimator.on_delivered(MSS, at_us(0), older, false, at_us(42_000));
    let sample = estimator.sample(0);
    assert_eq!((sample.rtt_us, sample.newly_acked), (Some(42_000), MSS));
}

/// draft-ietf-ccwg-bbr-06 §4.1.2.3: P, which gives the sample, is the range that left last among
/// the ranges that an ACK reports.
#[test]
fn the_range_that_left_last_gives_the_sample_of_an_ack() {
    let mut estimator = DeliveryRate::new();
    let first = estimator.on_sent(MSS, 0, at_us(1_000));
    let second = estimator.on_sent(MSS, MSS, at_us(2_000));
    let third = estimator.on_sent(MSS, 2 * MSS, at_us(2_000));
    for (snapshot, sent_us) in [
        (first, 1_000),
        (second, 2_000),
        (third, 2_000),
        (first, 1_999),
    ] {
        estimator.on_delivered(MSS, at_us(sent_us), snapshot, false, at_us(42_000));
    }
    let sample = estimator.sample(0);
    assert_eq!(
        (sample.rtt_us, sample.tx_in_flight),
        (Some(40_000), 3 * MSS)
    );
    assert_eq!((sample.newly_acked, sample.delivered), (4 * MSS, 4 * MSS));
    assert_eq!(estimator.delivered(), 4_000);
}

#[test]
fn the_pause_of_an_application_ends_after_exactly_the_bytes_in_flight() {
    let mut estimator = DeliveryRate::new();
    let first = estimator.on_sent(MSS, 0, at_us(0));
    estimator.on_delivered(MSS, at_us(0), first, false, at_us(40_000));
    estimator.sample(0);
    estimator.mark_app_limited(2 * MSS);
    for (bytes, expected) in [(2 * MSS - 1, true), (1, true), (1, false)] {
        estimator.on_delivered(bytes, at_us(1), first, false, at_us(40_000));
        estimator.sample(0);
        let snapshot = estimator.on_sent(MSS, MSS, at_us(50_000));
        assert_eq!(
            snapshot.is_app_limited(),
            expected,
            "{}",
            estimator.delivered()
        );
    }
    let mut unused = DeliveryRate::new();
    unused.mark_app_limited(0);
    assert!(unused.on_sent(MSS, 0, at_us(0)).is_app_limited());
}

#[test]
fn an_ack_without_a_range_has_no_rate_and_leaves_no_bytes_behind() {
    let mut estimator = DeliveryRate::new();
    let first = estimator.on_sent(MSS, 0, at_us(0));
    estimator.on_delivered(MSS, at_us(0), first, false, at_us(40_000));
    estimator.sample(0);
    let sample = estimator.sample(0);
    assert_eq!(
        (sample.total_delivered, sample.prior_delivered),
        (1_000, 1_000)
    );
    assert_eq!(
        (sample.rate(), sample.newly_acked, sample.round_start),
        (0, 0, false)
    );
}

/// draft-ietf-ccwg-bbr-06 §4.1.2.4: a sample shorter than the smallest round trip does not
/// count.
#[test]
fn a_sample_shorter_than_the_smallest_round_trip_is_unreliable() {
    for (min_rtt_us, rate) in [(40_000, 25_000), (40_001, 0)] {
        let mut estimator = DeliveryRate::new();
        let first = estimator.on_sent(MSS, 0, at_us(0));
        estimator.on_delivered(MSS, at_us(0), first, false, at_us(40_000));
        assert_eq!(estimator.sample(min_rtt_us).rate(), rate);
        assert_eq!(estimator.latest(), rate);
        let again = estimator.on_sent(MSS, MSS, at_us(50_000));
        estimator.on_delivered(MSS, at_us(50_000), again, true, at_us(50_001));
        estimator.sample(1 << 30);
        assert_eq!(estimator.latest(), rate, "the last reliable sample");
    }
}

#[test]
fn the_fastest_sample_is_the_first_of_the_highest_rate() {
    let mut estimator = DeliveryRate::new();
    assert_eq!(estimator.fastest().rate(), 0);
    for (at, rtt_us, ambiguous, expected) in [
        (0, 40_000, false, (40_000, 25_000)),
        (100_000, 20_000, true, (40_000, 25_000)),
        (200_000, 20_000, false, (20_000, 50_000)),
        (300_000, 20_000, false, (20_000, 50_000)),
        (400_000, 25_000, false, (20_000, 50_000)),
    ] {
        let sent = estimator.on_sent(MSS, 0, at_us(at));
        estimator.on_delivered(MSS, at_us(at), sent, ambiguous, at_us(at + rtt_us));
        estimator.sample(0);
        let fastest = estimator.fastest();
        assert_eq!((u64::from(fastest.interval_us), fastest.rate()), expected);
        assert_eq!(
            (u64::from(fastest.rtt_us), fastest.delivered),
            (expected.0, MSS)
        );
    }
    // A later sample with the same rate, from more bytes, does not replace the fastest sample.
    let sent = estimator.on_sent(2 * MSS, 0, at_us(500_000));
    estimator.on_delivered(2 * MSS, at_us(500_000), sent, false, at_us(540_000));
    estimator.sample(0);
    assert_eq!(estimator.fastest().rtt_us, 20_000);
}

#[test]
fn two_gib_in_flight_are_not_taken_for_an_application_limit() {
    let mut estimator = DeliveryRate::new();
    let snapshot = estimator.on_sent(1, i32::MAX as u32, at_us(0));
    assert_eq!(snapshot.tx_in_flight(), i32::MAX as u32);
    assert!(!snapshot.is_app_limited());
}
