//! Tests of BBR's steps at an ACK and at a loss, one by one, on a path of 1 MB/s and 100 ms: the
//! bandwidth-delay product is 100 segments.

use fullpipe_pool::Instant;

use super::{super::*, rate_of};
use crate::congestion::RateSample;

const KB: u32 = 1_000;
/// The bandwidth-delay product.
const BDP: u32 = 100 * KB;
const RATE: u64 = 1_000_000;

/// Returns an ACK at `ms` of `newly_acked` bytes.
pub(super) fn acked(ms: u64, newly_acked: u32) -> AckSample {
    AckSample {
        now: Instant::from_millis(ms),
        rate: RateSample {
            newly_acked,
            ..RateSample::default()
        },
        mss: KB,
        srtt_us: 100_000,
        ..AckSample::default()
    }
}

/// Returns BBR in Startup with a window of ten segments.
pub(super) fn fresh() -> Bbr {
    Bbr::new(&CongestionStart {
        cwnd: 10 * KB,
        ssthresh: u32::MAX,
        mss: KB,
        seed: 7,
        bbr_loss_threshold: 2,
        ..CongestionStart::default()
    })
}

/// Returns BBR in `state`, with the model of the path and a window of 200 segments.
pub(super) fn at(state: BbrState) -> Bbr {
    let mut bbr = fresh();
    bbr.state = state;
    bbr.full_pipe.reached = state != BbrState::Startup;
    bbr.cwnd = 2 * BDP;
    bbr.pacing_rate = RATE;
    bbr.model.update_max_bw(RATE, false);
    bbr.model.bound(u64::MAX);
    bbr.model.min_rtt_us = 100_000;
    bbr.cycle.probe_wait_us = 2_500_000;
    bbr
}

/// Runs the state machine of ProbeBW with an ACK after which `in_flight` bytes are in flight.
fn phase(bbr: &mut Bbr, ms: u64, in_flight: u32) -> BbrState {
    let sample = AckSample {
        in_flight,
        ..acked(ms, KB)
    };
    bbr.update_probe_bw_cycle_phase(&sample);
    bbr.state
}

/// §5.6.2: 2.77 times the initial window over the round trip, or over 1 ms before the first RTT
/// sample.
#[test]
fn the_first_pacing_rate_is_the_startup_gain_times_the_window_over_the_round_trip() {
    let mut bbr = fresh();
    assert_eq!(bbr.pacing_rate(), Some(27_700_000));
    let starts = |srtt_us, app_limited| FlightStart {
        now: Instant::from_millis(1),
        app_limited,
        srtt_us,
    };
    bbr.on_flight_start(starts(0, false));
    assert_eq!(bbr.pacing_rate(), Some(27_700_000));
    bbr.on_flight_start(starts(100_000, false));
    assert_eq!(bbr.pacing_rate(), Some(277_000));
    bbr.on_flight_start(starts(50_000, false));
    assert_eq!(bbr.pacing_rate(), Some(277_000), "the first sample only");
    let mut acked_first = fresh();
    acked_first.on_ack(&AckSample {
        srtt_us: 0,
        ..acked(1, KB)
    });
    assert_eq!(acked_first.pacing_rate(), Some(27_700_000));
    acked_first.on_ack(&acked(2, KB));
    assert_eq!(acked_first.pacing_rate(), Some(277_000));
    acked_first.on_ack(&AckSample {
        srtt_us: 50_000,
        ..acked(2, KB)
    });
    assert_eq!(acked_first.pacing_rate(), Some(277_000));
}

#[test]
fn a_window_is_never_as_large_as_the_mark_of_no_bound() {
    let mut bbr = at(BbrState::ProbeBwCruise);
    assert_eq!(bbr.bdp_of(u64::MAX, 200), INFINITE - 1);
    bbr.bounds.inflight_longterm = bbr.bdp_of(u64::MAX, 200);
    assert!(!bbr.bounds.are_loose());
}

