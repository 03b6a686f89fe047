//! Tests of the table of addresses.

use super::*;

fn subnet(text: &str) -> Subnet {
    let (address, len) = text.split_once('/').unwrap();
    Subnet {
        address: address.parse().unwrap(),
        prefix_len: len.parse().unwrap(),
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn table(texts: &[&str]) -> Addresses {
    let mut table = Addresses::new(subnet(texts[0]), 4, false);
    for text in &texts[1..] {
        table.add(subnet(text)).unwrap();
    }
    table
}

#[test]
fn every_network_has_its_own_broadcast_address() {
    let table = table(&["10.0.0.2/24", "192.168.7.9/16", "172.16.0.4/31"]);
    for (dst, audience) in [
        ("10.0.0.2", Audience::Us),
        ("192.168.7.9", Audience::Us),
        ("172.16.0.4", Audience::Us),
        ("10.0.0.255", Audience::Broadcast),
        ("192.168.255.255", Audience::Broadcast),
        ("255.255.255.255", Audience::Broadcast),
        ("172.16.0.5", Audience::Other), // no broadcast address, RFC 3021
        ("10.0.1.255", Audience::Other),
        ("224.0.0.1", Audience::Multicast),
        ("fe80::1", Audience::Other),
    ] {
        assert_eq!(table.audience(ip(dst)), audience, "{dst}");
    }
    assert!(!table.can_be_host(ip("192.168.0.0")));
    assert!(!table.can_be_host(ip("192.168.255.255")));
    assert!(table.can_be_host(ip("10.0.1.255")));
    assert!(!table.may_send_to_us(ip("192.168.7.9")));
}

#[test]
fn the_source_is_the_address_in_the_network_of_the_next_hop() {
    let table = table(&["10.0.0.2/8", "10.1.0.2/16", "192.168.0.2/24"]);
    for (hop, source) in [
        ("10.1.9.9", Some("10.1.0.2")),
        ("10.2.9.9", Some("10.0.0.2")),
        ("192.168.0.1", Some("192.168.0.2")),
        ("172.16.0.1", Some("10.0.0.2")),
        ("fe80::1", None),
    ] {
        assert_eq!(table.source_for(ip(hop), ip(hop)), source.map(ip), "{hop}");
    }
}

#[test]
fn a_deprecated_address_is_the_source_only_if_there_is_no_other() {
    let mut table = table(&["10.0.0.2/24", "10.0.0.3/24", "fd00::2/64"]);
    let hop = ip("10.0.0.9");
    assert!(table.set_deprecated(ip("10.0.0.2"), true));
    assert!(!table.set_deprecated(ip("10.0.0.2"), true));
    assert_eq!(table.source_for(hop, hop), Some(ip("10.0.0.3")));
    assert!(table.set_deprecated(ip("10.0.0.3"), true));
    assert_eq!(table.source_for(hop, hop), Some(ip("10.0.0.2")));
    assert!(table.set_deprecated(ip("fd00::2"), true));
    table.add(subnet("fd00::3/64")).unwrap();
    let v6 = ip("fd00::9");
    let preferred = cfg!(feature = "ipv6").then(|| ip("fd00::3"));
    assert_eq!(table.source_for(v6, v6), preferred);
    assert!(!table.set_deprecated(ip("10.0.0.7"), true), "not ours");
    table.remove(ip("10.0.0.2")).unwrap();
    table.add(subnet("10.0.0.2/24")).unwrap();
    assert_eq!(table.source_for(hop, hop), Some(ip("10.0.0.2")));
}

#[test]
fn a_table_without_an_address_receives_only_groups() {
    let mut table = table(&["10.0.0.2/24"]);
    assert_eq!(table.remove(ip("10.0.0.3")), Err(AddressError::NotOurs));
    assert_eq!(table.remove(ip("10.0.0.2")), Ok(()));
    assert_eq!(table.audience(ip("10.0.0.2")), Audience::Other);
    assert_eq!(table.audience(ip("10.0.0.255")), Audience::Other);
    assert_eq!(table.audience(ip("255.255.255.255")), Audience::Broadcast);
    assert_eq!(table.source_for(ip("10.0.0.1"), ip("10.0.0.1")), None);
    assert_eq!(table.network_of(ip("10.0.0.1")), None);
}

#[test]
fn a_table_takes_no_address_twice_and_no_more_than_its_size() {
    let mut table = table(&["10.0.0.2/24", "10.0.0.3/24", "10.0.0.4/24"]);
    let again = subnet("10.0.0.3/16");
    assert_eq!(table.add(again), Err(AddressError::Exists));
    assert_eq!(table.add(subnet("10.0.0.5/24")), Ok(()));
    assert_eq!(table.add(subnet("10.0.0.6/24")), Err(AddressError::Full));
    assert_eq!(table.as_slice().len(), 4);
}
