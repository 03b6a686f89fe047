//! Tests of orphans (connections that finish after the application has closed them) and of their
//! bounds in number, memory and time.

mod pair;

use std::net::SocketAddr;

use fullpipe::{Config, ConnectionId, Duration, ListenOptions};
use pair::{B, PORT, Pair, Side, config};

fn with(knobs: &[(&str, &str)]) -> Config {
    let mut config = config();
    for (name, value) in knobs {
        config.set(name, value).expect("a knob");
    }
    config
}

/// Opens `count` connections from A, on each of which B writes 16 KB that A never
/// reads.
fn camped(count: usize, knobs: &[(&str, &str)]) -> (Pair, Vec<ConnectionId>) {
    let small = with(&[("tcp.receive_buffer", "2K")]);
    let mut pair = Pair::with(&small, &with(knobs), pair::ethernet());
    let listener = pair.listen(Side::B, ListenOptions::default());
    let mut servers = Vec::new();
    for _ in 0..count {
        pair.connect(Side::A, SocketAddr::from((B, PORT)));
        pair.until("accepted", |pair| {
            let accepted = pair.b.stack.tcp_accept(listener, pair.now);
            let Some((server, _)) = accepted.expect("it listens") else {
                return false;
            };
            assert!(pair.write(Side::B, server, &[1; 16_384]) > 2_048);
            servers.push(server);
            true
        });
    }
    pair.pass(Duration::from_secs(1));
    (pair, servers)
}

fn aborted(pair: &Pair) -> u64 {
    pair.b.stack.tcp_counters().abort_on_memory
}

#[test]
fn one_orphan_too_many_aborts_the_oldest() {
    let (mut pair, servers) = camped(4, &[("stack.orphans", "2")]);
    for (closed, server) in servers.into_iter().enumerate() {
        let now = pair.now;
        pair.b.stack.tcp_close(server, now).expect("open");
        pair.settle();
        let expected = (closed + 1).min(2);
        assert_eq!(pair.b.stack.tcp_orphans(), expected as u32);
        assert_eq!(aborted(&pair), (closed + 1 - expected) as u64);
    }
    // Each aborted orphan sent a reset.
    assert_eq!(pair.b.stack.tcp_counters().out_rsts, 2);
    pair.verify();
}

#[test]
fn stalled_orphans_are_aborted_for_connections_that_need_memory() {
    let knobs = [("pool.blocks", "40"), ("tcp.send_buffer", "64K")];
    let (mut pair, mut servers) = camped(4, &knobs);
    let writer = servers.pop().expect("the last of them");
    for server in servers {
        let now = pair.now;
        pair.b.stack.tcp_close(server, now).expect("open");
    }
    pair.settle();
    // The orphans are not stalled yet, so none is aborted.
    while pair.write(Side::B, writer, &[2; 16_384]) > 0 {}
    pair.settle();
    assert_eq!((aborted(&pair), pair.b.stack.tcp_orphans()), (0, 3));
    pair.pass(Duration::from_secs(10));
    let left = pair.b.stack.tcp_orphans();
    assert!(aborted(&pair) >= 1 && left < 3, "{left} left");
    assert!(pair.write(Side::B, writer, &[2; 16_384]) > 0);
    pair.verify();
}

#[test]
fn stalled_orphans_time_out_although_their_probes_are_answered() {
    let (mut pair, servers) = camped(3, &[("tcp.orphan_retries", "6")]);
    for server in servers {
        let now = pair.now;
        pair.b.stack.tcp_close(server, now).expect("open");
    }
    pair.pass(Duration::from_secs(120));
    assert_eq!(pair.b.stack.tcp_counts(), (0, 0, 0));
    assert_eq!(pair.b.stack.tcp_counters().abort_on_timeout, 3);
    let pool = pair.b.stack.pool();
    assert_eq!(pool.free_blocks(), pool.block_count());
    pair.verify();
}

/// If no orphan were aborted, orphans with a zero window would keep out all other connections until
/// the orphans time out.
#[test]
fn with_every_slot_held_by_orphans_one_ends_for_a_new_connection() {
    let knobs = [
        ("stack.connections", "3"),
        ("stack.orphans", "3"),
        ("tcp.orphan_retries", "255"),
    ];
    let (mut pair, servers) = camped(3, &knobs);
    for server in servers {
        let now = pair.now;
        pair.b.stack.tcp_close(server, now).expect("open");
    }
    pair.settle();
    assert_eq!(pair.b.stack.tcp_orphans(), 3);
    let now = pair.now;
    let any = SocketAddr::from((B, PORT + 1));
    let listener = pair.b.stack.tcp_listen(any, ListenOptions::default());
    let listener = listener.expect("a free port");
    let client = pair.connect(Side::A, SocketAddr::from((B, PORT + 1)));
    pair.settle();
    pair.write(Side::A, client, b"hello");
    pair.until("accepted", |pair| {
        let accepted = pair.b.stack.tcp_accept(listener, pair.now);
        accepted.expect("it listens").is_some()
    });
    let waited = pair.now.since(now);
    assert!(waited <= Duration::from_secs(3), "{waited}");
    assert_eq!((aborted(&pair), pair.b.stack.tcp_orphans()), (1, 2));
    pair.verify();
}

/// An orphan that still makes progress loses its slot only if orphans hold all slots.
#[test]
fn a_finishing_orphan_keeps_its_slot_beside_connections_in_use() {
    let knobs = [("stack.connections", "3"), ("stack.orphans", "3")];
    let (mut pair, servers) = camped(3, &knobs);
    let now = pair.now;
    pair.b.stack.tcp_close(servers[0], now).expect("open");
    pair.connect(Side::A, SocketAddr::from((B, PORT)));
    pair.settle();
    assert_eq!((aborted(&pair), pair.b.stack.tcp_orphans()), (0, 1));
    // The orphan's peer reads nothing: after `tcp.retries1` probes the orphan is stalled.
    pair.pass(Duration::from_secs(30));
    assert_eq!((aborted(&pair), pair.b.stack.tcp_orphans()), (1, 0));
    pair.verify();
}
