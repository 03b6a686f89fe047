//! PRR with one loss and with many.

use super::*;

const MSS: u32 = 1_000;

/// Twenty segments in flight, one lost, the rest is acknowledged one by one.
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

/// A peer that withdraws its SACK blocks and reports them again has bytes delivered without end.
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
