//! Tests that the stack allocates nothing after [`Stack::new`](fullpipe::Stack::new): with payload
//! in both directions, loss, TIME-WAIT, datagrams, fragments and unknown hosts.

mod pair;

use std::net::SocketAddr;

use fullpipe::{ListenOptions, Read, Stack};
use fullpipe_wire::{TcpFlags, TcpHeader};
use pair::{A, B, PORT, Pair, Side, config, frame};

/// Connects, sends `payload` in both directions and closes. The cable has no `watch` (filter of
/// segments), because a watch allocates.
fn exchange(pair: &mut Pair, payload: &[u8], out: &mut [u8]) {
    let listener = pair.listen(Side::B, ListenOptions::default());
    let client = pair.connect(Side::A, SocketAddr::from((B, PORT)));
    pair.settle();
    let accepted = pair.b.stack.tcp_accept(listener, pair.now);
    let (server, _) = accepted.expect("it listens").expect("it was connected");
    for (from, to) in [
        ((Side::A, client), (Side::B, server)),
        ((Side::B, server), (Side::A, client)),
    ] {
        let (mut written, mut read) = (0, 0);
        pair.until("everything arrived", |pair| {
            written += pair.write(from.0, from.1, &payload[written..]);
            while let Read::Data(count) = pair.read(to.0, to.1, out) {
                read += count;
            }
            read == payload.len()
        });
    }
    pair.a.stack.tcp_close(client, pair.now).expect("open");
    pair.settle();
    pair.b.stack.tcp_close(server, pair.now).expect("open");
    pair.settle();
    pair.b
        .stack
        .tcp_close_listener(listener, pair.now)
        .expect("open");
    while pair.a.stack.next_event().is_some() {}
    while pair.b.stack.next_event().is_some() {}
}

/// Sends a datagram that needs fragments, and its echo.
fn datagrams(pair: &mut Pair, payload: &[u8], out: &mut [u8]) {
    let ends = [SocketAddr::from((A, 7)), SocketAddr::from((B, 7))];
    let a = pair.a.stack.udp_bind(ends[0]).expect("a free port");
    let b = pair.b.stack.udp_bind(ends[1]).expect("a free port");
    assert_eq!(pair.a.stack.udp_send(a, ends[1], payload), Ok(true));
    pair.settle();
    let received = pair
        .b
        .stack
        .udp_receive(b, out)
        .expect("open")
        .expect("a datagram");
    assert_eq!((received.len, received.from), (payload.len(), ends[0]));
    assert_eq!(pair.b.stack.udp_send(b, received.from, payload), Ok(true));
    pair.settle();
    assert!(pair.a.stack.udp_receive(a, out).expect("open").is_some());
    // The port is closed: an ICMP error comes back.
    pair.b.stack.udp_close(b).expect("open");
    assert_eq!(pair.a.stack.udp_send(a, ends[1], b"lost"), Ok(true));
    pair.settle();
    assert!(pair.a.stack.udp_take_error(a).expect("open").is_some());
    pair.a.stack.udp_close(a).expect("open");
}

/// `check_memory` reserves at least what a stack allocates. In each case, one table is large.
#[test]
fn the_memory_that_is_checked_covers_the_memory_that_is_allocated() {
    for knob in [
        ("pool.blocks", "100000"),
        ("pool.block_size", "100000"),
        ("pool.ranges", "100000"),
        ("stack.connections", "20000"),
        ("stack.listeners", "20000"),
        ("stack.half_open", "20000"),
        ("stack.sent_ranges", "100000"),
        ("stack.time_wait_entries", "20000"),
        ("trace.records", "100000"),
        ("ip.reassembly_datagrams", "1024"),
        ("arp.entries", "20000"),
        ("arp.queue_packets", "1024"),
        ("icmp.echo_replies", "20000"),
        ("udp.sockets", "2000"),
        ("udp.receive_queue", "20000"),
        ("udp.send_queue", "20000"),
        ("stack.reset_queue", "20000"),
        ("stack.cookie_queue", "20000"),
    ]
    .into_iter()
    .flat_map(|knob| [false, true].map(|loopback| (knob, loopback)))
    {
        let ((name, value), loopback) = knob;
        let mut config = config();
        config.set(name, value).unwrap();
        config.ip.loopback = loopback;
        let checked = allocation_counter::measure(|| config.check_memory().expect("little"));
        let interface = pair::interface(Side::A, pair::ethernet());
        let mut stack = None;
        let made = allocation_counter::measure(|| {
            stack = Some(Stack::new(&config, interface, [1; 16]).expect("little"));
        });
        let (most, needed) = (checked.bytes_max, made.bytes_current as u64);
        let what = format!("{name} = {value}, loopback {loopback}: {needed} of {most}");
        assert!(needed <= most && most < 4 * needed, "{what}");
    }
}

/// The parts that a stack reports add up to what the allocator gave, for each preset.
#[test]
fn the_reported_memory_is_the_memory_that_is_allocated() {
    let presets = fullpipe::presets::PRESETS.iter();
    for (preset, loopback) in presets.flat_map(|preset| [(preset, false), (preset, true)]) {
        let mut config = preset.config();
        config.ip.loopback = loopback;
        config.set("trace.records", "8").unwrap();
        let interface = pair::interface(Side::A, pair::ethernet());
        let mut stack = None;
        let made = allocation_counter::measure(|| {
            stack = Some(Stack::new(&config, interface, [1; 16]).expect("little"));
        });
        let parts = stack.expect("it was created").memory();
        let on_heap = parts.iter().filter(|part| part.name != "stack");
        let reported: usize = on_heap.map(|part| part.bytes).sum();
        assert_eq!(reported as i64, made.bytes_current, "{}", preset.name);
    }
}

/// Without the check, each of these configurations would abort the process, or fill a list for half
/// a minute.
#[test]
fn a_configuration_that_cannot_be_allocated_is_refused_by_name() {
    for (name, value, names) in [
        ("pool.block_size", "1G", "pool.blocks x pool.block_size"),
        ("pool.blocks", "4294967294", "pool.blocks x pool.block_size"),
    ] {
        let mut config = config();
        config.set("pool.blocks", "1000000").unwrap();
        config.set("pool.block_size", "1M").unwrap();
        config.set(name, value).unwrap();
        let interface = pair::interface(Side::A, pair::ethernet());
        let refused = Stack::new(&config, interface, [1; 16]).expect_err("terabytes");
        let words = refused.to_string();
        assert!(words.starts_with(names), "{words}");
        assert!(words.ends_with("bytes cannot be allocated"), "{words}");
    }
}

#[test]
fn nothing_is_allocated_after_new() {
    let mut config = config();
    config.set("trace.records", "64").unwrap();
    let mut pair = Pair::new(&config);
    let payload: Vec<u8> = (0..200_000).map(|place| place as u8).collect();
    let mut out = vec![0; 8_192];
    let stray = TcpHeader {
        src_port: 1,
        dst_port: 2,
        flags: TcpFlags::SYN,
        ..TcpHeader::default()
    };
    let stray = frame(Side::A, &stray, b"");
    let info = allocation_counter::measure(|| {
        for _ in 0..12 {
            exchange(&mut pair, &payload, &mut out);
            datagrams(&mut pair, &payload[..5_888], &mut out);
            for _ in 0..80 {
                pair.b.port.inject(&stray);
            }
            pair.settle();
        }
    });
    assert_eq!(info.count_total, 0);
    assert!(pair.b.stack.tcp_counters().out_rsts > 0);
    pair.verify();
}
