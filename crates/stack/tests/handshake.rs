//! Tests of opening connections: three segments, simultaneous opens, refusals.

mod pair;

use std::{cell::RefCell, net::SocketAddr, rc::Rc};

use fullpipe::{
    CloseReason, ConnectOptions, Duration, ListenOptions, OpenError, Read, SocketEvent, TcpError,
    TcpState,
};
use fullpipe_pool::Holder;
use fullpipe_wire::{TcpFlags, TcpHeader};
use pair::{A, B, PORT, Pair, Seen, Side, config};

fn server() -> SocketAddr {
    SocketAddr::from((B, PORT))
}

/// Records every segment, and lets it pass.
fn record(pair: &mut Pair) -> Rc<RefCell<Vec<Seen>>> {
    let log = Rc::new(RefCell::new(Vec::new()));
    let writer = log.clone();
    pair.watch = Some(Box::new(move |seen| {
        writer.borrow_mut().push(seen.clone());
        true
    }));
    log
}

#[test]
fn three_segments_open_a_connection() {
    let mut pair = Pair::new(&config());
    let log = record(&mut pair);
    let (client, accepted) = pair.connected();
    let flags: Vec<_> = log.borrow().iter().map(|seen| seen.header.flags).collect();
    let syn_ack = TcpFlags::SYN | TcpFlags::ACK;
    assert_eq!(flags, [TcpFlags::SYN, syn_ack, TcpFlags::ACK]);
    assert_eq!(pair.state(Side::A, client), TcpState::Established);
    assert_eq!(pair.state(Side::B, accepted), TcpState::Established);
    assert!(pair.ready(Side::A, client).writable);
    assert_eq!(pair.a.stack.tcp_counts(), (1, 0, 0));
    assert_eq!(pair.b.stack.tcp_counts(), (1, 0, 0));
    pair.verify();
}

#[test]
fn each_changed_socket_is_reported_once() {
    let mut pair = Pair::new(&config());
    let listener = pair.listen(Side::B, ListenOptions::default());
    let client = pair.connect(Side::A, server());
    pair.settle();
    assert_eq!(
        pair.b.stack.next_event(),
        Some(SocketEvent::Accept(listener))
    );
    assert_eq!(pair.b.stack.next_event(), None);
    assert_eq!(pair.a.stack.next_event(), Some(SocketEvent::Tcp(client)));
    assert_eq!(pair.a.stack.next_event(), None);
    let (accepted, peer) = pair
        .b
        .stack
        .tcp_accept(listener, pair.now)
        .unwrap()
        .unwrap();
    assert_eq!(peer, pair.a.stack.tcp_ends(client).unwrap().0);
    while pair.b.stack.next_event().is_some() {}
    for _ in 0..3 {
        pair.write(Side::A, client, b"data");
        pair.settle();
    }
    assert_eq!(pair.b.stack.next_event(), Some(SocketEvent::Tcp(accepted)));
    assert_eq!(pair.b.stack.next_event(), None);
}

#[test]
fn a_lost_segment_of_the_handshake_is_retransmitted() {
    for lost in 0..3 {
        let mut pair = Pair::new(&config());
        let mut count = 0;
        pair.watch = Some(Box::new(move |_| {
            count += 1;
            count != lost + 1
        }));
        let (client, accepted) = pair.connected();
        pair.write(Side::A, client, b"hello");
        pair.until("the payload arrived", |pair| {
            pair.ready(Side::B, accepted).readable
        });
        pair.verify();
    }
}

#[test]
fn a_port_without_a_listener_refuses_connections() {
    let mut pair = Pair::new(&config());
    let client = pair.connect(Side::A, server());
    pair.settle();
    assert_eq!(
        pair.ready(Side::A, client).closed,
        Some(CloseReason::Refused)
    );
    assert_eq!(pair.b.stack.tcp_counters().out_rsts, 1);
    pair.a.stack.tcp_close(client, pair.now).unwrap();
    pair.settle();
    assert_eq!(pair.a.stack.tcp_counts(), (0, 0, 0));
    pair.verify();
}

