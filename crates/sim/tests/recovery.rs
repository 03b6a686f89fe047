//! Tests of loss recovery and congestion control with two whole stacks. The path has 100 Mbit/s, a
//! round trip of 40 ms, a queue of 1,000 packets, and one impairment at a time.
//!
//! Rule: assertions are about the wire or a stack's counters, and hold for every seed. The tables
//! of `fullpipe-lab` have the measured values.

use fullpipe::Config;
use fullpipe_pool::Duration;
use fullpipe_sim::{
    Deadline, Facts, LinkModel, MIB, Seed, World,
    link::{Direction, FrameLoss, Outage, Queue, Reordering},
    rule::drop_when,
};
use fullpipe_tcp::{CongestionAlgorithm, Info, Limit, TcpCounters};

const ALGORITHMS: [CongestionAlgorithm; 3] = [
    CongestionAlgorithm::NewReno,
    CongestionAlgorithm::Cubic,
    CongestionAlgorithm::Bbr,
];

fn path() -> LinkModel {
    LinkModel {
        rate_bps: 100_000_000,
        delay_us: 20_000,
        queue: Queue::Packets(1_000),
        ..LinkModel::ideal()
    }
}

/// The outcome of a transfer.
struct Run {
    facts: Facts,
    sender: TcpCounters,
    /// Segments that reached the receiver twice.
    received_twice: u64,
    /// Frames lost on the path towards the receiver.
    lost: u64,
}

fn transfer(
    congestion: CongestionAlgorithm,
    [forward, back]: [LinkModel; 2],
    bytes: u64,
    seed: u64,
) -> Run {
    let mut config = Config::default();
    config.tcp.congestion = congestion;
    config.tcp.send_buffer = MIB as u32;
    config.tcp.receive_buffer = MIB as u32;
    let mut world = World::new(Seed(seed));
    let link = world.link_asymmetric(forward, back);
    let (client, server) = world.pair(&link, config);
    let flow = world.send(client, server, bytes);
    world.run_until(flow.done(), Deadline::secs(300));
    let receiver = world.stack(server).tcp_counters();
    Run {
        received_twice: receiver.dsack_old_sent + receiver.dsack_ofo_sent,
        sender: world.stack(client).tcp_counters().clone(),
        lost: world
            .link_engine(link)
            .counters(Direction::Forward)
            .lost
            .frames(FrameLoss::Random),
        facts: world.facts(flow),
    }
}

#[test]
fn a_lost_segment_is_sent_again_once_and_its_recovery_is_not_undone() {
    for congestion in ALGORITHMS {
        for (percent, seed) in [(0.1, 1), (1.0, 2), (3.0, 3)] {
            let lossy = LinkModel {
                loss: percent / 100.0,
                ..path()
            };
            let run = transfer(congestion, [lossy, path()], 4 * MIB, seed);
            let case = format!("{congestion:?} at {percent} %");
            assert_eq!(run.sender.undos, 0, "{case}");
            assert_eq!(run.facts.timeouts, 0, "{case}");
            assert_eq!(run.received_twice, 0, "{case}");
            assert!(run.facts.retransmissions <= run.lost, "{case}");
            let gap = run.facts.client.longest_data_gap;
            assert!(gap < Duration::from_millis(200), "{case}: silent for {gap}");
        }
    }
}

/// The writer always has more to write. Time in which loss recovery sends nothing new is therefore
/// charged to recovery.
#[test]
fn a_bulk_transfer_that_repairs_losses_never_waits_for_nagle() {
    let lossy = LinkModel {
        loss: 0.01,
        ..path()
    };
    for congestion in ALGORITHMS {
        let run = transfer(congestion, [lossy, path()], 32 * MIB, 1);
        let limits = run.facts.client.limits();
        let waited = |limit| {
            limits
                .iter()
                .find(|known| known.0 == limit)
                .map(|known| known.2)
        };
        // Nagle's algorithm can delay only the last segment, because all others are full.
        assert!(
            waited(Limit::Nagle) < Some(Duration::from_millis(100)),
            "{limits:?}"
        );
        assert!(waited(Limit::Recovery) > Some(Duration::ZERO), "{limits:?}");
    }
}

