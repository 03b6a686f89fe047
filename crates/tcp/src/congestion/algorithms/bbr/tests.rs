//! Tests of BBR on a path: a small version of the draft's appendix A, and the effect of loss.
//! `steps`, `losses`, `probe_rtt` and `model` compare each step with the draft's formulas.

mod losses;
mod model;
mod probe_rtt;
mod steps;

use std::{vec, vec::Vec};

use fullpipe_pool::Duration;

use super::*;
use crate::{
    CongestionAlgorithm, TcpConfig,
    congestion::{
        RateSample,
        algorithms::BuiltIn,
        controller::Controller,
        tests::path::{Path, World, config},
    },
};

const MSS: u32 = 1_448;

fn world(path: Path) -> World {
    World::with(path, CongestionAlgorithm::Bbr)
}

fn bbr(controller: &Controller) -> &Bbr {
    match controller.built_in() {
        Some(BuiltIn::Bbr(bbr)) => bbr,
        other => panic!("these worlds run BBR, not {other:?}"),
    }
}

/// Returns `sample` with a rate sample of `delivered` bytes in `interval_us`.
fn rate_of(mut sample: AckSample, delivered: u32, interval_us: u32) -> AckSample {
    (sample.rate.delivered, sample.rate.interval_us) = (delivered, interval_us);
    sample
}

/// Creates BBR with an initial window of `segments` segments.
fn started(segments: u32) -> Bbr {
    Bbr::new(&CongestionStart {
        cwnd: segments * MSS,
        ssthresh: u32::MAX,
        mss: MSS,
        seed: 1,
        bbr_loss_threshold: 2,
        ..CongestionStart::default()
    })
}

fn lossy(loss: f64, bbr_loss_threshold: u32, seed: u64) -> f64 {
    let config = TcpConfig {
        bbr_loss_threshold,
        ..config(CongestionAlgorithm::Bbr)
    };
    let mut world = World::new(
        Path {
            loss,
            ..Path::wide()
        },
        &[config],
        seed,
    );
    world.run(Duration::from_secs(3));
    world.utilisation(0, Duration::from_secs(30))
}

fn median(mut shares: Vec<f64>) -> f64 {
    shares.sort_by(f64::total_cmp);
    shares[shares.len() / 2]
}

#[test]
fn the_state_of_a_connection_is_small() {
    assert!(size_of::<Bbr>() < 400, "{} bytes", size_of::<Bbr>());
}

#[test]
fn bbr_fills_the_pipe_without_filling_the_queue() {
    for (name, rate, rtt_ms, bdps) in [
        ("100 Mbit/s, 40 ms", 12_500_000, 40, 1.25),
        ("1 Gbit/s, 100 ms", 125_000_000, 100, 1.25),
        ("10 Mbit/s, 10 ms: quanta count", 1_250_000, 10, 2.0),
    ] {
        let rtt = Duration::from_millis(rtt_ms);
        let mut path = Path {
            rate,
            rtt,
            ..Path::wide()
        };
        path.buffer = (2 * path.bdp()).max(60_000);
        let mut world = world(path);
        world.run(Duration::from_secs(3));
        let utilisation = world.utilisation(0, Duration::from_secs(20));
        let share = world.flows[0].mean_in_flight() as f64 / world.path.bdp() as f64;
        assert!(utilisation >= 0.95, "{name}: {utilisation}");
        assert!(share <= bdps, "{name}: {share} BDP in flight");
        assert_eq!(world.flows[0].timeouts, 0, "{name}");
    }
}

#[test]
fn startup_ends_when_the_delivery_rate_stops_growing() {
    let mut world = world(Path::wide());
    let mut states = vec![BbrState::Startup];
    world.run_watched(Duration::from_secs(5), |world| {
        let state = bbr(&world.flows[0].controller).state();
        if states.last() != Some(&state) {
            states.push(state);
        }
    });
    let cycle = [
        BbrState::Startup,
        BbrState::Drain,
        // DOWN ends with the ACK that starts DOWN, because Drain has left no queue.
        BbrState::ProbeBwCruise,
        BbrState::ProbeBwRefill,
        BbrState::ProbeBwUp,
        BbrState::ProbeBwDown,
        BbrState::ProbeBwCruise,
    ];
    assert_eq!(&states[..7], &cycle, "{states:?}");
    let bbr = bbr(&world.flows[0].controller);
    assert!(
        bbr.max_bw().abs_diff(12_500_000) < 250_000,
        "{}",
        bbr.max_bw()
    );
    assert!(
        (40_000..=40_300).contains(&bbr.min_rtt_us()),
        "{}",
        bbr.min_rtt_us()
    );
}

