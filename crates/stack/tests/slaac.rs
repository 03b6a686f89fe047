//! Tests of a host that configures IPv6 itself: routers, prefixes, duplicates, groups. RFC 4861,
//! RFC 4862, RFC 7217, RFC 3810.

#![cfg(feature = "slaac")]

mod lonely;
mod pair;

use core::net::{IpAddr, Ipv6Addr, SocketAddr};

use fullpipe::{
    AddressError, CloseReason, ConnectOptions, Duration, InterfaceId, ListenOptions, OpenError,
    Route, Stack, Subnet, counters::Discard, device::Device,
};
use fullpipe_wire::{Checksum, Icmpv6Message, ipv6::solicited_node, ndp::NeighbourMessage};
use lonely::*;
use pair::{Side, config, ethernet, interface};

#[test]
fn a_host_checks_its_address_and_then_asks_for_routers() {
    let mut host = Lonely::new(&[], None);
    assert_eq!(host.link_local(), None);
    host.pass(Duration::from_secs(60));
    let own = host.link_local().unwrap();
    let reports = host.of_kind(REPORT);
    let questions = host.of_kind(SOLICITATION);
    let [question] = questions[..] else {
        panic!("{} questions", questions.len())
    };
    assert!(question.header.src.is_unspecified());
    assert_eq!(question.header.dst, solicited_node(own));
    assert_eq!((question.target(), question.header.hop_limit), (own, 255));
    assert!(reports[0].at <= question.at);
    let asked = host.of_kind(ROUTER_SOLICITATION);
    let second = Duration::from_secs(1);
    assert!(asked[0].at >= question.at + second && asked[0].at <= question.at + second * 2);
    assert_eq!(asked[0].header.src, own);
    // The intervals of RFC 7559 are 4, 8, 16 and 32 s; each may differ by a tenth.
    let gaps = asked
        .windows(2)
        .map(|pair| (pair[1].at - pair[0].at).as_millis());
    for (gap, expected) in gaps.zip([4_000, 8_000, 16_000]) {
        assert!(
            (expected * 9 / 10..=expected * 11 / 10).contains(&gap),
            "{gap}"
        );
    }
    assert!(asked.len() >= 4);
}

#[test]
fn the_first_report_names_the_group_without_a_source() {
    let host = Lonely::begun();
    let reports = host.of_kind(REPORT);
    let own = host.link_local().unwrap();
    assert_eq!(reports.len(), 2, "a change is reported twice");
    let first = &reports[0];
    assert!(first.header.src.is_unspecified());
    assert_eq!(first.header.hop_limit, 1);
    assert_eq!(first.header.next_header, 0, "router alert");
    assert_eq!(first.payload[8..12], [4, 0, 0, 0]);
    assert_eq!(first.payload[12..28], solicited_node(own).octets());
}

#[test]
fn an_advertisement_gives_an_address_a_router_and_servers() {
    let mut host = Lonely::begun();
    let server = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 53);
    host.advertise(&Advertisement {
        options: &[prefix(PREFIX, 0xc0, 3_600, 1_800), dns(server, 600)],
        ..Advertisement::default()
    });
    assert!(host.global().is_empty());
    assert_eq!(host.tentative().len(), 1);
    host.pass(Duration::from_secs(3));
    let [own] = host.global()[..] else {
        panic!("{:?}", host.global())
    };
    assert_eq!(own.segments()[..4], PREFIX.segments()[..4]);
    assert_eq!(host.source(FAR), Some(own.into()));
    assert_eq!(host.hop(FAR), Some(Route::Neighbour(ROUTER.into())));
    let near = Ipv6Addr::from_bits(PREFIX.to_bits() | 77);
    assert_eq!(host.hop(near), Some(Route::Neighbour(near.into())));
    assert_eq!(host.stack.dns_servers().collect::<Vec<_>>(), [server]);
    assert_eq!(host.stack.default_routers(InterfaceId::FIRST).len(), 1);
    // A router was found, so the host asks no more.
    let asked = host.of_kind(ROUTER_SOLICITATION).len();
    host.pass(Duration::from_secs(590));
    assert_eq!(host.of_kind(ROUTER_SOLICITATION).len(), asked);
    host.pass(Duration::from_secs(10));
    assert_eq!(
        host.stack.dns_servers().count(),
        0,
        "their lifetime is over"
    );
}