/// The small receive window is full during the whole outage. The outage is still charged to
/// recovery and not to the window, because a larger window would change nothing.
#[test]
fn an_outage_in_the_first_flight_is_charged_to_recovery_and_not_to_the_window() {
    for sack in [true, false] {
        let mut config = Config::default();
        config.tcp.sack = sack;
        config.tcp.receive_buffer = 8 << 10;
        let broken = LinkModel {
            outage: Some(Outage {
                after_us: 100_000,
                length_us: 10_000_000,
            }),
            ..path()
        };
        let mut world = World::new(Seed(1));
        let link = world.link_asymmetric(broken, path());
        let (client, server) = world.pair(&link, config);
        let flow = world.send(client, server, 64 << 10);
        world.run_until(flow.done(), Deadline::secs(60));
        let limits = world.facts(flow).client.limits();
        let seconds = |limit| {
            let mut all = limits.iter();
            let found = all.find(|known| known.0 == limit);
            found.map_or(0.0, |known| known.2.as_secs_f64())
        };
        let recovery = seconds(Limit::Recovery);
        assert!(recovery > 9.7, "sack {sack}: {limits:?}");
        assert!(
            seconds(Limit::ReceiveWindow) < 1.0,
            "sack {sack}: {limits:?}"
        );
    }
}

#[test]
fn segments_that_overtake_others_cost_next_to_nothing() {
    let reordering = LinkModel {
        reordering: Some(Reordering {
            chance: 0.01,
            late_us: 10_000,
        }),
        ..path()
    };
    for congestion in ALGORITHMS {
        let straight = transfer(congestion, [path(); 2], 16 * MIB, 1);
        for seed in 1..6 {
            let run = transfer(congestion, [reordering, path()], 16 * MIB, seed);
            let share = run.facts.goodput_bps / straight.facts.goodput_bps;
            assert!(share > 0.95, "{congestion:?}, seed {seed}: {share}");
            let received_twice = run.received_twice as f64 / run.facts.client.data_segments as f64;
            assert!(
                received_twice < 0.01,
                "{congestion:?}, seed {seed}: {received_twice}"
            );
        }
    }
}

#[test]
fn lost_acks_cost_nothing() {
    let lossy = LinkModel {
        loss: 0.03,
        ..path()
    };
    for congestion in ALGORITHMS {
        let whole = transfer(congestion, [path(); 2], 16 * MIB, 1);
        let run = transfer(congestion, [path(), lossy], 16 * MIB, 1);
        let share = run.facts.goodput_bps / whole.facts.goodput_bps;
        assert!(share > 0.99, "{congestion:?}: {share}");
        assert_eq!(run.facts.retransmissions, 0, "{congestion:?}");
    }
}

#[test]
fn a_retransmission_lost_at_the_end_costs_a_probe_and_no_timeout() {
    let mut config = Config::default();
    config.tcp.congestion = CongestionAlgorithm::Cubic;
    let mut world = World::new(Seed(5));
    let link = world.link(path());
    let (client, server) = world.pair(&link, config);
    // The 35th of 40 segments is lost, and its retransmission is lost too. Everything has then
    // been sent, so no later ACK can report the second loss.
    let (mut first, mut dropped) = (None, 0);
    world.rule(drop_when(move |packet| {
        let Some(tcp) = packet.tcp.filter(|tcp| tcp.payload_len > 0) else {
            return false;
        };
        let first = *first.get_or_insert(tcp.header.seq);
        let begin = tcp.header.seq.wrapping_sub(first);
        let is_it = (begin..begin + tcp.payload_len).contains(&(34 * 1_448));
        dropped += u32::from(is_it);
        is_it && dropped <= 2
    }));
    let flow = world.send(client, server, 40 * 1_448);
    world.run_until(flow.done(), Deadline::secs(10));
    let facts = world.facts(flow);
    assert_eq!((facts.timeouts, facts.retransmissions), (0, 2));
    assert_eq!(world.stack(client).tcp_counters().loss_probes, 1);
    assert!(facts.client.longest_data_gap < Duration::from_millis(100));
}

/// The impairment of a sender's payload.
#[derive(Clone, Copy, Debug)]
enum Impairment {
    /// The payload that the sender sends in half a second is delayed, and then arrives in order and
    /// all at once.
    Delayed,
    /// The payload that the sender sends in half a second never arrives.
    Lost,
}

