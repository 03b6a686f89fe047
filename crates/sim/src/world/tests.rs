//! Tests with small worlds (simulated networks) whose outcome can be computed.

mod datagrams;
mod path_mtu;
mod processor;
mod queues;
mod silence;

use fullpipe::{Config, presets};
use fullpipe_pool::Duration;
use fullpipe_tcp::CloseReason;

use super::{Deadline, World};
use crate::app::{Ending, QueryClient, QueryServer, ReadPlan, Requester, Requests, Responder};
use crate::app::{Transfer, WritePlan};
use crate::device::DeviceModel;
use crate::flow::{Goal, Stage};
use crate::ids::{Family, HostId, LinkId, Seed};
use crate::link::{Direction, LinkModel, Outage, Queue, Radio};
use crate::rule::{delay_nth_data_packet, drop_nth_data_packet, drop_when};
use crate::{KIB, MIB};

/// One lost packet costs a round trip and no timeout.
#[test]
fn a_single_loss_is_repaired_without_a_timeout() {
    let mut world = World::new(Seed(7));
    let link = world.link(LinkModel {
        delay_us: 10_000,
        ..LinkModel::ideal()
    });
    let (client, server) = world.pair(&link, Config::default());
    world.rule(drop_nth_data_packet(40));
    let flow = world.send(client, server, 4 * MIB);
    world.run_until(flow.done(), Deadline::secs(5)); // checkers every step
    assert_eq!(world.facts(flow).timeouts, 0);
}

#[test]
fn throughput_is_the_window_over_the_round_trip_time() {
    let mut config = Config::default();
    config.tcp.receive_buffer = 16 << 10;
    config.tcp.send_buffer = 64 << 10;
    let mut world = World::new(Seed(1));
    let link = world.link(LinkModel {
        delay_us: 20_000,
        ..LinkModel::ideal()
    });
    let (client, server) = world.pair(&link, config);
    let flow = world.send(client, server, 2 * MIB);
    world.run_until(flow.done(), Deadline::secs(20));
    let facts = world.facts(flow);
    // 16 KiB every 40 ms is 3.28 Mbit/s at most.
    let most = 16.0 * 1024.0 * 8.0 / 0.040;
    assert!(facts.goodput_bps < most, "{} bit/s", facts.goodput_bps);
    assert!(
        facts.goodput_bps > 0.8 * most,
        "{} bit/s",
        facts.goodput_bps
    );
    assert_eq!(facts.bytes, 2 * MIB);
    assert_eq!(facts.retransmissions, 0);
}

#[test]
fn a_bulk_transfer_fills_a_bottleneck() {
    let mut world = World::new(Seed(2));
    let link = world.link(LinkModel {
        rate_bps: 10_000_000,
        delay_us: 2_000,
        queue: Queue::Device,
        ..LinkModel::ideal()
    });
    let (client, server) = world.pair(&link, Config::default());
    let flow = world.send(client, server, 4 * MIB);
    world.run_until(flow.done(), Deadline::secs(20));
    let facts = world.facts(flow);
    // 1448 of a frame's 1514 bytes are payload, so the goodput is at most 9.56 Mbit/s.
    assert!(
        facts.goodput_bps > 9_300_000.0,
        "{} bit/s",
        facts.goodput_bps
    );
    assert!(facts.full_sized_share > 0.98, "{}", facts.full_sized_share);
}

