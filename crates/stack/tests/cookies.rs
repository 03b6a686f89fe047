//! Tests of SYN cookies between two stacks.

mod pair;

use std::net::SocketAddr;

use fullpipe::{CloseReason, Config, Duration, ListenOptions, TcpState, counters::Discard};
use fullpipe_wire::{TcpFlags, TcpHeader, TcpOptions};
use pair::{B, PORT, Pair, Side, config, frame};

fn with(knobs: &[(&str, &str)]) -> Config {
    let mut config = config();
    for (name, value) in knobs {
        config.set(name, value).expect("a knob");
    }
    config
}

fn always() -> Config {
    with(&[("stack.syn_cookies", "always")])
}

/// Sends B a SYN of an unknown host from each of `ports`.
fn flood(pair: &mut Pair, ports: std::ops::Range<u16>) {
    for port in ports {
        let header = TcpHeader {
            src_port: port,
            dst_port: PORT,
            seq: 77 * u32::from(port),
            flags: TcpFlags::SYN,
            window: 1_000,
            options: TcpOptions {
                mss: Some(1_460),
                ..TcpOptions::NONE
            },
            ..TcpHeader::default()
        };
        pair.b.port.inject(&frame(Side::A, &header, &[]));
        pair.settle();
    }
}

fn mib(pair: &Pair, name: &str) -> u64 {
    let found = pair.b.stack.counters().iter().find(|row| row.0 == name);
    found.expect("a counter").1
}

#[test]
fn a_connection_opens_from_a_cookie_with_all_options_and_transfers_in_both_directions() {
    for timestamps in ["true", "false"] {
        let knobs = [("tcp.timestamps", timestamps)];
        let mut pair = Pair::with(&with(&knobs), &always(), pair::ethernet());
        let (client, server) = pair.connected();
        assert_eq!(mib(&pair, "TcpExtSyncookiesSent"), 1);
        assert_eq!(mib(&pair, "TcpExtSyncookiesRecv"), 1);
        let (ours, theirs) = (
            pair.a.stack.tcp_info(client, pair.now).expect("open"),
            pair.b.stack.tcp_info(server, pair.now).expect("open"),
        );
        assert_eq!(ours.mss, theirs.mss);
        for (from, to, writer, reader) in [
            (Side::A, Side::B, client, server),
            (Side::B, Side::A, server, client),
        ] {
            let payload = [5; 3_000];
            assert_eq!(pair.write(from, writer, &payload), payload.len());
            let mut out = [0; 4_096];
            let mut got = 0;
            pair.until("the payload arrived", |pair| {
                if let fullpipe::Read::Data(count) = pair.read(to, reader, &mut out) {
                    got += count;
                }
                got == payload.len()
            });
        }
        pair.verify();
    }
}

#[test]
fn a_full_queue_answers_with_cookies_and_a_real_connection_still_opens() {
    let mut pair = Pair::with(
        &config(),
        &with(&[("stack.half_open", "4")]),
        pair::ethernet(),
    );
    // Drops resets, with which the real host answers unexpected SYN-ACKs.
    pair.watch = Some(Box::new(|seen| !pair::has(seen, TcpFlags::RST)));
    let listener = pair.listen(Side::B, ListenOptions::default());
    flood(&mut pair, 1_000..1_100);
    assert_eq!(pair.b.stack.tcp_counts(), (0, 4, 0));
    assert_eq!(mib(&pair, "TcpExtSyncookiesSent"), 96);
    let client = pair.connect(Side::A, SocketAddr::from((B, PORT)));
    pair.settle();
    assert_eq!(pair.state(Side::A, client), TcpState::Established);
    let accepted = pair.b.stack.tcp_accept(listener, pair.now).expect("open");
    assert!(accepted.is_some());
    pair.verify();
}

#[test]
fn without_cookies_a_full_queue_drops() {
    let knobs = [("stack.half_open", "4"), ("stack.syn_cookies", "off")];
    let mut pair = Pair::with(&config(), &with(&knobs), pair::ethernet());
    pair.watch = Some(Box::new(|seen| !pair::has(seen, TcpFlags::RST)));
    pair.listen(Side::B, ListenOptions::default());
    flood(&mut pair, 1_000..1_100);
    assert_eq!(mib(&pair, "TcpExtSyncookiesSent"), 0);
    assert_eq!(
        pair.b.stack.counters().discarded(Discard::TcpHalfOpenFull),
        96
    );
}