/// §5.6.2: the rate is 99 % of gain times bandwidth, and is not lowered before the pipe is
/// full.
#[test]
fn the_pacing_rate_has_a_margin_of_one_percent_and_is_not_lowered_in_startup() {
    let mut bbr = at(BbrState::ProbeBwUp);
    bbr.set_pacing_rate(125);
    assert_eq!(bbr.pacing_rate, 1_237_500);
    bbr.set_pacing_rate(50);
    assert_eq!(bbr.pacing_rate, 495_000);
    bbr.full_pipe.reached = false;
    bbr.set_pacing_rate(40);
    assert_eq!(bbr.pacing_rate, 495_000);
    bbr.set_pacing_rate(60);
    assert_eq!(bbr.pacing_rate, 594_000);
    bbr.full_pipe.reached = true;
    bbr.model.bound(0);
    bbr.set_pacing_rate(100);
    assert_eq!(bbr.pacing_rate, 1, "never 0");
}

/// Without a lower bound of the rate, a path with little bandwidth for ACKs and a mark on every
/// segment lowered the rate to one segment in half an hour.
#[test]
fn the_pacing_rate_is_never_less_than_the_smallest_window_over_a_round_trip() {
    let mut bbr = at(BbrState::ProbeBwCruise);
    bbr.on_ack(&acked(100, KB));
    bbr.model.bound(0);
    bbr.set_pacing_rate(100);
    assert_eq!(bbr.pacing_rate, u64::from(4 * KB) * 10);
}

/// §5.6.4.2: at least three send quanta and four segments; two segments more in UP.
#[test]
fn the_inflight_includes_the_quantization_budget() {
    for (state, rate, cap, expected) in [
        (BbrState::ProbeBwCruise, RATE, 90_000, 90_000),
        (BbrState::ProbeBwUp, RATE, 90_000, 92_000),
        (BbrState::ProbeBwCruise, RATE, 0, 6_000),
        (BbrState::ProbeBwCruise, 20_000_000, 59_000, 60_000),
        (BbrState::ProbeBwUp, 20_000_000, 59_000, 62_000),
    ] {
        let mut bbr = at(state);
        bbr.pacing_rate = rate;
        assert_eq!(bbr.with_quantization_budget(cap), expected, "{state:?}");
    }
    let mut bbr = at(BbrState::ProbeBwCruise);
    assert_eq!((bbr.bdp(), bbr.max_inflight()), (BDP, 2 * BDP));
    assert_eq!(bbr.inflight(2 * RATE), 2 * BDP);
    bbr.state = BbrState::ProbeBwUp;
    assert_eq!(bbr.max_inflight(), 227_000, "2.25 BDP and two segments");
    assert_eq!(bbr.target_inflight(), BDP);
    bbr.cwnd = 60_000;
    assert_eq!(bbr.target_inflight(), 60_000);
    bbr.model = Model::new();
    assert_eq!(bbr.bdp(), 10_000, "the initial window before a sample");
}

#[test]
fn ack_aggregation_raises_the_most_in_flight() {
    let mut bbr = at(BbrState::ProbeBwCruise);
    let sample = acked(1_000, 5 * KB);
    bbr.model.update_ack_aggregation(&sample, BDP, true);
    assert_eq!(bbr.max_inflight(), 205_000);
}

/// §5.6.4.6: before the pipe is full the window grows while it is below the cap, or
/// while less than the initial window was delivered.
#[test]
fn the_window_grows_by_the_bytes_delivered_up_to_its_cap() {
    use BbrState::{Drain, ProbeBwCruise, ProbeRtt, Startup};
    let later = 1 << 20;
    for (state, cwnd, newly_acked, total_delivered, expected) in [
        (ProbeBwCruise, 190_000, 4 * KB, later, 194_000),
        (ProbeBwCruise, 198_000, 4 * KB, later, 200_000),
        (ProbeBwCruise, 300_000, 4 * KB, 5_000, 200_000),
        (Startup, 199_999, 4 * KB, later, 203_999),
        (Startup, 200_000, 4 * KB, later, 200_000),
        (Startup, 300_000, 4 * KB, 9_999, 304_000),
        (Startup, 300_000, 4 * KB, 10_000, 300_000),
        (ProbeRtt, 300_000, 4 * KB, later, 50_000),
        (Drain, 1_000, KB, later, 4_000),
    ] {
        let mut sample = acked(1, newly_acked);
        sample.rate.total_delivered = total_delivered;
        let mut bbr = at(state);
        bbr.cwnd = cwnd;
        bbr.set_cwnd(&sample);
        assert_eq!(bbr.cwnd, expected, "{state:?} from {cwnd}");
    }
}

