//! CUBIC's window against the formulas of RFC 9438, and on a path.

use std::vec::Vec;

use super::*;
use crate::{
    CongestionAlgorithm, TcpConfig,
    congestion::{
        RateSample,
        tests::path::{Path, World, config},
    },
};

const MSS: u32 = 1_000;

fn ack(now_ms: u64, newly_acked: u32) -> AckSample {
    AckSample {
        acked: newly_acked,
        now: Instant::from_millis(now_ms),
        rate: RateSample {
            newly_acked,
            ..RateSample::default()
        },
        mss: MSS,
        srtt_us: 100_000,
        cwnd_limited: true,
        ..AckSample::default()
    }
}

fn cubic(segments: u32) -> Cubic {
    Cubic::new(&CongestionStart {
        cwnd: segments * MSS,
        ssthresh: u32::MAX,
        mss: MSS,
        paced: true,
        ..CongestionStart::default()
    })
}

fn flight(segments: u32) -> CongestionEvent {
    CongestionEvent {
        flight_size: segments * MSS,
        mss: MSS,
        ..CongestionEvent::default()
    }
}

/// Acknowledges a window every 100 ms until `until_ms`. Returns the window in
/// segments.
fn run(cubic: &mut Cubic, from_ms: u64, until_ms: u64) -> f64 {
    let mut ms = from_ms;
    while ms <= until_ms {
        // Ten ACKs a round trip.
        cubic.on_ack(&ack(ms, cubic.cwnd() / 10));
        ms += 10;
    }
    f64::from(cubic.cwnd()) / f64::from(MSS)
}

#[test]
fn cube_roots_are_whole_parts() {
    for value in [
        0,
        1,
        7,
        8,
        26,
        27,
        999_999_999,
        1_000_000_000,
        123_456_789_012_345,
    ] {
        let root = u64::from(cube_root(value));
        assert!(root.pow(3) <= value && value < (root + 1).pow(3), "{value}");
    }
    assert_eq!(cube_root(u64::MAX), (1 << 21) - 1);
}

#[test]
fn the_window_follows_the_cubic_function() {
    // Large windows, so that the Reno-friendly region does not apply.
    for w_max in [1_000_u32, 4_000] {
        let mut cubic = self::cubic(w_max);
        cubic.on_loss(&flight(w_max));
        let k = (f64::from(w_max) * 0.3 / 0.4).cbrt();
        let mut ms = 1_000;
        for seconds in 1..=12_u64 {
            let until_ms = 1_000 + seconds * 1_000;
            let cwnd = run(&mut cubic, ms, until_ms - 10);
            ms = until_ms;
            let t = seconds as f64;
            let formula = 0.4 * (t - k).powi(3) + f64::from(w_max);
            // Between W(t) and W(t + RTT), the target.
            let next = 0.4 * (t + 0.1 - k).powi(3) + f64::from(w_max);
            let slack = 0.003 * formula;
            assert!(
                cwnd > formula - slack && cwnd < next + slack,
                "W_max {w_max} at {t} s: {cwnd}, formula {formula} to {next}"
            );
        }
    }
}

#[test]
fn a_small_window_grows_as_renos() {
    let mut cubic = self::cubic(20);
    cubic.on_loss(&flight(20));
    assert_eq!(cubic.cwnd(), 14 * MSS);
    // At 20 ms a round trip W_cubic hardly grows; here a whole round trip
    // passes between ACKs that are 1 ms apart.
    for round in 0..11 {
        cubic.on_ack(&AckSample {
            srtt_us: 1_000,
            ..ack(1_000 + round, cubic.cwnd())
        });
    }
    // Eleven round trips of 9/17 of a segment.
    assert_eq!(cubic.cwnd() / MSS, 14 + 11 * 9 / 17);
    for round in 11..40 {
        cubic.on_ack(&AckSample {
            srtt_us: 1_000,
            ..ack(1_000 + round, cubic.cwnd())
        });
    }
    // From W_est = cwnd_prior on α is 1.
    let above = cubic.cwnd() / MSS;
    cubic.on_ack(&AckSample {
        srtt_us: 1_000,
        ..ack(1_040, cubic.cwnd())
    });
    assert_eq!(cubic.cwnd() / MSS, above + 1);
}

#[test]
fn a_reduction_keeps_seven_tenths_and_a_mark_seventeen_twentieths() {
    for (name, marked, used, cwnd, w_max) in [
        ("lost", false, 100, 70, 100),
        ("marked", true, 100, 85, 100),
        ("lost, half the window in use", false, 50, 35, 50),
    ] {
        let mut cubic = self::cubic(100);
        if marked {
            cubic.on_ecn(&flight(used));
        } else {
            cubic.on_loss(&flight(used));
        }
        let found = (cubic.cwnd(), cubic.ssthresh(), cubic.w_max());
        assert_eq!(found, (cwnd * MSS, cwnd * MSS, w_max * MSS), "{name}");
    }
}