#[test]
fn a_forged_or_old_cookie_is_refused_with_a_reset() {
    let mut pair = Pair::with(&config(), &always(), pair::ethernet());
    let mut held = None;
    let log = std::rc::Rc::new(std::cell::RefCell::new(None));
    let writer = log.clone();
    pair.watch = Some(Box::new(move |seen| {
        let bare_ack = seen.header.flags == TcpFlags::ACK;
        if bare_ack {
            writer.borrow_mut().get_or_insert(seen.header);
        }
        !bare_ack
    }));
    pair.listen(Side::B, ListenOptions::default());
    let client = pair.connect(Side::A, SocketAddr::from((B, PORT)));
    pair.settle();
    held = held.or(*log.borrow());
    let held = held.expect("the client answers");
    let guess = TcpHeader {
        ack: held.ack ^ 0x5555_5500,
        ..held
    };
    for (header, wait) in [(guess, 0), (held, 200)] {
        pair.now += Duration::from_secs(wait);
        pair.b.port.inject(&frame(Side::A, &header, &[]));
        pair.settle();
    }
    // 200 s after the last cookie, ACKs are no longer checked for cookies.
    assert_eq!(mib(&pair, "TcpExtSyncookiesFailed"), 1);
    assert_eq!(pair.b.stack.tcp_counters().out_rsts, 2);
    assert_eq!(pair.b.stack.tcp_counts(), (0, 0, 0));
    assert_eq!(pair.ready(Side::A, client).closed, Some(CloseReason::Reset));
}

#[test]
fn a_valid_cookie_without_memory_is_dropped_and_retransmitted() {
    // A window takes two blocks, and writers must leave one block free.
    let knobs = [
        ("stack.syn_cookies", "always"),
        ("pool.blocks", "8"),
        ("pool.receive_floor", "1"),
        ("pool.send_floor", "1"),
        ("tcp.send_buffer", "64K"),
    ];
    let mut pair = Pair::with(&config(), &with(&knobs), pair::ethernet());
    let listener = pair.listen(Side::B, ListenOptions::default());
    let to = SocketAddr::from((B, PORT));
    let accept = |pair: &mut Pair| {
        let accepted = pair.b.stack.tcp_accept(listener, pair.now);
        accepted.expect("it listens").map(|(id, _)| id)
    };
    pair.connect(Side::A, to);
    pair.settle();
    let hog = accept(&mut pair).expect("memory is plenty");
    // A never reads, so payload beyond its window stays at B.
    while pair.write(Side::B, hog, &[1; 8_192]) > 0 {
        pair.pass(Duration::from_secs(1));
    }
    let client = pair.connect(Side::A, to);
    pair.settle();
    assert_eq!(pair.state(Side::A, client), TcpState::Established);
    pair.write(Side::A, client, b"hello");
    pair.pass(Duration::from_secs(5));
    assert!(accept(&mut pair).is_none());
    assert!(pair.b.stack.counters().discarded(Discard::TcpNoMemory) > 1);
    let now = pair.now;
    pair.b.stack.tcp_abort(hog, now).expect("open");
    pair.until("accepted", |pair| accept(pair).is_some());
    pair.verify();
}

#[test]
fn any_later_segment_replaces_a_lost_last_ack() {
    // In the first case the client sends payload; in the second case the client only listens and
    // sends a keepalive.
    for (says, knobs) in [(true, vec![]), (false, vec![("tcp.keepalive_time", "5s")])] {
        let mut pair = Pair::with(&with(&knobs), &always(), pair::ethernet());
        let mut acks = 0;
        pair.watch = Some(Box::new(move |seen| {
            acks += u32::from(seen.from == Side::A && !pair::has(seen, TcpFlags::SYN));
            acks != 1
        }));
        let listener = pair.listen(Side::B, ListenOptions::default());
        let client = pair.connect(Side::A, SocketAddr::from((B, PORT)));
        pair.settle();
        if says {
            pair.write(Side::A, client, b"hello");
        }
        pair.until("accepted", |pair| {
            let accepted = pair.b.stack.tcp_accept(listener, pair.now);
            accepted.expect("it listens").is_some()
        });
        assert_eq!(pair.state(Side::A, client), TcpState::Established);
        pair.verify();
    }
}