/// §5.6.4.7.
#[test]
fn the_bounds_that_apply_to_the_window_depend_on_the_state() {
    use BbrState::*;
    for (state, expected) in [
        (Startup, 200_000),
        (Drain, 200_000),
        (ProbeBwDown, 80_000),
        (ProbeBwRefill, 80_000),
        (ProbeBwUp, 80_000),
        // 15 % of headroom.
        (ProbeBwCruise, 68_000),
        (ProbeRtt, 68_000),
    ] {
        let mut bbr = at(state);
        bbr.bounds.inflight_longterm = 80_000;
        bbr.bound_cwnd_for_model();
        assert_eq!(bbr.cwnd, expected, "{state:?}");
        bbr.bounds.inflight_shortterm = 50_000;
        bbr.bound_cwnd_for_model();
        assert_eq!(bbr.cwnd, 50_000, "{state:?}");
        bbr.bounds.inflight_shortterm = 1;
        bbr.bound_cwnd_for_model();
        assert_eq!(bbr.cwnd, 4_000, "{state:?}: BBR.MinPipeCwnd");
    }
}

/// §5.3.3.9: BBR.Headroom is 15 %, at least a segment.
#[test]
fn headroom_is_fifteen_percent_and_at_least_a_segment() {
    for (longterm, expected) in [
        (INFINITE, INFINITE),
        (80_000, 68_000),
        (5_500, 4_500),
        (4_500, 4_000),
        (500, 4_000),
    ] {
        let mut bbr = at(BbrState::ProbeBwCruise);
        bbr.bounds.inflight_longterm = longterm;
        assert_eq!(bbr.inflight_with_headroom(), expected, "{longterm}");
    }
}

/// §5.6.4.4.
#[test]
fn the_window_before_a_reduction_is_kept_for_its_end() {
    for (state, in_recovery, expected) in [
        (BbrState::ProbeBwCruise, false, 50_000),
        (BbrState::ProbeBwCruise, true, 90_000),
        (BbrState::ProbeRtt, false, 90_000),
    ] {
        let mut bbr = at(state);
        (bbr.prior_cwnd, bbr.cwnd, bbr.in_recovery) = (90_000, 50_000, in_recovery);
        bbr.save_cwnd();
        assert_eq!(bbr.prior_cwnd, expected, "{state:?}");
        bbr.restore_cwnd();
        assert_eq!(bbr.cwnd, expected);
        bbr.cwnd = 95_000;
        bbr.restore_cwnd();
        assert_eq!(bbr.cwnd, 95_000);
    }
}

#[test]
fn a_started_instance_keeps_nothing_of_the_connection_before() {
    let mut bbr = at(BbrState::ProbeBwUp);
    assert!(bbr.controls_recovery(), "BBR sets the window, not PRR");
    assert_eq!(bbr.ssthresh(), 2 * BDP);
    bbr.start(&CongestionStart {
        cwnd: 20 * KB,
        mss: 2 * KB,
        bbr_loss_threshold: 5,
        ..CongestionStart::default()
    });
    assert_eq!((bbr.state(), bbr.cwnd()), (BbrState::Startup, 20 * KB));
    assert_eq!((bbr.ssthresh(), bbr.max_bw()), (u32::MAX, 0));
    assert_eq!(bbr.min_pipe_cwnd(), 8 * KB);
    assert_eq!(bbr.bounds.loss_threshold, 5);
}

