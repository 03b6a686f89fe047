//! Tests of `v4`.

use alloc::vec::Vec;
use core::net::IpAddr;

use fullpipe_pool::Rng;

use super::{
    fragment::{Fragment, Fragmenter},
    identification::Identifications,
    routes::{Route, RouteError, Routes},
    *,
};
use crate::ip::Subnet;

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
    let mut routes = Routes::new(subnet("10.0.0.2", 24), 3);
    assert_eq!(routes.lookup(ip("8.8.8.8")), None);
    routes.set_default(ip("10.0.0.1")).unwrap();
    routes.add(subnet("10.9.0.0", 16), ip("10.0.0.9")).unwrap();
    routes
        .add(subnet("10.0.0.128", 25), ip("10.0.0.3"))
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
        assert_eq!(routes.lookup(ip(dst)), expected, "{dst}");
    }
}

#[test]
fn a_full_table_refuses_new_routes_and_replaces_old_ones() {
    let mut routes = Routes::new(subnet("10.0.0.2", 24), 1);
    routes.set_default(ip("10.0.0.1")).unwrap();
    assert_eq!(
        routes.add(subnet("10.9.0.0", 16), ip("10.0.0.9")),
        Err(RouteError::Full)
    );
    routes.set_default(ip("10.0.0.4")).unwrap();
    assert_eq!(
        routes.lookup(ip("8.8.8.8")),
        Some(Route::Neighbour(ip("10.0.0.4")))
    );
    assert_eq!(routes.set_default(ip("fe80::1")), Err(RouteError::Family));
}

#[test]
fn a_point_to_point_network_has_no_broadcast_address() {
    let routes = Routes::new(subnet("10.0.0.0", 31), 0);
    assert_eq!(
        routes.lookup(ip("10.0.0.1")),
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
fn identifications_between_two_hosts_repeat_only_after_all_others() {
    let mut identifications = Identifications::new(Rng::seeded(1));
    let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let mut seen = alloc::vec![false; 1 << 16];
    for _ in 0..1 << 16 {
        let seen = &mut seen[usize::from(identifications.take(src, dst))];
        assert!(!core::mem::replace(seen, true));
    }
}
