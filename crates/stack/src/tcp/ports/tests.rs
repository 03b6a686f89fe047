//! Tests of ephemeral ports.

use super::*;
use alloc::{collections::BTreeSet, vec::Vec};

const HERE: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1));
const THERE: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 2));

fn ports(low: u16, high: u16) -> EphemeralPorts {
    EphemeralPorts::new(low, high, &Secret([3; 16]))
}

fn choose(
    ports: &mut EphemeralPorts,
    remote_port: u16,
    mut is_free: impl FnMut(u16) -> bool,
) -> Option<u16> {
    let mut search = ports.search(HERE, THERE, remote_port);
    let chosen = search.find(|port| is_free(*port));
    ports.searched(search);
    chosen
}

#[test]
fn every_port_of_the_range_is_tried_before_any_repeats() {
    let mut ports = ports(50_000, 50_099);
    let chosen: BTreeSet<u16> = (0..100)
        .map(|_| choose(&mut ports, 80, |_| true).unwrap())
        .collect();
    assert_eq!(chosen, (50_000..=50_099).collect());
}

#[test]
fn a_port_in_use_is_skipped_and_no_free_port_is_an_outcome() {
    let mut ports = ports(50_000, 50_003);
    assert_eq!(choose(&mut ports, 80, |port| port == 50_002), Some(50_002));
    assert_eq!(choose(&mut ports, 80, |_| false), None);
}

#[test]
fn the_first_ports_to_different_peers_are_scattered() {
    let first: Vec<u16> = (1..=20)
        .map(|port| choose(&mut ports(49_152, 65_535), port, |_| true).unwrap())
        .collect();
    let distinct: BTreeSet<u16> = first.iter().copied().collect();
    assert!(distinct.len() > 18, "{first:?}");
    assert!(first.windows(2).any(|pair| pair[0] > pair[1]), "{first:?}");
}

#[test]
fn the_whole_range_of_ports_may_be_ephemeral() {
    let mut ports = ports(1, 65_535);
    assert!((0..70_000).all(|_| choose(&mut ports, 80, |_| true).is_some()));
    assert_eq!(choose(&mut ports, 80, |port| port == 65_535), Some(65_535));
}
