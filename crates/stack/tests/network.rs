//! Tests of echo, datagrams, ICMP errors, interfaces and routes.

mod pair;

use std::{
    cell::RefCell,
    net::{IpAddr, SocketAddr},
    rc::Rc,
};

use fullpipe::{
    CloseReason, ConfigError, ConnectionId, Interface, Read, SocketEvent, Stack,
    device::{Capabilities, Medium, RxMeta},
};
use fullpipe_wire::{
    Checksum, Icmpv4Message, Ipv4Header, MacAddress, Protocol, TcpHeader, UnreachableCode,
};
use pair::{A, B, PORT, Pair, Side, config, ethernet, interface};

/// Builds an ICMP error that a router sends to A. The error quotes a segment of A with these ports
/// and sequence number.
fn icmp_error(code: UnreachableCode, next_hop_mtu: u16, quoted: &TcpHeader) -> Vec<u8> {
    let mut quote = vec![0; 28];
    Ipv4Header::new(A, B, Protocol::Tcp, 1_000).write(&mut quote);
    let mut segment = [0; TcpHeader::MAX_LEN];
    quoted.write(&mut segment);
    quote[20..].copy_from_slice(&segment[..8]);
    let mut packet = vec![0; 28];
    let router = [10, 0, 0, 254].into();
    Ipv4Header::new(router, A, Protocol::Icmp, 8 + quote.len()).write(&mut packet);
    let message = Icmpv4Message::Unreachable { code, next_hop_mtu };
    message.write(&mut packet[20..], Checksum::of(&quote));
    packet.extend(quote);
    packet
}

fn tun() -> Capabilities {
    Capabilities::plain(Medium::Ip, 1_500)
}

/// Returns port and sequence number of the oldest segment that A has in flight.
fn in_flight(pair: &mut Pair, client: ConnectionId) -> TcpHeader {
    let (local, remote) = pair.a.stack.tcp_ends(client).unwrap();
    let info = pair.a.stack.tcp_info(client, pair.now).unwrap();
    TcpHeader {
        src_port: local.port(),
        dst_port: remote.port(),
        seq: info.snd_una,
        ..TcpHeader::default()
    }
}

#[test]
fn a_smaller_path_mtu_makes_smaller_segments() {
    let mut pair = Pair::with(&config(), &config(), tun());
    let (client, server) = pair.connected();
    let largest = Rc::new(RefCell::new(0));
    pair.write(Side::A, client, &[1; 10_000]);
    let now = pair.now;
    pair.a.stack.transmit(&mut pair.a.port, now, 3);
    let quoted = in_flight(&mut pair, client);
    for (name, seq, believed) in [
        ("not in flight", quoted.seq.wrapping_sub(1), false),
        ("in flight", quoted.seq, true),
    ] {
        let quoted = TcpHeader { seq, ..quoted };
        let error = icmp_error(UnreachableCode::FragmentationNeeded, 1_000, &quoted);
        pair.a.stack.receive(&error, RxMeta::default(), now);
        let info = pair.a.stack.tcp_info(client, now).unwrap();
        assert_eq!(info.mss < 1_000, believed, "{name}: {}", info.mss);
    }
    *largest.borrow_mut() = pair.a.stack.tcp_info(client, now).unwrap().mss;
    let mut read = 0;
    let mut out = [0; 4_096];
    pair.until("everything arrived", |pair| {
        while let Read::Data(count) = pair.read(Side::B, server, &mut out) {
            read += count;
        }
        read == 10_000
    });
    pair.verify();
}

#[test]
fn an_unreachable_port_ends_a_connection_attempt_but_no_established_connection() {
    let mut pair = Pair::with(&config(), &config(), tun());
    let (client, _) = pair.connected();
    pair.write(Side::A, client, b"in flight");
    let now = pair.now;
    pair.a.stack.transmit(&mut pair.a.port, now, 8);
    let quoted = in_flight(&mut pair, client);
    let error = icmp_error(UnreachableCode::Port, 0, &quoted);
    pair.a.stack.receive(&error, RxMeta::default(), now);
    assert_eq!(pair.ready(Side::A, client).closed, None);

    let attempt = pair.connect(Side::A, SocketAddr::from((B, PORT + 1)));
    pair.a.stack.transmit(&mut pair.a.port, now, 8);
    let quoted = in_flight(&mut pair, attempt);
    let error = icmp_error(UnreachableCode::Port, 0, &quoted);
    pair.a.stack.receive(&error, RxMeta::default(), now);
    assert_eq!(
        pair.ready(Side::A, attempt).closed,
        Some(CloseReason::Unreachable)
    );
    pair.verify();
}