#[test]
fn a_second_loss_below_w_max_lowers_w_max_further() {
    let mut cubic = self::cubic(100);
    cubic.on_loss(&flight(100));
    cubic.on_loss(&flight(70));
    assert_eq!(cubic.w_max(), 59_500, "0.85 of 70 segments");
}

#[test]
fn time_with_an_untested_window_does_not_advance_the_curve() {
    let mut steady = self::cubic(1_000);
    steady.on_loss(&flight(1_000));
    let mut paused = steady.clone();
    run(&mut steady, 1_000, 1_990);
    run(&mut paused, 1_000, 1_490);
    for ms in (1_500..10_000).step_by(100) {
        let idle = AckSample {
            cwnd_limited: false,
            ..ack(ms, 10 * MSS)
        };
        paused.on_ack(&idle);
    }
    paused.on_flight_start(FlightStart {
        now: Instant::from_millis(20_000),
        ..FlightStart::default()
    });
    run(&mut paused, 20_000, 20_490);
    let difference = steady.cwnd().abs_diff(paused.cwnd());
    assert!(
        difference < 3 * MSS,
        "{} and {}",
        steady.cwnd(),
        paused.cwnd()
    );
}

#[test]
fn an_undo_restores_the_curve() {
    let mut cubic = self::cubic(1_000);
    cubic.on_loss(&flight(1_000));
    run(&mut cubic, 1_000, 3_000);
    let before = cubic.curve;
    cubic.on_loss(&flight(900));
    cubic.on_undo();
    assert_eq!(cubic.curve, before);
    cubic.on_timeout(&flight(900), true);
    cubic.on_timeout(&flight(1), false);
    cubic.on_undo();
    assert_eq!(cubic.curve, before);
}

#[test]
fn after_a_timeout_the_curve_starts_at_its_flat_point() {
    let mut cubic = self::cubic(100);
    cubic.on_timeout(&flight(100), true);
    assert_eq!((cubic.cwnd(), cubic.ssthresh()), (MSS, 70 * MSS));
    while cubic.cwnd() < cubic.ssthresh() {
        cubic.on_ack(&ack(1_000, 10 * MSS));
    }
    cubic.on_ack(&ack(1_100, 10 * MSS));
    assert_eq!((cubic.curve.k_ms, cubic.w_max()), (0, 70 * MSS));
}

/// Runs three seconds from the start on 100 Mbit/s and 40 ms with a queue of
/// `bdps` bandwidth-delay products. Returns the segments dropped, and true if
/// slow start is over.
fn start(hystart: bool, bdps: u64) -> (u64, bool) {
    let mut path = Path::wide();
    path.buffer = path.bdp() * bdps;
    let config = TcpConfig {
        hystart,
        ..config(CongestionAlgorithm::Cubic)
    };
    let mut world = World::new(path, &[config], 1);
    world.run(Duration::from_secs(3));
    let is_over = world.flows[0].controller.ssthresh() != u32::MAX;
    (world.queue_drops, is_over)
}

#[test]
fn hystart_leaves_slow_start_before_a_queue_with_room_for_css_overflows() {
    // The growth is detected in the round trip after the one that began to
    // queue, near four BDP; five rounds of CSS at a quarter lead to eleven.
    assert_eq!(start(true, 12), (0, true));
    assert!(start(false, 12).0 > 1_000);
    let (with, without) = (start(true, 2).0, start(false, 2).0);
    assert!(with * 2 < without, "{with} with, {without} without");
}

#[test]
fn cubic_fills_a_path_without_loss_and_drains_its_queue_at_times() {
    let mut world = World::with(Path::wide(), CongestionAlgorithm::Cubic);
    world.run(Duration::from_secs(3));
    let utilisation = world.utilisation(0, Duration::from_secs(20));
    assert!(utilisation > 0.99, "{utilisation}");
    assert_eq!(world.flows[0].timeouts, 0);
}

#[test]
fn random_loss_leaves_at_least_what_the_response_function_allows() {
    // RFC 9438 §5.1: the Reno-friendly region decides at 40 ms; its average
    // window is √(3/2p) segments.
    // At 3 % the window is too small to be an average: a round trip of recovery
    // without growth counts.
    for (loss, share) in [(0.001, 0.9), (0.01, 0.9), (0.03, 0.75)] {
        let path = Path {
            loss,
            ..Path::wide()
        };
        let allowed = (1.5_f64 / loss).sqrt() * 1_448.0 / 0.04 / path.rate as f64;
        let mut shares: Vec<f64> = (0..7)
            .map(|seed| {
                let mut world =
                    World::new(path.clone(), &[config(CongestionAlgorithm::Cubic)], seed);
                world.run(Duration::from_secs(5));
                world.utilisation(0, Duration::from_secs(60))
            })
            .collect();
        shares.sort_by(f64::total_cmp);
        assert!(
            shares[3] > share * allowed,
            "loss {loss}: {shares:.3?} of {allowed:.3}"
        );
    }
}
