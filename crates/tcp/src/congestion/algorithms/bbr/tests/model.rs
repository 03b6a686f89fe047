//! Tests of the model's filters and of the bounds, with values computed from the draft's formulas.

use fullpipe_pool::Instant;

use super::{super::*, rate_of, steps::acked};

const KB: u32 = 1_000;

/// Returns a model of a path of `bw` bytes per second and 100 ms.
fn model(bw: u64) -> Model {
    let mut model = Model::new();
    model.update_max_bw(bw, false);
    model.bound(u64::MAX);
    model.min_rtt_us = 100_000;
    model
}

/// BBR.bdp = BBR.bw * BBR.min_rtt. §5.6.4.2.
#[test]
fn the_bdp_is_bandwidth_times_round_trip_and_unknown_before_a_sample() {
    assert_eq!(Model::new().bdp(1_000_000), None);
    assert_eq!(model(0).bdp(3_000_000), Some(300_000));
}

/// §5.5.1: a round ends with the ACK of a packet that left after the round began.
#[test]
fn a_round_trip_begins_with_the_first_range_that_left_in_the_one_before() {
    let mut model = Model::new();
    for (newly_acked, prior, total, expected) in [
        (0, 0, 0, false),
        (KB, 0, 10_000, true),
        (KB, 9_999, 11_000, false),
        (0, 10_000, 11_000, false),
        (KB, 10_000, 20_000, true),
        (KB, 10_000, 21_000, false),
    ] {
        let mut sample = acked(0, newly_acked);
        sample.rate.prior_delivered = prior;
        sample.rate.total_delivered = total;
        model.update_round(&sample);
        assert_eq!(model.round_start, expected, "{prior} of {total}");
    }
    assert_eq!(model.round_count, 2);
}

/// §5.5.5: an application-limited sample counts only if it raises the estimate.
#[test]
fn a_slow_application_limited_sample_does_not_lower_or_replace_the_bandwidth() {
    let mut model = model(900);
    model.update_max_bw(800, true);
    assert_eq!(model.max_bw(), 900);
    model.advance_max_bw_filter();
    model.update_max_bw(899, true);
    model.advance_max_bw_filter();
    assert_eq!(model.max_bw(), 900, "a cycle without a measurement");
    model.update_max_bw(900, true);
    model.advance_max_bw_filter();
    model.update_max_bw(100, false);
    assert_eq!(model.max_bw(), 900, "measured again in the cycle before");
    model.advance_max_bw_filter();
    assert_eq!(model.max_bw(), 100, "two cycles later");
    model.update_max_bw(0, false);
    assert_eq!(model.max_bw(), 100);
}

#[test]
fn the_present_bandwidth_is_the_smaller_of_the_estimate_and_the_short_term_bound() {
    let mut model = model(900);
    assert_eq!(model.bw, 900);
    model.bound(700);
    assert_eq!((model.bw, model.max_bw()), (700, 900));
}

/// Takes an ACK of `bytes` at `us` on a path of 1 MB/s. Returns BBR.extra_acked.
fn aggregate(model: &mut Model, us: u64, bytes: u32, cwnd: u32) -> u32 {
    let sample = AckSample {
        now: Instant::from_micros(us),
        ..acked(0, bytes)
    };
    model.update_ack_aggregation(&sample, cwnd, true);
    model.extra_acked()
}

/// §5.5.9: extra = delivered - bw * interval, since the ACK rate last fell below bw.
#[test]
fn bytes_acknowledged_beyond_the_bandwidth_are_the_aggregation() {
    let mut model = model(1_000_000);
    assert_eq!(aggregate(&mut model, 1_000_000, 5 * KB, 90_000), 5_000);
    // 9,000 bytes are acknowledged in 2 ms, and 2,000 were expected.
    assert_eq!(aggregate(&mut model, 1_002_000, 4 * KB, 90_000), 7_000);
    assert_eq!(aggregate(&mut model, 1_002_000, 4 * KB, 8_000), 8_000);
    assert_eq!(aggregate(&mut model, 1_002_000, 0, 90_000), 8_000);
    assert_eq!(aggregate(&mut model, 1_003_000, KB, 90_000), 11_000);
}

#[test]
fn an_interval_ends_when_no_more_was_delivered_than_expected() {
    let mut model = model(1_000_000);
    aggregate(&mut model, 1_000_000, 5 * KB, 90_000);
    // Exactly as many bytes as expected were delivered, so a new interval begins
    // here.
    aggregate(&mut model, 1_005_000, 5 * KB, 90_000);
    model.bound(500_000);
    // 10,000 bytes are acknowledged in 2 ms, and 1,000 were expected at half the bandwidth.
    assert_eq!(aggregate(&mut model, 1_007_000, 5 * KB, 90_000), 9_000);
    model.restart_aggregation(Instant::from_micros(1_010_000));
    assert_eq!(aggregate(&mut model, 1_010_000, 9_500, 90_000), 9_500);
    assert_eq!(aggregate(&mut model, 1_010_000, 0, 90_000), 9_500);
}