#[test]
fn the_same_key_forms_the_same_addresses_which_hide_the_mac_address() {
    let formed = |key: Option<[u8; 16]>, last: u128| {
        let mut host = Lonely::new(&[], None);
        if let Some(key) = key {
            host.stack.set_identifier_key(key);
        }
        host.pass(Duration::from_secs(3));
        let network = Ipv6Addr::from_bits(PREFIX.to_bits() | last << 64);
        host.advertise(&Advertisement {
            options: &[prefix(network, 0xc0, 3_600, 1_800)],
            ..Advertisement::default()
        });
        host.pass(Duration::from_secs(3));
        [host.link_local().unwrap(), host.global()[0]].map(|ip| ip.to_bits() as u64)
    };
    let [of_link, of_prefix] = formed(Some([1; 16]), 2);
    assert_eq!([of_link, of_prefix], formed(Some([1; 16]), 2));
    assert_ne!(of_link, of_prefix);
    assert_ne!(of_prefix, formed(Some([1; 16]), 4)[1]);
    assert_ne!(of_prefix, formed(Some([2; 16]), 2)[1]);
    assert_ne!(of_prefix, formed(None, 2)[1]);
    for identifier in [of_link, of_prefix] {
        assert_ne!(identifier >> 24 & 0xffff, 0xfffe);
    }
}

#[test]
fn flags_decide_about_the_address_and_the_link() {
    for (flags, lifetimes, has_address, is_on_link) in [
        (0x80, (3_600, 1_800), false, true),
        (0x40, (3_600, 1_800), true, false),
        (0x00, (3_600, 1_800), false, false),
        (0xc0, (1_800, 3_600), false, true),
        (0xc0, (0, 0), false, false),
    ] {
        let mut host = Lonely::begun();
        let (valid_s, preferred_s) = lifetimes;
        host.advertise(&Advertisement {
            options: &[prefix(PREFIX, flags, valid_s, preferred_s)],
            ..Advertisement::default()
        });
        host.pass(Duration::from_secs(3));
        assert_eq!(!host.global().is_empty(), has_address, "{flags:#x}");
        let near = Ipv6Addr::from_bits(PREFIX.to_bits() | 77);
        let hop = if is_on_link { near } else { ROUTER };
        assert_eq!(host.hop(near), Some(Route::Neighbour(hop.into())));
    }
}

#[test]
fn a_deprecated_address_opens_no_connection_and_an_invalid_one_ends_them() {
    let mut host = Lonely::begun();
    let other = Ipv6Addr::from_bits(PREFIX.to_bits() | 1 << 64 << 8);
    host.advertise(&Advertisement {
        lifetime_s: 9_000,
        options: &[
            prefix(PREFIX, 0xc0, 300, 100),
            prefix(other, 0xc0, 9_000, 9_000),
        ],
        ..Advertisement::default()
    });
    host.pass(Duration::from_secs(3));
    let mut own = host.global();
    own.sort();
    let [first, second] = own[..] else {
        panic!("{own:?}")
    };
    // While both addresses are preferred, the longest common prefix decides which one is the
    // source.
    let near = Ipv6Addr::from_bits(PREFIX.to_bits() | 77);
    assert_eq!(host.source(near), Some(first.into()));
    let local = SocketAddr::from((first, 0));
    let connect = |host: &mut Lonely, local| {
        let remote = SocketAddr::from((near, 80));
        let (options, now) = (ConnectOptions::default(), host.now);
        host.stack.tcp_connect(remote, local, options, now)
    };
    host.pass(Duration::from_secs(100));
    let own = host.stack.addresses().find(|own| own.address == first);
    assert!(own.is_some_and(|own| own.is_deprecated));
    assert_eq!(host.source(near), Some(second.into()));
    let old = connect(&mut host, Some(local)).expect("the address is still valid");
    host.pass(Duration::from_secs(200));
    assert_eq!(host.global(), [second]);
    let ready = host.stack.tcp_ready(old, host.now).unwrap();
    assert_eq!(ready.closed, Some(CloseReason::AddressRemoved));
    assert!(connect(&mut host, Some(local)).is_err());
    let left = host.of_kind(REPORT);
    let left = left.last().unwrap();
    assert_eq!(left.payload[8], 3, "the group of the address was left");
    assert_eq!(left.payload[12..28], solicited_node(first).octets());
}

