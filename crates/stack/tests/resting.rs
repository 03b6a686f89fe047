//! Tests of connections at rest: a host whose connections rest sends the same segments, at the same
//! times, as a host whose connections never rest.
//!
//! Rule: the two runs differ only in the knob `stack.busy_connections`.

mod pair;

use std::{cell::RefCell, net::SocketAddr, rc::Rc};

use fullpipe::{CloseReason, Config, ConnectionId, Duration, ListenOptions, Read, Rng};
use pair::{B, PORT, Pair, Side, config};

/// Connections of each run.
const CONNECTIONS: usize = 12;
/// Every so many segments, one is lost.
const LOST: usize = 37;
/// Longest write.
const LONGEST: usize = 20_000;

/// All that can be observed of a run: the segments with their times, the payload that was read, and
/// the state of each connection at the end.
#[derive(Debug, PartialEq, Eq)]
struct Observed {
    segments: Vec<String>,
    read: Vec<u64>,
    states: Vec<String>,
}

/// Memory of the busy connections of both hosts in bytes.
fn busy_bytes(pair: &Pair) -> usize {
    let parts = [&pair.a, &pair.b].map(|host| host.stack.memory());
    let busy = parts.iter().flatten();
    busy.filter(|part| part.name == "connections")
        .map(|part| part.bytes)
        .sum()
}

/// A network whose cable loses every 37th segment, with its connections.
struct Network {
    pair: Pair,
    segments: Rc<RefCell<Vec<String>>>,
    ends: Vec<[(Side, ConnectionId); 2]>,
}

impl Network {
    fn open(config: &Config) -> Self {
        let mut pair = Pair::new(config);
        let segments = Rc::new(RefCell::new(Vec::new()));
        let log = Rc::clone(&segments);
        pair.watch = Some(Box::new(move |seen| {
            let mut log = log.borrow_mut();
            log.push(format!(
                "{:?} {:?} {}",
                seen.from,
                seen.header,
                seen.payload.len()
            ));
            log.len() % LOST != 0
        }));
        let listener = pair.listen(Side::B, ListenOptions::default());
        let ends = (0..CONNECTIONS).map(|_| {
            let client = pair.connect(Side::A, SocketAddr::from((B, PORT)));
            let mut server = None;
            pair.until("accepted", |pair| {
                let accepted = pair.b.stack.tcp_accept(listener, pair.now);
                server = server.or(accepted.expect("it listens").map(|(id, _)| id));
                server.is_some()
            });
            [(Side::A, client), (Side::B, server.expect("accepted"))]
        });
        Self {
            ends: ends.collect(),
            pair,
            segments,
        }
    }

    /// Writes random payload to random connections, with pauses, and reads it.
    fn run(mut self, seed: u64) -> (Observed, usize) {
        let mut rng = Rng::seeded(seed);
        let mut read = vec![0; CONNECTIONS];
        let mut out = [0; LONGEST];
        for _ in 0..400 {
            let ends = self.ends[rng.below(CONNECTIONS as u64) as usize];
            let (side, id) = ends[rng.below(2) as usize];
            let longest = LONGEST >> rng.below(12);
            let payload = vec![7; 1 + rng.below(longest as u64) as usize];
            self.pair.write(side, id, &payload);
            self.pair.settle();
            self.pair.pass(Duration::from_millis(rng.below(700)));
            for (count, ends) in read.iter_mut().zip(&self.ends) {
                for &(side, id) in ends.iter().filter(|_| rng.chance(0.5)) {
                    while let Read::Data(bytes) = self.pair.read(side, id, &mut out) {
                        *count += bytes as u64;
                    }
                }
            }
            self.pair.verify();
        }
        let ends = self.ends.concat();
        let now = self.pair.now;
        let states = ends.into_iter().map(|(side, id)| {
            let info = self.pair.host(side).stack.tcp_info(id, now);
            format!("{:?}", info.expect("open"))
        });
        let states = states.collect();
        let observed = Observed {
            segments: self.segments.take(),
            read,
            states,
        };
        (observed, busy_bytes(&self.pair))
    }
}