#[test]
fn a_timeout_leaves_one_segment_more_than_is_in_flight_and_is_a_recovery() {
    let mut bbr = at(BbrState::ProbeBwCruise);
    bbr.on_timeout(
        &CongestionEvent {
            in_flight: 3 * KB,
            mss: 2 * KB,
            ..CongestionEvent::default()
        },
        true,
    );
    assert_eq!((bbr.cwnd, bbr.mss), (5 * KB, 2 * KB));
    assert!(bbr.in_recovery && bbr.undo.is_saved);
    bbr.on_recovery_exit();
    assert_eq!(bbr.cwnd, 2 * BDP);
    assert!(!bbr.in_recovery && !bbr.undo.is_saved);
}

/// §5.4.1: after idle time segments leave at the estimated bandwidth, and ProbeRTT ends if its time
/// is over.
#[test]
fn a_flight_after_idle_time_is_paced_at_the_bandwidth() {
    let restart = |state, app_limited, done_ms| {
        let mut bbr = at(state);
        bbr.has_seen_rtt = true;
        bbr.pacing_rate = 5;
        bbr.probe_rtt.done_stamp = Some(Instant::from_millis(done_ms));
        bbr.on_flight_start(FlightStart {
            now: Instant::from_millis(1_000),
            app_limited,
            srtt_us: 100_000,
        });
        (bbr.state, bbr.pacing_rate, bbr.idle_restart)
    };
    use BbrState::*;
    assert_eq!(restart(ProbeBwDown, true, 0), (ProbeBwDown, 990_000, true));
    assert_eq!(restart(ProbeBwDown, false, 0), (ProbeBwDown, 5, false));
    assert_eq!(restart(Drain, true, 0), (Drain, 5, true));
    assert_eq!(restart(ProbeRtt, true, 1_000), (ProbeRtt, 5, true));
    assert_eq!(restart(ProbeRtt, true, 999), (ProbeBwCruise, 5, true));
}

/// §5.3.1.2: three round trips in which the rate does not grow by a quarter show a full pipe.
#[test]
fn three_round_trips_without_a_quarter_more_show_a_full_pipe() {
    let mut bbr = fresh();
    let mut seen = |rate: u32, round_start| {
        bbr.model.round_start = round_start;
        bbr.check_full_bw_reached(&rate_of(acked(1, KB), rate, 1_000_000));
        (bbr.full_pipe.bw, bbr.full_pipe.count, bbr.full_pipe.reached)
    };
    assert_eq!(seen(1_000, true), (1_000, 0, false));
    assert_eq!(seen(1_249, true), (1_000, 1, false));
    assert_eq!(seen(1_250, true), (1_250, 0, false), "a quarter more");
    assert_eq!(seen(1_500, true), (1_250, 1, false));
    assert_eq!(seen(1_500, false), (1_250, 1, false), "the same round trip");
    assert_eq!(seen(0, true), (1_250, 1, false), "no sample");
    assert_eq!(seen(1_500, true), (1_250, 2, false));
    assert_eq!(seen(1_500, true), (1_250, 3, true));
    assert_eq!(seen(9_000, true), (1_250, 3, true), "found");
    bbr.full_pipe.reset(7);
    assert_eq!((bbr.full_pipe.bw, bbr.full_pipe.count), (7, 0));
    assert!(bbr.full_pipe.reached && !bbr.full_pipe.now);
}

/// An application-limited round trip counts only with enough in flight for a quarter
/// more bandwidth: 125 segments.
#[test]
fn an_application_limited_round_trip_shows_a_full_pipe_only_with_enough_in_flight() {
    for (app_limited, tx_in_flight, counted) in [
        (false, 0, 1),
        (true, 124_999, 0),
        (true, 125_000, 1),
        (false, 125_000, 1),
    ] {
        let mut bbr = at(BbrState::Startup);
        bbr.full_pipe.reset(RATE);
        bbr.model.round_start = true;
        let mut sample = rate_of(acked(1, KB), 1_000, 1_000);
        sample.rate.app_limited = app_limited;
        sample.rate.tx_in_flight = tx_in_flight;
        bbr.check_full_bw_reached(&sample);
        assert_eq!(bbr.full_pipe.count, counted, "{tx_in_flight}");
    }
}

