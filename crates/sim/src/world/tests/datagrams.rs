//! Tests of datagrams that are sent at a rate, in bursts, or faster than they are read.

use fullpipe_tcp::Limit;

use super::*;
use crate::app::Amount;
use crate::{CpuModel, DatagramPlan, FrameCost, Pace};

const SECOND: Duration = Duration::from_secs(1);

fn gigabit() -> LinkModel {
    LinkModel {
        rate_bps: 1_000_000_000,
        delay_us: 50,
        queue: Queue::Device,
        ..LinkModel::ideal()
    }
}

/// A world (simulated network) of two hosts that know each other's MAC address, so that the
/// first datagram does not wait for ARP.
fn acquainted(config: Config) -> (World, [HostId; 2]) {
    let mut world = World::new(Seed(5));
    let link = world.link(gigabit());
    let (one, other) = world.pair(&link, config);
    world.acquaint(one, other);
    (world, [one, other])
}

fn paced(size: u32, bps: u64, tick: Duration) -> DatagramPlan {
    DatagramPlan {
        size,
        pace: Pace::Rate { bps, tick },
        amount: Amount::For(SECOND),
    }
}

#[test]
fn datagrams_are_sent_at_their_rate_one_by_one_or_as_many_as_are_due() {
    for tick in [Duration::ZERO, Duration::from_millis(10)] {
        let (mut world, [one, other]) = acquainted(Config::default());
        let id = world.datagrams(one, other, paced(1_000, 8_000_000, tick), SECOND);
        world.run_for(SECOND + SECOND);
        let facts = world.datagram_facts(id);
        assert_eq!((facts.sent, facts.is_sent), (1_000, true), "{tick}");
        world.run_for(SECOND);
        let facts = world.datagram_facts(id);
        assert_eq!((facts.sent, facts.received), (1_000, 1_000), "{tick}");
        assert_eq!((facts.duplicates, facts.reordered), (0, 0));
        assert_eq!(facts.received_bytes, 1_000_000);
    }
}

#[test]
fn a_datagram_longer_than_the_link_carries_arrives_whole() {
    let (mut world, [one, other]) = acquainted(Config::default());
    let plan = DatagramPlan {
        amount: Amount::Bytes(20 * 5_888),
        ..paced(5_888, 100_000_000, Duration::ZERO)
    };
    let id = world.datagrams(one, other, plan, Duration::ZERO);
    world.run_for(SECOND);
    let facts = world.datagram_facts(id);
    assert_eq!((facts.sent, facts.received), (20, 20));
    let mib = &world.stack(one).counters().mib;
    assert_eq!((mib.ip_frag_oks, mib.ip_frag_creates), (20, 80));
    assert_eq!(world.stack(other).counters().mib.ip_reasm_oks, 20);
}

#[test]
fn what_a_slow_reader_has_no_queue_for_is_lost_and_counted() {
    let mut config = Config::default();
    config.udp.receive_queue = 1;
    let (mut world, [one, other]) = acquainted(config);
    world.set_cpu(
        other,
        CpuModel {
            call: Duration::from_micros(150),
            ..CpuModel::FREE
        },
    );
    // In each millisecond ten datagrams become due together, and six can be read.
    let plan = paced(1_000, 80_000_000, Duration::from_millis(1));
    let id = world.datagrams(one, other, plan, Duration::ZERO);
    world.run_for(SECOND + SECOND);
    let facts = world.datagram_facts(id);
    let lost = world.stack(other).counters().mib.udp_rcvbuf_errors;
    assert_eq!(facts.sent, 10_000);
    assert!(lost > 1_000, "{lost} lost");
    assert_eq!(facts.received + lost, facts.sent);
}

#[test]
fn an_unpaced_sender_is_as_fast_as_the_link_or_its_processor() {
    let cost = FrameCost {
        packet: Duration::from_micros(20),
        byte_ps: 0,
    };
    let model = CpuModel {
        send: cost,
        call: Duration::from_micros(5),
        ..CpuModel::FREE
    };
    for (model, least, most) in [(CpuModel::FREE, 81_000, 83_000), (model, 39_900, 40_001)] {
        let (mut world, [one, other]) = acquainted(Config::default());
        world.set_cpu(one, model);
        let plan = DatagramPlan {
            size: 1_472,
            pace: Pace::Unpaced,
            amount: Amount::For(SECOND),
        };
        let id = world.datagrams(one, other, plan, Duration::ZERO);
        world.run_for(SECOND);
        let received = world.datagram_facts(id).received;
        assert!((least..most).contains(&received), "{received} a second");
    }
}

