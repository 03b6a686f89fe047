//! Tests of ten thousand idle connections in the default packet memory of 8 MB.
//!
//! Rule: the connections are accepted by a real stack. Every byte that a peer sends into its window
//! is received, even if all peers send at the same moment.

mod pair;

use std::{cell::Cell, collections::HashMap, net::SocketAddr, rc::Rc};

use fullpipe::{Config, ConnectionId, Duration, Holder, Info, ListenOptions, ListenerId, Read};
use fullpipe_tcp::DiscardReason;
use fullpipe_wire::TcpFlags;
use pair::{B, PORT, Pair, Seen, Side, ethernet};

const CONNECTIONS: usize = 10_000;
/// Connections opened at the same time, unless a test says otherwise.
const AT_ONCE: usize = 100;
/// Number of [`PAUSE`]s within which connections that are opened at the same time must be
/// accepted. A full queue of cookies drops SYNs, which A retransmits during a pause.
const PATIENCE: usize = 6;
/// Longer than any retransmission timeout here, so a peer that pauses for this time is idle.
const PAUSE: Duration = Duration::from_secs(5);

/// Connections from A to B, which has the default pool.
struct Crowd {
    pair: Pair,
    listener: ListenerId,
    /// The ends of each connection, A's first.
    ends: Vec<(ConnectionId, ConnectionId)>,
    flights: Rc<Cell<u32>>,
}

/// Counts the flights of payload from A. A segment of B ends a flight.
fn counter(flights: Rc<Cell<u32>>) -> pair::Watch {
    let mut in_flight = false;
    Box::new(move |seen: &Seen| {
        let is_payload = seen.from == Side::A && !seen.payload.is_empty();
        if is_payload && !in_flight {
            flights.set(flights.get() + 1);
        }
        in_flight = is_payload || (in_flight && seen.from == Side::A);
        true
    })
}

/// Byte `at` of the payload of connection `index`.
fn byte(index: usize, at: usize) -> u8 {
    (index * 31 + at * 7 + at / 256) as u8
}

impl Crowd {
    /// Opens connections, `at_once` at the same time, until there are `most`, or until some are
    /// not accepted.
    fn open(most: usize, at_once: usize, knobs: &[(&str, &str)]) -> Self {
        let mut configs = [Config::default(), Config::default()];
        let [client, server] = &mut configs;
        // A has much memory and small receive buffers, because only B's pool is under test. Without
        // Nagle and with `tcp.use_up_window`, A fills each window of B to the last byte at once.
        for (name, value) in [
            ("pool.blocks", "64K"),
            ("tcp.receive_buffer", "1024"),
            ("tcp.nagle", "false"),
            ("tcp.use_up_window", "true"),
        ] {
            client.set(name, value).expect("a knob");
        }
        for (name, value) in knobs {
            server.set(name, value).expect("a knob");
        }
        for config in &mut configs {
            for name in [
                "stack.connections",
                "stack.half_open_per_source",
                "stack.half_open",
                "stack.backlog",
            ] {
                config.set(name, "10100").expect("a knob");
            }
        }
        let mut pair = Pair::with(&configs[0], &configs[1], ethernet());
        let mut crowd = Self {
            listener: pair.listen(Side::B, ListenOptions::default()),
            pair,
            ends: Vec::new(),
            flights: Rc::default(),
        };
        crowd.pair.watch = Some(counter(crowd.flights.clone()));
        let listener = crowd.listener;
        while crowd.ends.len() < most {
            let pair = &mut crowd.pair;
            let clients: Vec<_> = (0..at_once.min(most - crowd.ends.len()))
                .map(|_| pair.connect(Side::A, SocketAddr::from((B, PORT))))
                .collect();
            let mut accepted = HashMap::new();
            for _ in 0..PATIENCE {
                pair.settle();
                while let Some((id, peer)) =
                    pair.b.stack.tcp_accept(listener, pair.now).expect("open")
                {
                    accepted.insert(peer, id);
                }
                if accepted.len() == clients.len() {
                    break;
                }
                pair.pass(PAUSE);
            }
            for client in &clients {
                let local = pair.a.stack.tcp_ends(*client).map(|(local, _)| local);
                let server = local.ok().and_then(|local| accepted.get(&local));
                crowd.ends.extend(server.map(|server| (*client, *server)));
            }
            if accepted.len() < clients.len() {
                break;
            }
        }
        crowd
    }