#[test]
fn probe_rtt_starts_every_five_seconds() {
    let mut world = world(Path::wide());
    let (mut looks, mut was_looking, mut least) = (0, false, u32::MAX);
    world.run_watched(Duration::from_secs(30), |world| {
        let flow = &world.flows[0];
        let looking = bbr(&flow.controller).state() == BbrState::ProbeRtt;
        looks += u32::from(looking && !was_looking);
        was_looking = looking;
        if looking {
            least = least.min(flow.in_flight());
        }
    });
    assert!((4..=6).contains(&looks), "{looks} times in 30 s");
    let bdp = world.path.bdp() as u32;
    assert!(least <= bdp * 6 / 10, "{least} of {bdp} in flight");
}

#[test]
fn one_percent_of_random_loss_costs_little() {
    let share = median((0..5).map(|seed| lossy(0.01, 2, seed)).collect());
    assert!(share > 0.85, "{share}");
}

#[test]
fn three_percent_of_random_loss_costs_little_with_the_threshold_off() {
    let off = median((0..3).map(|seed| lossy(0.03, 100, seed)).collect());
    let on = median((0..3).map(|seed| lossy(0.03, 2, seed)).collect());
    assert!(off > 0.85 && on < off, "{off} off, {on} on");
}

#[test]
fn bbr_follows_a_change_of_the_path_rate() {
    let mut world = world(Path::wide());
    world.run(Duration::from_secs(5));
    for (name, rate) in [("half", 6_250_000), ("four times that", 25_000_000)] {
        world.path.rate = rate;
        world.run(Duration::from_secs(10));
        let utilisation = world.utilisation(0, Duration::from_secs(10));
        assert!(utilisation > 0.93, "{name}: {utilisation}");
        let in_flight = world.flows[0].mean_in_flight();
        assert!(in_flight < 2 * world.path.bdp(), "{name}: {in_flight}");
    }
}

#[test]
fn bbr_does_not_keep_a_shallow_queue_overflowing() {
    // The queue holds an eighth of a bandwidth-delay product.
    let mut world = world(Path {
        buffer: 62_500,
        ..Path::wide()
    });
    world.run(Duration::from_secs(5));
    let utilisation = world.utilisation(0, Duration::from_secs(20));
    let flow = &world.flows[0];
    assert!(utilisation > 0.8, "{utilisation}");
    let share = flow.lost as f64 / flow.sent as f64;
    assert!(share < 0.02, "{share} lost");
}

#[test]
fn no_rate_sample_exceeds_the_link_rate() {
    let mut world = world(Path {
        loss: 0.01,
        ..Path::wide()
    });
    world.run(Duration::from_secs(20));
    let max_rate = world.flows[0].max_rate;
    assert!(max_rate <= world.path.rate * 1_005 / 1_000, "{max_rate}");
}

#[test]
fn flows_share_a_queue() {
    let path = Path {
        buffer: 500_000,
        ..Path::wide()
    };
    let mut world = World::new(
        path,
        &[
            config(CongestionAlgorithm::Bbr),
            config(CongestionAlgorithm::Bbr),
        ],
        3,
    );
    world.run(Duration::from_secs(10));
    world.flows[1].forget();
    world.utilisation(0, Duration::from_secs(60));
    let (a, b) = (
        world.flows[0].delivered as f64,
        world.flows[1].delivered as f64,
    );
    let jain = (a + b).powi(2) / (2.0 * (a * a + b * b));
    assert!(jain > 0.95, "Jain's index {jain}");
}