/// Returns the observations of a run, and the memory of its busy connections.
fn run(busy: &str, knobs: &[(&str, &str)], seed: u64) -> (Observed, usize) {
    let mut config = config();
    let busy = ("stack.busy_connections", busy);
    for (name, value) in knobs.iter().chain([&busy]) {
        config.set(name, value).expect("a knob");
    }
    Network::open(&config).run(seed)
}

#[test]
fn a_connection_that_rested_behaves_like_one_that_did_not() {
    let variants: [&[(&str, &str)]; 5] = [
        &[],
        &[("tcp.congestion", "bbr"), ("tcp.ecn", "on")],
        &[("tcp.congestion", "newreno"), ("tcp.sack", "off")],
        &[("tcp.keepalive_time", "2s"), ("tcp.pacing", "on")],
        &[("pool.blocks", "40"), ("pool.block_size", "600")],
    ];
    for (seed, knobs) in variants.into_iter().enumerate() {
        let (always_busy, most) = run("0", knobs, seed as u64);
        assert!(always_busy.segments.len() > 500, "{knobs:?}");
        for busy in ["1", "3"] {
            let (rested, bytes) = run(busy, knobs, seed as u64);
            let differs = always_busy.segments.iter().zip(&rested.segments);
            if let Some(at) = differs.clone().position(|(one, other)| one != other) {
                panic!(
                    "{knobs:?}, {busy} busy: segment {at} is {} and not {}",
                    rested.segments[at], always_busy.segments[at]
                );
            }
            assert_eq!(rested, always_busy, "{knobs:?}, {busy} busy");
            assert!(bytes < most, "{knobs:?}, {busy} busy: {bytes} bytes");
        }
    }
}

/// A host with two busy connections at most.
fn mostly_at_rest() -> Network {
    let mut config = config();
    config.set("stack.busy_connections", "2").expect("a knob");
    let mut network = Network::open(&config);
    network.pair.pass(Duration::from_secs(1));
    network
}

#[test]
fn connections_of_a_removed_address_rest() {
    let mut network = mostly_at_rest();
    let pair = &mut network.pair;
    let before = busy_bytes(pair);
    pair.b.stack.remove_address(B.into(), pair.now).unwrap();
    assert_eq!(busy_bytes(pair), before);
    for [_, (_, id)] in &network.ends {
        let ready = pair.b.stack.tcp_ready(*id, pair.now).unwrap();
        assert_eq!(ready.closed, Some(CloseReason::AddressRemoved));
        pair.b.stack.tcp_close(*id, pair.now).unwrap();
    }
    assert_eq!(busy_bytes(pair), before);
    assert_eq!(pair.b.stack.tcp_counts().0, 0);
    pair.b.stack.verify(pair.now);
}

/// The tables of a connection are counted by comparing two hosts that differ in the number of
/// connections only. The record of a connection that has carried payload fits into its part of the
/// table (docs/decisions/0038).
#[test]
#[cfg(target_pointer_width = "64")]
fn a_connection_at_rest_takes_at_most_400_bytes_in_all_tables() {
    let bytes = |connections: u32| {
        let mut config = Config::default();
        for (name, value) in [
            ("stack.busy_connections", 16),
            ("stack.connections", connections),
        ] {
            config.set(name, &value.to_string()).expect("a knob");
        }
        let parts = Pair::new(&config).a.stack.memory();
        parts.iter().map(|part| part.bytes).sum::<usize>()
    };
    let each = (bytes(5_000) - bytes(1_000)) / 4_000;
    assert!(each <= 372, "{each} bytes");
}

/// Busy connections with unacknowledged payload cannot rest, so a connection that becomes busy needs
/// more memory.
#[test]
fn a_look_makes_no_connection_busy() {
    let mut network = mostly_at_rest();
    let pair = &mut network.pair;
    pair.watch = Some(Box::new(|_| false));
    let now = pair.now;
    for [(side, id), _] in &network.ends[..2] {
        pair.write(*side, *id, b"never acknowledged");
    }
    pair.settle();
    let before = busy_bytes(pair);
    for [(_, id), _] in &network.ends {
        pair.a.stack.tcp_info(*id, now).unwrap();
        pair.a.stack.tcp_ready(*id, now).unwrap();
        pair.a.stack.tcp_peek(*id, &mut [0], now).unwrap();
    }
    assert_eq!(busy_bytes(pair), before);
}
