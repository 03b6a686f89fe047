//! Tests that compare CUBIC's window with the formulas of RFC 9438, and tests of CUBIC on a path.

use std::vec::Vec;

use super::*;
use crate::{
    CongestionAlgorithm, Limit, TcpConfig,
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
        // Ten ACKs per round trip.
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
            // The window is between W(t) and the target W(t + RTT).
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
    // Each ACK, 1 ms after the one before, stands for a whole round trip, so W_cubic
    // hardly grows.
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
    // Once W_est has reached cwnd_prior, α is 1.
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

/// RFC 9406 §4.2: L is 8 segments without pacing.
#[test]
fn without_pacing_one_ack_adds_eight_segments_at_most() {
    for (paced, grown) in [(false, 28), (true, 40)] {
        let mut cubic = self::cubic(20);
        cubic.paced = paced;
        cubic.on_ack(&ack(1_000, 20 * MSS));
        assert_eq!(cubic.cwnd(), grown * MSS);
    }
}

#[test]
fn slow_start_ends_at_its_threshold_and_not_beyond() {
    let mut cubic = self::cubic(20);
    cubic.curve.ssthresh = 25 * MSS;
    cubic.on_ack(&ack(1_000, 20 * MSS));
    assert_eq!(cubic.cwnd(), 25 * MSS);
}

/// RFC 9406 §4.2: in CSS the window grows a quarter as fast, and the end of CSS sets
/// ssthresh.
#[test]
fn conservative_slow_start_grows_a_quarter_as_fast_and_then_ends() {
    let mut cubic = Cubic::new(&CongestionStart {
        cwnd: 100 * MSS,
        ssthresh: u32::MAX,
        mss: MSS,
        paced: true,
        hystart: true,
        ..CongestionStart::default()
    });
    let mut round = |rtt_us, acks: u32| {
        for n in 0..acks {
            let mut sample = ack(1_000, 0);
            sample.rate.rtt_us = Some(rtt_us);
            sample.rate.round_start = n == 0;
            sample.acked = if n + 1 == acks { 8_002 } else { 0 };
            cubic.on_ack(&sample);
        }
        (cubic.cwnd(), cubic.ssthresh())
    };
    assert_eq!(round(40_000, 8), (108_002, u32::MAX));
    for css_round in 1..=5 {
        let expected = (108_002 + 2_000 * css_round, u32::MAX);
        assert_eq!(round(50_000, 8), expected, "round {css_round}");
    }
    assert_eq!(round(50_000, 1), (118_002, 118_002));
}

#[test]
fn hystart_runs_only_in_the_first_slow_start_and_if_the_knob_says_so() {
    for (hystart, ssthresh, expected) in [
        (true, u32::MAX, true),
        (false, u32::MAX, false),
        (true, 50 * MSS, false),
    ] {
        let cubic = Cubic::new(&CongestionStart {
            cwnd: 10 * MSS,
            ssthresh,
            hystart,
            ..CongestionStart::default()
        });
        assert_eq!(cubic.hystart.is_some(), expected);
    }
}

/// RFC 9438 §4.7: fast convergence applies if the window is below W_max, and not if it
/// equals W_max.
#[test]
fn a_loss_at_w_max_keeps_w_max() {
    for (cwnd, marked, w_max) in [
        (100, false, 100_000),
        (99, false, 84_150),
        (99, true, 91_575),
    ] {
        let mut cubic = self::cubic(cwnd);
        cubic.curve.w_max = 100 * MSS;
        if marked {
            cubic.on_ecn(&flight(100));
        } else {
            cubic.on_loss(&flight(100));
        }
        assert_eq!(cubic.w_max(), w_max, "{cwnd}");
    }
}

#[test]
fn a_reduction_leaves_two_segments_at_least() {
    let mut cubic = self::cubic(2);
    cubic.on_loss(&flight(2));
    assert_eq!((cubic.cwnd(), cubic.ssthresh()), (2 * MSS, 2 * MSS));
}

/// RFC 9438 §4.2, figure 2: K = cbrt((W_max - cwnd_epoch) / C).
#[test]
fn k_is_the_time_of_the_climb_to_w_max() {
    let mut cubic = self::cubic(100);
    cubic.on_loss(&flight(100));
    cubic.on_ack(&ack(1_000, 0));
    // The cube root of 30 segments over 0.4 is 4.217 s.
    assert_eq!(cubic.curve.k_ms, 4_217);
    assert_eq!(cubic.curve.epoch_start, Some(Instant::from_millis(1_000)));
    assert_eq!(k_ms(8 * MSS, 2 * MSS), 2_154, "in segments of this size");
    assert_eq!(k_ms(0, 0), 0);
}

/// Returns a curve at its flat point: W_max of `w_max` bytes at 1 s.
fn flat(cwnd: u32, w_max: u32) -> Curve {
    Curve {
        cwnd,
        w_max,
        w_est: 0,
        cwnd_prior: u32::MAX,
        epoch_start: Some(Instant::from_secs(1)),
        ..self::cubic(1).curve
    }
}

/// RFC 9438 §4.2, figure 1: W_cubic(t) = C * (t - K)^3 + W_max.
#[test]
fn the_cubic_function_is_that_of_the_rfc() {
    for (k_ms, t_ms, w_max, expected) in [
        (0, 2_000, 100_000, 103_200),
        (3_000, 1_000, 100_000, 96_800),
        (3_000, 3_000, 100_000, 100_000),
        (3_000, 5_500, 100_000, 106_250),
        (60_000, 0, 100_000, 0),
    ] {
        let mut curve = flat(1, w_max);
        curve.k_ms = k_ms;
        assert_eq!(curve.at(Duration::from_millis(t_ms), MSS), expected);
    }
    let mut curve = flat(1, 7);
    assert_eq!(curve.at(Duration::from_secs(100_000), 65_535), u32::MAX);
    curve.k_ms = (1 << 21) - 1;
    assert_eq!(curve.at(Duration::ZERO, 65_535), 0);
}

/// RFC 9438 §4.4: each segment acknowledged grows the window by (target - cwnd) / cwnd
/// segments.
#[test]
fn an_ack_moves_the_window_by_its_share_of_the_way_to_the_target() {
    let now = Instant::from_secs(1);
    let mut curve = flat(100_000, 110_000);
    // 10,000 · 1,001 / 100,000 = 100.1
    curve.advance(1_001, MSS, 0, now);
    assert_eq!((curve.cwnd, curve.cwnd_rest), (100_100, 10_000));
    // (9,900 · 1,001 + 10,000) / 100,100 = 99.1
    curve.advance(1_001, MSS, 0, now);
    assert_eq!((curve.cwnd, curve.cwnd_rest), (100_199, 10_000));
    let mut far = flat(100_000, 300_000);
    far.advance(300_000, MSS, 0, now);
    assert_eq!(far.cwnd, 150_000, "1.5 times the window a round trip");
    let mut below = flat(100_000, 90_000);
    below.advance(100_000, MSS, 0, now);
    assert_eq!(below.cwnd, 100_000, "the curve does not lower the window");
    // The target is W_cubic one round trip (1 s) later: 400 bytes above W_max.
    let mut ahead = flat(100_000, 100_000);
    ahead.advance(100_000, MSS, 1_000_000, now);
    assert_eq!(ahead.cwnd, 100_400);
}

/// RFC 9438 §4.3: W_est grows by alpha segments per window; alpha is 9/17 while W_est is below the
/// window before the reduction, then 1.
#[test]
fn the_reno_window_grows_by_nine_seventeenths_of_a_segment_and_later_by_one() {
    let now = Instant::from_secs(1);
    let mut curve = flat(100_000, 100_000);
    // 9 · 1,000 · 10,000 / (17 · 100,000) = 52.94
    for (w_est, rest) in [(52, 1_600_000), (105, 1_500_000), (158, 1_400_000)] {
        curve.advance(10_000, MSS, 0, now);
        assert_eq!((curve.w_est, curve.w_est_rest), (w_est, rest));
    }
    for (w_est, grown) in [(49_999, 50_051), (50_000, 50_100)] {
        let mut curve = flat(100_000, 100_000);
        (curve.w_est, curve.cwnd_prior) = (w_est, 50_000);
        curve.advance(10_000, MSS, 0, now);
        assert_eq!(curve.w_est, grown);
    }
}

/// RFC 9438 §4.3: cwnd becomes W_est where W_cubic(t) is less than W_est.
#[test]
fn the_reno_window_applies_only_above_the_curve() {
    let now = Instant::from_secs(1);
    for (w_est, cwnd) in [(110_000, 100_000), (110_001, 110_001)] {
        let mut curve = flat(100_000, 110_000);
        curve.w_est = w_est;
        curve.advance(0, MSS, 0, now);
        assert_eq!(curve.cwnd, cwnd, "W_est {w_est}");
    }
}

#[test]
fn the_window_does_not_grow_during_recovery_or_untested() {
    for losses in [0, 1] {
        for (recovering, cwnd_limited) in [(true, true), (false, false)] {
            let mut cubic = self::cubic(1_000);
            for _ in 0..losses {
                cubic.on_loss(&flight(1_000));
                cubic.on_ack(&ack(1_000, 0));
            }
            let before = cubic.cwnd();
            cubic.on_ack(&AckSample {
                recovering,
                cwnd_limited,
                ..ack(2_000, 100 * MSS)
            });
            assert_eq!(cubic.cwnd(), before, "{recovering} {cwnd_limited}");
        }
    }
}

/// RFC 9438 §4.9.1: an undo restores the prior state only if the window is below the prior window.
#[test]
fn an_undo_leaves_a_window_that_has_grown_back() {
    for (cwnd, restored) in [(99, true), (100, false), (101, false)] {
        let mut cubic = self::cubic(100);
        cubic.on_loss(&flight(100));
        cubic.curve.cwnd = cwnd * MSS;
        let grown = cubic.curve;
        cubic.on_undo();
        let found = (cubic.cwnd(), cubic.curve == grown);
        let expected = if restored { 100 } else { cwnd };
        assert_eq!(found, (expected * MSS, !restored), "{cwnd}");
    }
    let mut marked = self::cubic(100);
    marked.on_loss(&flight(100));
    marked.on_ecn(&flight(70));
    marked.on_undo();
    assert_eq!(marked.cwnd(), 59_500, "a mark is never spurious");
}

/// RFC 7661 §4.4, RFC 5681 §4.1.
#[test]
fn after_idle_time_slow_start_leads_to_three_quarters_of_the_window() {
    for (ssthresh, expected) in [(70 * MSS, 75 * MSS), (80 * MSS, 80 * MSS)] {
        let mut cubic = self::cubic(100);
        cubic.curve.ssthresh = ssthresh;
        cubic.curve.epoch_start = Some(Instant::ZERO);
        cubic.on_idle(10 * MSS);
        assert_eq!((cubic.cwnd(), cubic.ssthresh()), (10 * MSS, expected));
        assert_eq!(cubic.curve.epoch_start, None);
        cubic.on_idle(20 * MSS);
        assert_eq!(cubic.cwnd(), 10 * MSS, "never raised");
    }
}

/// Runs the first three seconds of a flow on a path of 100 Mbit/s and 40 ms with a queue of `bdps`
/// bandwidth-delay products. Returns the segments dropped and the limit at the end.
fn start(hystart: bool, bdps: u64) -> (u64, Limit) {
    let mut path = Path::wide();
    path.buffer = path.bdp() * bdps;
    let config = TcpConfig {
        hystart,
        ..config(CongestionAlgorithm::Cubic)
    };
    let mut world = World::new(path, &[config], 1);
    world.run(Duration::from_secs(3));
    (world.queue_drops, world.flows[0].controller.limit())
}

#[test]
fn hystart_leaves_slow_start_before_a_queue_with_room_for_css_overflows() {
    // HyStart++ detects the longer round trips one round trip after the queue began to fill, when
    // the window is nearly four BDP. In five rounds of CSS the window grows a quarter as fast, to
    // eleven BDP.
    assert_eq!(start(true, 12), (0, Limit::CwndSteady));
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
    // RFC 9438 §5.1: at 40 ms the Reno-friendly region sets the window, and its average is √(3/2p)
    // segments at the loss rate p. At 3 % loss the window is so small that the round trips of
    // recovery, in which the window does not grow, lower the average.
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
