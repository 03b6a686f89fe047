//! Tests of counts by source.

use super::*;

#[test]
fn each_address_has_its_own_bound_and_is_forgotten_at_zero() {
    let mut sources = SourceCounts::new(4, 2, Secret([1; 16]));
    let ip = |last: u8| IpAddr::from([10, 0, 0, last]);
    for _ in 0..2 {
        assert_eq!(sources.full(ip(1)), None);
        sources.add(ip(1));
    }
    assert!(sources.full(ip(1)).is_some() && sources.full(ip(2)).is_none());
    sources.add(ip(2));
    sources.remove(ip(1));
    assert_eq!(sources.full(ip(1)), None);
    sources.remove(ip(1));
    sources.remove(ip(2));
    // Four other addresses find room, so no address without entries is kept.
    (10..14).for_each(|last| _ = sources.add(ip(last)));
    (10..14).for_each(|last| sources.remove(ip(last)));
    assert_eq!((sources.sources.len(), sources.by_ip.len()), (0, 0));
}

#[test]
#[cfg(feature = "ipv6")]
fn addresses_of_one_prefix_are_one_source() {
    let mut sources = SourceCounts::new(8, 2, Secret([1; 16]));
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    sources.add(ip("2001:db8::1"));
    let slot = sources.add(ip("2001:db8::2"));
    assert_eq!(sources.full(ip("2001:db8::ffff:1")), Some(slot));
    assert_eq!(sources.full(ip("2001:db8:0:1::1")), None);
    sources.remove(ip("2001:db8::3"));
    assert_eq!(sources.full(ip("2001:db8::1")), None);
}