#[test]
fn no_advertisement_shortens_a_lifetime_below_two_hours() {
    let valid_for = |announced: &[(u32, u64)]| {
        let mut host = Lonely::begun();
        for (valid_s, wait_s) in announced {
            host.advertise(&Advertisement {
                options: &[prefix(PREFIX, 0xc0, *valid_s, *valid_s)],
                ..Advertisement::default()
            });
            host.pass(Duration::from_secs(*wait_s));
        }
        let at = host.now;
        while !host.global().is_empty() && host.now < at + Duration::from_secs(40_000) {
            host.pass(Duration::from_secs(100));
        }
        (host.now - at).as_secs()
    };
    for (name, announced, expected) in [
        (
            "shortened to two hours",
            &[(20_000, 10), (60, 10)][..],
            7_200,
        ),
        ("not shortened", &[(3_600, 10), (60, 10)], 3_600),
        ("not ended", &[(3_600, 10), (0, 10)], 3_600),
        ("longer", &[(60, 10), (3_600, 10)], 3_600),
        ("above two hours", &[(20_000, 10), (9_000, 10)], 9_000),
    ] {
        let lasted = valid_for(announced);
        assert!(lasted.abs_diff(expected) <= 150, "{name}: {lasted}");
    }
}

#[test]
fn a_lifetime_of_zero_ends_a_router_but_no_address() {
    let mut host = Lonely::begun();
    let options = &[prefix(PREFIX, 0xc0, 3_600, 1_800)];
    host.advertise(&Advertisement {
        options,
        ..Advertisement::default()
    });
    host.pass(Duration::from_secs(3));
    assert!(host.hop(FAR).is_some());
    let changes = host.stack.configuration_changes();
    host.advertise(&Advertisement {
        lifetime_s: 0,
        ..Advertisement::default()
    });
    assert_eq!(host.hop(FAR), None);
    assert_eq!(host.global().len(), 1);
    assert!(host.stack.configuration_changes() > changes);
    host.advertise(&Advertisement {
        lifetime_s: 5,
        ..Advertisement::default()
    });
    assert!(host.hop(FAR).is_some());
    host.pass(Duration::from_secs(5));
    assert_eq!(host.hop(FAR), None, "the lifetime is over");
}

#[test]
fn preference_chooses_the_router_unless_it_is_silent() {
    let mut host = Lonely::begun();
    let mac = |last| vec![1, 1, 2, 0, 0, 0, 0, last];
    host.advertise(&Advertisement {
        options: &[prefix(PREFIX, 0xc0, 3_600, 1_800), mac(9)],
        ..Advertisement::default()
    });
    let other = |host: &mut Lonely| {
        host.advertise(&Advertisement {
            from: OTHER_ROUTER,
            preference: 1,
            options: &[mac(10)],
            ..Advertisement::default()
        });
    };
    other(&mut host);
    host.pass(Duration::from_secs(3));
    let through = |router: Ipv6Addr| Some(Route::Neighbour(router.into()));
    assert_eq!(host.hop(FAR), through(OTHER_ROUTER));
    // Nothing answers the probes of a connection's next hop.
    let remote = SocketAddr::from((FAR, 80));
    let (options, now) = (ConnectOptions::default(), host.now);
    host.stack.tcp_connect(remote, None, options, now).unwrap();
    host.pass(Duration::from_secs(4));
    assert_eq!(host.hop(FAR), through(ROUTER));
    other(&mut host);
    assert_eq!(host.hop(FAR), through(OTHER_ROUTER), "it announced itself");
}

