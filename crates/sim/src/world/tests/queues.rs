//! Tests of queues that mark instead of dropping, with senders that use ECN and senders that do
//! not.

use super::*;
use crate::link::{Codel, EcnThreshold, FrameLoss};

/// 20 Mbit/s and a round trip of 20 ms: a bandwidth-delay product of 50 KB.
fn bottleneck() -> LinkModel {
    LinkModel {
        rate_bps: 20_000_000,
        delay_us: 10_000,
        queue: Queue::Packets(1_000),
        ..LinkModel::ideal()
    }
}

fn config(congestion: &str, ecn: &str) -> Config {
    let mut config = Config::default();
    for (name, value) in [
        ("tcp.congestion", congestion),
        ("tcp.ecn", ecn),
        ("tcp.send_buffer", "1M"),
        ("tcp.receive_buffer", "1M"),
    ] {
        config.set(name, value).unwrap();
    }
    config
}

/// Sends 16 MB; returns the counts of the sender and of the queue.
fn transfer(
    link: LinkModel,
    congestion: &str,
    ecn: &str,
) -> (crate::Facts, crate::link::LinkCounters) {
    let mut world = World::new(Seed(5));
    let link = world.link(link);
    let (client, server) = world.pair(&link, config(congestion, ecn));
    let flow = world.send(client, server, 16 * MIB);
    world.run_until(flow.done(), Deadline::secs(60));
    let counters = *world.link_engine(link).counters(Direction::Forward);
    (world.facts(flow), counters)
}

#[test]
fn a_marking_queue_loses_nothing_and_stays_full_and_short() {
    let threshold = LinkModel {
        ecn_threshold: Some(EcnThreshold::Packets(25)),
        ..bottleneck()
    };
    let codel = LinkModel {
        codel: Some(Codel {
            ecn: true,
            ..Codel::internet()
        }),
        ..bottleneck()
    };
    // Allow CoDel a longer queue: in slow start the queue grows for one interval before CoDel
    // acts.
    for (name, link, longest) in [("threshold", threshold, 100), ("codel", codel, 300)] {
        for congestion in ["newreno", "cubic", "bbr"] {
            let (facts, queue) = transfer(link, congestion, "on");
            let case = format!("{name} {congestion}: {} {queue:?}", facts.goodput_bps);
            assert_eq!(facts.retransmissions, 0, "{case}");
            assert!(queue.marked > 0, "{case}");
            assert_eq!(queue.lost.all(), 0, "{case}");
            assert!(facts.goodput_bps > 17_500_000.0, "{case}");
            assert!(queue.longest_queue < longest, "{case}");
        }
    }
}

#[test]
fn who_takes_no_part_is_dropped() {
    let link = LinkModel {
        ecn_threshold: Some(EcnThreshold::Bytes(40_000)),
        ..bottleneck()
    };
    for congestion in ["newreno", "cubic", "bbr"] {
        let (facts, queue) = transfer(link, congestion, "accept");
        assert_eq!(queue.marked, 0, "{congestion}");
        assert!(
            queue.lost.frames(FrameLoss::EcnThreshold) > 0,
            "{congestion}"
        );
        assert!(facts.retransmissions > 0, "{congestion}");
    }
}