#[test]
fn datagrams_cross_whole_or_in_fragments_and_errors_come_back() {
    for capabilities in [
        ethernet(),
        tun(),
        Capabilities {
            checksum_tx: true,
            ..ethernet()
        },
    ] {
        let mut pair = Pair::with(&config(), &config(), capabilities);
        let ends = [SocketAddr::from((A, 7)), SocketAddr::from((B, 9))];
        let a = pair.a.stack.udp_bind(ends[0]).unwrap();
        let b = pair.b.stack.udp_bind(ends[1]).unwrap();
        let mut out = [0; 8_192];
        for len in [0, 1, 1_472, 1_473, 5_888] {
            let payload: Vec<u8> = (0..len).map(|place| place as u8).collect();
            assert_eq!(pair.a.stack.udp_send(a, ends[1], &payload), Ok(true));
            pair.settle();
            let received = pair
                .b
                .stack
                .udp_receive(b, &mut out)
                .unwrap()
                .expect("it came");
            assert_eq!(
                (received.len, received.from),
                (len, ends[0]),
                "{capabilities:?}"
            );
            assert_eq!(out[..len], payload);
        }
        assert_eq!(pair.b.stack.next_event(), Some(SocketEvent::Udp(b)));
        assert_eq!(pair.b.stack.next_event(), None);
        pair.b.stack.udp_close(b).unwrap();
        pair.a.stack.udp_send(a, ends[1], b"for nobody").unwrap();
        pair.settle();
        let (to, _) = pair
            .a
            .stack
            .udp_take_error(a)
            .unwrap()
            .expect("port unreachable");
        assert_eq!(to, ends[1]);
        pair.verify();
    }
}

/// Without the event, a program that waits for it would wait forever.
#[test]
fn a_datagram_refused_for_lack_of_memory_causes_an_event_when_memory_is_free() {
    let mut config = config();
    config.pool.blocks = 16;
    (config.pool.send_floor, config.pool.receive_floor) = (1, 1);
    let mut pair = Pair::with(&self::config(), &config, ethernet());
    let unread = SocketAddr::from((B, 9));
    let sender = pair.b.stack.udp_bind(SocketAddr::from((B, 7))).unwrap();
    let reader = pair.b.stack.udp_bind(unread).unwrap();
    let peer = SocketAddr::from((A, 7));
    let filler = pair.a.stack.udp_bind(peer).unwrap();
    while pair.b.stack.pool().free_blocks() > 2 {
        assert_eq!(pair.a.stack.udp_send(filler, unread, &[1; 1_400]), Ok(true));
        pair.settle();
    }
    let payload = [2; 1_000];
    assert_eq!(pair.b.stack.udp_send(sender, peer, &payload), Ok(false));
    while pair.b.stack.next_event().is_some() {}
    pair.settle();
    assert_eq!(pair.b.stack.next_event(), None, "memory is short");
    assert!(!pair.b.stack.udp_ready(sender).unwrap().writable);
    let read = |pair: &mut Pair| {
        let read = pair.b.stack.udp_receive(reader, &mut [0; 2_000]).unwrap();
        assert!(read.is_some());
        pair.settle();
        pair.b.stack.next_event()
    };
    let event = Some(SocketEvent::Udp(sender));
    let free = pair.b.stack.pool().free_blocks();
    let mut told = None;
    while told.is_none() {
        told = read(&mut pair);
        let more = pair.b.stack.pool().free_blocks() > free;
        assert_eq!(told, event.filter(|_| more));
    }
    assert!(pair.b.stack.udp_ready(sender).unwrap().writable);
    // The socket tries again, waits again if it is refused again, and finally sends.
    while !pair.b.stack.udp_send(sender, peer, &payload).unwrap() {
        assert_eq!(read(&mut pair), event);
    }
    pair.settle();
    let got = pair.a.stack.udp_receive(filler, &mut [0; 2_000]).unwrap();
    assert_eq!(got.expect("it came").len, payload.len());
    // A closed socket waits no longer.
    while pair.b.stack.udp_send(sender, peer, &[3; 4_000]).unwrap() {}
    pair.b.stack.udp_close(sender).unwrap();
    while pair.b.stack.next_event().is_some() {}
    read(&mut pair);
    assert_eq!(pair.b.stack.next_event(), None);
    pair.verify();
}

#[test]
fn an_echo_request_is_answered() {
    let mut pair = Pair::with(&config(), &config(), tun());
    let mut packet = vec![0; 28];
    Ipv4Header::new(B, A, Protocol::Icmp, 8 + 4).write(&mut packet);
    let request = Icmpv4Message::EchoRequest { ident: 7, seq: 1 };
    request.write(&mut packet[20..], Checksum::of(b"ping"));
    packet.extend(b"ping");
    let now = pair.now;
    pair.a.stack.receive(&packet, RxMeta::default(), now);
    assert_eq!(pair.a.stack.transmit(&mut pair.a.port, now, 8), 1);
    let (reply, _) = pair.a.port.last_sent();
    let (_, body) = Ipv4Header::parse(&reply, Default::default()).unwrap();
    let (message, payload) = Icmpv4Message::parse(body, Default::default()).unwrap();
    assert_eq!(message, Icmpv4Message::EchoReply { ident: 7, seq: 1 });
    assert_eq!(payload, b"ping");
}