/// §5.3.1.3: a round trip of recovery in which six ranges and more than 2 % are lost ends Startup.
#[test]
fn six_losses_above_the_threshold_in_a_round_trip_end_startup() {
    use BbrState::*;
    for (name, state, events, lost, round, expected) in [
        ("all of it", Startup, 6, 2_001, true, Drain),
        ("five ranges", Startup, 5, 2_001, true, Startup),
        ("2 %", Startup, 6, 2_000, true, Startup),
        ("a round trip later", Startup, 6, 2_001, false, Startup),
        ("another state", ProbeBwUp, 6, 2_001, true, ProbeBwUp),
        ("ProbeRTT from Startup", ProbeRtt, 6, 2_001, true, ProbeRtt),
    ] {
        let mut bbr = at(state);
        bbr.full_pipe.reached = state == ProbeBwUp;
        bbr.bounds.loss_events_in_round = events;
        bbr.bounds.loss_round_start = round;
        bbr.bounds.inflight_latest = 120_000;
        let mut sample = acked(1, KB);
        (sample.rate.lost, sample.rate.tx_in_flight) = (lost, 100_000);
        bbr.check_startup_done(&sample);
        assert_eq!(bbr.state, expected, "{name}");
        assert_eq!(bbr.bounds.loss_events_in_round == 0, round, "{name}");
        let bound = if expected == Drain { 120_000 } else { INFINITE };
        assert_eq!(bbr.bounds.inflight_longterm, bound, "{name}");
    }
    let mut found = at(Startup);
    found.full_pipe.reached = true;
    (
        found.bounds.loss_round_start,
        found.bounds.loss_events_in_round,
    ) = (true, 6);
    let mut sample = acked(1, KB);
    (sample.rate.lost, sample.rate.tx_in_flight) = (2_001, 100_000);
    found.check_startup_done(&sample);
    assert_eq!(found.state, Drain);
    assert_eq!(found.bounds.inflight_longterm, INFINITE, "full before");
}

/// §5.3.2: Drain lasts until the queue is drained, or for three round trips.
#[test]
fn drain_ends_at_one_bdp_in_flight_or_after_three_round_trips() {
    use BbrState::*;
    for (state, in_flight, rounds, expected) in [
        (Drain, BDP + 1, 3, Drain),
        (Drain, BDP, 0, ProbeBwDown),
        (Drain, BDP + 1, 4, ProbeBwDown),
        (Startup, BDP, 4, Startup),
    ] {
        let mut bbr = at(state);
        bbr.model.round_count = 10 + rounds;
        bbr.full_pipe.drain_start_round = 10;
        bbr.check_drain_done(&AckSample {
            in_flight,
            ..acked(1, KB)
        });
        assert_eq!(bbr.state, expected, "{in_flight} after {rounds}");
    }
}

#[test]
fn drain_begins_in_the_present_round_trip() {
    let mut bbr = at(BbrState::Startup);
    bbr.full_pipe.reached = true;
    bbr.model.round_count = 9;
    bbr.check_startup_done(&acked(1, KB));
    assert_eq!(bbr.state, BbrState::Drain);
    assert_eq!(bbr.full_pipe.drain_start_round, 9);
}

/// §5.3.3.8: a probe is due after the random wait, or after as many round trips as Reno would
/// need for the window, at most 63.
#[test]
fn a_probe_is_due_after_its_wait_or_the_round_trips_of_reno() {
    use BbrState::*;
    for (name, ms, rounds, cwnd, expected) in [
        ("the wait", 3_500, 0, BDP, ProbeBwCruise),
        ("more than the wait", 3_501, 0, BDP, ProbeBwRefill),
        ("62 round trips", 1_001, 62, BDP, ProbeBwCruise),
        ("63 round trips", 1_001, 63, BDP, ProbeBwRefill),
        ("a window of 30, 29", 1_001, 29, 30 * KB, ProbeBwCruise),
        ("a window of 30, 30", 1_001, 30, 30 * KB, ProbeBwRefill),
    ] {
        let mut bbr = at(ProbeBwCruise);
        bbr.cycle.stamp = Instant::from_millis(1_000);
        bbr.cycle.rounds_since_probe_up = rounds;
        bbr.cwnd = cwnd;
        assert_eq!(phase(&mut bbr, ms, BDP), expected, "{name}");
    }
}