fn lost(tx_in_flight: u32, lost: u32, bytes: u32) -> LostRange {
    LostRange {
        bytes,
        tx_in_flight,
        lost,
        ..LostRange::default()
    }
}

#[test]
fn the_loss_threshold_is_a_share_of_the_bytes_in_flight_and_100_is_off() {
    for (threshold, lost, expected) in [
        (2, 2_000, false),
        (2, 2_001, true),
        (10, 2_001, false),
        (99, 99_001, true),
        (100, 100_001, false),
    ] {
        let bounds = Bounds::new(threshold);
        assert_eq!(
            bounds.is_too_high(lost, 100_000),
            expected,
            "{lost} at {threshold} %"
        );
    }
}

/// Returns BBR in ProbeBW_UP after a probe that lost too much.
fn probing_too_high() -> Bbr {
    let mut bbr = started(200);
    bbr.full_pipe.reached = true;
    bbr.state = BbrState::ProbeBwUp;
    bbr.cycle.is_probe_sample = true;
    bbr.handle_lost_range(&lost(100 * MSS, 3 * MSS, MSS));
    bbr.on_loss(&CongestionEvent {
        mss: MSS,
        ..CongestionEvent::default()
    });
    bbr
}

#[test]
fn a_probe_that_lost_too_much_bounds_the_bytes_in_flight() {
    let bbr = probing_too_high();
    assert_eq!(bbr.state, BbrState::ProbeBwDown);
    // 99 segments came before the one that crossed the threshold, but at least 0.7
    // of the target is kept: 140 segments.
    assert_eq!(bbr.bounds.inflight_longterm, 200 * MSS / 10 * 7);
}

#[test]
fn a_probe_with_spurious_losses_restarts_without_the_bound() {
    let mut bbr = probing_too_high();
    bbr.on_undo();
    assert_eq!(bbr.state, BbrState::ProbeBwRefill);
    assert_eq!(bbr.bounds.inflight_longterm, INFINITE);
    bbr.bounds.inflight_longterm = 50 * MSS;
    bbr.on_undo();
    assert_eq!(bbr.bounds.inflight_longterm, 50 * MSS, "taken back once");
}

#[test]
fn a_timeout_sends_one_segment_and_recovery_restores_the_window() {
    let mut bbr = started(100);
    let event = CongestionEvent {
        mss: MSS,
        ..CongestionEvent::default()
    };
    bbr.on_timeout(&event, true);
    assert_eq!(bbr.cwnd(), MSS);
    bbr.on_recovery_exit();
    assert_eq!(bbr.cwnd(), 100 * MSS);
}

#[test]
fn after_idle_time_bbr_paces_at_the_bandwidth_and_skips_probe_rtt() {
    let mut world = world(Path::wide());
    world.run(Duration::from_secs(4));
    let mut bbr = bbr(&world.flows[0].controller).clone();
    assert!(bbr.state.is_probe_bw());
    let cwnd = bbr.cwnd();
    let now = world.now + Duration::from_secs(30);
    bbr.on_idle(10 * MSS);
    bbr.on_flight_start(FlightStart {
        now,
        app_limited: true,
        srtt_us: 40_000,
    });
    assert_eq!(bbr.pacing_rate(), Some(bbr.max_bw() * 99 / 100));
    assert_eq!(bbr.cwnd(), cwnd);
    let rate = RateSample {
        rtt_us: Some(41_000),
        newly_acked: MSS,
        ..RateSample::default()
    };
    bbr.on_ack(&AckSample {
        now: now + Duration::from_millis(41),
        rate,
        mss: MSS,
        srtt_us: 40_000,
        ..AckSample::default()
    });
    assert_ne!(bbr.state, BbrState::ProbeRtt);
    assert_eq!(bbr.min_rtt_us(), 41_000, "the old one has expired");
}

#[test]
fn the_limit_of_bbr_is_named_after_the_bounds_that_loss_set() {
    let mut bbr = started(200);
    assert_eq!(bbr.limit(), Limit::CwndSlowStart);
    bbr.full_pipe.reached = true;
    assert_eq!(bbr.limit(), Limit::CwndSteady);
    assert_eq!(probing_too_high().limit(), Limit::CwndAfterLoss);
}