#[test]
fn the_id_of_a_closed_socket_is_refused() {
    let mut pair = Pair::new(&config());
    let (client, _) = pair.connected();
    pair.a.stack.tcp_abort(client, pair.now).unwrap();
    let (now, stack) = (pair.now, &mut pair.a.stack);
    assert_eq!(
        stack.tcp_write(client, b"x", now),
        Err(TcpError::NoSuchHandle)
    );
    assert_eq!(stack.tcp_close(client, now), Err(TcpError::NoSuchHandle));
    pair.settle();
    let next = pair.connect(Side::A, server());
    assert_ne!(client, next);
    assert_eq!(pair.a.stack.tcp_ends(client), Err(TcpError::NoSuchHandle));
}

#[test]
fn a_full_backlog_drops_and_never_resets() {
    let mut pair = Pair::new(&config());
    let options = ListenOptions {
        backlog: Some(2),
        ..ListenOptions::default()
    };
    let listener = pair.listen(Side::B, options);
    let clients: Vec<_> = (0..5).map(|_| pair.connect(Side::A, server())).collect();
    pair.pass(Duration::from_millis(10));
    let connected = |pair: &mut Pair| {
        clients
            .iter()
            .filter(|id| pair.state(Side::A, **id) == TcpState::Established)
            .count()
    };
    assert!(connected(&mut pair) >= 2);
    assert_eq!(pair.b.stack.tcp_counters().out_rsts, 0);
    assert!(pair.b.stack.counters().mib.tcp_listen_overflows > 0);
    let mut accepted = 0;
    pair.until("all five were accepted", |pair| {
        while pair
            .b
            .stack
            .tcp_accept(listener, pair.now)
            .unwrap()
            .is_some()
        {
            accepted += 1;
        }
        accepted == 5
    });
    assert_eq!(connected(&mut pair), 5);
    pair.verify();
}

#[test]
fn a_flood_of_syns_costs_the_half_open_table_and_a_share_of_reservations() {
    let mut pair = Pair::new(&config());
    pair.listen(Side::B, ListenOptions::default());
    for port in 0..40 {
        let syn = TcpHeader {
            src_port: 1_000 + port,
            dst_port: PORT,
            seq: 7,
            flags: TcpFlags::SYN,
            window: 1_000,
            ..TcpHeader::default()
        };
        pair.b.port.inject(&pair::frame(Side::A, &syn, b""));
    }
    // Every frame is dropped, so A gets none of B's answers.
    pair.watch = Some(Box::new(|_| false));
    pair.step();
    let half_open = pair.b.stack.tcp_counts().1;
    assert!((1..=8).contains(&half_open), "{half_open}");
    let pool = pair.b.stack.pool();
    assert_eq!(pool.held(Holder::Receive) + pool.held(Holder::Send), 0);
    assert!((1..=pool.block_count() / 4).contains(&pool.promised()));
    assert_eq!(pair.b.stack.tcp_counters().out_rsts, 0);
    // RFC 9293 §3.8.3: a SYN is retransmitted for at least three minutes.
    pair.pass(Duration::from_secs(179));
    assert_eq!(pair.b.stack.tcp_counts(), (0, half_open, 0));
    pair.pass(Duration::from_secs(200));
    assert_eq!(pair.b.stack.tcp_counts(), (0, 0, 0));
    assert_eq!(pair.b.stack.pool().promised(), 0);
    pair.verify();
}

#[test]
fn two_syns_that_cross_open_one_connection() {
    let mut pair = Pair::new(&config());
    let ends = [SocketAddr::from((A, 4_000)), SocketAddr::from((B, 5_000))];
    let now = pair.now;
    let options = ConnectOptions::default();
    let a = pair
        .a
        .stack
        .tcp_connect(ends[1], Some(ends[0]), options, now)
        .unwrap();
    let b = pair
        .b
        .stack
        .tcp_connect(ends[0], Some(ends[1]), options, now)
        .unwrap();
    pair.until("both are connected", |pair| {
        pair.ready(Side::A, a).connected && pair.ready(Side::B, b).connected
    });
    pair.write(Side::A, a, b"from a");
    pair.write(Side::B, b, b"from b");
    pair.settle();
    let mut payload = [0; 16];
    assert_eq!(pair.read(Side::B, b, &mut payload), Read::Data(6));
    assert_eq!(pair.read(Side::A, a, &mut payload), Read::Data(6));
    pair.verify();
}

