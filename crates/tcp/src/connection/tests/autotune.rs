//! Tests of the autotuning of both buffers.

use alloc::vec;

use super::*;
use fullpipe_pool::{Holder, Pressure, Stream};

const SET: u32 = 10_000;
const MOST: u32 = 400_000;

fn tuned() -> TcpConfig {
    TcpConfig {
        send_buffer: SET,
        send_buffer_max: MOST,
        receive_buffer: SET,
        receive_buffer_max: MOST,
        ..TcpConfig::default()
    }
}

fn sizes(pair: &mut Pair) -> (u32, u32) {
    let send = pair.at(CLIENT, |connection, env| connection.info(env).send_buffer);
    let receive = pair.at(SERVER, |connection, env| {
        connection.info(env).receive_buffer
    });
    (send, receive)
}

/// Writes and reads as much as possible for `time`.
fn stream_for(pair: &mut Pair, time: Duration) {
    let until = pair.now + time;
    loop {
        pair.write(CLIENT, &[7; 100_000]);
        pair.read(SERVER);
        if !pair.step(until) {
            return;
        }
    }
}

#[test]
fn both_buffers_grow_up_to_their_maximum_while_payload_flows() {
    let mut pair = Pair::established(tuned(), tuned());
    assert_eq!(sizes(&mut pair), (SET, SET));
    stream_for(&mut pair, Duration::from_millis(100));
    let (send, receive) = sizes(&mut pair);
    assert!(send > 2 * SET && receive > 2 * SET, "{send}, {receive}");
    stream_for(&mut pair, Duration::from_secs(1));
    assert_eq!(sizes(&mut pair), (MOST, MOST));
}

#[test]
fn setting_a_size_switches_autotuning_off() {
    let mut pair = Pair::established(tuned(), tuned());
    pair.at(CLIENT, |connection, env| {
        connection
            .set(SocketOption::SendBuffer(20_000), env)
            .expect("a legal value");
    });
    pair.at(SERVER, |connection, env| {
        connection
            .set(SocketOption::ReceiveBuffer(30_000), env)
            .expect("a legal value");
    });
    stream_for(&mut pair, Duration::from_secs(1));
    assert_eq!(sizes(&mut pair), (20_000, 30_000));
}

#[test]
fn the_window_scale_suits_the_largest_possible_window() {
    let mut pair = Pair::established(tuned(), tuned());
    for end in [CLIENT, SERVER] {
        let scale = pair.at(end, |connection, env| {
            connection.info(env).agreed.rcv_wscale
        });
        let largest = u32::from(u16::MAX) << scale;
        assert!((MOST..4 * MOST).contains(&largest), "{largest}");
    }
}

#[test]
fn pressure_shrinks_grown_buffers_and_the_right_edge_stays() {
    let mut pair = Pair::established(tuned(), tuned());
    stream_for(&mut pair, Duration::from_secs(1));
    let pool = &mut pair.ends[SERVER].pool;
    let mut hog = Stream::new(Holder::Datagram);
    hog.append(pool, &vec![0; pool.room(Holder::Datagram) as usize * 1_024]);
    assert_eq!(pool.pressure(), Pressure::High);
    stream_for(&mut pair, Duration::from_millis(200));
    assert_eq!(sizes(&mut pair), (MOST, SET));
    let scale = pair.at(SERVER, |connection, env| {
        connection.info(env).agreed.rcv_wscale
    });
    let shown = |f: &&InTransit| f.to == CLIENT && !f.flags.contains(TcpFlags::SYN);
    let edges = pair.sent.iter().filter(shown);
    let edges: Vec<_> = edges
        .map(|f| f.ack + (u32::from(f.window) << scale))
        .collect();
    for pair in edges.windows(2) {
        assert!(
            pair[0].at_or_before(pair[1]),
            "{} then {}",
            pair[0],
            pair[1]
        );
    }
    let left = pair.at(SERVER, |connection, env| connection.info(env).rcv_wnd);
    assert!(left <= 2 * SET, "{left}");
    // With free memory the buffer grows again.
    hog.release(&mut pair.ends[SERVER].pool);
    stream_for(&mut pair, Duration::from_secs(1));
    assert_eq!(sizes(&mut pair), (MOST, MOST));
}

/// A buffer that has grown far shrinks, and one that has grown little does not.
/// The order in which several buffers shrink is tested in `sim/tests/shared_memory.rs`.
#[test]
fn under_pressure_a_buffer_shrinks_to_what_is_free() {
    let pool = PoolConfig {
        blocks: 1_000,
        block_size: 1_024,
        ..PoolConfig::default()
    };
    let most = |receive_buffer_max| TcpConfig {
        receive_buffer_max,
        ..tuned()
    };
    let after = |receive_buffer_max| {
        let mut pair = Pair::with_pools(
            tuned(),
            most(receive_buffer_max),
            pool.clone(),
            pool.clone(),
        );
        pair.run_for(Duration::from_millis(50));
        stream_for(&mut pair, Duration::from_secs(1));
        let before = sizes(&mut pair).1;
        assert_eq!(before, receive_buffer_max);
        // 85 % of the blocks are held or reserved, which is pressure but not
        // high pressure.
        let server = &mut pair.ends[SERVER].pool;
        let taken = 1_000 - server.room(Holder::Datagram);
        let mut hog = Stream::new(Holder::Datagram);
        hog.append(server, &vec![0; (850 - taken) as usize * 1_024]);
        assert_eq!(server.pressure(), Pressure::Pressure);
        stream_for(&mut pair, Duration::from_millis(200));
        before - sizes(&mut pair).1
    };
    assert_eq!(after(60_000), 0, "less than what is free");
    assert!(after(400_000) > 50_000, "more than what is free");
}