/// BBR.ExtraAckedFilterLen is 10 round trips, and one in Startup. §5.5.9.
#[test]
fn the_aggregation_is_forgotten_after_ten_round_trips() {
    for (full_bw_reached, kept) in [(true, 9), (false, 1)] {
        let mut model = model(1_000_000);
        let ack = |us| AckSample {
            now: Instant::from_micros(us),
            ..acked(0, KB)
        };
        aggregate(&mut model, 1_000_000, 20 * KB, 90_000);
        model.round_start = true;
        let mut rounds = 0;
        while model.extra_acked() > KB {
            rounds += 1;
            model.update_ack_aggregation(&ack(1_000_000 * (rounds + 1)), 90_000, full_bw_reached);
        }
        assert_eq!(rounds - 1, kept, "{full_bw_reached}");
    }
}

/// §5.6.1 has the gains, and §5.1.1 the groups of states.
#[test]
fn each_state_has_the_gains_of_the_draft() {
    use BbrState::*;
    for (state, gains, probe_bw, accelerating) in [
        (Startup, (277, 200), false, true),
        (Drain, (50, 200), false, false),
        (ProbeBwDown, (90, 200), true, false),
        (ProbeBwCruise, (100, 200), true, false),
        (ProbeBwRefill, (100, 200), true, true),
        (ProbeBwUp, (125, 225), true, true),
        (ProbeRtt, (100, 50), false, false),
    ] {
        assert_eq!(state.gains(), gains, "{state:?}");
        assert_eq!(state.is_probe_bw(), probe_bw, "{state:?}");
        assert_eq!(state.is_accelerating(), accelerating, "{state:?}");
    }
}

#[test]
fn each_of_the_three_bounds_alone_is_a_bound() {
    assert!(Bounds::new(2).are_loose());
    for bound in 0..3 {
        let mut bounds = Bounds::new(2);
        match bound {
            0 => bounds.inflight_longterm = 1,
            1 => bounds.inflight_shortterm = 1,
            _ => bounds.bw_shortterm = 1,
        }
        assert!(!bounds.are_loose(), "bound {bound}");
        bounds.reset_short_term();
        assert_eq!(bounds.are_loose(), bound != 0, "bound {bound}");
    }
}

/// §5.5.10.3: BBR.Beta is 0.7, and the bounds stay at or above the values delivered.
#[test]
fn a_round_trip_with_too_much_loss_keeps_seven_tenths_or_what_was_delivered() {
    let mut bounds = Bounds::new(2);
    bounds.lower(1_000_000, 100_000);
    assert_eq!(
        (bounds.bw_shortterm, bounds.inflight_shortterm),
        (700_000, 70_000)
    );
    bounds.lower(1_000_000, 300_000);
    assert_eq!(
        (bounds.bw_shortterm, bounds.inflight_shortterm),
        (490_000, 49_000)
    );
    (bounds.bw_latest, bounds.inflight_latest) = (480_000, 48_000);
    bounds.lower(1_000_000, 300_000);
    assert_eq!(
        (bounds.bw_shortterm, bounds.inflight_shortterm),
        (480_000, 48_000)
    );
}

#[test]
fn the_latest_signals_are_those_of_the_present_round_trip() {
    let mut bounds = Bounds::new(2);
    let sample = rate_of(acked(0, KB), 5_000, 1_000);
    bounds.advance_latest(&sample);
    assert_eq!((bounds.bw_latest, bounds.inflight_latest), (0, 0));
    bounds.loss_round_start = true;
    bounds.advance_latest(&sample);
    assert_eq!(
        (bounds.bw_latest, bounds.inflight_latest),
        (5_000_000, 5_000)
    );
    (bounds.is_loss_in_round, bounds.is_loss_high) = (true, true);
    bounds.reset_congestion_signals();
    assert_eq!((bounds.bw_latest, bounds.inflight_latest), (0, 0));
    assert!(!bounds.is_loss_in_round && !bounds.is_loss_high);
}

/// §5.5.10.2: lost_prefix = (thresh * inflight_prev - lost_prev) / (1 - thresh).
#[test]
fn the_inflight_at_loss_is_where_the_threshold_was_crossed() {
    for (threshold, tx_in_flight, lost, bytes, expected) in [
        // 0.02 · 95,000 / 0.98 = 1,938
        (2, 100_000, 5_000, 5_000, 96_938),
        // (1,900 - 1,000) / 0.98 = 918
        (2, 100_000, 6_000, 5_000, 95_918),
        // The threshold was crossed before this range.
        (2, 100_000, 8_000, 5_000, 95_000),
        // The whole range is below the threshold.
        (50, 100_000, 10_000, 10_000, 100_000),
    ] {
        let lost = LostRange {
            bytes,
            tx_in_flight,
            lost,
            ..LostRange::default()
        };
        assert_eq!(Bounds::new(threshold).inflight_at_loss(&lost), expected);
    }
}

/// §5.3.3.8: the wait is 2 to 3 seconds, and starts with 0 or 1 round trips counted
/// already.
#[test]
fn the_wait_for_a_probe_is_random_and_differs_between_connections() {
    let draw = |seed| {
        let mut cycle = Cycle::new(seed);
        core::array::from_fn::<_, 64, _>(|_| {
            cycle.pick_probe_wait();
            assert!((2_000_000..3_000_000).contains(&cycle.probe_wait_us));
            (cycle.probe_wait_us, cycle.rounds_since_probe_up)
        })
    };
    let (mine, other) = (draw(1), draw(2));
    assert_ne!(mine, other);
    assert!(mine.windows(2).all(|two| two[0].0 != two[1].0));
    for rounds in [0, 1] {
        assert!(mine.iter().any(|(_, counted)| *counted == rounds));
    }
    assert!(mine.iter().all(|(_, counted)| *counted <= 1));
}
