//! The time of a round trip between two hosts that also have 100,000 idle connections, and the
//! memory of an idle connection.
//!
//! Rule: the same round trips are timed without idle connections and with them, alternately, and
//! the medians are compared; nothing is asserted. Run with `cargo bench -p fullpipe`.

#[path = "../tests/pair/mod.rs"]
mod pair;

use std::{net::SocketAddr, time::Instant as Clock};

use fullpipe::{Config, ConnectOptions, ConnectionId, ListenOptions, Read, Stack};
use pair::{B, Pair, Side, ethernet, interface};

/// Idle connections.
const CROWD: u32 = 100_000;
/// Connections of one listening port.
const PER_PORT: u32 = 10_000;
/// Round trips in one measurement.
const TRIPS: u32 = 20_000;
/// Number of measurements with the idle connections; as many are made without them.
const ROUNDS: usize = 9;

fn config(connections: u32) -> Config {
    let mut config = Config::default();
    config.stack.connections = connections;
    config.stack.half_open = 64;
    config.stack.time_wait_entries = 64;
    config.stack.backlog = 64;
    config.stack.ephemeral_low = 20_000;
    config.pool.blocks = 4_096;
    config.pool.block_size = 256;
    // Allow all windows together to exceed the pool, because there are so many connections.
    config.pool.overcommit_percent = 100_000;
    config.tcp.receive_buffer = 4_096;
    config
}

/// Opens a pair of stacks with `connections` connections, of which the first is active.
fn crowd(connections: u32) -> (Pair, ConnectionId, ConnectionId) {
    let config = config(connections);
    let mut pair = Pair::with(&config, &config, ethernet());
    let mut active = None;
    for first in (0..connections).step_by(PER_PORT as usize) {
        let at = SocketAddr::from((B, 1_000 + (first / PER_PORT) as u16));
        let listener = pair
            .b
            .stack
            .tcp_listen(at, ListenOptions::default())
            .expect("free");
        for _ in first..connections.min(first + PER_PORT) {
            let options = ConnectOptions::default();
            let client = pair
                .a
                .stack
                .tcp_connect(at, None, options, pair.now)
                .expect("free");
            pair.settle();
            let accepted = pair.b.stack.tcp_accept(listener, pair.now).expect("open");
            let (server, _) = accepted.expect("the handshake is complete");
            active = active.or(Some((client, server)));
        }
    }
    let (client, server) = active.expect("at least one");
    (pair, client, server)
}

/// Returns the time in which one byte goes to the peer and back, in nanoseconds.
fn round_trip_ns(pair: &mut Pair, client: ConnectionId, server: ConnectionId) -> f64 {
    let mut out = [0; 16];
    let start = Clock::now();
    for _ in 0..TRIPS {
        pair.write(Side::A, client, b"?");
        while pair.read(Side::B, server, &mut out) == Read::Empty {
            pair.step();
        }
        pair.write(Side::B, server, b"!");
        while pair.read(Side::A, client, &mut out) == Read::Empty {
            pair.step();
        }
    }
    start.elapsed().as_nanos() as f64 / f64::from(TRIPS)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Returns the number of bytes that a stack with room for `connections` connections allocates.
fn bytes_for(connections: u32) -> u64 {
    let config = config(connections);
    let secret = [1; 16];
    let info = allocation_counter::measure(|| {
        drop(Stack::new(&config, interface(Side::A, ethernet()), secret).expect("sound"));
    });
    info.bytes_max
}

fn main() {
    let (mut alone, client, server) = crowd(1);
    let (mut crowded, one_client, one_server) = crowd(CROWD);
    let (mut without, mut within) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        without.push(round_trip_ns(&mut alone, client, server));
        within.push(round_trip_ns(&mut crowded, one_client, one_server));
    }
    let (without, within) = (median(without), median(within));
    println!("one byte there and back, both ends, alone: {without:.0} ns");
    println!("the same among {CROWD} idle connections: {within:.0} ns");
    println!("ratio: {:.2}", within / without);
    let per_connection = (bytes_for(CROWD) - bytes_for(1)) / u64::from(CROWD - 1);
    println!("memory for an idle connection, tables included: {per_connection} bytes");
}