#[test]
fn the_same_seed_gives_the_same_world_and_another_seed_another() {
    let run = |seed| {
        let mut world = World::new(Seed(seed));
        let link = LinkModel {
            delay_us: 5_000,
            loss: 0.05,
            jitter_us: 900,
            ..LinkModel::ideal()
        };
        let link = world.link(link);
        let (client, server) = world.pair(&link, Config::default());
        let flow = world.send(client, server, 300 * KIB);
        world.run_until(flow.done(), Deadline::secs(300));
        (
            world.now(),
            world.steps(),
            world.frames(),
            world.facts(flow).retransmissions,
        )
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn limits_add_up_to_the_lifetime_of_each_end() {
    let mut world = World::new(Seed(3));
    let link = world.link(LinkModel {
        delay_us: 3_000,
        loss: 0.02,
        ..LinkModel::ideal()
    });
    let (client, server) = world.pair(&link, Config::default());
    let flow = world.send(client, server, 500 * KIB);
    world.run_until(flow.done(), Deadline::secs(60));
    let facts = world.facts(flow);
    for end in [&facts.client, &facts.server] {
        let age = end.info.as_ref().unwrap().age();
        let sent: Duration = end
            .limits()
            .iter()
            .fold(Duration::ZERO, |sum, share| sum + share.2);
        assert_eq!(sent, age);
        let shares: f64 = end.receive_limits().iter().map(|share| share.1).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    }
}

#[test]
fn a_radio_with_a_delayed_ack_peer_carries_a_writer_from_a_tiny_pool() {
    let mut tiny = Config::default();
    (tiny.pool.blocks, tiny.pool.block_size) = (36, 196);
    let mut peer = Config::default();
    peer.tcp.delayed_ack = Duration::from_millis(200);
    let mut world = World::new(Seed(4));
    let link = world.link(LinkModel {
        rate_bps: 6_000_000,
        delay_us: 1_000,
        queue: Queue::Device,
        radio: Some(Radio {
            access_us: 300,
            backoff_us: 200,
        }),
        ..LinkModel::ideal()
    });
    let (client, server) = (world.host(&link, tiny), world.host(&link, peer));
    let flow = world.send(client, server, MIB);
    world.run_until(flow.done(), Deadline::secs(60));
    let facts = world.facts(flow);
    assert_eq!(facts.bytes, MIB);
    assert!(facts.client.pool_peak_bytes <= 7_056);
}

#[test]
fn requests_and_answers_take_a_round_trip_each() {
    // Switch Nagle's algorithm off. Each response is a full segment and a partial one, and the
    // partial segment would wait for the delayed ACK.
    let mut config = Config::default();
    config.tcp.nagle = false;
    let mut world = World::new(Seed(5));
    let link = world.link(LinkModel {
        delay_us: 1_000,
        ..LinkModel::ideal()
    });
    let (client, server) = world.pair(&link, config);
    let plan = Requests {
        count: 100,
        request_len: 100,
        response_len: 2_000,
        think: Duration::ZERO,
    };
    let apps = (
        Box::new(Requester::new(plan)),
        Box::new(Responder::new(plan)),
    );
    let flow = world.converse(client, server, apps.0, apps.1, Duration::ZERO);
    world.run_until(flow.done(), Deadline::secs(10));
    let facts = world.facts(flow);
    assert_eq!((facts.bytes, facts.client.read), (10_000, 200_000));
    // The transfer takes at least a hundred round trips of 2 ms, in addition to a handshake.
    assert!(
        facts.elapsed >= Duration::from_millis(200),
        "{}",
        facts.elapsed
    );
    assert!(
        facts.elapsed < Duration::from_millis(240),
        "{}",
        facts.elapsed
    );
}

#[test]
fn a_stalled_reader_closes_the_window_and_the_transfer_goes_on_afterwards() {
    let mut config = Config::default();
    config.tcp.receive_buffer = 8 << 10;
    let mut world = World::new(Seed(6));
    let link = world.link(LinkModel {
        delay_us: 100,
        ..LinkModel::ideal()
    });
    let (client, server) = world.pair(&link, config);
    let stall = (Duration::ZERO, Duration::from_secs(6));
    let flow = world.send_planned(
        client,
        server,
        WritePlan::bulk(100 * KIB, 4 * KIB),
        ReadPlan::Stalls(vec![stall]),
    );
    world.run_until(flow.done(), Deadline::secs(20));
    let facts = world.facts(flow);
    assert_eq!(facts.bytes, 100 * KIB);
    let closed = ["receive_window", "zero_window"];
    let limits = facts.client.limits();
    let held = limits
        .iter()
        .filter(|share| closed.contains(&share.0.name()));
    let held = held.fold(Duration::ZERO, |sum, share| sum + share.2);
    assert!(held > Duration::from_secs(5), "{held}");
}

#[test]
fn a_late_packet_is_no_loss() {
    let mut world = World::new(Seed(8));
    let link = world.link(LinkModel {
        delay_us: 10_000,
        ..LinkModel::ideal()
    });
    let (client, server) = world.pair(&link, Config::default());
    world.rule(delay_nth_data_packet(20, Duration::from_millis(1)));
    let flow = world.send(client, server, 200 * KIB);
    world.run_until(flow.done(), Deadline::secs(5));
    assert_eq!(world.facts(flow).timeouts, 0);
}

#[test]
fn a_client_that_vanished_leaves_the_server_waiting() {
    let mut world = World::new(Seed(9));
    let link = world.link(LinkModel {
        delay_us: 1_000,
        ..LinkModel::ideal()
    });
    let (client, server) = world.pair(&link, Config::default());
    let ending = Ending::Vanish { after: 30_000 };
    let vanishing = Transfer::new(Some(WritePlan::bulk(MIB, 4_096)), ReadPlan::Eager, ending);
    let sink = Transfer::sink(ReadPlan::Eager);
    let flow = world.converse(
        client,
        server,
        Box::new(vanishing),
        Box::new(sink),
        Duration::ZERO,
    );
    world.run_until(flow.done(), Deadline::secs(5));
    let frames = world.frames();
    world.run_for(Duration::from_secs(60));
    let facts = world.facts(flow);
    assert_eq!(
        (facts.client.stage, facts.server.stage),
        (Stage::Vanished, Stage::Open)
    );
    assert!(
        world.frames() - frames < 50,
        "{} more frames",
        world.frames() - frames
    );
}

#[test]
fn a_switch_joins_many_hosts() {
    let mut world = World::new(Seed(10));
    let switch = world.switch();
    let hosts: Vec<HostId> = (0..5)
        .map(|_| {
            let link = world.link(LinkModel {
                rate_bps: 100_000_000,
                delay_us: 50,
                ..LinkModel::ideal()
            });
            let host = world.host(&link, Config::default());
            world.plug(&link, switch);
            host
        })
        .collect();
    for &client in &hosts[1..] {
        for _ in 0..4 {
            world.send(client, hosts[0], 100 * KIB);
        }
    }
    world.run_until(Goal::AllDone, Deadline::secs(30));
}

#[test]
fn a_world_in_which_nothing_can_happen_says_so() {
    let mut world = World::new(Seed(11));
    let link = world.link(LinkModel::ideal());
    let (client, server) = world.pair(&link, Config::default());
    world.rule(drop_when(|_| true));
    let flow = world.send(client, server, 1_000);
    let failure = world
        .try_run_until(flow.done(), Deadline::secs(3))
        .unwrap_err();
    assert!(
        failure.to_string().contains("not reached in 3s"),
        "{failure}"
    );
    assert!(failure.to_string().contains("seed 11"), "{failure}");
}

#[test]
fn an_answer_is_measured_like_any_stream_once_the_facts_are_turned() {
    let mut world = World::new(Seed(8));
    let link = world.link(LinkModel {
        delay_us: 10_000,
        ..LinkModel::ideal()
    });
    let (client, server) = world.pair(&link, Config::default());
    let think = Duration::from_millis(800);
    let answer = Transfer::sender(WritePlan::bulk(500 * KIB, 16 * KIB));
    let flow = world.converse(
        client,
        server,
        Box::new(QueryClient::new(300, Transfer::sink(ReadPlan::Eager))),
        Box::new(QueryServer::new(300, think, answer)),
        Duration::ZERO,
    );
    world.run_until(flow.done(), Deadline::secs(60));
    assert_eq!(world.facts(flow).bytes, 300, "what the client wrote");
    let facts = world.facts(flow).turned();
    assert_eq!((facts.bytes, facts.client.written), (500 * KIB, 500 * KIB));
    assert_eq!(facts.server.written, 300);
    let first = facts.server.first_read.unwrap() - facts.started;
    // ARP takes a round trip, the handshake another, and the query with its answer a third.
    let expected = think + Duration::from_millis(60);
    assert!(
        first >= expected && first < expected + Duration::from_millis(1),
        "{first}"
    );
    assert!(facts.elapsed > first && facts.server.last_read > facts.server.first_read);
}

/// A reader stalls while every packet towards its peer is lost. The window closes, no probe is
/// answered, and the sender aborts without sending a segment. Later it answers segments of the
/// reader with a reset.
#[test]
fn a_sender_whose_probes_are_lost_goes_without_a_word_and_answers_with_a_reset_later() {
    let mut world = World::new(Seed(9));
    let back = LinkModel {
        delay_us: 1_000,
        outage: Some(Outage {
            after_us: 1_000_000,
            length_us: 1_700_000_000,
        }),
        ..LinkModel::ideal()
    };
    let forward = LinkModel {
        delay_us: 1_000,
        ..LinkModel::ideal()
    };
    let link = world.link_asymmetric(forward, back);
    let (client, server) = world.pair(&link, Config::default());
    let stop = (Duration::from_millis(100), Duration::from_secs(1_800));
    let flow = world.converse(
        client,
        server,
        Box::new(Transfer::sender(WritePlan::lasting(
            Duration::from_secs(3_600),
            16 * KIB,
        ))),
        Box::new(Transfer::sink(ReadPlan::Stalls(vec![stop]))),
        Duration::ZERO,
    );
    world.run_for(Duration::from_secs(1_799));
    let facts = world.facts(flow);
    let info = facts.client.info.unwrap();
    assert_eq!(facts.client.stage, Stage::Broken(CloseReason::TimedOut));
    assert_eq!((facts.client.resets, facts.server.resets), (0, 0));
    assert_eq!(facts.server.stage, Stage::Open, "it got no reset");
    assert!(info.zero_window_probes >= 15, "{}", info.zero_window_probes);
    world.run_for(Duration::from_secs(60));
    let facts = world.facts(flow);
    assert!(facts.client.resets >= 1);
    let reset = facts.client.last_reset.unwrap() - facts.started;
    assert!(reset.as_secs() == 1_800, "{reset}");
    assert_eq!(facts.server.stage, Stage::Broken(CloseReason::Reset));
}

/// A host with the preset `linux` first advertises a window of ten segments, and later the share of
/// its buffer that `tcp_adv_win_scale` sets. The buffer grows only if autotuning is on.
#[test]
fn a_linux_host_offers_ten_segments_and_then_the_windows_share_of_its_buffer() {
    for (moderate, scale, least, most) in [
        ("0", "1", 64 * KIB, 64 * KIB),
        ("0", "2", 96 * KIB, 96 * KIB),
        ("1", "1", 128 * KIB, 3 * MIB),
    ] {
        let mut world = World::new(Seed(11));
        let link = world.link(LinkModel {
            delay_us: 10_000,
            ..LinkModel::ideal()
        });
        let mut linux = presets::find("linux").unwrap().config();
        linux.set("tcp_moderate_rcvbuf", moderate).unwrap();
        linux.set("tcp_adv_win_scale", scale).unwrap();
        let (client, server) = world.pair(&link, linux);
        let flow = world.send(client, server, 20 * MIB);
        // ARP and the handshake take a round trip each.
        world.run_for(Duration::from_millis(45));
        let window = |world: &mut World| world.facts(flow).client.info.unwrap().max_snd_wnd;
        assert_eq!(window(&mut world), 10 * 1_460);
        world.run_until(flow.done(), Deadline::secs(60));
        let largest = u64::from(window(&mut world));
        assert!(
            (least..=most).contains(&largest),
            "{moderate} {scale}: {largest}"
        );
    }
}

/// RFC 1122 §3.4: the connections of a removed address end at this host at once, and at the peer when
/// the host, which has the address again, resets the unknown segments.
#[test]
fn a_lost_address_ends_its_connections_and_serves_new_ones_when_it_is_back() {
    for family in [Family::V4, Family::V6] {
        let mut world = World::new(Seed(3));
        let link = world.link(LinkModel {
            rate_bps: 10_000_000,
            delay_us: 5_000,
            ..LinkModel::ideal()
        });
        let mut config = Config::default();
        config.ip.addresses = 2;
        let (client, server) = world.pair(&link, config);
        world.use_family(family);
        let cut = world.send(client, server, 8 << 20);
        let (begin, length) = (Duration::from_secs(1), Duration::from_secs(2));
        world.lose_address_for(server, family, begin, length);
        world.run_for(Duration::from_secs(2));
        let during = world.send(client, server, 1 << 20);
        let ends = |world: &World, flow| world.flow(flow).ends.each_ref().map(|end| end.stage);
        let [_, at_server] = ends(&world, cut);
        assert_eq!(at_server, Stage::Broken(CloseReason::AddressRemoved));
        world.run_until(during.done(), Deadline::secs(60));
        assert_eq!(ends(&world, during), [Stage::Finished; 2]);
        world.run_for(Duration::from_secs(60));
        assert_eq!(ends(&world, cut)[0], Stage::Broken(CloseReason::Reset));
    }
}

/// Two links of different rates carry the flows of their own networks, whatever the other does.
#[test]
fn a_host_with_two_interfaces_uses_each_for_its_own_network() {
    let mut world = World::new(Seed(5));
    let link = |rate_bps| LinkModel {
        rate_bps,
        delay_us: 2_000,
        ..LinkModel::ideal()
    };
    let first = world.link(link(10_000_000));
    let (client, server) = world.pair(&first, Config::default());
    let second = world.link(link(20_000_000));
    for host in [client, server] {
        world.second_interface(host, &second, DeviceModel::plain(64));
    }
    let slow = world.send(client, server, 1 << 20);
    world.use_second_network();
    let fast = world.send(client, server, 2 << 20);
    world.run_until(Goal::AllDone, Deadline::secs(5));
    for flow in [slow, fast] {
        let ends = &world.flow(flow).ends;
        assert_eq!(ends.each_ref().map(|end| end.stage), [Stage::Finished; 2]);
    }
    let [slow, fast] = [slow, fast].map(|flow| world.flow(flow).server.ip());
    assert_eq!(slow.to_string(), "10.0.0.2");
    assert_eq!(fast.to_string(), "10.1.0.2");
    for (link, payload) in [(first, 1 << 20), (second, 2 << 20)] {
        let used = world
            .link_engine(link)
            .counters(Direction::Forward)
            .delivered_bytes;
        assert!((payload..payload * 11 / 10).contains(&used), "{used}");
    }
}