#[test]
fn refill_lifts_the_short_term_bounds_and_ends_after_a_round_trip() {
    let mut bbr = at(BbrState::ProbeBwCruise);
    bbr.cycle.rounds_since_probe_up = 63;
    (bbr.bounds.bw_shortterm, bbr.bounds.inflight_shortterm) = (1, 1);
    (bbr.cycle.probe_up_rounds, bbr.cycle.probe_up_acked) = (3, 5);
    bbr.cycle.prev_probe_precautionary = true;
    let mut sample = acked(1, KB);
    sample.rate.total_delivered = 50_000;
    bbr.update_probe_bw_cycle_phase(&sample);
    assert_eq!(bbr.state, BbrState::ProbeBwRefill);
    assert!(bbr.bounds.are_loose() && !bbr.cycle.prev_probe_precautionary);
    let cycle = &bbr.cycle;
    assert_eq!((cycle.probe_up_rounds, cycle.probe_up_acked), (0, 0));
    assert_eq!(bbr.ack_phase, AckPhase::Refilling);
    for (prior, expected) in [
        (49_999, BbrState::ProbeBwRefill),
        (50_000, BbrState::ProbeBwUp),
    ] {
        let mut sample = rate_of(acked(2, KB), 2_000, 1_000);
        sample.rate.prior_delivered = prior;
        sample.rate.total_delivered = 60_000;
        bbr.model.update_round(&sample);
        bbr.update_probe_bw_cycle_phase(&sample);
        assert_eq!(bbr.state, expected);
        assert_eq!(bbr.cycle.is_probe_sample, expected == BbrState::ProbeBwUp);
    }
    assert_eq!(bbr.ack_phase, AckPhase::ProbeStarting);
    assert_eq!(bbr.full_pipe.bw, 2_000_000);
    // RaiseInflightLongtermSlope: one segment for each window acknowledged, at first.
    assert_eq!(bbr.cycle.probe_up_acked_per_inc, 2 * BDP);
    assert_eq!(bbr.cycle.probe_up_rounds, 1);
}

/// §5.3.3.9: DOWN ends when the headroom is free and at most one BDP is in flight.
#[test]
fn down_ends_with_headroom_and_at_most_a_bdp_in_flight() {
    use BbrState::*;
    for (longterm, in_flight, expected) in [
        (INFINITE, BDP + 1, ProbeBwDown),
        (INFINITE, BDP, ProbeBwCruise),
        (80_000, 68_001, ProbeBwDown),
        (80_000, 68_000, ProbeBwCruise),
        (800_000, BDP + 1, ProbeBwDown),
    ] {
        let mut bbr = at(ProbeBwDown);
        bbr.bounds.inflight_longterm = longterm;
        assert_eq!(phase(&mut bbr, 1, in_flight), expected, "{in_flight}");
    }
    let mut due = at(ProbeBwDown);
    due.cycle.rounds_since_probe_up = 63;
    assert_eq!(phase(&mut due, 1, 0), ProbeBwRefill, "a probe is due");
    let mut starting = at(ProbeBwDown);
    starting.full_pipe.reached = false;
    assert_eq!(phase(&mut starting, 1, 0), ProbeBwDown, "not a full pipe");
}