#[test]
fn a_router_that_becomes_a_host_is_left() {
    let mut host = Lonely::begun();
    host.advertise(&Advertisement::default());
    assert!(host.hop(FAR).is_some());
    host.claim(ROUTER);
    assert_eq!(host.hop(FAR), None);
}

#[test]
fn limits_of_an_advertisement_hold_for_packets_sent() {
    let mut host = Lonely::begun();
    host.advertise(&Advertisement {
        hop_limit: 99,
        retransmit_ms: 200,
        options: &[prefix(PREFIX, 0xc0, 3_600, 1_800), mtu(1_400)],
        ..Advertisement::default()
    });
    host.pass(Duration::from_secs(3));
    let peer = Ipv6Addr::from_bits(PREFIX.to_bits() | 5);
    let [own] = host.global()[..] else { panic!() };
    let mut request = vec![0; Icmpv6Message::LEN];
    let data = [7; 1_440];
    let message = Icmpv6Message::EchoRequest { ident: 1, seq: 1 };
    message.write(&mut request, (peer, own), Checksum::of(&data));
    request.extend(data);
    // The request has 1488 bytes, so the reply does not fit into a packet of 1400 bytes.
    let before = host.stack.counters().mib.ip_frag_creates;
    host.receive_with(64, (peer, own), &request);
    assert_eq!(host.stack.counters().mib.ip_frag_creates, before + 2);
    // The advertisement has set the time between solicitations to 200 ms.
    let remote = SocketAddr::from((Ipv6Addr::from_bits(PREFIX.to_bits() | 6), 80));
    let (options, now) = (ConnectOptions::default(), host.now);
    host.stack.tcp_connect(remote, None, options, now).unwrap();
    host.sent.clear();
    host.pass(Duration::from_millis(900));
    let asked = host.of_kind(SOLICITATION);
    assert_eq!((asked[1].at - asked[0].at).as_millis(), 200);
    for bytes in [1_279, 1_501, 0] {
        host.advertise(&Advertisement {
            hop_limit: 1,
            options: &[mtu(bytes)],
            ..Advertisement::default()
        });
    }
    let before = host.stack.counters().mib.ip_frag_creates;
    host.receive_with(64, (peer, own), &request);
    assert_eq!(host.stack.counters().mib.ip_frag_creates, before + 2);
}

#[test]
fn a_datagram_stays_in_fragments_when_a_router_raises_the_mtu() {
    let mut host = Lonely::begun();
    let with_mtu = |host: &mut Lonely, bytes| {
        host.advertise(&Advertisement {
            options: &[prefix(PREFIX, 0xc0, 3_600, 1_800), mtu(bytes)],
            ..Advertisement::default()
        });
    };
    with_mtu(&mut host, 1_280);
    host.pass(Duration::from_secs(3));
    let peer = Ipv6Addr::from_bits(PREFIX.to_bits() | 5);
    let [own] = host.global()[..] else { panic!() };
    let mut request = vec![0; Icmpv6Message::LEN];
    let data = [7; 1_300];
    let message = Icmpv6Message::EchoRequest { ident: 1, seq: 1 };
    message.write(&mut request, (peer, own), Checksum::of(&data));
    request.extend(data);
    // The peer's MAC address is known after the first request.
    host.receive_with(64, (peer, own), &request);
    let before = host.stack.counters().mib.ip_frag_creates;
    for _ in 0..2 {
        host.arrive(64, (peer, own), &request);
    }
    let created = |host: &Lonely| host.stack.counters().mib.ip_frag_creates - before;
    while created(&host) == 0 {
        host.stack.transmit(&mut host.port, host.now, 1);
    }
    // The first reply is half sent, the second waits. The second reply fits the new MTU.
    with_mtu(&mut host, 1_500);
    let replies = host.of_kind(ECHO_REPLY).len();
    host.pass(Duration::from_secs(1));
    assert_eq!((created(&host), replies), (2, 1));
}

