//! Tests of Happy Eyeballs in virtual time.

use std::net::IpAddr;

use fullpipe::Instant;
use fullpipe_dns::{
    Action::{self, Abort, Open},
    Connector, Family, by_preference,
};

use crate::server::at;

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Returns the source address of a host with an address of each family.
fn source(destination: IpAddr) -> Option<IpAddr> {
    Some(match destination {
        IpAddr::V4(_) => ip("192.0.2.1"),
        IpAddr::V6(_) => ip("2001:db8:1::1"),
    })
}

fn both() -> Connector {
    Connector::new([Family::V6, Family::V4])
}

fn actions(connector: &mut Connector, now: Instant) -> Vec<Action> {
    std::iter::from_fn(|| connector.poll_action(now)).collect()
}

#[test]
fn a_dead_ipv6_path_costs_a_quarter_of_a_second() {
    let mut connector = both();
    let (six, four) = (ip("2001:db8::1"), ip("198.51.100.1"));
    connector.on_addresses(Family::V6, &[six], source, at(10));
    assert_eq!(actions(&mut connector, at(10)), [Open(six)]);
    connector.on_addresses(Family::V4, &[four], source, at(20));
    assert_eq!(connector.next_timeout(), Some(at(260)));
    assert_eq!(actions(&mut connector, at(259)), []);
    assert_eq!(actions(&mut connector, at(260)), [Open(four)]);
    connector.on_established(four);
    assert_eq!(actions(&mut connector, at(280)), [Abort(six)]);
    assert_eq!(
        (connector.winner(), connector.next_timeout()),
        (Some(four), None)
    );
}

#[test]
fn ipv4_waits_fifty_milliseconds_for_ipv6_addresses() {
    let (six, four) = (ip("2001:db8::1"), ip("198.51.100.1"));
    let mut connector = both();
    connector.on_addresses(Family::V4, &[four], source, at(10));
    assert_eq!(actions(&mut connector, at(10)), []);
    assert_eq!(connector.next_timeout(), Some(at(60)));
    assert_eq!(actions(&mut connector, at(60)), [Open(four)]);
    // The IPv6 answer comes late, and its address is tried next.
    connector.on_addresses(Family::V6, &[six], source, at(70));
    assert_eq!(actions(&mut connector, at(310)), [Open(six)]);

    let mut connector = both();
    connector.on_addresses(Family::V4, &[four], source, at(10));
    connector.on_addresses(Family::V6, &[six], source, at(40));
    assert_eq!(actions(&mut connector, at(40)), [Open(six)]);

    // There is no IPv6 address, so there is nothing to wait for.
    let mut connector = both();
    connector.on_addresses(Family::V4, &[four], source, at(10));
    connector.on_addresses(Family::V6, &[], source, at(20));
    assert_eq!(actions(&mut connector, at(20)), [Open(four)]);
}

#[test]
fn families_alternate_and_a_failed_attempt_is_followed_at_once() {
    let mut connector = both();
    let six = [ip("2001:db8::1"), ip("2001:db8::2"), ip("2001:db8::3")];
    let four = [ip("198.51.100.1"), ip("198.51.100.2")];
    connector.on_addresses(Family::V6, &six, source, at(0));
    connector.on_addresses(Family::V4, &four, source, at(0));
    let mut tried = Vec::new();
    for count in 0..5 {
        let opened = actions(&mut connector, at(count));
        let [Open(address)] = opened[..] else {
            panic!("{opened:?}");
        };
        assert!(!connector.has_failed());
        connector.on_failed(address, at(count + 1));
        tried.push(address);
    }
    assert_eq!(tried, [six[0], four[0], six[1], four[1], six[2]]);
    assert!(connector.has_failed());
    assert_eq!(connector.next_timeout(), None);
}

#[test]
fn a_name_without_addresses_fails_when_both_answers_are_there() {
    let mut connector = both();
    connector.on_addresses(Family::V6, &[], source, at(0));
    assert!(!connector.has_failed());
    connector.on_addresses(Family::V4, &[], source, at(1));
    assert!(connector.has_failed());
}

#[test]
fn the_number_of_attempts_is_bounded() {
    let mut connector = both();
    let many: Vec<IpAddr> = (0..200)
        .map(|last| IpAddr::from([198, 51, 100, last]))
        .collect();
    connector.on_addresses(Family::V4, &many, source, at(0));
    connector.on_addresses(Family::V6, &[], source, at(0));
    let mut opened = 0;
    while let Some(due) = connector.next_timeout() {
        opened += actions(&mut connector, due).len();
    }
    assert_eq!(opened, 32);
}

/// Cases of RFC 6724 §10.2, without those of deprecated addresses and of mobile hosts.
#[test]
fn destinations_are_sorted_as_the_rfc_says() {
    let pair = |six: Option<&'static str>, four: Option<&'static str>| {
        move |destination| match destination {
            IpAddr::V4(_) => four.map(ip),
            IpAddr::V6(_) => six.map(ip),
        }
    };
    for (own_six, own_four, best, other) in [
        (
            Some("2001:db8:1::2"),
            Some("169.254.13.78"),
            "2001:db8:1::1",
            "198.51.100.121",
        ),
        (
            Some("fe80::1"),
            Some("198.51.100.117"),
            "198.51.100.121",
            "2001:db8:1::1",
        ),
        (
            Some("2001:db8:1::2"),
            Some("10.1.2.4"),
            "2001:db8:1::1",
            "10.1.2.3",
        ),
        (
            Some("2002:c633:6401::2"),
            Some("198.51.100.117"),
            "198.51.100.121",
            "2001:db8:1::1",
        ),
        (
            None,
            Some("198.51.100.117"),
            "198.51.100.121",
            "2001:db8:1::1",
        ),
        (Some("fe80::2"), None, "fe80::1", "2001:db8:1::1"),
        (
            Some("2001:db8:1::2"),
            None,
            "2001:db8:1::1",
            "2001:db8:3ffe::1",
        ),
    ] {
        for given in [[best, other], [other, best]] {
            let mut addresses = given.map(ip);
            by_preference(&mut addresses, pair(own_six, own_four));
            assert_eq!(addresses, [best, other].map(ip), "{given:?}");
        }
    }
    // The server's order stays if no rule decides.
    let mut rotated = [ip("198.51.100.9"), ip("198.51.100.1")];
    by_preference(&mut rotated, source);
    assert_eq!(rotated, [ip("198.51.100.9"), ip("198.51.100.1")]);
}
