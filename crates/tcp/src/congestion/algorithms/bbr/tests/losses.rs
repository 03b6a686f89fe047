//! Tests of the response to losses and marks, one step at a time, on a path of 1 MB/s and 100 ms.

use fullpipe_pool::Instant;

use super::{
    super::*,
    rate_of,
    steps::{acked, at, fresh},
};

const KB: u32 = 1_000;
const BDP: u32 = 100 * KB;

fn lost(tx_in_flight: u32, lost: u32) -> LostRange {
    LostRange {
        now: Instant::from_millis(900),
        bytes: KB,
        tx_in_flight,
        lost,
        app_limited: false,
        total_delivered: 50_000,
    }
}

fn mark(in_flight: u32) -> CongestionEvent {
    CongestionEvent {
        now: Instant::from_millis(900),
        flight_size: 3 * BDP,
        in_flight,
        mss: KB,
        total_delivered: 50_000,
    }
}

/// Returns an ACK of a range that left after `prior` bytes were delivered.
fn after(prior: u64, lost: u32) -> AckSample {
    let mut sample = rate_of(acked(1_000, KB), 5_000, 10_000);
    sample.rate.prior_delivered = prior;
    sample.rate.total_delivered = 60_000;
    (sample.rate.lost, sample.rate.tx_in_flight) = (lost, BDP);
    sample
}

/// §5.5.10.3: the round trip over which loss is counted ends with the ACK of a range that left
/// after this round trip began.
#[test]
fn a_round_trip_of_loss_is_counted_in_bytes_delivered() {
    let mut bbr = at(BbrState::ProbeBwCruise);
    bbr.bounds.loss_round_delivered = 10_000;
    for (newly_acked, prior, expected) in [
        (KB, 9_999, false),
        (0, 10_000, false),
        (KB, 10_000, true),
        (KB, 10_001, false),
    ] {
        let mut sample = after(prior, 0);
        sample.rate.newly_acked = newly_acked;
        bbr.update_latest_delivery_signals(&sample);
        assert_eq!(bbr.bounds.loss_round_start, expected, "{prior}");
    }
    assert_eq!(bbr.bounds.loss_round_delivered, 60_000);
    assert_eq!(
        (bbr.bounds.bw_latest, bbr.bounds.inflight_latest),
        (500_000, 5_000)
    );
    bbr.update_latest_delivery_signals(&rate_of(acked(1_001, KB), 4_000, 9_000));
    assert_eq!(
        (bbr.bounds.bw_latest, bbr.bounds.inflight_latest),
        (500_000, 5_000),
        "the most of the round trip"
    );
}

/// §5.5.10.3: the bounds fall at the end of a round trip with more loss than the
/// threshold, but not while the rate is raised on purpose.
#[test]
fn a_round_trip_with_too_much_loss_lowers_the_short_term_bounds() {
    use BbrState::*;
    for (name, state, in_round, high, lost, round, lowers) in [
        (
            "2.001 % lost",
            ProbeBwCruise,
            true,
            false,
            2_001,
            true,
            true,
        ),
        ("2 % lost", ProbeBwCruise, true, false, 2_000, true, false),
        (
            "lost before",
            ProbeBwCruise,
            false,
            false,
            2_001,
            true,
            false,
        ),
        ("marked", ProbeBwCruise, false, true, 0, true, true),
        ("not over", ProbeBwCruise, true, true, 2_001, false, false),
        ("UP", ProbeBwUp, true, true, 2_001, true, false),
        ("DOWN", ProbeBwDown, true, true, 2_001, true, true),
    ] {
        let mut bbr = at(state);
        bbr.bounds.loss_round_start = round;
        (bbr.bounds.is_loss_in_round, bbr.bounds.is_loss_high) = (in_round, high);
        bbr.update_congestion_signals(&after(0, lost));
        let expected = if lowers {
            (700_000, 140_000)
        } else {
            (u64::MAX, INFINITE)
        };
        let bounds = &bbr.bounds;
        let found = (bounds.bw_shortterm, bounds.inflight_shortterm);
        assert_eq!(found, expected, "{name}");
        assert_eq!(bounds.is_loss_in_round, in_round && !round, "{name}");
        assert_eq!(bounds.is_loss_high, high && !round, "{name}");
    }
}

#[test]
fn each_round_trip_counts_towards_the_next_probe() {
    let mut bbr = at(BbrState::ProbeBwCruise);
    for (prior, expected) in [(0, 1), (59_999, 1), (60_000, 2)] {
        bbr.update_congestion_signals(&after(prior, 0));
        assert_eq!(bbr.cycle.rounds_since_probe_up, expected);
    }
    assert_eq!(bbr.max_bw(), 1_000_000);
    bbr.update_congestion_signals(&rate_of(acked(1, KB), 2_000, 1_000));
    assert_eq!(bbr.max_bw(), 2_000_000);
}