#[test]
fn a_duplicate_is_given_up_and_another_address_formed() {
    let mut host = Lonely::new(&[], None);
    host.pass(Duration::ZERO);
    let first = host.tentative()[0];
    host.claim(first);
    assert_eq!(host.stack.duplicate_address(), Some(first));
    let second = host.tentative()[0];
    assert_ne!(first, second);
    host.pass(Duration::from_secs(3));
    assert_eq!(host.link_local(), Some(second));
    assert_eq!(host.stack.counters().discarded(Discard::NdDuplicate), 1);
    // Now each address that the host forms from a prefix is a duplicate, until the host forms no
    // more addresses.
    host.advertise(&Advertisement {
        options: &[prefix(PREFIX, 0xc0, 3_600, 1_800)],
        ..Advertisement::default()
    });
    let mut seen = Vec::new();
    while let [own] = host.tentative()[..] {
        assert!(!seen.contains(&own));
        seen.push(own);
        // Another host asks for the same address at the same time.
        let mut bytes = [0; NeighbourMessage::MOST_LEN];
        let ends = (Ipv6Addr::UNSPECIFIED, solicited_node(own));
        let message = NeighbourMessage::Solicitation {
            target: own,
            source_mac: None,
        };
        let len = message.write(&mut bytes, ends);
        host.receive(ends, &bytes[..len]);
    }
    assert_eq!(seen.len(), 3, "RFC 7217 §7");
    assert_eq!(host.stack.counters().discarded(Discard::NdDuplicate), 4);
    host.pass(Duration::from_secs(3));
    assert!(host.global().is_empty());
    // The application adds the duplicate address. The prefix's lifetimes do not apply to it.
    let subnet = Subnet {
        address: seen[2].into(),
        prefix_len: 64,
    };
    host.stack.add_address(InterfaceId::FIRST, subnet).unwrap();
    host.pass(Duration::from_secs(4_000));
    assert_eq!(host.global(), [seen[2]]);
}

#[test]
fn an_added_address_is_used_only_when_it_is_free() {
    let own = Ipv6Addr::from_bits(PREFIX.to_bits() | 2);
    let subnet = Subnet {
        address: own.into(),
        prefix_len: 64,
    };
    let local = SocketAddr::from((own, 80));
    for is_taken in [false, true] {
        let mut host = Lonely::new(&[], Some(subnet));
        host.pass(Duration::ZERO);
        let listen = |host: &mut Lonely| host.stack.tcp_listen(local, ListenOptions::default());
        assert!(listen(&mut host).is_err(), "it is tentative");
        assert_eq!(
            host.stack.add_address(InterfaceId::FIRST, subnet),
            Err(AddressError::Exists)
        );
        if is_taken {
            host.claim(own);
        }
        host.pass(Duration::from_secs(3));
        assert_eq!(host.global().is_empty(), is_taken);
        assert_eq!(listen(&mut host).is_err(), is_taken);
        let expected = is_taken.then_some(own);
        assert_eq!(host.stack.duplicate_address(), expected);
        // The neighbours of a network need no router.
        let near = SocketAddr::from((Ipv6Addr::from_bits(PREFIX.to_bits() | 3), 80));
        let now = host.now;
        let opened = host
            .stack
            .tcp_connect(near, None, ConnectOptions::default(), now);
        assert_eq!(opened.is_err(), is_taken, "{opened:?}");
        if is_taken {
            assert_eq!(opened, Err(OpenError::NoRoute));
        }
    }
}

#[test]
fn a_question_for_a_tentative_address_gets_no_answer() {
    let mut host = Lonely::new(&[], None);
    host.pass(Duration::ZERO);
    let own = host.tentative()[0];
    host.sent.clear();
    let message = NeighbourMessage::Solicitation {
        target: own,
        source_mac: Some(STATION),
    };
    let mut bytes = [0; NeighbourMessage::MOST_LEN];
    let ends = (ROUTER, solicited_node(own));
    let len = message.write(&mut bytes, ends);
    host.receive(ends, &bytes[..len]);
    assert_eq!(host.of_kind(136).len(), 0);
    assert_eq!(host.tentative(), [own], "nor is it a duplicate");
    host.pass(Duration::from_secs(3));
    host.receive(ends, &bytes[..len]);
    assert_eq!(host.of_kind(136).len(), 1);
}