#[test]
fn the_limits_of_datagrams_add_up_and_are_those_of_the_network() {
    let work = |us| CpuModel {
        send: FrameCost {
            packet: Duration::from_micros(us),
            byte_ps: 0,
        },
        ..CpuModel::FREE
    };
    let unpaced = DatagramPlan {
        size: 1_472,
        pace: Pace::Unpaced,
        amount: Amount::For(SECOND),
    };
    let slow = paced(1_472, 1_000_000, Duration::ZERO);
    for (name, model, plan, held) in [
        ("rate", CpuModel::FREE, slow, Limit::Application),
        ("processor", work(100), unpaced, Limit::Processor),
        ("link", CpuModel::FREE, unpaced, Limit::Device),
    ] {
        let (mut world, [one, other]) = acquainted(Config::default());
        world.set_cpu(one, model);
        let id = world.datagrams(one, other, plan, SECOND);
        world.run_for(SECOND + SECOND);
        let (account, facts) = (world.datagram_account(id), world.datagram_facts(id));
        let micros: u64 = account.sender().map(|(_, time, _)| time.as_micros()).sum();
        assert!(micros.abs_diff(1_000_000) < 4, "{name}: {micros}");
        let bytes: u64 = account.sender().map(|(.., bytes)| bytes).sum();
        assert_eq!(bytes, facts.sent * 1_472, "{name}");
        let read: u64 = account.receiver().map(|(.., bytes)| bytes).sum();
        assert_eq!(read, facts.received_bytes, "{name}");
        let longest = account.sender().max_by_key(|(_, time, _)| *time).unwrap();
        assert_eq!(longest.0, held, "{name}");
        // The times charged to limits do not grow after the end of the plan.
        world.run_for(SECOND);
        let later = world.datagram_account(id);
        assert!(later.sender().eq(account.sender()), "{name}");
        assert!(later.receiver().eq(account.receiver()), "{name}");
    }
}

#[test]
fn an_amounts_account_ends_with_the_last_read() {
    let (mut world, [one, other]) = acquainted(Config::default());
    let plan = DatagramPlan {
        amount: Amount::Bytes(100_000),
        ..paced(1_000, 8_000_000, Duration::ZERO)
    };
    let id = world.datagrams(one, other, plan, Duration::ZERO);
    world.run_for(SECOND);
    let (account, facts) = (world.datagram_account(id), world.datagram_facts(id));
    let nanos: u64 = account.receiver().map(|(_, time, _)| time.as_nanos()).sum();
    assert_eq!(nanos, facts.last_read.unwrap().as_nanos());
}

#[test]
fn a_queue_as_long_as_the_demand_loses_nothing() {
    let slow = CpuModel {
        call: Duration::from_micros(150),
        ..CpuModel::FREE
    };
    let run = |queue| {
        let mut config = Config::default();
        config.udp.receive_queue = queue;
        let (mut world, [one, other]) = acquainted(config);
        world.set_cpu(other, slow);
        world.remember_overflows();
        // In each millisecond five datagrams become due together, and reading them takes most of
        // the millisecond.
        let plan = paced(1_000, 40_000_000, Duration::from_millis(1));
        let id = world.datagrams(one, other, plan, Duration::ZERO);
        world.run_for(SECOND + SECOND);
        let lost = world.stack(other).counters().mib.udp_rcvbuf_errors;
        (world.datagram_demand(id).queue, lost, world.overflows())
    };
    let (demand, lost, overflows) = run(1);
    assert!(
        (2..=5).contains(&demand) && lost > 1_000,
        "{demand}, {lost}"
    );
    // About one overflow is expected in each millisecond.
    assert!(overflows.len() > 900, "{}", overflows.len());
    let reported: u64 = overflows.iter().map(|(.., over)| over.lost).sum();
    assert_eq!(reported, lost);
    let (same, lost, overflows) = run(u32::try_from(demand).unwrap());
    assert!(same <= demand, "{same} of {demand}");
    assert_eq!((lost, overflows.len()), (0, 0));
}

/// The check for endless loops counts each datagram that is sent or read as progress.
#[test]
fn a_fast_sender_of_datagrams_is_no_endless_exchange() {
    let (mut world, [one, other]) = acquainted(Config::default());
    let plan = DatagramPlan {
        amount: Amount::For(SECOND + SECOND),
        ..paced(1_000, 813_000_000, Duration::ZERO)
    };
    let id = world.datagrams(one, other, plan, Duration::ZERO);
    world.run_for(SECOND + SECOND + SECOND);
    let facts = world.datagram_facts(id);
    assert_eq!((facts.sent, facts.received), (203_250, 203_250));
}
