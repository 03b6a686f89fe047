//! Properties of every algorithm.

use super::*;
use crate::congestion::{
    RateSample,
    tests::path::{Path, World, config},
};
use fullpipe_pool::Duration;

const MSS: u32 = 1_448;

/// Creates a controller with the initial window.
fn started(algorithm: CongestionAlgorithm) -> Controller {
    Controller::new(
        algorithm.into(),
        &start_of(&config(algorithm), MSS, 1),
        &mut CongestionRegistry::new(),
    )
}

fn event(total_delivered: u64) -> CongestionEvent {
    CongestionEvent {
        flight_size: 10 * MSS,
        in_flight: 10 * MSS,
        mss: MSS,
        total_delivered,
        ..CongestionEvent::default()
    }
}

fn marked(total_delivered: u64) -> AckSample {
    AckSample {
        rate: RateSample {
            total_delivered,
            ..RateSample::default()
        },
        in_flight: 10 * MSS,
        mss: MSS,
        ece: true,
        ..AckSample::default()
    }
}

#[test]
fn a_window_of_marks_causes_one_reduction() {
    for algorithm in CongestionAlgorithm::ALL.iter().copied() {
        let mut controller = started(algorithm);
        let answers = (0..30).filter(|n| controller.on_ack(&marked(n * u64::from(MSS)), 10 * MSS));
        assert_eq!(
            answers.count(),
            3,
            "{algorithm}: three windows of ten segments"
        );
    }
}

#[test]
fn a_loss_in_a_window_that_was_marked_causes_no_second_reduction() {
    let mut controller = started(CongestionAlgorithm::NewReno);
    controller.on_ack(&marked(0), 10 * MSS);
    let cwnd = controller.cwnd();
    assert!(cwnd < initial_window(&TcpConfig::default(), MSS));
    controller.on_loss(&event(u64::from(MSS)));
    assert_eq!(controller.cwnd(), cwnd);
    controller.on_loss(&event(u64::from(2 * MSS)));
    assert!(
        controller.cwnd() < cwnd,
        "a second recovery is another window"
    );
}

#[test]
fn the_pacing_rate_is_twice_the_window_in_slow_start_and_one_fifth_above_it_afterwards() {
    let mut controller = started(CongestionAlgorithm::NewReno);
    let window = u64::from(controller.cwnd());
    assert_eq!(controller.pacing_rate(0, false), u64::MAX);
    assert_eq!(controller.pacing_rate(100_000, false), window * 2 * 10);
    controller.on_loss(&event(0));
    let window = u64::from(controller.cwnd());
    assert_eq!(controller.pacing_rate(100_000, false), window * 12);
}

#[test]
fn a_full_window_is_a_limit_with_a_name() {
    for algorithm in CongestionAlgorithm::ALL.iter().copied() {
        let mut controller = started(algorithm);
        assert_eq!(controller.limit(), Limit::CwndSlowStart, "{algorithm}");
        if algorithm != CongestionAlgorithm::Bbr {
            controller.on_loss(&event(0));
            assert_eq!(controller.limit(), Limit::CwndAfterLoss, "{algorithm}");
        }
    }
}

#[test]
fn marks_keep_the_queue_short_without_a_drop() {
    for algorithm in CongestionAlgorithm::ALL.iter().copied() {
        let path = Path {
            mark_above: 125_000,
            ..Path::wide()
        };
        let mut world = World::with(path, algorithm);
        world.run(Duration::from_secs(3));
        (world.queue_drops, world.max_queue) = (0, 0);
        let utilisation = world.utilisation(0, Duration::from_secs(20));
        let flow = &world.flows[0];
        assert!(utilisation > 0.9, "{algorithm}: {utilisation}");
        assert_eq!(world.queue_drops, 0, "{algorithm}");
        assert!(flow.ecn_reductions > 0, "{algorithm}");
        assert!(
            world.max_queue < 400_000,
            "{algorithm}: {}",
            world.max_queue
        );
    }
}

#[test]
fn an_application_that_writes_little_does_not_make_the_window_grow() {
    for algorithm in CongestionAlgorithm::ALL.iter().copied() {
        let mut world = World::with(Path::wide(), algorithm);
        // A tenth of the link: 50,000 bytes in flight, and what had queued
        // while the initial window was smaller; slow start ends at twice that.
        world.flows[0].source = Some(1_250_000);
        world.run(Duration::from_secs(20));
        let flow = &world.flows[0];
        assert!(
            flow.delivered > 24_000_000,
            "{algorithm}: {}",
            flow.delivered
        );
        let cwnd = flow.controller.cwnd();
        assert!((50_000..250_000).contains(&cwnd), "{algorithm}: {cwnd}");
        assert_eq!(flow.controller.limit(), Limit::CwndSlowStart, "{algorithm}");
    }
}