#[test]
fn the_first_loss_begins_a_round_trip_of_loss_and_saves_the_bounds() {
    let mut bbr = at(BbrState::ProbeBwCruise);
    bbr.bounds.inflight_longterm = 150_000;
    bbr.on_range_lost(&lost(BDP, KB));
    assert!(bbr.bounds.is_loss_in_round && bbr.undo.is_saved);
    assert_eq!(bbr.bounds.loss_round_delivered, 50_000);
    assert_eq!(bbr.prior_cwnd, 2 * BDP);
    bbr.bounds.inflight_longterm = 1;
    bbr.handle_lost_range(&LostRange {
        total_delivered: 55_000,
        ..lost(BDP, KB)
    });
    assert_eq!(bbr.bounds.loss_round_delivered, 50_000);
    assert_eq!(bbr.bounds.loss_events_in_round, 2);
    assert_eq!(bbr.undo.inflight_longterm, 150_000, "saved once");
}

/// §5.5.10.2: a loss of more than 2 % of the bytes in flight is too much. The bound is the bytes in
/// flight when the loss crossed 2 %, or 0.7 of the target if that is more.
#[test]
fn a_probe_with_too_much_loss_sets_the_long_term_bound() {
    use BbrState::{ProbeBwCruise as Cruise, ProbeBwDown as Down, ProbeBwUp as Up};
    for (name, state, probe, tx, bytes_lost, app, bound, ends) in [
        ("too much", Up, true, 120, 3_000, false, 119_387, Down),
        ("the floor", Up, true, 50, 3_000, false, 70_000, Down),
        ("2 %", Up, true, 120, 2_400, false, INFINITE, Up),
        ("no probe", Up, false, 120, 3_000, false, INFINITE, Up),
        ("app", Up, true, 120, 3_000, true, INFINITE, Down),
        ("later", Cruise, true, 120, 3_000, false, 119_387, Cruise),
    ] {
        let mut bbr = at(state);
        bbr.cycle.is_probe_sample = probe;
        bbr.handle_lost_range(&LostRange {
            app_limited: app,
            ..lost(tx * KB, bytes_lost)
        });
        assert_eq!(bbr.bounds.inflight_longterm, bound, "{name}");
        assert_eq!(bbr.state, ends, "{name}");
        let is_high = probe && bytes_lost > 2_400;
        assert_eq!(bbr.cycle.prev_probe_too_high, is_high, "{name}");
        assert_eq!(bbr.cycle.is_probe_sample, probe && !is_high, "{name}");
        let undone = (ends != state).then_some(Up);
        assert_eq!(bbr.undo.state, undone, "{name}");
        if ends != state {
            assert_eq!(bbr.cycle.stamp, Instant::from_millis(900));
            bbr.model.update_round(&after(49_999, 0));
            assert!(!bbr.model.round_start, "{name}: the round began at 50,000");
        }
    }
}

/// A mark counts as a round trip with too much loss, and the response to it is never undone.
#[test]
fn a_mark_ends_startup_or_a_probe_and_lowers_the_bounds_otherwise() {
    use BbrState::*;
    let mut bbr = at(Startup);
    bbr.on_ecn(&mark(120_000));
    assert_eq!((bbr.state, bbr.full_pipe.reached), (Drain, true));
    assert_eq!(bbr.bounds.inflight_longterm, BDP);
    for (in_flight, bound) in [(120_000, 120_000), (50_000, 70_000)] {
        let mut bbr = at(ProbeBwUp);
        bbr.cycle.is_probe_sample = true;
        bbr.on_ecn(&mark(in_flight));
        assert_eq!(bbr.state, ProbeBwDown);
        assert_eq!(bbr.bounds.inflight_longterm, bound);
        assert_eq!(bbr.cycle.stamp, Instant::from_millis(900));
        for (prior, round_start) in [(49_999, false), (50_000, true)] {
            bbr.model.update_round(&after(prior, 0));
            assert_eq!(bbr.model.round_start, round_start);
        }
        assert!(!bbr.undo.is_saved);
    }
    let mut bbr = at(ProbeBwCruise);
    bbr.on_ecn(&mark(120_000));
    assert_eq!((bbr.state, bbr.bounds.is_loss_high), (ProbeBwCruise, true));
    assert_eq!(bbr.bounds.loss_round_delivered, 50_000);
    assert_eq!(bbr.bounds.inflight_longterm, INFINITE);
    bbr.on_loss(&mark(120_000));
    bbr.on_ecn(&mark(120_000));
    assert!(bbr.undo.is_saved, "the recovery may still prove spurious");
}