#[test]
fn forged_advertisements_are_refused() {
    let mut host = Lonely::begun();
    let valid = Advertisement {
        options: &[prefix(PREFIX, 0xc0, 3_600, 1_800)],
        ..Advertisement::default()
    };
    host.receive_with(254, (ROUTER, ALL_NODES), &valid.bytes());
    let global = Advertisement {
        from: FAR,
        ..valid.clone()
    };
    host.advertise(&global);
    host.receive_with(255, (ROUTER, ALL_NODES), &valid.bytes()[..15]);
    assert_eq!(host.hop(FAR), None);
    assert!(host.tentative().is_empty());
    let counters = host.stack.counters();
    assert_eq!(counters.discarded(Discard::NdInvalid), 2);
    assert_eq!(counters.discarded(Discard::IcmpBadChecksum), 1);
}

/// Thousands of routers, prefixes and servers fill only the tables, and the entries from before the
/// flood stay.
#[test]
fn a_flood_of_advertisements_fills_bounded_tables() {
    let mut host = Lonely::begun();
    host.advertise(&Advertisement {
        options: &[prefix(PREFIX, 0xc0, 3_600, 1_800)],
        ..Advertisement::default()
    });
    host.pass(Duration::from_secs(3));
    let own = host.global()[0];
    for number in 0..3_000_u128 {
        let network = Ipv6Addr::from_bits(0x2002 << 112 | (number << 64));
        let low = u16::try_from(number).unwrap();
        host.advertise(&Advertisement {
            from: Ipv6Addr::new(0xfe80, 0, 0, 0, 1, 0, 0, low),
            options: &[
                prefix(network, 0xc0, 3_600, 1_800),
                vec![1, 1, 2, 0, 1, 0, (low >> 8) as u8, low as u8],
                dns(Ipv6Addr::new(0x2001, 0xdb8, 9, 9, 0, 0, 0, low), 60),
            ],
            ..Advertisement::default()
        });
    }
    host.pass(Duration::from_secs(10));
    assert_eq!(host.stack.default_routers(InterfaceId::FIRST).len(), 4);
    assert_eq!(host.stack.dns_servers().count(), 4);
    assert_eq!(host.global().len(), 8);
    assert!(host.global().contains(&own));
    assert_eq!(host.hop(FAR), Some(Route::Neighbour(ROUTER.into())));
    assert!(host.stack.counters().discarded(Discard::RaTableFull) > 8_000);
    host.stack.verify(host.now);
    host.pass(Duration::from_secs(3_700));
    assert!(host.global().is_empty());
    assert_eq!(host.stack.default_routers(InterfaceId::FIRST).len(), 0);
}

#[test]
fn queries_are_answered_with_every_group_and_not_too_often() {
    let mut host = Lonely::begun();
    let own = host.link_local().unwrap();
    let query = |group: Ipv6Addr, max_ms: u16| {
        let body = [&group.octets()[..], &[2, 125, 0, 0]].concat();
        let [high, low] = max_ms.to_be_bytes();
        let head = Icmpv6Message::Other {
            kind: 130,
            code: 0,
            rest: [high, low, 0, 0],
        };
        let mut bytes = vec![0; Icmpv6Message::LEN];
        head.write(&mut bytes, (ROUTER, ALL_NODES), Checksum::of(&body));
        bytes.extend(body);
        bytes
    };
    host.sent.clear();
    let general = query(Ipv6Addr::UNSPECIFIED, 1_000);
    host.receive_with(2, (ROUTER, ALL_NODES), &general);
    host.receive_with(1, (ROUTER, ALL_NODES), &query(solicited_node(FAR), 0));
    host.pass(Duration::from_secs(2));
    assert_eq!(host.of_kind(REPORT).len(), 0);
    let asked = host.now;
    host.receive_with(1, (ROUTER, ALL_NODES), &general);
    host.pass(Duration::from_secs(2));
    let [answer] = host.of_kind(REPORT)[..] else {
        panic!("{} answers", host.of_kind(REPORT).len())
    };
    assert!(answer.at <= asked + Duration::from_secs(1));
    assert_eq!(answer.header.src, own);
    assert_eq!(answer.payload[8..12], [2, 0, 0, 0]);
    assert_eq!(answer.payload[12..28], solicited_node(own).octets());
    host.sent.clear();
    for _ in 0..1_000 {
        host.receive_with(1, (ROUTER, ALL_NODES), &query(solicited_node(own), 0));
        host.pass(Duration::from_millis(1));
    }
    assert!((2..=11).contains(&host.of_kind(REPORT).len()));
}