    /// Connection `index` sends a request of `len` bytes, which B reads and answers.
    /// Returns the flights that the request took.
    fn serve(&mut self, index: usize, len: usize) -> u32 {
        let (client, server) = self.ends[index];
        let request: Vec<u8> = (0..len).map(|at| byte(index, at)).collect();
        let before = (self.flights.get(), self.pair.now);
        assert_eq!(self.pair.write(Side::A, client, &request), len);
        let mut read = Vec::new();
        while read.len() < len {
            self.pair.settle();
            let had = read.len();
            self.read(server, &mut read);
            assert!(read.len() > had, "{index} waits after {had} of {len} bytes");
        }
        assert!(read == request, "request {index} was changed");
        let answer = [7; 100];
        assert_eq!(self.pair.write(Side::B, server, &answer), answer.len());
        self.pair.settle();
        let mut answered = [0; 100];
        let got = self.pair.read(Side::A, client, &mut answered);
        assert_eq!(got, Read::Data(100), "{index}");
        assert_eq!(before.1, self.pair.now, "{index} waited for a timer");
        self.flights.get() - before.0
    }

    fn info(&mut self, side: Side, id: ConnectionId) -> Info {
        let now = self.pair.now;
        self.pair.host(side).stack.tcp_info(id, now).expect("open")
    }

    /// Reads everything that has arrived for `server`.
    fn read(&mut self, server: ConnectionId, into: &mut Vec<u8>) {
        let mut bytes = [0; 4_096];
        while let Read::Data(read) = self.pair.read(Side::B, server, &mut bytes) {
            into.extend(&bytes[..read]);
        }
    }

    /// Checks that memory backs every window that B has promised, and that B refused no payload
    /// in a window.
    fn check(&self) {
        self.pair.verify();
        let stack = &self.pair.b.stack;
        let pool = stack.pool();
        assert!(pool.promised() <= pool.free_blocks());
        assert_eq!(stack.tcp_discards().get(DiscardReason::NoMemory), 0);
        assert_eq!(stack.tcp_counters().rcvq_drop, 0);
    }

    /// Returns the bytes of packet memory that B holds and promises for each connection.
    fn memory_each(&self) -> u32 {
        let pool = self.pair.b.stack.pool();
        let blocks = pool.block_count() - pool.free_blocks() + pool.promised();
        blocks * pool.block_size() / self.ends.len() as u32
    }

    /// Closes every connection and checks that all memory was given back.
    fn close(mut self) {
        for (client, server) in core::mem::take(&mut self.ends) {
            let now = self.pair.now;
            self.pair.a.stack.tcp_close(client, now).expect("open");
            self.pair.b.stack.tcp_close(server, now).expect("open");
            self.pair.settle();
        }
        self.pair.pass(PAUSE);
        self.check();
        let pool = self.pair.b.stack.pool();
        let left = (pool.free_blocks(), pool.promised(), pool.cells_in_use());
        assert_eq!(left, (pool.block_count(), 0, 0));
    }
}

#[test]
fn ten_thousand_idle_connections_fit_and_each_is_served_when_it_speaks() {
    let mut crowd = Crowd::open(CONNECTIONS, AT_ONCE, &[]);
    assert_eq!(crowd.ends.len(), CONNECTIONS, "accepted");
    crowd.check();
    let each = crowd.memory_each();
    println!("idle: {each} bytes each");
    assert!(each < 800, "{each}");
    for len in [300, 1_400, 300, 1_400] {
        crowd.pair.pass(PAUSE);
        let flights = (0..CONNECTIONS).map(|index| crowd.serve(index, len));
        let flights = flights.collect::<Vec<_>>();
        crowd.check();
        println!("{len}: {} bytes each", crowd.memory_each());
        assert!(flights.iter().all(|&flights| flights <= 2), "{len} bytes");
    }
    crowd.close();
}

