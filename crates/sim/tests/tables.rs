//! Tests that the default sizes of the range tables suffice. The tables hold ranges of sent and of
//! out-of-order payload (knobs `stack.sent_ranges`, `pool.ranges`, `tcp.holes`). The path has a
//! large bandwidth-delay product: 1 Gbit/s, a round trip of 100 ms, a queue of 10,000 packets and
//! buffers of 32 MiB.
//!
//! Rule: the default tables are compared with tables that are larger than any transfer needs.
//! Nothing here depends on the time that a run takes.

use fullpipe::Config;
use fullpipe_pool::Duration;
use fullpipe_sim::{
    LinkModel, MIB, Seed, World,
    app::{ReadPlan, Transfer, WritePlan},
    link::Queue,
    rule::drop_nth_data_packet,
};
use fullpipe_tcp::CongestionAlgorithm;

/// A congestion control algorithm, and the losses of the path.
#[derive(Clone, Copy)]
struct Case {
    congestion: CongestionAlgorithm,
    loss: f64,
    /// A packet that is lost in addition to `loss`: its number among the packets with payload.
    lost_packet: Option<u64>,
    seconds: u64,
}

/// Knobs of the tables, with sizes that no transfer here fills.
const AMPLE: &[(&str, &str)] = &[
    ("pool.ranges", "65536"),
    ("tcp.holes", "65536"),
    ("stack.sent_ranges", "65536"),
    ("stack.sent_ranges_each", "65536"),
];

/// Returns the goodput of `case` in Mbit/s, with these knobs set at both ends.
fn goodput_mbps(case: Case, knobs: &[(&str, &str)]) -> f64 {
    let mut config = Config::default();
    config.tcp.congestion = case.congestion;
    config.tcp.send_buffer = 32 * MIB as u32;
    config.tcp.receive_buffer = 32 * MIB as u32;
    config.pool.blocks = (96 * MIB / u64::from(config.pool.block_size)) as u32;
    for (name, value) in knobs {
        config.set(name, value).expect("a legal value");
    }
    let back = LinkModel {
        rate_bps: 1_000_000_000,
        delay_us: 50_000,
        queue: Queue::Packets(10_000),
        ..LinkModel::ideal()
    };
    let forward = LinkModel {
        loss: case.loss,
        ..back
    };
    let mut world = World::new(Seed(1));
    let link = world.link_asymmetric(forward, back);
    let (client, server) = world.pair(&link, config);
    if let Some(number) = case.lost_packet {
        world.rule(drop_nth_data_packet(number));
    }
    let writes = WritePlan::lasting(Duration::from_secs(3_600), 65_536);
    let writer = Box::new(Transfer::sender(writes));
    let reader = Box::new(Transfer::sink(ReadPlan::Eager));
    let flow = world.converse(client, server, writer, reader, Duration::ZERO);
    world.run_for(Duration::from_secs(case.seconds));
    world.facts(flow).server.read as f64 * 8e-6 / case.seconds as f64
}

/// Checks that the goodput with the default tables is at least `percent` of the goodput with the
/// tables of [`AMPLE`].
#[track_caller]
fn check(case: Case, knobs: &[(&str, &str)], percent: f64) {
    let (default, ample) = (goodput_mbps(case, knobs), goodput_mbps(case, AMPLE));
    assert!(
        default >= ample * percent / 100.0,
        "{default:.0} Mbit/s, with ample tables {ample:.0}"
    );
}

const SLOW_START_OVERSHOOTS: Case = Case {
    congestion: CongestionAlgorithm::Cubic,
    loss: 0.0,
    lost_packet: None,
    seconds: 3,
};

const BBR_AND_LOSSES: Case = Case {
    congestion: CongestionAlgorithm::Bbr,
    loss: 0.01,
    lost_packet: None,
    seconds: 3,
};

#[test]
fn default_tables_are_enough_for_one_loss() {
    for congestion in [CongestionAlgorithm::NewReno, CongestionAlgorithm::Cubic] {
        let case = Case {
            congestion,
            lost_packet: Some(20_000),
            ..SLOW_START_OVERSHOOTS
        };
        check(case, &[], 90.0);
    }
}

#[test]
fn default_tables_are_enough_for_random_losses_with_cubic() {
    for loss in [0.0001, 0.001, 0.01] {
        let case = Case {
            loss,
            ..SLOW_START_OVERSHOOTS
        };
        check(case, &[], 90.0);
    }
}

#[test]
fn default_tables_are_enough_for_bbr_at_one_percent_loss() {
    check(BBR_AND_LOSSES, &[], 90.0);
}

#[test]
fn a_quarter_of_the_sent_ranges_costs_little() {
    check(BBR_AND_LOSSES, &[("stack.sent_ranges", "4096")], 70.0);
}