/// A host without autoconfiguration behaves as in older versions: it sends nothing by itself.
#[test]
fn a_host_without_autoconfiguration_sends_nothing() {
    let mut host = Lonely::new(&[("ip.autoconfiguration", "false")], None);
    host.pass(Duration::from_secs(100));
    host.advertise(&Advertisement {
        options: &[prefix(PREFIX, 0xc0, 3_600, 1_800)],
        ..Advertisement::default()
    });
    host.pass(Duration::from_secs(100));
    assert!(host.sent.is_empty());
    assert_eq!(host.stack.addresses().count(), 1);
    assert_eq!(host.stack.next_timeout(), None);
    assert!(host.port.lend(10).is_some());
}

#[test]
fn without_probes_an_address_is_used_at_once() {
    let mut host = Lonely::new(&[("ip.dad_probes", "0")], None);
    host.pass(Duration::ZERO);
    assert!(host.link_local().is_some());
    assert!(host.of_kind(SOLICITATION).is_empty());
}

/// RFC 7217: the addresses follow from the key, the network and the interface.
#[test]
fn a_key_is_also_that_of_interfaces_that_are_added_later() {
    let tentative = |secret: u8, key: Option<[u8; 16]>| {
        let mut knobs = config();
        knobs.set("ip.autoconfiguration", "true").unwrap();
        let own = interface(Side::A, ethernet());
        let mut stack = Stack::new(&knobs, own, [secret; 16]).unwrap();
        if let Some(key) = key {
            stack.set_identifier_key(key);
        }
        stack
            .add_interface(&knobs, interface(Side::B, ethernet()))
            .unwrap();
        let tentative: Vec<_> = stack.tentative_addresses().map(|own| own.address).collect();
        assert_eq!(tentative.len(), 2);
        assert_ne!(tentative[0], tentative[1]);
        tentative
    };
    assert_eq!(tentative(1, Some([9; 16])), tentative(2, Some([9; 16])));
    assert_ne!(tentative(1, None)[1], tentative(2, None)[1]);
}

/// RFC 8981: a random address beside the formed one, a new one each day, and none after the prefix.
#[test]
fn temporary_addresses_change_each_day_and_are_preferred() {
    const DAY: u64 = 86_400;
    let mut host = Lonely::new(&[("ip.temporary_addresses", "true")], None);
    host.pass(Duration::from_secs(3));
    let advertise = |host: &mut Lonely, valid_s, preferred_s| {
        host.advertise(&Advertisement {
            options: &[prefix(PREFIX, 0xc0, valid_s, preferred_s)],
            ..Advertisement::default()
        });
        host.pass(Duration::from_secs(3));
    };
    let temporary = |host: &Lonely, is_deprecated: bool| -> Vec<IpAddr> {
        let own = host.stack.addresses().filter(|own| own.is_temporary);
        let own = own.filter(|own| own.is_deprecated == is_deprecated);
        own.map(|own| own.address).collect()
    };
    advertise(&mut host, 30 * DAY as u32, 7 * DAY as u32);
    let stable = *host
        .global()
        .iter()
        .find(|ip| !temporary(&host, false).contains(&(**ip).into()))
        .unwrap();
    let [first] = temporary(&host, false)[..] else {
        panic!("{:?}", temporary(&host, false))
    };
    assert_ne!(first, IpAddr::from(stable));
    assert_eq!(host.source(FAR), Some(first));
    // It is deprecated after 0.6 to 1 day, when another one is in use.
    host.pass(Duration::from_secs(DAY));
    let [second] = temporary(&host, false)[..] else {
        panic!("{:?}", temporary(&host, false))
    };
    assert_eq!(temporary(&host, true), [first]);
    assert_eq!(host.source(FAR), Some(second));
    host.pass(Duration::from_secs(DAY));
    assert!(!host.global().iter().any(|ip| IpAddr::from(*ip) == first));
    // Two months without an advertisement end the prefix, and every address with it.
    host.pass(Duration::from_secs(7 * DAY));
    assert!(temporary(&host, false).is_empty());
    assert_eq!(
        host.source(FAR),
        Some(stable.into()),
        "the last choice, although deprecated"
    );
    host.pass(Duration::from_secs(30 * DAY));
    assert!(host.global().is_empty());
}

