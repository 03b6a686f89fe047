//! Tests of every kind of message, its bytes, and its checksum.

extern crate std;

use std::vec;
use std::vec::Vec;

use super::*;

const ENDS: (Ipv6Addr, Ipv6Addr) = (
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2),
);

fn message(header: Icmpv6Message, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xee; Icmpv6Message::LEN];
    header.write(&mut bytes, ENDS, Checksum::of(payload));
    bytes.extend(payload);
    bytes
}

#[test]
fn every_message_is_written_as_in_the_rfc_and_read_back() {
    use Icmpv6Message::*;
    let port = Unreachable6Code::Port;
    let (ident, seq) = (0x0102, 0x0304);
    let code = ParameterProblemCode::NextHeader;
    for (header, expected) in [
        (Unreachable { code: port }, [1, 4, 0, 0, 0, 0]),
        (PacketTooBig { mtu: 1280 }, [2, 0, 0, 0, 5, 0]),
        (
            TimeExceeded {
                code: TimeExceededCode::Reassembly,
            },
            [3, 1, 0, 0, 0, 0],
        ),
        (ParameterProblem { code, pointer: 40 }, [4, 1, 0, 0, 0, 40]),
        (EchoRequest { ident, seq }, [128, 0, 1, 2, 3, 4]),
        (EchoReply { ident, seq }, [129, 0, 1, 2, 3, 4]),
        (
            Other {
                kind: 143,
                code: 2,
                rest: [9; 4],
            },
            [143, 2, 9, 9, 9, 9],
        ),
    ] {
        let bytes = message(header, b"quotation");
        assert_eq!(bytes[..2], expected[..2]);
        assert_eq!(bytes[4..8], expected[2..]);
        let back = Icmpv6Message::parse(&bytes, ENDS, ChecksumPolicy::Verify);
        assert_eq!(back, Ok((header, &b"quotation"[..])));
    }
}

#[test]
fn the_checksum_covers_the_addresses() {
    let mut bytes = message(Icmpv6Message::EchoRequest { ident: 1, seq: 2 }, b"data");
    let (src, _) = ENDS;
    let other = Icmpv6Message::parse(&bytes, (src, src), ChecksumPolicy::Verify);
    assert_eq!(other, Err(WireError::BadChecksum));
    bytes[9] ^= 1;
    let damaged = Icmpv6Message::parse(&bytes, ENDS, ChecksumPolicy::Verify);
    assert_eq!(damaged, Err(WireError::BadChecksum));
    assert!(Icmpv6Message::parse(&bytes, ENDS, ChecksumPolicy::Trust).is_ok());
    let short = Icmpv6Message::parse(&bytes[..7], ENDS, ChecksumPolicy::Trust);
    assert_eq!(short, Err(WireError::Truncated));
}