/// Impairs a transfer that is in slow start and limited only by its congestion window. Returns the
/// sender's `Info` before the impairment and 1.5 s after it, and the sender's counters.
fn impaired(config: Config, impairment: Impairment) -> (Info, Info, TcpCounters) {
    let mut world = World::new(Seed(1));
    let link = world.link(path());
    let (client, server) = world.pair(&link, config);
    let flow = world.send(client, server, 64 * MIB);
    let info = |world: &mut World| *world.facts(flow).client.info.expect("it is open");
    world.run_for(Duration::from_millis(260));
    let before = info(&mut world);
    match impairment {
        Impairment::Delayed => {
            let slow = LinkModel {
                delay_us: path().delay_us + 500_000,
                ..path()
            };
            world.change_link(link, slow);
            world.run_for(Duration::from_millis(5));
            world.change_link(link, path());
        }
        Impairment::Lost => {
            let until = world.now() + Duration::from_millis(500);
            world.rule(drop_when(move |packet| {
                packet.is_data() && packet.at < until
            }));
        }
    }
    world.run_for(Duration::from_millis(1_500));
    (
        before,
        info(&mut world),
        world.stack(client).tcp_counters().clone(),
    )
}

/// Calls `check` for each combination of three choices: the congestion control; timestamps and
/// SACK, SACK alone, or neither; and a peer that acknowledges every segment or every second
/// segment.
fn for_each_case(mut check: impl FnMut(Config, &str)) {
    for congestion in ALGORITHMS {
        for (timestamps, sack) in [(true, true), (false, true), (false, false)] {
            for ack_every in [1, 2] {
                let mut config = Config::default();
                config.tcp.congestion = congestion;
                config.tcp.timestamps = timestamps;
                config.tcp.sack = sack;
                config.tcp.ack_every = ack_every;
                config.tcp.send_buffer = 4 * MIB as u32;
                config.tcp.receive_buffer = MIB as u32;
                let case = format!(
                    "{congestion:?}, timestamps {timestamps}, SACK {sack}, ACK of {ack_every}"
                );
                check(config, &case);
            }
        }
    }
}

#[test]
fn a_path_that_holds_everything_back_costs_one_segment_and_no_window() {
    for_each_case(|config, case| {
        // Do not compare BBR's slow-start threshold: BBR has no threshold and reports its window
        // instead.
        let has_threshold = config.tcp.congestion != CongestionAlgorithm::Bbr;
        let (before, after, counters) = impaired(config, Impairment::Delayed);
        assert_eq!((counters.timeouts, counters.undos), (1, 1), "{case}");
        assert_eq!(after.segments_retransmitted, 1, "{case}");
        assert_eq!(counters.fast_retrans, 0, "{case}");
        assert!(after.cwnd >= before.cwnd, "{case}: {}", after.cwnd);
        if has_threshold {
            assert_eq!(after.ssthresh, before.ssthresh, "{case}");
        }
    });
}

#[test]
fn a_timeout_of_what_was_lost_is_not_undone() {
    for_each_case(|config, case| {
        let (before, after, counters) = impaired(config, Impairment::Lost);
        assert!(counters.timeouts > 0, "{case}");
        assert_eq!(counters.undos, 0, "{case}");
        assert!(after.bytes_acked > before.bytes_acked + MIB, "{case}");
    });
}

/// With a round trip of a quarter of a second, the timeout is only a little longer than the round
/// trip. A loss is noticed one round trip after the lost segment, and the ACK of its
/// retransmission arrives one round trip later. The timer must not expire in between.
#[test]
fn on_a_long_path_a_loss_is_repaired_without_a_timeout() {
    let long = LinkModel {
        delay_us: 125_000,
        ..path()
    };
    for congestion in ALGORITHMS {
        for seed in 1..=3 {
            let lossy = LinkModel {
                loss: 0.002,
                ..long
            };
            let run = transfer(congestion, [lossy, long], 4 * MIB, seed);
            let case = format!("{congestion:?}, seed {seed}");
            assert!(run.lost > 0, "{case}");
            assert_eq!(run.facts.timeouts, 0, "{case}");
            assert_eq!(run.received_twice, 0, "{case}");
        }
    }
}
