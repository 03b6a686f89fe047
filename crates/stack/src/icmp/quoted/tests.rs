//! Tests of `quoted`.

use alloc::{vec, vec::Vec};
use core::net::{IpAddr, Ipv4Addr};

use fullpipe_pool::Rng;
use fullpipe_wire::TimeExceededCode;

use super::*;
use crate::ip::Subnet;

const fn too_big(mtu: u16, fragment: bool) -> PathError {
    PathError::FragmentationNeeded { mtu, fragment }
}

const US: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

fn addresses() -> Addresses {
    let subnet = Subnet {
        address: US,
        prefix_len: 24,
    };
    Addresses::new(subnet, 1, false)
}

fn unreachable(code: UnreachableCode) -> Icmpv4Message {
    Icmpv4Message::Unreachable {
        code,
        next_hop_mtu: 0,
    }
}

/// The start of a packet of 1,000 bytes, as a router quotes it.
fn quotation(change: impl FnOnce(&mut Ipv4Header)) -> Vec<u8> {
    let (src, dst) = ([10, 0, 0, 2].into(), [8, 8, 8, 8].into());
    let mut header = Ipv4Header::new(src, dst, Protocol::Tcp, 980);
    change(&mut header);
    let mut bytes = vec![0; 28];
    header.write(&mut bytes);
    bytes[20..].copy_from_slice(&[0x13, 0x89, 0, 80, 1, 2, 3, 4]);
    bytes
}

#[test]
fn an_error_selects_the_connection_that_it_quotes() {
    let time_exceeded = Icmpv4Message::TimeExceeded {
        code: TimeExceededCode::Ttl,
    };
    let too_long = |next_hop_mtu| Icmpv4Message::Unreachable {
        code: UnreachableCode::FragmentationNeeded,
        next_hop_mtu,
    };
    for (message, error) in [
        (
            unreachable(UnreachableCode::Port),
            PathError::Unreachable { hard: true },
        ),
        (
            unreachable(UnreachableCode::Protocol),
            PathError::Unreachable { hard: true },
        ),
        (
            unreachable(UnreachableCode::Host),
            PathError::Unreachable { hard: false },
        ),
        (
            unreachable(UnreachableCode::Other(13)),
            PathError::Unreachable { hard: false },
        ),
        (too_long(1_400), too_big(1_400, false)),
        (too_long(68), too_big(552, true)),
        (too_long(551), too_big(552, true)),
        (too_long(552), too_big(552, false)),
        (too_long(0), too_big(552, false)),
        (time_exceeded, PathError::TimeExceeded),
    ] {
        let event = parse(message, &quotation(|_| ()), &addresses(), 552).unwrap();
        let expected = IcmpEvent {
            error,
            protocol: Protocol::Tcp,
            local: "10.0.0.2:5001".parse().unwrap(),
            remote: "8.8.8.8:80".parse().unwrap(),
            seq: 0x0102_0304,
        };
        assert_eq!(event, expected);
    }
}

#[test]
fn a_quotation_of_a_packet_that_this_host_cannot_have_sent_is_discarded() {
    let whole = || quotation(|_| ());
    for (name, quoted, reason) in [
        ("nothing", vec![], Discard::IcmpQuoteMalformed),
        (
            "half a header",
            whole()[..12].to_vec(),
            Discard::IcmpQuoteMalformed,
        ),
        (
            "seven bytes behind it",
            whole()[..27].to_vec(),
            Discard::IcmpQuoteMalformed,
        ),
        (
            "a later fragment",
            quotation(|header| header.fragment_offset = 8),
            Discard::IcmpQuoteMalformed,
        ),
        (
            "another host's packet",
            quotation(|header| header.src = [10, 0, 0, 3].into()),
            Discard::IcmpQuoteNotOurs,
        ),
        (
            "an echo of ours",
            quotation(|header| header.protocol = Protocol::Icmp),
            Discard::IcmpUnwanted,
        ),
    ] {
        let message = unreachable(UnreachableCode::Port);
        assert_eq!(
            parse(message, &quoted, &addresses(), 552),
            Err(reason),
            "{name}"
        );
    }
}

#[test]
fn random_bytes_are_discarded_or_parsed_and_never_panic() {
    let mut rng = Rng::seeded(5);
    for _ in 0..50_000 {
        let mut quoted = quotation(|_| ());
        for _ in 0..rng.between(1, 6) {
            let place = rng.below(28) as usize;
            quoted[place] = rng.next_u64() as u8;
        }
        quoted.truncate(rng.below(29) as usize);
        if let Ok(event) = parse(
            unreachable(UnreachableCode::Port),
            &quoted,
            &addresses(),
            552,
        ) {
            assert_eq!(event.local.ip(), US);
        }
    }
}