/// A router may announce its prefix as deprecated for a while, and preferred again.
#[test]
fn a_preferred_lifetime_that_dips_causes_no_further_temporary_address() {
    let mut host = Lonely::new(&[("ip.temporary_addresses", "true")], None);
    host.pass(Duration::from_secs(3));
    let advertise = |host: &mut Lonely, preferred_s| {
        host.advertise(&Advertisement {
            options: &[prefix(PREFIX, 0xc0, 864_000, preferred_s)],
            ..Advertisement::default()
        });
        host.pass(Duration::from_secs(3));
    };
    let temporary = |host: &Lonely| -> Vec<_> {
        let own = host.stack.addresses().filter(|own| own.is_temporary);
        own.map(|own| (own.address, own.is_deprecated)).collect()
    };
    advertise(&mut host, 43_200);
    let [(first, false)] = temporary(&host)[..] else {
        panic!("{:?}", temporary(&host))
    };
    for _ in 0..20 {
        advertise(&mut host, 0);
        assert_eq!(temporary(&host), [(first, true)]);
        advertise(&mut host, 43_200);
        assert_eq!(temporary(&host), [(first, false)]);
    }
    for _ in 0..40 {
        advertise(&mut host, 0);
        advertise(&mut host, 43_200);
        host.pass(Duration::from_secs(6 * 3_600));
        assert!(temporary(&host).len() <= 4, "{:?}", temporary(&host));
    }
}

#[test]
fn a_duplicate_temporary_address_is_replaced_and_a_removed_one_comes_again() {
    let mut host = Lonely::new(&[("ip.temporary_addresses", "true")], None);
    host.pass(Duration::from_secs(3));
    let advertise = |host: &mut Lonely| {
        host.advertise(&Advertisement {
            options: &[prefix(PREFIX, 0xc0, 86_400, 43_200)],
            ..Advertisement::default()
        });
    };
    advertise(&mut host);
    let tentative = host.tentative();
    assert_eq!(tentative.len(), 2);
    let temporary = tentative[1];
    let first = host.stack.interface_ids().next().unwrap();
    let kinds = host.stack.tentative_addresses_on(first);
    let kinds: Vec<_> = kinds.map(|own| own.is_temporary).collect();
    assert_eq!(kinds, [false, true]);
    host.claim(temporary);
    host.pass(Duration::from_secs(3));
    let own = |host: &Lonely| -> Vec<IpAddr> {
        let own = host.stack.addresses().filter(|own| own.is_temporary);
        own.map(|own| own.address).collect()
    };
    let [next] = own(&host)[..] else {
        panic!("{:?}", own(&host))
    };
    assert_ne!(next, IpAddr::from(temporary));
    host.stack.remove_address(next, host.now).unwrap();
    host.pass(Duration::from_secs(3));
    assert!(own(&host).is_empty());
    advertise(&mut host);
    host.pass(Duration::from_secs(3));
    assert_eq!(own(&host).len(), 1);
    assert_ne!(own(&host), [next]);
}
