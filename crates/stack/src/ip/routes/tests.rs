//! Tests of `routes.rs` with several interfaces.

use super::*;

const FIRST: InterfaceId = InterfaceId::FIRST;
const SECOND: InterfaceId = InterfaceId(1);

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn subnet(text: &str) -> Subnet {
    let (address, prefix_len) = text.split_once('/').unwrap();
    Subnet {
        address: ip(address),
        prefix_len: prefix_len.parse().unwrap(),
    }
}

/// A host with 10.0.1.2 on its first interface and 10.0.2.2 on its second.
fn two_interfaces() -> Routes {
    let mut routes = Routes::new(Addresses::new(subnet("10.0.1.2/24"), 2, false), 8);
    routes.add_interface(Addresses::new(subnet("10.0.2.2/24"), 2, false));
    routes
}

fn route(to: &str, gateway: &str, interface: InterfaceId, metric: u32) -> RouteEntry {
    RouteEntry {
        interface,
        metric,
        ..RouteEntry::through(subnet(to), ip(gateway))
    }
}

fn through(interface: InterfaceId, gateway: &str) -> Option<(InterfaceId, Route)> {
    Some((interface, Route::Neighbour(ip(gateway))))
}

#[test]
fn the_longest_prefix_wins_whatever_its_interface_and_metric() {
    let mut routes = two_interfaces();
    for entry in [
        route("0.0.0.0/0", "10.0.1.1", FIRST, 0),
        route("192.0.2.0/24", "10.0.2.1", SECOND, 900),
        route("192.0.2.128/25", "10.0.1.9", FIRST, 1_000),
    ] {
        routes.add(entry).unwrap();
    }
    for (dst, expected) in [
        ("10.0.1.7", through(FIRST, "10.0.1.7")),
        ("10.0.2.7", through(SECOND, "10.0.2.7")),
        ("198.51.100.1", through(FIRST, "10.0.1.1")),
        ("192.0.2.1", through(SECOND, "10.0.2.1")),
        ("192.0.2.200", through(FIRST, "10.0.1.9")),
        ("10.0.2.255", Some((SECOND, Route::Broadcast))),
        ("10.0.2.2", None),
        ("2001:db8::1", None),
    ] {
        assert_eq!(routes.lookup(ip(dst)), expected, "{dst}");
    }
}

#[test]
fn of_equal_prefixes_the_smallest_metric_wins() {
    let mut routes = two_interfaces();
    routes
        .add(route("0.0.0.0/0", "10.0.1.1", FIRST, 20))
        .unwrap();
    routes
        .add(route("0.0.0.0/0", "10.0.2.1", SECOND, 10))
        .unwrap();
    let far = ip("192.0.2.1");
    assert_eq!(routes.lookup(far), through(SECOND, "10.0.2.1"));
    assert_eq!(routes.source(far), Some(ip("10.0.2.2")));
    assert!(routes.remove(&route("0.0.0.0/0", "10.0.2.1", SECOND, 10)));
    assert_eq!(routes.lookup(far), through(FIRST, "10.0.1.1"));
    assert_eq!(routes.source(far), Some(ip("10.0.1.2")));
}

/// Each interface has a gateway: packets from an address leave by the interface of the address.
#[test]
fn a_given_source_chooses_the_interface() {
    let mut routes = two_interfaces();
    routes
        .add(route("0.0.0.0/0", "10.0.1.1", FIRST, 0))
        .unwrap();
    routes
        .add(route("0.0.0.0/0", "10.0.2.1", SECOND, 50))
        .unwrap();
    let far = ip("192.0.2.1");
    for (src, interface, gateway) in [
        ("10.0.1.2", FIRST, "10.0.1.1"),
        ("10.0.2.2", SECOND, "10.0.2.1"),
    ] {
        assert_eq!(routes.interface_between(ip(src), far), interface, "{src}");
        let hop = Some(Route::Neighbour(ip(gateway)));
        assert_eq!(routes.lookup_on(interface, far), hop, "{src}");
    }
}

#[test]
fn the_source_of_a_route_is_used_while_its_interface_has_it() {
    let mut routes = two_interfaces();
    routes
        .addresses_mut(SECOND)
        .add(subnet("10.0.2.3/24"))
        .unwrap();
    let preferring = |source: &str| RouteEntry {
        source: Some(ip(source)),
        ..route("192.0.2.0/24", "10.0.2.1", SECOND, 0)
    };
    assert_eq!(routes.add(preferring("10.0.1.2")), Err(RouteError::Source));
    assert_eq!(routes.add(preferring("fe80::1")), Err(RouteError::Source));
    routes.add(preferring("10.0.2.3")).unwrap();
    let far = ip("192.0.2.1");
    assert_eq!(routes.source(far), Some(ip("10.0.2.3")));
    routes.addresses_mut(SECOND).remove(ip("10.0.2.3")).unwrap();
    assert_eq!(routes.source(far), Some(ip("10.0.2.2")));
}

#[test]
fn a_route_of_an_unknown_interface_is_refused() {
    let mut routes = two_interfaces();
    let unknown = route("0.0.0.0/0", "10.0.1.1", InterfaceId(2), 0);
    assert_eq!(routes.add(unknown), Err(RouteError::Interface));
}

#[test]
fn a_group_is_reached_by_an_interface_of_its_family() {
    let mut routes = Routes::new(Addresses::new(subnet("fd00::1/64"), 1, false), 1);
    routes.add_interface(Addresses::new(subnet("10.0.2.2/24"), 1, false));
    let group = ip("224.0.0.5");
    let found = routes.lookup(group);
    assert_eq!(found, Some((SECOND, Route::Multicast(group))));
    let everyone = routes.lookup(ip("255.255.255.255"));
    assert_eq!(everyone, Some((SECOND, Route::Broadcast)));
}

#[test]
fn the_network_of_an_address_wins_over_an_equal_route() {
    let mut routes = two_interfaces();
    routes
        .add(route("10.0.2.0/24", "10.0.1.1", FIRST, 0))
        .unwrap();
    let near = ip("10.0.2.7");
    assert_eq!(routes.lookup(near), through(SECOND, "10.0.2.7"));
    assert_eq!(routes.source(near), Some(ip("10.0.2.2")));
}

#[test]
fn an_address_of_this_host_is_no_source_of_received_packets() {
    let mut routes = two_interfaces();
    for (address, interface) in [
        ("169.254.7.7/16", FIRST),
        ("fd00::1/64", SECOND),
        ("fe80::1/64", SECOND),
    ] {
        let addresses = routes.addresses_mut(interface);
        addresses.add(subnet(address)).unwrap();
    }
    for (src, on_first, on_second) in [
        ("10.0.1.2", false, false),
        ("10.0.2.2", false, false),
        ("10.0.1.9", true, true),
        ("10.0.2.255", true, false),
        ("127.0.0.1", false, false),
        ("::1", false, false),
        ("fd00::1", false, false),
        ("fd00::2", true, true),
        // Each link has its own hosts with these addresses.
        ("169.254.7.7", false, true),
        ("fe80::1", true, false),
    ] {
        let may = [FIRST, SECOND].map(|interface| routes.may_send_to_us(interface, ip(src)));
        assert_eq!(may, [on_first, on_second], "{src}");
    }
}