#[test]
fn a_failed_open_returns_the_reason_and_changes_nothing() {
    let mut pair = Pair::new(&config());
    let (now, stack) = (pair.now, &mut pair.a.stack);
    let options = ConnectOptions::default();
    let elsewhere = SocketAddr::from(([192, 0, 2, 1], 80));
    let taken = Some(SocketAddr::from((A, 4_000)));
    let first = stack.tcp_connect(server(), taken, options, now);
    assert!(first.is_ok());
    for (remote, local, expected) in [
        (elsewhere, None, OpenError::NoRoute),
        (SocketAddr::from((A, 80)), None, OpenError::NoRoute),
        (SocketAddr::from((B, 0)), None, OpenError::NoPort),
        (server(), Some(elsewhere), OpenError::AddressNotOurs),
        (server(), taken, OpenError::AddressInUse),
    ] {
        assert_eq!(
            stack.tcp_connect(remote, local, options, now),
            Err(expected),
            "{remote}"
        );
    }
    let listening = stack.tcp_listen(SocketAddr::from((A, 80)), ListenOptions::default());
    assert!(listening.is_ok());
    for (local, expected) in [
        (SocketAddr::from((A, 80)), OpenError::AddressInUse),
        (SocketAddr::from((A, 0)), OpenError::NoPort),
        (server(), OpenError::AddressNotOurs),
    ] {
        let refused = stack.tcp_listen(local, ListenOptions::default());
        assert_eq!(refused, Err(expected), "{local}");
    }
    for _ in 1..16 {
        stack.tcp_connect(server(), None, options, now).unwrap();
    }
    let refused = stack.tcp_connect(server(), None, options, now);
    assert_eq!(refused, Err(OpenError::TooManyConnections));
    pair.verify();
}

#[test]
fn a_closed_listener_resets_connections_in_its_backlog() {
    let mut pair = Pair::new(&config());
    let listener = pair.listen(Side::B, ListenOptions::default());
    let client = pair.connect(Side::A, server());
    pair.settle();
    pair.b.stack.tcp_close_listener(listener, pair.now).unwrap();
    pair.settle();
    assert_eq!(pair.ready(Side::A, client).closed, Some(CloseReason::Reset));
    assert_eq!(pair.b.stack.tcp_counts(), (0, 0, 0));
    assert_eq!(
        pair.b.stack.tcp_accept(listener, pair.now),
        Err(TcpError::NoSuchHandle)
    );
    // The port is free again.
    pair.listen(Side::B, ListenOptions::default());
    pair.verify();
}

#[test]
fn a_peer_that_resets_before_it_is_accepted_is_forgotten() {
    let mut pair = Pair::new(&config());
    let listener = pair.listen(Side::B, ListenOptions::default());
    let client = pair.connect(Side::A, server());
    pair.settle();
    pair.a.stack.tcp_abort(client, pair.now).unwrap();
    pair.settle();
    assert_eq!(pair.b.stack.tcp_accept(listener, pair.now), Ok(None));
    assert_eq!(pair.b.stack.tcp_counts(), (0, 0, 0));
    pair.verify();
}

#[test]
fn an_unresolved_neighbour_limits_only_its_own_connections() {
    let mut pair = Pair::new(&config());
    let nobody = SocketAddr::from(([10, 0, 0, 77], 80));
    let lost = pair.connect(Side::A, nobody);
    let (client, accepted) = pair.connected();
    pair.write(Side::A, client, b"hello");
    pair.settle();
    assert!(pair.ready(Side::B, accepted).readable);
    assert_eq!(pair.state(Side::A, lost), TcpState::SynSent);
    pair.until("it was given up", |pair| {
        pair.ready(Side::A, lost).closed.is_some()
    });
    assert_eq!(
        pair.ready(Side::A, lost).closed,
        Some(CloseReason::TimedOut)
    );
    pair.verify();
}
