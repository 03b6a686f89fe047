//! Tests that write messages and read them back, and tests with hostile lengths.

extern crate std;

use std::vec::Vec;

use super::*;
use crate::checksum::ChecksumPolicy;

const TARGET: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);
const ENDS: (Ipv6Addr, Ipv6Addr) = (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1), TARGET);
const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 7]);

fn written(message: NeighbourMessage) -> Vec<u8> {
    let mut bytes = [0; NeighbourMessage::MOST_LEN];
    let len = message.write(&mut bytes, ENDS);
    bytes[..len].to_vec()
}

fn read(bytes: &[u8], hop_limit: u8) -> Result<NeighbourMessage, WireError> {
    let (message, body) = Icmpv6Message::parse(bytes, ENDS, ChecksumPolicy::Verify)?;
    match message {
        Icmpv6Message::Other { kind, code, rest } if NeighbourMessage::is_kind(kind) => {
            NeighbourMessage::parse((kind, code), rest, body, hop_limit)
        }
        other => panic!("{other:?} is no message between neighbours"),
    }
}

#[test]
fn messages_are_read_back() {
    let advertisement = |target_mac, bits: u8| NeighbourMessage::Advertisement {
        target: TARGET,
        target_mac,
        router: bits & 1 != 0,
        solicited: bits & 2 != 0,
        overrides: bits & 4 != 0,
    };
    for mac in [Some(MAC), None] {
        let solicitation = NeighbourMessage::Solicitation {
            target: TARGET,
            source_mac: mac,
        };
        assert_eq!(read(&written(solicitation), HOP_LIMIT), Ok(solicitation));
        for bits in 0..8 {
            let message = advertisement(mac, bits);
            assert_eq!(read(&written(message), HOP_LIMIT), Ok(message));
        }
    }
    let bytes = written(advertisement(Some(MAC), 6));
    assert_eq!((bytes[0], bytes[4], bytes.len()), (136, 0x60, 32));
    assert_eq!(bytes[24..], [2, 1, 2, 0, 0, 0, 0, 7]);
}

#[test]
fn a_message_that_a_router_may_have_forwarded_is_refused() {
    let bytes = written(NeighbourMessage::Solicitation {
        target: TARGET,
        source_mac: None,
    });
    assert_eq!(read(&bytes, 254), Err(WireError::BadOperation));
}

#[test]
fn a_wrong_body_is_refused_with_a_reason() {
    let target = TARGET.octets();
    let with = |options: &[u8]| [&target[..], options].concat();
    let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1).octets().to_vec();
    for (name, body, expected) in [
        ("no target", target[..15].to_vec(), WireError::Truncated),
        ("a group", group, WireError::BadAddressFormat),
        (
            "an option of length 0",
            with(&[1, 0, 0, 0, 0, 0, 0, 0]),
            WireError::BadOption,
        ),
        (
            "an option past the end",
            with(&[14, 2, 0, 0, 0, 0, 0, 0]),
            WireError::BadOption,
        ),
        ("half an option", with(&[14]), WireError::BadOption),
    ] {
        let read = NeighbourMessage::parse((135, 0), [0; 4], &body, HOP_LIMIT);
        assert_eq!(read, Err(expected), "{name}");
    }
    let unknown = with(&[14, 1, 0, 0, 0, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 7]);
    let read = NeighbourMessage::parse((135, 0), [0; 4], &unknown, HOP_LIMIT);
    let expected = NeighbourMessage::Solicitation {
        target: TARGET,
        source_mac: Some(MAC),
    };
    assert_eq!(read, Ok(expected));
    let code = NeighbourMessage::parse((135, 1), [0; 4], &unknown, HOP_LIMIT);
    assert_eq!(code, Err(WireError::BadOperation));
}
