//! Tests of source selection, of addresses, and of packets that are refused.

use alloc::{vec, vec::Vec};
use core::net::{IpAddr, Ipv6Addr};

use fullpipe_pool::{Instant, Pool, PoolConfig};
use fullpipe_wire::{Icmpv6Message, Ipv6Header, MacAddress, Protocol};

use super::{source::Traits, *};
use crate::{
    config::{IcmpConfig, IpConfig},
    counters::{Counters, Discard},
    icmp::ErrorQueue,
    interface_id::InterfaceId,
    ip::{Addresses, IpReceiver, Route, Routes, Subnet},
    link::Station,
    secret::Secret,
};

const MAC: MacAddress = MacAddress([0x02, 0, 0, 0x12, 0x34, 0x56]);
const STATION: Station = Station {
    interface: InterfaceId::FIRST,
    mac: MacAddress([2, 0, 0, 0, 0, 9]),
};

fn ip(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

fn subnet(text: &str) -> Subnet {
    let (address, len) = text.split_once('/').unwrap();
    Subnet {
        address: address.parse().unwrap(),
        prefix_len: len.parse().unwrap(),
    }
}

fn host() -> Addresses {
    let mut addresses = Addresses::new(subnet("2001:db8::2/64"), 2, false);
    addresses.add_link_local(MAC);
    addresses
}

#[test]
fn a_link_local_address_follows_from_the_mac_address() {
    assert_eq!(link_local(MAC), ip("fe80::ff:fe12:3456"));
}

#[test]
fn the_link_local_address_takes_no_place_of_the_knob() {
    let mut addresses = host();
    addresses.add(subnet("10.0.0.1/24")).unwrap();
    let full = addresses.add(subnet("2001:db8::3/64"));
    assert_eq!(full, Err(crate::AddressError::Full));
    assert_eq!(addresses.as_slice().len(), 3);
    addresses.remove(IpAddr::V6(link_local(MAC))).unwrap();
    let full = addresses.add(subnet("2001:db8::3/64"));
    assert_eq!(full, Err(crate::AddressError::Full));
}

#[test]
fn the_source_has_the_scope_and_the_longest_prefix() {
    let own: Vec<Subnet> = [
        "10.0.0.1/8",
        "2001:db8:1::2/48",
        "fe80::1/64",
        "fd00::5/64",
        "2001:db8:2::2/48",
    ]
    .map(subnet)
    .to_vec();
    for (dst, expected) in [
        ("2001:db8:1::9", "2001:db8:1::2"),
        ("2001:db8:2::9", "2001:db8:2::2"),
        ("2a00::1", "2001:db8:1::2"),
        ("fe80::9", "fe80::1"),
        ("ff02::1", "fe80::1"),
        ("ff0e::1", "2001:db8:1::2"),
        ("fd00::9", "fd00::5"),
        ("fd77::9", "fd00::5"),
        ("fd00::5", "fd00::5"),
    ] {
        let source = source::for_destination(&own, |_| Traits::default(), ip(dst));
        assert_eq!(source, Some(ip(expected)), "{dst}");
    }
    let none = source::for_destination(&own[..1], |_| Traits::default(), ip("2a00::1"));
    assert_eq!(none, None);
}

#[test]
fn a_deprecated_source_is_the_last_choice_of_its_scope() {
    let own = ["2001:db8:1::2/64", "2001:db8:2::2/64", "fe80::1/64"].map(subnet);
    let source = |deprecated: &[&str], dst| {
        let traits = |own: Ipv6Addr| Traits {
            is_deprecated: deprecated.iter().any(|old| ip(old) == own),
            is_temporary: false,
        };
        source::for_destination(&own, traits, ip(dst)).unwrap()
    };
    let (one, two) = ("2001:db8:1::2", "2001:db8:2::2");
    let near_one = "2001:db8:1::9";
    assert_eq!(source(&[], near_one), ip(one));
    assert_eq!(source(&[one], near_one), ip(two));
    assert_eq!(source(&[one, two], near_one), ip(one));
    assert_eq!(source(&[one], one), ip(one));
}

/// RFC 6724 §5, rule 7.
#[test]
fn a_temporary_source_is_preferred_unless_it_is_deprecated() {
    let own = ["2001:db8:1::2/128", "2001:db8:1::77/128"].map(subnet);
    let source = |is_deprecated| {
        let traits = |own: Ipv6Addr| match own == ip("2001:db8:1::77") {
            true => Traits {
                is_deprecated,
                is_temporary: true,
            },
            false => Traits::default(),
        };
        source::for_destination(&own, traits, ip("2001:db8:1::3")).unwrap()
    };
    assert_eq!(source(false), ip("2001:db8:1::77"));
    assert_eq!(source(true), ip("2001:db8:1::2"));
}

/// The table of RFC 6724 §2.1.
#[test]
fn labels_are_those_of_the_policy_table() {
    for (address, label) in [
        ("::1", 0),
        ("2a00::1", 1),
        ("2002::1", 2),
        ("::10.0.0.1", 3),
        ("::ffff:10.0.0.1", 4),
        ("2001::1", 5),
        ("2001:db8::1", 1),
        ("fec0::1", 11),
        ("3ffe::1", 12),
        ("fd00::1", 13),
        ("fe80::1", 1),
    ] {
        assert_eq!(source::label(ip(address)), label, "{address}");
    }
}

#[test]
fn routes_of_both_families_are_kept_apart() {
    let mut routes = Routes::new(host(), 3);
    let addresses = routes.addresses_mut(InterfaceId::FIRST);
    addresses.add(subnet("10.0.0.1/24")).unwrap();
    routes.set_default("10.0.0.254".parse().unwrap()).unwrap();
    let hop =
        |routes: &Routes, dst: &str| routes.lookup_on(InterfaceId::FIRST, dst.parse().unwrap());
    let through = |hop: &str| Some(Route::Neighbour(hop.parse().unwrap()));
    assert_eq!(hop(&routes, "2a00::1"), None);
    routes.set_default("fe80::1".parse().unwrap()).unwrap();
    assert_eq!(hop(&routes, "2a00::1"), through("fe80::1"));
    assert_eq!(hop(&routes, "192.0.2.1"), through("10.0.0.254"));
    assert_eq!(hop(&routes, "2001:db8::7"), through("2001:db8::7"));
    assert_eq!(hop(&routes, "fe80::7"), through("fe80::7"));
    assert_eq!(hop(&routes, "::ffff:10.0.0.7"), None);
    assert_eq!(hop(&routes, "2001:db8::2"), None, "not looped back");
    let group = Some(Route::Multicast("ff02::1".parse().unwrap()));
    assert_eq!(hop(&routes, "ff02::1"), group);
    let source = routes.source("2a00::1".parse().unwrap());
    assert_eq!(source, Some("2001:db8::2".parse().unwrap()));
}

fn packet(src: &str, dst: &str, next: u8, payload: &[u8]) -> Vec<u8> {
    let header = Ipv6Header {
        next_header: next,
        ..Ipv6Header::new(ip(src), ip(dst), Protocol::Udp, payload.len())
    };
    let mut bytes = vec![0; Ipv6Header::LEN];
    header.write(&mut bytes);
    bytes.extend(payload);
    bytes
}

struct Outcome {
    delivered: Option<Protocol>,
    counters: Counters,
    errors: ErrorQueue,
}

fn receive(bytes: &[u8], link_group: bool) -> Outcome {
    let mut pool = Pool::new(&PoolConfig::default());
    let mut counters = Counters::default();
    let secret = Secret([5; 16]);
    let mut receiver = IpReceiver::new(&IpConfig::default(), &secret);
    let mut errors = ErrorQueue::new(&IcmpConfig::default(), &secret);
    let at = (&mut pool, Instant::ZERO);
    let from = (STATION, link_group);
    let routes = Routes::new(host(), 0);
    let packet = receiver.on_v6_packet(&routes, bytes, from, &mut errors, at, &mut counters);
    Outcome {
        delivered: packet.map(|packet| packet.protocol()),
        counters,
        errors,
    }
}

#[test]
fn packets_for_this_host_and_its_groups_are_delivered() {
    let peer = "2001:db8::1";
    for (dst, link_group) in [
        ("2001:db8::2", false),
        ("fe80::ff:fe12:3456", false),
        ("ff02::1", true),
        ("ff02::1:ff00:2", true),
        ("ff02::1:ff12:3456", true),
    ] {
        let outcome = receive(&packet(peer, dst, 17, &[0; 8]), link_group);
        assert_eq!(outcome.delivered, Some(Protocol::Udp), "{dst}");
    }
}

#[test]
fn packets_with_wrong_addresses_are_refused() {
    let (us, peer) = ("2001:db8::2", "2001:db8::1");
    for (name, src, dst, link_group, reason) in [
        (
            "another host",
            peer,
            "2001:db8::3",
            false,
            Discard::IpNotForUs,
        ),
        (
            "another group",
            peer,
            "ff02::1:ff00:3",
            true,
            Discard::IpNotForUs,
        ),
        (
            "in a group's frame",
            peer,
            us,
            true,
            Discard::IpUnicastInBroadcast,
        ),
        ("from a group", "ff02::1", us, false, Discard::IpBadSource),
        ("from nobody", "::", us, false, Discard::IpBadSource),
        (
            "from nobody to a group",
            "::",
            "ff02::1",
            true,
            Discard::IpBadSource,
        ),
        ("from us", us, us, false, Discard::IpBadSource),
        ("from loopback", "::1", us, false, Discard::IpBadSource),
        (
            "a mapped source",
            "::ffff:10.0.0.1",
            us,
            false,
            Discard::IpBadSource,
        ),
    ] {
        let outcome = receive(&packet(src, dst, 17, &[0; 8]), link_group);
        assert_eq!(outcome.delivered, None, "{name}");
        assert_eq!(outcome.counters.discarded(reason), 1, "{name}");
    }
}

#[test]
fn unknown_headers_are_reported_unless_to_a_group() {
    let unknown_option = [17, 0, 0x80, 0, 1, 2, 0, 0, 0];
    for (name, dst, next, payload, reported, reason) in [
        (
            "a protocol",
            "2001:db8::2",
            200,
            &[0; 8][..],
            true,
            Discard::IpUnknownProtocol,
        ),
        (
            "ICMP of IPv4",
            "2001:db8::2",
            1,
            &[0; 8],
            true,
            Discard::IpUnknownProtocol,
        ),
        (
            "an option",
            "2001:db8::2",
            60,
            &unknown_option,
            true,
            Discard::IpExtensionHeader,
        ),
        (
            "to a group",
            "ff02::1",
            200,
            &[0; 8],
            false,
            Discard::IpUnknownProtocol,
        ),
        (
            "cut short",
            "2001:db8::2",
            60,
            &[17, 9, 0, 0],
            false,
            Discard::IpExtensionHeader,
        ),
        (
            "no next header",
            "2001:db8::2",
            59,
            &[],
            false,
            Discard::IpExtensionHeader,
        ),
    ] {
        let outcome = receive(&packet("2001:db8::1", dst, next, payload), dst == "ff02::1");
        assert_eq!(outcome.delivered, None, "{name}");
        assert_eq!(outcome.counters.discarded(reason), 1, "{name}");
        let is_reported = outcome.errors.wants_output();
        assert_eq!(
            is_reported,
            reported && cfg!(feature = "icmp-errors"),
            "{name}"
        );
    }
}

#[test]
fn a_message_of_neighbour_discovery_may_have_no_source() {
    let bytes = packet("::", "ff02::1:ff00:2", 58, &[0; Icmpv6Message::LEN]);
    assert_eq!(receive(&bytes, true).delivered, Some(Protocol::Icmpv6));
}