#[test]
fn all_of_ten_thousand_fill_their_windows_at_once_and_no_byte_is_refused() {
    let mut crowd = Crowd::open(CONNECTIONS, AT_ONCE, &[]);
    let len = 3_000;
    for _ in 0..2 {
        crowd.pair.pass(PAUSE);
        let mut windows = Vec::new();
        for index in 0..CONNECTIONS {
            let client = crowd.ends[index].0;
            windows.push(crowd.info(Side::A, client).snd_wnd.min(len as u32));
            let request: Vec<u8> = (0..len).map(|at| byte(index, at)).collect();
            assert_eq!(crowd.pair.write(Side::A, client, &request), len);
        }
        crowd.pair.settle();
        crowd.check();
        let mut received = 0;
        for (index, &window) in windows.iter().enumerate() {
            let (client, server) = crowd.ends[index];
            let sender = crowd.info(Side::A, client);
            let unread = crowd.info(Side::B, server).receive_queue;
            assert_eq!(sender.in_flight, 0, "{index}: what was sent has arrived");
            // A sender leaves the end of a window unused if less than a segment fits there.
            assert!(
                unread + sender.mss > window,
                "{index}: {unread} of {window}"
            );
            received += unread;
        }
        let sum: u32 = windows.iter().sum();
        println!("windows of {sum} bytes, {received} received");
        let mut requests = vec![Vec::new(); CONNECTIONS];
        for _ in 0..40 {
            for (index, request) in requests.iter_mut().enumerate() {
                crowd.read(crowd.ends[index].1, request);
            }
            crowd.pair.settle();
        }
        for (index, request) in requests.iter().enumerate() {
            let expected = (0..len).map(|at| byte(index, at));
            assert!(expected.eq(request.iter().copied()), "request {index}");
        }
        crowd.check();
        println!("{} bytes each", crowd.memory_each());
    }
    crowd.close();
}

#[test]
fn a_large_window_becomes_small_as_an_idle_peer_uses_it_and_stays_useful() {
    let mut crowd = Crowd::open(1_000, AT_ONCE, &[]);
    // The first connection was accepted while memory was plentiful.
    let (client, server) = crowd.ends[0];
    let before = crowd.info(Side::A, client).snd_wnd;
    let blocks = crowd.info(Side::B, server).receive_blocks;
    for _ in 0..40 {
        crowd.pair.pass(PAUSE);
        let flights = crowd.serve(0, 1_400);
        assert!(flights <= 2, "{flights} flights");
    }
    let (after, left) = (
        crowd.info(Side::A, client).snd_wnd,
        crowd.info(Side::B, server).receive_blocks,
    );
    println!("{before} bytes in {blocks} blocks, then {after} in {left}");
    assert!(after < before / 4 && left < blocks / 2);
    crowd.close();
}

/// After small requests, B's window must still have room for a full segment. Into a window smaller
/// than a segment, a peer that has seen a large window would send nothing before its persist timer
/// expires.
#[test]
fn a_window_that_small_requests_made_small_still_takes_a_full_segment() {
    let mut crowd = Crowd::open(1_000, AT_ONCE, &[]);
    for _ in 0..200 {
        crowd.pair.pass(PAUSE);
        crowd.serve(0, 100);
    }
    let window = crowd.info(Side::A, crowd.ends[0].0).snd_wnd;
    println!("window after small requests: {window}");
    crowd.pair.pass(PAUSE);
    assert_eq!(crowd.serve(0, 1_400), 1, "flights");
    crowd.close();
}

#[test]
fn a_transfer_among_idle_connections_gets_an_ordinary_window() {
    let mut crowd = Crowd::open(CONNECTIONS, AT_ONCE, &[]);
    crowd.pair.pass(PAUSE);
    let (last, len) = (CONNECTIONS - 1, 1 << 16);
    let flights = crowd.serve(last, len);
    let window = crowd.info(Side::A, crowd.ends[last].0).snd_wnd;
    println!("{len} bytes in {flights} flights; window {window}");
    assert!(window >= 16 << 10);
    crowd.check();
    crowd.close();
}