#[test]
fn the_budget_bounds_a_turn_which_reports_that_there_is_more_work() {
    let mut config = config();
    config.set("stack.turn_budget", "4").unwrap();
    let mut pair = Pair::with(&config, &config, ethernet());
    let (client, _) = pair.connected();
    pair.write(Side::A, client, &[1; 14_600]);
    let now = pair.now;
    let turned = fullpipe::turn(&mut pair.a.stack, &mut pair.a.port, now);
    assert_eq!((turned.sent, turned.more_work), (4, true));
    assert!(pair.a.stack.next_timeout().is_some_and(|at| at <= now));
}

#[test]
fn an_idle_stack_waits_for_nothing() {
    let mut pair = Pair::new(&config());
    assert_eq!(pair.a.stack.next_timeout(), None);
    let (client, _) = pair.connected();
    pair.pass(fullpipe::Duration::from_secs(300));
    assert!(pair.ready(Side::A, client).connected);
    assert_eq!(
        pair.b.stack.next_timeout(),
        None,
        "an idle connection needs no timer"
    );
}

#[test]
fn an_interface_that_cannot_work_is_refused_with_the_reason() {
    let sound = interface(Side::A, ethernet());
    let mtu = |mtu| Capabilities { mtu, ..ethernet() };
    for (name, interface) in [
        (
            "prefix",
            Interface {
                prefix_len: 33,
                ..sound
            },
        ),
        (
            "address",
            Interface {
                address: IpAddr::from([0; 4]),
                ..sound
            },
        ),
        (
            "group",
            Interface {
                address: IpAddr::from([224, 0, 0, 1]),
                ..sound
            },
        ),
        (
            "an IPv6 group",
            Interface {
                address: IpAddr::from([0xff; 16]),
                ..sound
            },
        ),
        (
            "station",
            Interface {
                mac: MacAddress::BROADCAST,
                ..sound
            },
        ),
        (
            "small MTU",
            Interface {
                capabilities: mtu(67),
                ..sound
            },
        ),
        (
            "large MTU",
            Interface {
                capabilities: mtu(65_536),
                ..sound
            },
        ),
        (
            "gateway",
            Interface {
                gateway: Some(IpAddr::from([1; 16])),
                ..sound
            },
        ),
    ] {
        let refused = Stack::new(&config(), interface, [0; 16]).map(|_| ());
        assert!(
            matches!(refused, Err(ConfigError::Interface(_))),
            "{name}: {refused:?}"
        );
    }
}

#[test]
fn a_knob_out_of_range_is_refused() {
    let sound = interface(Side::A, ethernet());
    let mut config = config();
    config.stack.turn_budget = 0;
    let refused = Stack::new(&config, sound, [0; 16]).map(|_| ());
    assert!(matches!(refused, Err(ConfigError::Knob(_))));
}

#[test]
fn packets_to_other_networks_go_to_the_gateway() {
    // B is the gateway: frames for another network go to its MAC address.
    let mut pair = Pair::new(&config());
    let with_gateway = Interface {
        gateway: Some(B.into()),
        ..interface(Side::A, ethernet())
    };
    pair.a.stack = Stack::new(&config(), with_gateway, [1; 16]).unwrap();
    let far = SocketAddr::from(([192, 0, 2, 7], 80));
    pair.connect(Side::A, far);
    let seen = Rc::new(RefCell::new(0));
    let count = seen.clone();
    pair.watch = Some(Box::new(move |segment| {
        assert_eq!(segment.header.dst_port, 80);
        *count.borrow_mut() += 1;
        true
    }));
    pair.settle();
    assert_eq!(*seen.borrow(), 1);
    assert_eq!(
        pair.b.stack.counters().mib.ip_in_addr_errors,
        1,
        "B forwards nothing"
    );
}

#[test]
fn an_address_that_no_host_has_is_refused_as_own_address() {
    for (address, prefix_len, why) in [
        ([0, 1, 2, 3], 24, "reserved"),
        ([240, 0, 0, 1], 24, "reserved"),
        ([255, 255, 255, 255], 32, "reserved"),
        ([10, 9, 0, 0], 24, "network's own"),
        ([10, 9, 0, 255], 24, "broadcast address"),
        ([10, 9, 0, 3], 30, "broadcast address"),
    ] {
        let interface = Interface {
            address: IpAddr::from(address),
            prefix_len,
            ..interface(Side::A, ethernet())
        };
        let refused = Stack::new(&config(), interface, [0; 16]).map(|_| ());
        let words = refused.expect_err("no host has it").to_string();
        assert!(words.contains(why), "{address:?}/{prefix_len}: {words}");
    }
}

#[test]
fn the_ends_of_networks_without_a_broadcast_address_are_hosts() {
    for (prefix_len, last) in [(31, 254), (31, 255), (32, 0), (32, 255)] {
        let interface = Interface {
            address: IpAddr::from([10, 9, 0, last]),
            prefix_len,
            ..interface(Side::A, ethernet())
        };
        assert!(Stack::new(&config(), interface, [0; 16]).is_ok());
    }
}
