//! Tests of every kind of message, its bytes, and its checksum.

extern crate std;

use std::vec;
use std::vec::Vec;

use super::*;

fn message(header: Icmpv4Message, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xee; Icmpv4Message::LEN];
    header.write(&mut bytes, Checksum::of(payload));
    bytes.extend(payload);
    bytes
}

#[test]
fn every_message_is_written_as_in_the_rfc_and_read_back() {
    use Icmpv4Message::*;
    for (header, [kind, code, a, b, c, d]) in [
        (
            EchoRequest {
                ident: 0x0102,
                seq: 0x0304,
            },
            [8, 0, 1, 2, 3, 4],
        ),
        (
            EchoReply {
                ident: 0xfffe,
                seq: 9,
            },
            [0, 0, 255, 254, 0, 9],
        ),
        (
            Unreachable {
                code: UnreachableCode::Network,
                next_hop_mtu: 0,
            },
            [3, 0, 0, 0, 0, 0],
        ),
        (
            Unreachable {
                code: UnreachableCode::Port,
                next_hop_mtu: 0,
            },
            [3, 3, 0, 0, 0, 0],
        ),
        (
            Unreachable {
                code: UnreachableCode::FragmentationNeeded,
                next_hop_mtu: 1400,
            },
            [3, 4, 0, 0, 5, 120],
        ),
        (
            Unreachable {
                code: UnreachableCode::Other(13),
                next_hop_mtu: 0,
            },
            [3, 13, 0, 0, 0, 0],
        ),
        (
            TimeExceeded {
                code: TimeExceededCode::Ttl,
            },
            [11, 0, 0, 0, 0, 0],
        ),
        (
            TimeExceeded {
                code: TimeExceededCode::Reassembly,
            },
            [11, 1, 0, 0, 0, 0],
        ),
        (
            Other {
                kind: 12,
                code: 1,
                rest: [9, 8, 7, 6],
            },
            [12, 1, 9, 8, 7, 6],
        ),
    ] {
        for payload in [&b""[..], b"odd", b"even"] {
            let bytes = message(header, payload);
            assert_eq!(bytes[..2], [kind, code], "{header:?}");
            assert_eq!(bytes[4..8], [a, b, c, d], "{header:?}");
            let back = Icmpv4Message::parse(&bytes, ChecksumPolicy::Verify);
            assert_eq!(back, Ok((header, payload)));
        }
    }
}

#[test]
fn every_code_converts_to_its_number_and_back() {
    for value in 0..=u8::MAX {
        assert_eq!(u8::from(UnreachableCode::from(value)), value);
        assert_eq!(u8::from(TimeExceededCode::from(value)), value);
    }
}

#[test]
fn the_checksum_covers_the_payload_unless_trusted() {
    let header = Icmpv4Message::EchoRequest { ident: 1, seq: 2 };
    let mut bytes = message(header, b"ping");
    bytes[9] ^= 4;
    let verdict = Icmpv4Message::parse(&bytes, ChecksumPolicy::Verify);
    assert_eq!(verdict, Err(WireError::BadChecksum));
    let trusted = Icmpv4Message::parse(&bytes, ChecksumPolicy::Trust);
    assert_eq!(trusted, Ok((header, &b"pmng"[..])));
}

#[test]
fn fewer_than_eight_bytes_are_truncated() {
    for len in 0..8 {
        let verdict = Icmpv4Message::parse(&[0; 8][..len], ChecksumPolicy::Trust);
        assert_eq!(verdict, Err(WireError::Truncated));
    }
}

#[test]
fn an_mtu_is_read_only_from_fragmentation_needed() {
    let bytes = [3, 1, 0, 0, 0, 0, 5, 120];
    let (header, _) = Icmpv4Message::parse(&bytes, ChecksumPolicy::Trust).unwrap();
    let expected = Icmpv4Message::Unreachable {
        code: UnreachableCode::Host,
        next_hop_mtu: 0,
    };
    assert_eq!(header, expected);
}
