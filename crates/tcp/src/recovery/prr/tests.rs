//! Tests of PRR with one loss and with many.

use super::*;

const MSS: u32 = 1_000;

/// Of twenty segments in flight one is lost, and the others are acknowledged one by one.
#[test]
fn the_window_shrinks_in_proportion_to_the_bytes_delivered() {
    let mut prr = Prr::start(20 * MSS);
    let (mut in_flight, mut sent) = (19 * MSS, 0);
    for _ in 0..19 {
        in_flight -= MSS;
        let ack = PrrAck {
            delivered: MSS,
            in_flight,
            ssthresh: 14 * MSS,
            mss: MSS,
            is_safe: false,
        };
        let cwnd = prr.on_ack(ack);
        while in_flight + MSS <= cwnd {
            in_flight += MSS;
            sent += 1;
            prr.on_sent(MSS);
        }
    }
    assert!(
        (13..=14).contains(&sent),
        "{sent} of 19 arrivals let one leave"
    );
    assert!((13 * MSS..=14 * MSS).contains(&in_flight), "{in_flight}");
}

#[test]
fn after_heavy_loss_no_more_is_sent_than_delivered() {
    let mut prr = Prr::start(20 * MSS);
    let ack = PrrAck {
        delivered: 2 * MSS,
        in_flight: 4 * MSS,
        ssthresh: 14 * MSS,
        mss: MSS,
        is_safe: false,
    };
    assert_eq!(prr.on_ack(ack), 6 * MSS);
    prr.on_sent(2 * MSS);
    assert_eq!(
        prr.on_ack(PrrAck {
            delivered: 0,
            in_flight: 6 * MSS,
            ..ack
        }),
        6 * MSS
    );
    assert_eq!(
        prr.on_ack(PrrAck {
            delivered: MSS,
            is_safe: true,
            in_flight: 5 * MSS,
            ..ack
        }),
        7 * MSS
    );
}

/// A peer that withdraws its SACK blocks and reports them again can make the count of delivered
/// bytes grow without end.
#[test]
fn bytes_delivered_without_end_do_not_overflow() {
    let mut prr = Prr::start(10_000);
    for _ in 0..3 {
        let window = prr.on_ack(PrrAck {
            delivered: u32::MAX,
            in_flight: 1_000,
            ssthresh: 5_000,
            mss: 1_000,
            is_safe: true,
        });
        assert_eq!(window, 5_000);
    }
}

/// RFC 9937 §6.2: SndCnt = ceil(prr_delivered · ssthresh / RecoverFS) - prr_out while
/// more than `ssthresh` is in flight.
#[test]
fn the_share_that_may_leave_is_rounded_up_and_less_what_has_left() {
    let ack = PrrAck {
        delivered: MSS,
        in_flight: 18 * MSS,
        ssthresh: 14 * MSS,
        mss: MSS,
        is_safe: true,
    };
    let mut prr = Prr::start(20 * MSS);
    assert_eq!(prr.on_ack(ack), 19 * MSS, "the first retransmission leaves");
    prr.on_sent(MSS);
    // 1,003 · 14,000 / 20,000 = 702.1: less than the 1,000 bytes that have left, so nothing leaves.
    assert_eq!(
        prr.on_ack(PrrAck {
            delivered: 3,
            ..ack
        }),
        18 * MSS
    );
    // 2,003 · 0.7 = 1,402.1
    assert_eq!(prr.on_ack(ack), 18 * MSS + 403);
}

/// RFC 9937 §6.2: exactly at `ssthresh` the second case applies.
#[test]
fn at_ssthresh_nothing_more_leaves() {
    let mut prr = Prr::start(20 * MSS);
    prr.on_sent(MSS);
    let ack = PrrAck {
        delivered: 4 * MSS,
        in_flight: 14 * MSS,
        ssthresh: 14 * MSS,
        mss: MSS,
        is_safe: true,
    };
    assert_eq!(prr.on_ack(ack), 14 * MSS);
    let below = PrrAck {
        delivered: MSS,
        in_flight: 12 * MSS,
        ..ack
    };
    // 5 segments are delivered, 1 has left, and a safe ACK allows one more. 2 are enough to
    // reach `ssthresh`.
    assert_eq!(prr.on_ack(below), 14 * MSS);
    prr.on_sent(4 * MSS);
    let even = PrrAck {
        delivered: 0,
        in_flight: 12 * MSS,
        ..ack
    };
    assert_eq!(prr.on_ack(even), 13 * MSS, "a segment for a safe ACK");
}

#[test]
fn a_recovery_that_begins_with_nothing_in_flight_divides_by_one() {
    for mut prr in [Prr::start(0), Prr::IDLE] {
        let ack = PrrAck {
            delivered: 1,
            in_flight: 3,
            ssthresh: 2,
            mss: 1,
            is_safe: false,
        };
        assert_eq!(prr.on_ack(ack), 5);
    }
}
