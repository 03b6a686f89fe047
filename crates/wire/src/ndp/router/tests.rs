//! Tests that read router advertisements and write solicitations.

extern crate std;

use std::{vec, vec::Vec};

use super::*;
use crate::checksum::ChecksumPolicy;

const PREFIX: [u8; 32] = [
    3, 4, 64, 0xc0, 0, 0, 0x0e, 0x10, 0, 0, 0x07, 0x08, 0, 0, 0, 0, 0x20, 0x01, 0x0d, 0xb8, 0, 0,
    0, 1, 9, 9, 9, 9, 9, 9, 9, 9,
];

fn advertisement(options: &[u8]) -> Vec<u8> {
    let mut body = [0, 0, 0x75, 0x30, 0, 0, 0x03, 0xe8].to_vec();
    body.extend(options);
    body
}

fn read(body: &[u8]) -> Result<RouterAdvertisement<'_>, WireError> {
    RouterAdvertisement::parse(0, [64, 0x08, 0x07, 0x08], body, 255)
}

#[test]
fn the_fields_of_an_advertisement_are_read() {
    let body = advertisement(&[]);
    let read = read(&body).unwrap();
    assert_eq!(read.hop_limit, 64);
    assert_eq!(read.preference, RouterPreference::High);
    assert_eq!((read.lifetime_s, read.reachable_ms), (1800, 30_000));
    assert_eq!(read.retransmit_ms, 1_000);
    for (flags, preference) in [
        (0x00, RouterPreference::Medium),
        (0x10, RouterPreference::Medium),
        (0x18, RouterPreference::Low),
    ] {
        let read = RouterAdvertisement::parse(0, [0, flags, 0, 0], &body, 255).unwrap();
        assert_eq!(read.preference, preference, "{flags:#x}");
    }
}

#[test]
fn the_options_of_an_advertisement_are_read_in_order() {
    let mut options = vec![1, 1, 2, 0, 0, 0, 0, 9, 200, 1, 0, 0, 0, 0, 0, 0];
    options.extend([5, 1, 0, 0, 0, 0, 0x05, 0xdc]);
    options.extend(PREFIX);
    options.extend([25, 3, 0, 0, 0, 0, 0, 60]);
    options.extend(Ipv6Addr::LOCALHOST.octets());
    let body = advertisement(&options);
    let read: Vec<_> = read(&body).unwrap().options().collect();
    let [mac, mtu, prefix, dns] = read[..] else {
        panic!("{read:?}")
    };
    assert_eq!(mac, RouterOption::SourceMac(MacAddress([2, 0, 0, 0, 0, 9])));
    assert_eq!(mtu, RouterOption::Mtu(1500));
    let expected = PrefixInformation {
        prefix: Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 0),
        prefix_len: 64,
        on_link: true,
        autonomous: true,
        valid_s: 3600,
        preferred_s: 1800,
    };
    assert_eq!(prefix, RouterOption::Prefix(expected));
    let RouterOption::DnsServers {
        lifetime_s,
        mut servers,
    } = dns
    else {
        panic!("{dns:?}")
    };
    assert_eq!(lifetime_s, 60);
    assert_eq!(servers.next(), Some(Ipv6Addr::LOCALHOST));
    assert_eq!(servers.next(), None);
}

#[test]
fn a_wrong_hop_limit_code_or_length_is_refused() {
    let body = advertisement(&PREFIX);
    let parse = |code, body, hop_limit| {
        RouterAdvertisement::parse(code, [0; 4], body, hop_limit).map(|_| ())
    };
    assert_eq!(parse(0, &body, 255), Ok(()));
    assert_eq!(parse(0, &body, 254), Err(WireError::BadOperation));
    assert_eq!(parse(1, &body, 255), Err(WireError::BadOperation));
    assert_eq!(parse(0, &body[..7], 255), Err(WireError::Truncated));
    assert_eq!(parse(0, &body[..39], 255), Err(WireError::BadOption));
    let empty = advertisement(&[3, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(parse(0, &empty, 255), Err(WireError::BadOption));
}

#[test]
fn options_that_are_too_short_or_impossible_are_skipped() {
    let mut long = PREFIX;
    long[2] = 129;
    for options in [
        &[3, 1, 64, 0xc0, 0, 0, 0, 0][..],
        &[25, 1, 0, 0, 0, 0, 0, 60],
        &long,
    ] {
        let body = advertisement(options);
        let read: Vec<_> = read(&body).unwrap().options().collect();
        let has_content = read.iter().any(|option| match option {
            RouterOption::DnsServers { servers, .. } => servers.count() > 0,
            RouterOption::SourceMac(_) | RouterOption::Mtu(_) | RouterOption::Prefix(_) => true,
        });
        assert!(!has_content, "{read:?}");
    }
}

#[test]
fn a_solicitation_names_its_sender_unless_it_has_no_address() {
    let ends = (Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED);
    let mac = MacAddress([2, 0, 0, 0, 0, 9]);
    for (source, len) in [(Some(mac), 16), (None, 8)] {
        let mut bytes = [0; MOST_SOLICITATION_LEN];
        let written = write_solicitation(&mut bytes, ends, source);
        assert_eq!(written, len);
        let policy = ChecksumPolicy::Verify;
        let (message, _) = Icmpv6Message::parse(&bytes[..len], ends, policy).unwrap();
        assert!(matches!(message, Icmpv6Message::Other { kind: 133, .. }));
    }
    assert_eq!(MOST_SOLICITATION_LEN, 16);
}