/// §5.3.3.9, IsTimeToGoDown.
#[test]
fn up_ends_at_a_full_pipe_or_cautiously_at_the_bound_of_the_probe_before() {
    use BbrState::{ProbeBwDown as Down, ProbeBwUp as Up};
    // Bytes in flight and window are in thousands of bytes; the bound is 150,000 bytes.
    for (name, too_high, in_flight, limited, cwnd, full, ends) in [
        ("cautious", true, 150, false, 200, false, Down),
        ("below the bound", true, 149, false, 140, false, Up),
        ("the last was fine", false, 150, false, 140, false, Up),
        ("a full pipe", false, 10, false, 150, true, Down),
        ("the bound limits", false, 10, true, 150, true, Up),
        ("the window limits", false, 10, true, 149, true, Down),
    ] {
        let mut bbr = at(Up);
        bbr.bounds.inflight_longterm = 150_000;
        bbr.cycle.prev_probe_too_high = too_high;
        bbr.cwnd = cwnd * KB;
        bbr.full_pipe.now = full;
        let mut sample = rate_of(acked(5, KB), 3_000, 1_000);
        (sample.in_flight, sample.cwnd_limited) = (in_flight * KB, limited);
        bbr.update_probe_bw_cycle_phase(&sample);
        assert_eq!(bbr.state, ends, "{name}");
        let cautious = bbr.cycle.prev_probe_precautionary;
        assert_eq!(cautious, name == "cautious", "{name}");
        if ends == Down {
            assert!(!bbr.cycle.prev_probe_too_high, "{name}");
            assert_eq!(bbr.cycle.stamp, Instant::from_millis(5), "{name}");
            assert_eq!(bbr.ack_phase, AckPhase::ProbeStopping, "{name}");
            assert_eq!(bbr.cycle.probe_up_acked_per_inc, INFINITE, "{name}");
        }
        let baseline = if name == "the bound limits" {
            3_000_000
        } else {
            0
        };
        assert_eq!(bbr.full_pipe.bw, baseline, "{name}");
    }
}

/// §5.3.3.9: in UP the bound grows by a segment each time a certain number of bytes was
/// acknowledged. Each round trip halves this number, down to one segment.
#[test]
fn up_raises_its_bound_exponentially_while_the_window_is_used() {
    let mut bbr = at(BbrState::ProbeBwUp);
    bbr.bounds.inflight_longterm = 150_000;
    bbr.cwnd = 150_000;
    bbr.cycle.probe_up_acked_per_inc = 4_000;
    bbr.cycle.probe_up_rounds = 2;
    let mut ack = |newly_acked, cwnd_limited, round_start| {
        bbr.model.round_start = round_start;
        bbr.cwnd = bbr.cwnd.max(bbr.bounds.inflight_longterm);
        let sample = AckSample {
            cwnd_limited,
            ..acked(1, newly_acked)
        };
        bbr.update_probe_bw_cycle_phase(&sample);
        let cycle = &bbr.cycle;
        (
            bbr.bounds.inflight_longterm,
            cycle.probe_up_acked,
            cycle.probe_up_acked_per_inc,
        )
    };
    assert_eq!(ack(9_000, true, false), (152_000, 1_000, 4_000));
    assert_eq!(ack(9_000, false, false), (152_000, 1_000, 4_000));
    assert_eq!(ack(3_000, true, false), (153_000, 0, 4_000));
    // From the next round trip on, the bound grows by a segment for each quarter of the window of
    // 153,000 bytes.
    assert_eq!(ack(1_000, true, true), (153_000, 1_000, 38_250));
    assert_eq!(ack(1_000, true, true), (153_000, 2_000, 19_125));
    bbr.cycle.probe_up_rounds = 29;
    bbr.model.round_start = true;
    bbr.cwnd = 152_999;
    let limited = AckSample {
        cwnd_limited: true,
        ..acked(1, 90_000)
    };
    bbr.update_probe_bw_cycle_phase(&limited);
    assert_eq!(bbr.cycle.probe_up_acked, 2_000, "below the bound");
    bbr.cwnd = 153_000;
    bbr.update_probe_bw_cycle_phase(&limited);
    assert_eq!(bbr.cycle.probe_up_rounds, 30);
    assert_eq!(bbr.cycle.probe_up_acked_per_inc, KB, "at least a segment");
    bbr.update_probe_bw_cycle_phase(&limited);
    assert_eq!(bbr.cycle.probe_up_rounds, 30);
    (bbr.cwnd, bbr.bounds.inflight_longterm) = (INFINITE - 1, INFINITE - 1);
    bbr.update_probe_bw_cycle_phase(&limited);
    assert_eq!(bbr.bounds.inflight_longterm, INFINITE - 1);
}