#[test]
fn peers_that_do_not_read_leave_memory_for_the_answers_to_all_others() {
    let mut crowd = Crowd::open(CONNECTIONS, AT_ONCE, &[]);
    crowd.pair.pass(PAUSE);
    let strangers = 100;
    for index in strangers..CONNECTIONS {
        // A reads none of this payload, and each of A's receive buffers has 1,024 bytes.
        for stranger in 0..strangers {
            crowd
                .pair
                .write(Side::B, crowd.ends[stranger].1, &[7; 1 << 16]);
        }
        assert_eq!(crowd.serve(index, 300), 1);
    }
    let held = crowd.pair.b.stack.pool().held(Holder::Send);
    println!("{held} blocks of answers that are not read");
    assert!(held > 200, "{held}: nobody else needs this memory");
    crowd.pair.pass(PAUSE);
    for index in (strangers..CONNECTIONS).step_by(100) {
        let flights = crowd.serve(index, 1_400);
        assert!(
            flights <= 3,
            "{flights} flights: no memory is left for a larger window"
        );
    }
    crowd.check();
    crowd.close();
}

#[test]
fn ten_thousand_that_are_opened_a_thousand_at_once_fit_as_well() {
    for cookies in ["when_full", "off"] {
        let knobs = [("stack.syn_cookies", cookies)];
        let mut crowd = Crowd::open(CONNECTIONS, 1_000, &knobs);
        assert_eq!(crowd.ends.len(), CONNECTIONS, "accepted, cookies {cookies}");
        crowd.check();
        let each = crowd.memory_each();
        println!("cookies {cookies}: {each} bytes each");
        assert!(each < 800, "{each}");
        for (index, len) in [(0, 300), (5_000, 1_400), (CONNECTIONS - 1, 1_400)] {
            crowd.pair.pass(PAUSE);
            assert!(crowd.serve(index, len) <= 2);
        }
        crowd.close();
    }
}

#[test]
fn unfinished_handshakes_neither_use_up_the_pool_nor_make_an_honest_window_small() {
    let mut crowd = Crowd::open(0, AT_ONCE, &[("stack.half_open_share", "100")]);
    crowd.pair.watch = Some(Box::new(|seen: &Seen| seen.from == Side::A));
    let strangers = 1_000;
    for _ in 0..strangers {
        crowd.pair.connect(Side::A, SocketAddr::from((B, PORT)));
    }
    crowd.pair.settle();
    let pool = crowd.pair.b.stack.pool();
    println!("set aside: {} blocks", pool.promised());
    // 57 windows of 9 blocks are an eighth of the pool; each other connection needs a block for its
    // cell (the part of a block that is its window).
    assert!(pool.promised() <= 57 * 9 + strangers - 57);
    assert!(!pool.is_short());
    crowd.pair.watch = None;
    let client = crowd.pair.connect(Side::A, SocketAddr::from((B, PORT)));
    crowd.pair.settle();
    let window = crowd.info(Side::A, client).snd_wnd;
    println!("window of a client that has sent nothing: {window}");
    assert!(window > 14_000, "{window}");
}

#[test]
fn unfinished_handshakes_leave_memory_for_the_answers_to_idle_connections() {
    let knobs = [("stack.half_open_share", "100"), ("pool.blocks", "2900")];
    let mut crowd = Crowd::open(8_000, AT_ONCE, &knobs);
    assert_eq!(crowd.ends.len(), 8_000);
    crowd.pair.pass(PAUSE);
    crowd.pair.watch = Some(Box::new(|seen: &Seen| seen.from == Side::A));
    for _ in 0..2_000 {
        crowd.pair.connect(Side::A, SocketAddr::from((B, PORT)));
    }
    crowd.pair.settle();
    let pool = crowd.pair.b.stack.pool();
    let (left, kept) = (
        pool.free_blocks() - pool.promised(),
        pool.kept_for_answers(),
    );
    println!("{left} blocks left beside handshakes, {kept} kept for answers");
    assert!(left >= kept);
    crowd.pair.watch = Some(counter(crowd.flights.clone()));
    for index in (0..8_000).step_by(100) {
        assert_eq!(crowd.serve(index, 300), 1);
    }
    crowd.check();
}

