//! Tests of `v4`.

use alloc::vec::Vec;
use core::net::IpAddr;

use fullpipe_pool::Rng;

use super::{
    fragment::{Fragment, Fragmenter},
    identification::Identifications,
    *,
};
use crate::{
    interface_id::InterfaceId,
    ip::{Addresses, Route, RouteEntry, RouteError, Routes, Subnet},
};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn subnet(text: &str, prefix_len: u8) -> Subnet {
    Subnet {
        address: ip(text),
        prefix_len,
    }
}

#[test]
fn the_longest_matching_route_wins() {
    let mut routes = Routes::new(Addresses::new(subnet("10.0.0.2", 24), 1, false), 3);
    assert_eq!(routes.lookup_on(InterfaceId::FIRST, ip("8.8.8.8")), None);
    routes.set_default(ip("10.0.0.1")).unwrap();
    routes
        .add(RouteEntry::through(subnet("10.9.0.0", 16), ip("10.0.0.9")))
        .unwrap();
    routes
        .add(RouteEntry::through(
            subnet("10.0.0.128", 25),
            ip("10.0.0.3"),
        ))
        .unwrap();
    for (dst, expected) in [
        ("10.0.0.7", Some(Route::Neighbour(ip("10.0.0.7")))),
        ("10.0.0.200", Some(Route::Neighbour(ip("10.0.0.3")))),
        ("10.9.1.1", Some(Route::Neighbour(ip("10.0.0.9")))),
        ("8.8.8.8", Some(Route::Neighbour(ip("10.0.0.1")))),
        ("10.0.0.255", Some(Route::Broadcast)),
        ("255.255.255.255", Some(Route::Broadcast)),
        ("224.0.0.5", Some(Route::Multicast(ip("224.0.0.5")))),
        ("10.0.0.2", None),
        ("127.0.0.1", None),
        ("0.0.0.0", None),
        ("2001:db8::1", None),
    ] {
        assert_eq!(
            routes.lookup_on(InterfaceId::FIRST, ip(dst)),
            expected,
            "{dst}"
        );
    }
}

#[test]
fn a_full_table_refuses_new_routes_and_replaces_old_ones() {
    let mut routes = Routes::new(Addresses::new(subnet("10.0.0.2", 24), 1, false), 1);
    routes.set_default(ip("10.0.0.1")).unwrap();
    assert_eq!(
        routes.add(RouteEntry::through(subnet("10.9.0.0", 16), ip("10.0.0.9"))),
        Err(RouteError::Full)
    );
    routes.set_default(ip("10.0.0.4")).unwrap();
    assert_eq!(
        routes.lookup_on(InterfaceId::FIRST, ip("8.8.8.8")),
        Some(Route::Neighbour(ip("10.0.0.4")))
    );
    let mixed = routes.add(RouteEntry::through(subnet("0.0.0.0", 0), ip("fe80::1")));
    assert_eq!(mixed, Err(RouteError::Family));
}

#[test]
fn a_point_to_point_network_has_no_broadcast_address() {
    let routes = Routes::new(Addresses::new(subnet("10.0.0.0", 31), 1, false), 0);
    assert_eq!(
        routes.lookup_on(InterfaceId::FIRST, ip("10.0.0.1")),
        Some(Route::Neighbour(ip("10.0.0.1")))
    );
}

#[test]
fn fragments_cover_a_datagram_exactly_and_all_but_the_last_end_on_eight_bytes() {
    for payload_len in [1, 8, 1_479, 1_480, 1_481, 5_896, 65_515] {
        for most in [8, 48, 1_480, 1_485] {
            let pieces: Vec<Fragment> = Fragmenter::new(payload_len, most, 7).collect();
            let mut next = 0;
            for (position, piece) in pieces.iter().enumerate() {
                assert_eq!(piece.offset, next, "{payload_len} in {most}");
                assert!(usize::from(piece.len) <= most);
                assert_eq!(piece.more, position + 1 < pieces.len());
                assert!(!piece.more || piece.len.is_multiple_of(8));
                next += piece.len;
            }
            assert_eq!(next, payload_len);
        }
    }
}

#[test]
fn identifications_repeat_only_after_all_others_and_their_distance_tells_no_count() {
    let mut identifications = Identifications::new(Rng::seeded(1), true);
    let mut near = 0;
    for _ in 0..2 {
        let mut seen = alloc::vec![false; 1 << 16];
        let mut last = None;
        for _ in 0..1 << 16 {
            let next = identifications.take();
            assert!(!core::mem::replace(&mut seen[usize::from(next)], true));
            let distance = last.map(|last| next.wrapping_sub(last));
            near += u32::from(distance.is_some_and(|distance| distance <= 256));
            last = Some(next);
        }
    }
    // In a random order, one distance in 256 is at most 256. Of the 131,072 distances that is about
    // 512, with a standard deviation of 23.
    assert!((420..=604).contains(&near), "{near}");
}

#[test]
fn addresses_that_no_host_has_are_neither_sources_nor_own_addresses() {
    let host = |ip: [u8; 4]| can_be_host(Ipv4Addr::new(10, 0, 0, 1), 24, ip.into());
    for ip in [
        [0, 1, 2, 3],
        [127, 0, 0, 1],
        [224, 0, 0, 1],
        [240, 1, 2, 3],
        [255, 255, 255, 255],
        [10, 0, 0, 0],
        [10, 0, 0, 255],
    ] {
        assert!(!host(ip), "{ip:?}");
    }
    for ip in [
        [1, 0, 0, 0],
        [10, 0, 1, 0],
        [10, 0, 1, 255],
        [10, 0, 0, 2],
        [223, 255, 255, 255],
    ] {
        assert!(host(ip), "{ip:?}");
    }
    let ends = Ipv4Addr::new(10, 0, 0, 254);
    for last in [254, 255] {
        assert!(can_be_host(ends, 31, Ipv4Addr::new(10, 0, 0, last)));
    }
    assert!(can_be_host(ends, 32, ends));
}

/// Storing the values of the round functions does not change the order of the identifications.
#[test]
fn identifications_come_in_the_same_order_as_ever() {
    let fold = |all: u64, next: u16| all.wrapping_mul(0x0100_0000_01b3) ^ u64::from(next);
    for cached in [true, false] {
        let mut identifications = Identifications::new(Rng::seeded(7), cached);
        let all = (0..200_000).fold(0, |all, _| fold(all, identifications.take()));
        assert_eq!(all, 0x8375_4868_9ae2_c3ce, "{cached}");
    }
}