#[test]
fn a_loss_saves_the_window_and_the_bounds_of_before() {
    let mut bbr = at(BbrState::ProbeBwCruise);
    bbr.bounds.bw_shortterm = 3;
    bbr.bounds.inflight_shortterm = 4;
    bbr.bounds.inflight_longterm = 5;
    bbr.on_loss(&CongestionEvent {
        mss: 2 * KB,
        ..mark(0)
    });
    assert!(bbr.in_recovery && bbr.undo.is_saved);
    assert_eq!((bbr.mss, bbr.prior_cwnd), (2 * KB, 2 * BDP));
    let undo = bbr.undo;
    assert_eq!(
        (
            undo.bw_shortterm,
            undo.inflight_shortterm,
            undo.inflight_longterm
        ),
        (3, 4, 5)
    );
    assert_eq!(undo.state, None);
}

/// §5.5.11.2: an undo sets each bound to the larger of the values before and after the
/// loss, and returns to the state that the loss ended.
#[test]
fn a_spurious_loss_restores_the_bounds_and_the_state_that_it_ended() {
    use BbrState::*;
    for (before, now, reached, expected, reached_after) in [
        (Some(Startup), Drain, true, Startup, false),
        (Some(Startup), ProbeRtt, true, ProbeRtt, false),
        (Some(Startup), Startup, true, Startup, true),
        (Some(ProbeBwUp), ProbeBwDown, true, ProbeBwRefill, true),
        (Some(ProbeBwUp), ProbeBwUp, true, ProbeBwUp, true),
        (Some(ProbeBwUp), ProbeRtt, true, ProbeRtt, true),
        (None, ProbeBwDown, true, ProbeBwDown, true),
    ] {
        let mut bbr = at(now);
        bbr.full_pipe.reached = reached;
        (bbr.full_pipe.bw, bbr.full_pipe.now) = (9, true);
        (bbr.in_recovery, bbr.bounds.is_loss_in_round) = (true, true);
        (bbr.cwnd, bbr.prior_cwnd) = (KB, BDP);
        bbr.undo = SavedBounds {
            is_saved: true,
            state: before,
            bw_shortterm: 700,
            inflight_shortterm: 80,
            inflight_longterm: 90,
        };
        bbr.bounds.bw_shortterm = 600;
        bbr.bounds.inflight_shortterm = 85;
        bbr.bounds.inflight_longterm = 60;
        bbr.on_undo();
        assert_eq!(bbr.state, expected, "{before:?} in {now:?}");
        assert_eq!(
            bbr.full_pipe.reached, reached_after,
            "{before:?} in {now:?}"
        );
        assert_eq!((bbr.full_pipe.bw, bbr.full_pipe.now), (0, false));
        assert!(!bbr.in_recovery && !bbr.bounds.is_loss_in_round);
        assert_eq!((bbr.cwnd, bbr.undo.state), (BDP, None));
        assert_eq!(bbr.bounds.inflight_longterm, 90);
        if expected != ProbeBwRefill {
            assert_eq!(bbr.bounds.bw_shortterm, 700);
            assert_eq!(bbr.bounds.inflight_shortterm, 85);
        }
        bbr.bounds.inflight_longterm = 60;
        bbr.in_recovery = true;
        bbr.on_undo();
        assert_eq!(bbr.bounds.inflight_longterm, 60, "once");
        assert!(!bbr.in_recovery);
    }
}

/// UpdateOnACK, §5.2.3: an ACK first updates model and state, then rate and window from
/// them.
#[test]
fn an_ack_updates_the_model_then_the_rate_then_the_window() {
    let mut bbr = fresh();
    let mut sample = rate_of(acked(1_000, 10 * KB), 10_000, 100_000);
    sample.rate.rtt_us = Some(100_000);
    sample.rate.total_delivered = 10_000;
    sample.mss = 500;
    sample.in_flight = 500;
    bbr.on_ack(&sample);
    assert_eq!((bbr.max_bw(), bbr.min_rtt_us()), (100_000, 100_000));
    assert_eq!((bbr.mss, bbr.model.bw), (500, 100_000));
    assert_eq!(bbr.model.extra_acked(), 10_000);
    // 2.77 · 100 kB/s; the margin is subtracted once the estimate rises.
    assert_eq!(bbr.pacing_rate(), Some(277_000));
    assert_eq!(bbr.cwnd(), 20_000);
    // The second round trip delivers twice as many bytes as the first.
    let mut sample = rate_of(acked(1_100, 20 * KB), 20_000, 100_000);
    sample.rate.prior_delivered = 10_000;
    sample.rate.total_delivered = 30_000;
    sample.mss = 500;
    bbr.on_ack(&sample);
    assert_eq!(bbr.pacing_rate(), Some(548_460));
    assert_eq!(bbr.full_pipe.bw, 200_000);
    assert_eq!(bbr.cwnd(), 40_000);
    assert_eq!(bbr.model.round_count, 2);
    bbr.bounds.bw_shortterm = 150_000;
    bbr.on_ack(&AckSample {
        mss: 500,
        ..acked(1_101, 0)
    });
    assert_eq!(bbr.model.bw, 150_000);
}