/// §5.3.3.9, AdaptLongTermModel: bytes in flight without too much loss raise the bound.
#[test]
fn bytes_in_flight_that_lost_little_raise_the_long_term_bound() {
    for (longterm, tx_in_flight, lost, expected) in [
        (80_000, 90_000, 1_800, 90_000),
        (80_000, 90_000, 1_801, 80_000),
        (80_000, 70_000, 0, 80_000),
        (INFINITE, 70_000, 0, INFINITE),
    ] {
        let mut bbr = at(BbrState::ProbeBwCruise);
        bbr.bounds.inflight_longterm = longterm;
        let mut sample = acked(1, KB);
        (sample.rate.tx_in_flight, sample.rate.lost) = (tx_in_flight, lost);
        bbr.update_probe_bw_cycle_phase(&sample);
        assert_eq!(bbr.bounds.inflight_longterm, expected);
    }
}

/// §5.3.3.9: the feedback of a probe ends a round trip after the probe. A cycle of the
/// bandwidth filter ends at the same time.
#[test]
fn the_round_trip_after_a_probe_ends_its_feedback() {
    use AckPhase::*;
    for (phase, round_start, expected) in [
        (ProbeStarting, true, ProbeFeedback),
        (ProbeStarting, false, ProbeStarting),
        (ProbeStopping, true, Init),
        (ProbeStopping, false, ProbeStopping),
        (Refilling, true, Refilling),
    ] {
        let mut bbr = at(BbrState::ProbeBwCruise);
        bbr.ack_phase = phase;
        bbr.cycle.is_probe_sample = true;
        bbr.model.round_start = round_start;
        bbr.update_probe_bw_cycle_phase(&acked(1, KB));
        assert_eq!(bbr.ack_phase, expected, "{phase:?}");
        assert_eq!(bbr.cycle.is_probe_sample, expected != Init, "{phase:?}");
    }
}

#[test]
fn the_bandwidth_filter_advances_after_a_probe_that_the_application_did_not_limit() {
    for (state, app_limited, expected) in [
        (BbrState::ProbeBwDown, false, 500),
        (BbrState::ProbeBwDown, true, RATE),
        (BbrState::ProbeRtt, false, RATE),
    ] {
        let mut bbr = at(state);
        bbr.model.round_start = true;
        for _ in 0..2 {
            bbr.ack_phase = AckPhase::ProbeStopping;
            let mut sample = acked(1, KB);
            sample.rate.app_limited = app_limited;
            sample.in_flight = 2 * BDP;
            bbr.update_probe_bw_cycle_phase(&sample);
            bbr.model.update_max_bw(500, false);
        }
        assert_eq!(bbr.max_bw(), expected, "{state:?}");
    }
}

#[test]
fn a_cautious_probe_that_lost_little_is_followed_by_another() {
    use BbrState::*;
    for (state, precautionary, too_high, expected) in [
        (ProbeBwDown, true, false, ProbeBwRefill),
        (ProbeBwDown, true, true, ProbeBwDown),
        (ProbeBwDown, false, false, ProbeBwDown),
        (ProbeRtt, true, false, ProbeRtt),
    ] {
        let mut bbr = at(state);
        bbr.ack_phase = AckPhase::ProbeStopping;
        bbr.model.round_start = true;
        bbr.cycle.prev_probe_precautionary = precautionary;
        bbr.cycle.prev_probe_too_high = too_high;
        assert_eq!(phase(&mut bbr, 1, 2 * BDP), expected);
    }
}