/// A block is reserved for each handshake, and the handshakes together reserve all memory.
#[test]
fn handshakes_that_take_up_all_memory_with_cells_are_completed_in_cells() {
    let knobs = [
        ("stack.half_open_share", "100"),
        ("stack.syn_cookies", "off"),
        ("pool.blocks", "64"),
        ("tcp.initial_receive_window", "1"),
    ];
    let mut crowd = Crowd::open(1, 1, &knobs);
    let (first, server) = crowd.ends[0];
    let (local, _) = crowd.pair.a.stack.tcp_ends(first).expect("open");
    // Every ACK of a SYN-ACK is lost.
    crowd.pair.watch = Some(Box::new(|seen: &Seen| {
        seen.from == Side::B || pair::has(seen, TcpFlags::SYN)
    }));
    let before = crowd.pair.b.stack.tcp_counters().out_segs;
    for _ in 0..60 {
        crowd.pair.connect(Side::A, SocketAddr::from((B, PORT)));
    }
    crowd.pair.settle();
    let begun = crowd.pair.b.stack.tcp_counters().out_segs - before;
    // The remaining memory goes to a writer, whose peer does not acknowledge.
    let taken = crowd.pair.write(Side::B, server, &[7; 1 << 16]);
    crowd.pair.watch = Some(Box::new(move |seen: &Seen| {
        seen.from == Side::B || seen.header.src_port != local.port()
    }));
    // The SYN-ACKs are repeated, and A acknowledges them again.
    crowd.pair.pass(Duration::from_millis(1_500));
    let (now, stack) = (crowd.pair.now, &mut crowd.pair.b.stack);
    let accepted = core::iter::from_fn(|| stack.tcp_accept(crowd.listener, now).expect("open"));
    let accepted = accepted.count() as u64;
    let cells = crowd.pair.b.stack.pool().cells_in_use();
    println!("{begun} SYNs answered, {taken} bytes written, {accepted} accepted, {cells} in cells");
    assert!(begun > 50 && cells > 40, "{begun}, {cells}");
    assert_eq!(accepted, begun);
    crowd.check();
}

#[test]
fn a_cell_is_given_back_when_nothing_more_can_arrive() {
    let mut crowd = Crowd::open(1_000, AT_ONCE, &[]);
    let before = crowd.pair.b.stack.pool().cells_in_use();
    assert!(before > 800, "{before}");
    // Half of the peers close, the others reset. B's application does nothing.
    for (index, (client, _)) in crowd.ends.iter().enumerate() {
        let (stack, now) = (&mut crowd.pair.a.stack, crowd.pair.now);
        let done = if index % 2 == 0 {
            stack.tcp_close(*client, now)
        } else {
            stack.tcp_abort(*client, now)
        };
        done.expect("open");
    }
    crowd.pair.settle();
    let pool = crowd.pair.b.stack.pool();
    assert_eq!((pool.cells_in_use(), pool.promised()), (0, 0));
}

#[test]
fn a_cell_with_unread_payload_before_a_fin_is_given_back_when_it_was_read() {
    let mut crowd = Crowd::open(1_000, AT_ONCE, &[]);
    let (client, server) = *crowd.ends.last().expect("a thousand");
    let before = crowd.pair.b.stack.pool().cells_in_use();
    crowd.pair.write(Side::A, client, &[7; 300]);
    let now = crowd.pair.now;
    crowd.pair.a.stack.tcp_close(client, now).expect("open");
    crowd.pair.settle();
    assert_eq!(crowd.pair.b.stack.pool().cells_in_use(), before);
    let mut read = Vec::new();
    crowd.read(server, &mut read);
    assert_eq!(read, [7; 300]);
    assert_eq!(crowd.pair.b.stack.pool().cells_in_use(), before - 1);
}

#[test]
fn without_cells_the_same_memory_holds_a_twentieth() {
    let crowd = Crowd::open(CONNECTIONS, AT_ONCE, &[("pool.cells", "1")]);
    println!("without cells: {} connections", crowd.ends.len());
    assert!(crowd.ends.len() < CONNECTIONS / 4);
}
