//! Tests of the round-trip time, and of ProbeRTT step by step.

use fullpipe_pool::{Duration, Instant};

use super::{
    super::*,
    steps::{acked, at, fresh},
};

const KB: u32 = 1_000;
const BDP: u32 = 100 * KB;

fn rtt(ms: u64, rtt_us: u32) -> AckSample {
    let mut sample = acked(ms, KB);
    sample.rate.rtt_us = Some(rtt_us);
    sample
}

/// §5.3.4.3: the estimate is a minimum over 10 s, of minima over 5 s.
#[test]
fn the_round_trip_is_the_least_of_ten_seconds() {
    let mut bbr = fresh();
    let mut seen = |ms, rtt_us| {
        bbr.update_min_rtt(&rtt(ms, rtt_us));
        (bbr.min_rtt_us(), bbr.probe_rtt.expired)
    };
    assert_eq!(seen(0, 50_000), (50_000, false));
    assert_eq!(seen(1_000, 50_000), (50_000, false), "the first counts");
    assert_eq!(seen(5_000, 60_000), (50_000, false), "five seconds");
    assert_eq!(seen(5_001, 60_000), (50_000, true), "more than five");
    assert_eq!(seen(5_002, 55_000), (50_000, false));
    assert_eq!(seen(10_000, 70_000), (50_000, false), "ten seconds");
    assert_eq!(seen(10_001, 70_000), (55_000, false), "more than ten");
    assert_eq!(seen(10_002, 0), (1, false));
    assert_eq!(bbr.model.min_rtt_stamp, Instant::from_millis(10_002));
}

/// §5.3.4.3: only a shorter round trip renews the ten seconds.
#[test]
fn an_equal_round_trip_does_not_renew_the_estimate() {
    let mut bbr = fresh();
    for ms in [1, 5_002] {
        bbr.update_min_rtt(&rtt(ms, 50_000));
        assert_eq!(bbr.model.min_rtt_stamp, Instant::from_millis(1));
    }
    assert_eq!(bbr.probe_rtt.min_stamp, Instant::from_millis(5_002));
}

#[test]
fn an_ack_without_a_round_trip_time_measures_none() {
    let mut bbr = fresh();
    bbr.update_min_rtt(&acked(6_000, KB));
    assert_eq!((bbr.min_rtt_us(), bbr.probe_rtt.expired), (INFINITE, false));
    bbr.update_min_rtt(&rtt(6_000, 40_000));
    bbr.update_min_rtt(&acked(11_001, KB));
    assert_eq!((bbr.min_rtt_us(), bbr.probe_rtt.expired), (40_000, true));
}

/// §5.3.4.3: ProbeRTT begins when its interval is over, unless the sender was idle.
#[test]
fn probe_rtt_begins_when_its_interval_is_over_and_the_sender_was_not_idle() {
    use BbrState::*;
    for (expired, idle, newly_acked, expected) in [
        (true, false, KB, ProbeRtt),
        (false, false, KB, ProbeBwUp),
        (true, true, KB, ProbeBwUp),
        (true, true, 0, ProbeBwUp),
    ] {
        let mut bbr = at(ProbeBwUp);
        (bbr.probe_rtt.expired, bbr.idle_restart) = (expired, idle);
        bbr.probe_rtt.done_stamp = Some(Instant::ZERO);
        let sample = AckSample {
            in_flight: BDP,
            ..acked(1, newly_acked)
        };
        bbr.check_probe_rtt(&sample);
        assert_eq!(bbr.state, expected);
        assert_eq!(bbr.idle_restart, idle && newly_acked == 0);
        if expected == ProbeRtt {
            assert_eq!(bbr.prior_cwnd, 2 * BDP);
            assert_eq!(bbr.ack_phase, AckPhase::ProbeStopping);
            assert_eq!(bbr.probe_rtt.done_stamp, None);
        }
    }
}

/// ProbeRTT lasts BBR.ProbeRTTDuration, 200 ms, and at least a round trip, from the
/// time when only half a BDP is in flight.
#[test]
fn probe_rtt_lasts_200_ms_with_half_a_bdp_in_flight_and_a_round_trip() {
    for (reached, ended) in [(true, BbrState::ProbeBwCruise), (false, BbrState::Startup)] {
        let mut bbr = at(BbrState::ProbeRtt);
        bbr.full_pipe.reached = reached;
        bbr.bounds.inflight_shortterm = 1;
        (bbr.prior_cwnd, bbr.cwnd) = (2 * BDP, BDP / 2);
        let mut ack = |ms, in_flight, round_start| {
            bbr.model.round_start = round_start;
            let mut sample = AckSample {
                in_flight,
                ..acked(ms, KB)
            };
            sample.rate.total_delivered = 7_000;
            bbr.check_probe_rtt(&sample);
            bbr.state
        };
        assert_eq!(ack(1_000, BDP / 2 + 1, true), BbrState::ProbeRtt);
        assert_eq!(ack(1_100, BDP / 2, true), BbrState::ProbeRtt);
        assert_eq!(ack(1_301, BDP / 2, false), BbrState::ProbeRtt, "no round");
        assert_eq!(ack(1_300, BDP / 2, true), BbrState::ProbeRtt, "200 ms");
        assert_eq!(ack(1_301, 40_000, false), ended);
        assert_eq!(bbr.cwnd, 2 * BDP);
        assert_eq!(bbr.probe_rtt.min_stamp, Instant::from_millis(1_301));
        assert_eq!(bbr.bounds.inflight_shortterm, INFINITE);
        assert_eq!(bbr.probe_rtt.starved_until, 47_000);
        for (prior, expected) in [(46_999, true), (47_000, false)] {
            let mut sample = acked(1, KB);
            sample.rate.prior_delivered = prior;
            assert_eq!(bbr.is_app_limited(&sample), expected);
            sample.rate.app_limited = true;
            assert!(bbr.is_app_limited(&sample));
        }
    }
}

#[test]
fn nothing_in_flight_in_probe_rtt_starves_the_next_sample_too() {
    let mut bbr = at(BbrState::ProbeRtt);
    bbr.check_probe_rtt(&acked(1, KB));
    assert_eq!(bbr.probe_rtt.starved_until, 1);
    assert_eq!(
        bbr.probe_rtt.done_stamp,
        Some(Instant::from_millis(1) + Duration::from_millis(200))
    );
}

/// §5.6.4.5: half a BDP, at least BBR.MinPipeCwnd.
#[test]
fn the_window_of_probe_rtt_is_half_a_bdp_and_at_least_four_segments() {
    let mut bbr = at(BbrState::ProbeRtt);
    assert_eq!(bbr.probe_rtt_cwnd(), BDP / 2);
    bbr.model.bound(1_000);
    assert_eq!(bbr.probe_rtt_cwnd(), 4 * KB);
}
