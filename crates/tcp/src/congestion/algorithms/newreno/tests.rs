//! Tests that compare NewReno's window with RFC 5681.

use super::*;
use crate::congestion::RateSample;

const MSS: u32 = 1_000;

fn ack(newly_acked: u32) -> AckSample {
    AckSample {
        acked: newly_acked,
        rate: RateSample {
            newly_acked,
            ..RateSample::default()
        },
        mss: MSS,
        cwnd_limited: true,
        ..AckSample::default()
    }
}

fn reno(segments: u32, paced: bool) -> NewReno {
    NewReno::new(&CongestionStart {
        cwnd: segments * MSS,
        ssthresh: u32::MAX,
        mss: MSS,
        paced,
        ..CongestionStart::default()
    })
}

fn flight(flight_size: u32) -> CongestionEvent {
    CongestionEvent {
        flight_size,
        mss: MSS,
        ..CongestionEvent::default()
    }
}

#[test]
fn slow_start_doubles_a_window_each_round_trip_however_acks_are_cut() {
    for acks in [1, 5, 20] {
        let mut reno = self::reno(20, true);
        for _ in 0..acks {
            reno.on_ack(&ack(20 * MSS / acks));
        }
        assert_eq!(reno.cwnd(), 40 * MSS, "{acks} ACKs");
    }
}

#[test]
fn without_pacing_one_ack_adds_two_segments_at_most() {
    let mut reno = self::reno(20, false);
    reno.on_ack(&ack(20 * MSS));
    assert_eq!(reno.cwnd(), 22 * MSS);
}

#[test]
fn slow_start_ends_at_its_threshold_and_not_beyond() {
    let mut reno = self::reno(20, true);
    reno.on_timeout(&flight(20 * MSS), true);
    reno.on_ack(&ack(30 * MSS));
    assert_eq!(reno.cwnd(), 10 * MSS);
}

#[test]
fn congestion_avoidance_adds_one_segment_each_round_trip() {
    let mut reno = self::reno(20, true);
    reno.on_loss(&flight(20 * MSS));
    for _ in 0..5 {
        reno.on_ack(&ack(2 * MSS));
    }
    assert_eq!(reno.cwnd(), 11 * MSS);
}

#[test]
fn loss_halves_the_used_window_and_a_mark_reduces_it_by_a_fifth() {
    for (name, used, marked, expected) in [
        ("full window lost from", 40, false, 20),
        ("full window marked", 40, true, 32),
        ("window half used, lost from", 20, false, 10),
        ("window half used, marked", 20, true, 16),
        ("two segments are the floor", 2, false, 2),
        ("recovery inflated the flight", 60, false, 20),
    ] {
        let mut reno = self::reno(40, true);
        if marked {
            reno.on_ecn(&flight(used * MSS));
        } else {
            reno.on_loss(&flight(used * MSS));
        }
        let both = (reno.cwnd(), reno.ssthresh());
        assert_eq!(both, (expected * MSS, expected * MSS), "{name}");
    }
}

#[test]
fn a_timeout_restarts_slow_start_and_reduces_ssthresh_once_for_the_same_data() {
    let mut reno = self::reno(20, true);
    reno.on_timeout(&flight(20 * MSS), true);
    assert_eq!((reno.cwnd(), reno.ssthresh()), (MSS, 10 * MSS));
    reno.on_timeout(&flight(MSS), false);
    assert_eq!((reno.cwnd(), reno.ssthresh()), (MSS, 10 * MSS));
}

#[test]
fn a_spurious_reduction_is_undone_once_and_that_of_a_mark_never() {
    let mut reno = self::reno(20, true);
    reno.on_loss(&flight(20 * MSS));
    reno.on_undo();
    assert_eq!((reno.cwnd(), reno.ssthresh()), (20 * MSS, u32::MAX));
    reno.on_ecn(&flight(20 * MSS));
    reno.on_undo();
    assert_eq!(reno.cwnd(), 16 * MSS);
}

#[test]
fn a_window_that_was_not_tested_does_not_grow() {
    let mut reno = self::reno(20, true);
    for (in_flight, cwnd) in [(9, 20), (10, 22)] {
        let mut sample = ack(2 * MSS);
        sample.cwnd_limited = false;
        sample.rate.tx_in_flight = in_flight * MSS;
        reno.on_ack(&sample);
        assert_eq!(reno.cwnd(), cwnd * MSS, "{in_flight} segments in flight");
    }
}

#[test]
fn after_idle_time_slow_start_leads_to_three_quarters_of_the_window() {
    let mut reno = self::reno(40, true);
    reno.on_loss(&flight(40 * MSS));
    reno.on_idle(10 * MSS);
    assert_eq!((reno.cwnd(), reno.ssthresh()), (10 * MSS, 20 * MSS));
    let mut larger = self::reno(40, true);
    larger.on_loss(&flight(10 * MSS));
    larger.cwnd = 40 * MSS;
    larger.on_idle(10 * MSS);
    assert_eq!((larger.cwnd(), larger.ssthresh()), (10 * MSS, 30 * MSS));
}

/// RFC 3465 §2.1: bytes acknowledged beyond a window count towards the next.
#[test]
fn bytes_beyond_a_window_count_towards_the_next_segment() {
    let mut reno = self::reno(20, true);
    reno.on_loss(&flight(20 * MSS));
    for (acked, cwnd) in [(15_000, 11), (5_999, 11), (1, 12), (12_000, 13)] {
        reno.on_ack(&ack(acked));
        assert_eq!(reno.cwnd(), cwnd * MSS, "{acked}");
    }
    reno.on_ack(&ack(12_999));
    reno.on_loss(&flight(13 * MSS));
    reno.on_ack(&ack(6_499));
    assert_eq!(reno.cwnd(), 6_500, "a reduction begins the count again");
}

/// RFC 5681 §3.2: the window does not grow by ACKs while a loss is repaired.
#[test]
fn the_window_does_not_grow_during_recovery() {
    for losses in [0, 1] {
        let mut reno = self::reno(20, true);
        for _ in 0..losses {
            reno.on_loss(&flight(20 * MSS));
        }
        let before = reno.cwnd();
        reno.on_ack(&AckSample {
            recovering: true,
            ..ack(20 * MSS)
        });
        assert_eq!(reno.cwnd(), before);
    }
}

/// At `ssthresh` the sender is in congestion avoidance, where half a window in flight does
/// not validate the window. RFC 7661 §4.2.
#[test]
fn half_a_window_in_flight_suffices_below_ssthresh_only() {
    for (cwnd, ssthresh, grown) in [(20, 21, 21), (20, 20, 20), (20, 19, 20)] {
        let mut reno = self::reno(cwnd, true);
        reno.ssthresh = ssthresh * MSS;
        let mut sample = ack(20 * MSS);
        sample.cwnd_limited = false;
        sample.rate.tx_in_flight = 10 * MSS;
        reno.on_ack(&sample);
        assert_eq!(reno.cwnd(), grown * MSS, "{cwnd} of {ssthresh}");
    }
}

#[test]
fn an_undo_never_lowers_window_or_threshold() {
    let mut reno = self::reno(20, true);
    reno.ssthresh = 15 * MSS;
    reno.on_timeout(&flight(20 * MSS), true);
    (reno.cwnd, reno.ssthresh) = (25 * MSS, 16 * MSS);
    reno.on_undo();
    assert_eq!((reno.cwnd(), reno.ssthresh()), (25 * MSS, 16 * MSS));
}
