//! Tests of connections of one host that share its packet memory: buffers that shrink, and the
//! blocks that an idle connection keeps.
//!
//! Rule: assertions are about the bytes and blocks that the connections themselves report. Delivery
//! is checked in every simulated network.

use fullpipe::Config;
use fullpipe_pool::{Duration, Pressure};
use fullpipe_sim::{
    HostId, LinkModel, MIB, Seed, World,
    app::{ReadPlan, Requester, Requests, Responder, Transfer, WritePlan},
};
use fullpipe_tcp::Info;

const SET: u32 = 64 << 10;

/// The configuration of a host with `memory` bytes of packet memory, whose buffers grow from 64 KiB
/// to `most` bytes.
fn tuned(memory: u64, most: u64) -> Config {
    let mut config = Config::default();
    config.pool.blocks = (memory / u64::from(config.pool.block_size)) as u32;
    config.tcp.send_buffer = SET;
    config.tcp.send_buffer_max = most as u32;
    config.tcp.receive_buffer = SET;
    config.tcp.receive_buffer_max = most as u32;
    config
}

/// Adds a server and clients that a switch joins, with a round trip of 40 ms between the server and
/// each client. `server` and `clients` are their configurations.
fn around_a_switch<const N: usize>(
    world: &mut World,
    server: Config,
    clients: [Config; N],
) -> (HostId, [HostId; N]) {
    let switch = world.switch();
    let mut at = |delay_us, config| {
        let link = world.link(LinkModel {
            rate_bps: 400_000_000,
            delay_us,
            ..LinkModel::ideal()
        });
        let host = world.host(&link, config);
        world.plug(&link, switch);
        host
    };
    (at(0, server), clients.map(|config| at(20_000, config)))
}

#[test]
fn of_the_connections_of_one_pool_the_largest_shrinks_first() {
    let mut world = World::new(Seed(1));
    let grows = tuned(32 * MIB, 4 * MIB);
    let mut stays = grows.clone();
    stays.tcp.send_buffer_max = 0;
    let (server, [first, second, third]) = around_a_switch(
        &mut world,
        tuned(4 * MIB, 2 * MIB),
        [grows.clone(), stays, grows],
    );
    let large = world.send(first, server, 1_024 * MIB);
    let small = world.send(second, server, 1_024 * MIB);
    let sizes = |world: &mut World| {
        [large, small].map(|flow| {
            let info = world.facts(flow).server.info;
            info.expect("it is open").receive_buffer
        })
    };
    world.run_for(Duration::from_secs(2));
    let before = sizes(&mut world);
    assert!(before[0] > 4 * before[1] && before[1] > SET, "{before:?}");
    assert_eq!(world.stack(server).pool().pressure(), Pressure::Low);
    // The readers of these connections read nothing, so each connection keeps its initial window.
    let never = ReadPlan::Stalls(vec![(Duration::ZERO, Duration::from_secs(3_600))]);
    // The connections begin one after another, so that the large connection has time to shrink.
    for index in 0..36 {
        let writer = Transfer::sender(WritePlan::bulk(MIB, 16 << 10));
        let reader = Transfer::sink(never.clone());
        let (writer, reader) = (Box::new(writer), Box::new(reader));
        world.converse(
            third,
            server,
            writer,
            reader,
            Duration::from_millis(10 * index),
        );
    }
    world.run_for(Duration::from_secs(2));
    let after = sizes(&mut world);
    assert_eq!(world.stack(server).pool().pressure(), Pressure::Pressure);
    assert!(after[0] < before[0] / 2, "{before:?}, then {after:?}");
    assert_eq!(after[1], before[1], "less than what is free");
}

#[test]
fn an_idle_connection_holds_no_payload_and_is_promised_its_window_and_no_more() {
    let mut world = World::new(Seed(1));
    let config = tuned(32 * MIB, 4 * MIB);
    let block = config.pool.block_size;
    let (server, [client]) = around_a_switch(&mut world, config.clone(), [config]);
    let silent = || Box::new(Transfer::sink(ReadPlan::Eager));
    let fresh = world.converse(client, server, silent(), silent(), Duration::ZERO);
    let asks = Requests {
        count: 2,
        request_len: 4 * MIB,
        response_len: 100,
        think: Duration::from_secs(1_000),
    };
    let (asker, answerer) = (Requester::new(asks), Responder::new(asks));
    let (asker, answerer) = (Box::new(asker), Box::new(answerer));
    let used = world.converse(client, server, asker, answerer, Duration::ZERO);
    world.run_for(Duration::from_secs(5));
    let mut ends = |flow| -> [Info; 2] {
        let facts = world.facts(flow);
        [facts.client, facts.server].map(|end| *end.info.expect("it is open"))
    };
    let (fresh, used) = (ends(fresh), ends(used));
    for info in fresh.iter().chain(&used) {
        assert_eq!((info.send_blocks, info.receive_queue), (0, 0));
        // Allow two more blocks, because a window may begin and end inside a block.
        let most = info.rcv_wnd.div_ceil(block) + 2;
        assert!(
            info.receive_blocks <= most,
            "{} of {most}",
            info.receive_blocks
        );
    }
    for info in fresh {
        assert!(info.rcv_wnd <= 10 * 1_472, "{}", info.rcv_wnd);
    }
    // The bound for the window of the busy connection is in decision 0011, section Cost.
    assert!(used[1].rcv_wnd > 3 * MIB as u32, "{}", used[1].rcv_wnd);
}

#[test]
fn a_transfer_that_begins_beside_busy_ones_gets_a_window_like_theirs() {
    let mut world = World::new(Seed(1));
    let mut config = tuned(16 * MIB, 0);
    config.tcp.receive_buffer = MIB as u32;
    config.tcp.send_buffer = MIB as u32;
    let (server, [first, second]) =
        around_a_switch(&mut world, config.clone(), [(); 2].map(|()| config.clone()));
    let busy = [(); 4].map(|()| world.send(first, server, 1_024 * MIB));
    // After this second, the busy connections have a quarter of the memory, and new connections
    // begin with a cell (a part of a block).
    world.run_for(Duration::from_secs(1));
    assert!(world.stack(server).pool().is_short());
    let late = world.send(second, server, 1_024 * MIB);
    world.run_for(Duration::from_secs(1));
    let window = |world: &mut World, flow| {
        let info = world.facts(flow).server.info;
        info.expect("it is open").rcv_wnd
    };
    let least = busy.map(|flow| window(&mut world, flow)).into_iter().min();
    let window = window(&mut world, late);
    assert!(window >= least.expect("four") / 2, "{window} of {least:?}");
}
