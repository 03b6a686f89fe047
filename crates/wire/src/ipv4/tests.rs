//! Tests with consistent and inconsistent lengths, options, padding, and fragments.

extern crate std;

use std::vec;
use std::vec::Vec;

use super::*;

const SRC: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const DST: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);

/// A packet with `payload` after a header to which `change` was made.
fn packet(payload: &[u8], change: impl FnOnce(&mut Ipv4Header)) -> Vec<u8> {
    let mut header = Ipv4Header::new(SRC, DST, Protocol::Udp, payload.len());
    change(&mut header);
    let mut bytes = vec![0; Ipv4Header::LEN];
    header.write(&mut bytes);
    bytes.extend(payload);
    bytes
}

/// Overwrites header bytes and corrects the checksum.
fn patch(bytes: &mut [u8], header_len: usize, place: usize, value: &[u8]) {
    bytes[place..place + value.len()].copy_from_slice(value);
    bytes[10..12].fill(0);
    let sum = Checksum::of(&bytes[..header_len]).finish();
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
}

#[test]
fn a_header_has_the_bytes_of_the_rfc() {
    let bytes = packet(&[0xaa; 4], |header| {
        header.dscp = 46;
        header.ecn = Ecn::Ce;
        header.identification = 0x1234;
        header.dont_fragment = true;
        header.ttl = 63;
    });
    let expected = [
        0x45, 0xbb, 0, 24, 0x12, 0x34, 0x40, 0, 63, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2,
    ];
    assert_eq!(bytes[..10], expected[..10]);
    assert_eq!(bytes[12..20], expected[12..]);
    assert_eq!(
        bytes[10..12],
        Checksum::of(&expected).finish().to_be_bytes()
    );
}

#[test]
fn link_padding_is_not_payload() {
    let mut bytes = packet(b"abc", |_| {});
    bytes.resize(46, 0xee);
    let (header, payload) = Ipv4Header::parse(&bytes, ChecksumPolicy::Verify).unwrap();
    assert_eq!((header.total_len, payload), (23, &b"abc"[..]));
}

#[test]
fn a_packet_may_have_an_empty_payload() {
    let bytes = packet(&[], |_| {});
    let (header, payload) = Ipv4Header::parse(&bytes, ChecksumPolicy::Verify).unwrap();
    assert_eq!((header.payload_len(), payload), (0, &[][..]));
}

#[test]
fn options_are_summed_and_skipped() {
    for option_words in 1..=10 {
        let header_len = 20 + 4 * option_words;
        let mut bytes = packet(&[], |_| {});
        bytes.extend((0..4 * option_words).map(|place| place as u8 | 0x80));
        bytes.extend(b"text");
        let total_len = (header_len + 4) as u16;
        patch(&mut bytes, header_len, 0, &[0x40 | (header_len / 4) as u8]);
        patch(&mut bytes, header_len, 2, &total_len.to_be_bytes());

        let (header, payload) = Ipv4Header::parse(&bytes, ChecksumPolicy::Verify).unwrap();
        assert_eq!(
            (usize::from(header.header_len), payload),
            (header_len, &b"text"[..])
        );
        let mut again = [0; 24];
        header.write(&mut again);
        assert_eq!(
            again[..4],
            [0x45, 0, 0, 24],
            "written without them, and shorter"
        );

        bytes[20] ^= 1;
        let verdict = Ipv4Header::parse(&bytes, ChecksumPolicy::Verify);
        assert_eq!(verdict, Err(WireError::BadChecksum));
    }
}

#[test]
fn a_wrong_header_is_refused_with_a_reason() {
    for (name, place, value, expected) in [
        ("version 6", 0, &[0x65][..], WireError::BadVersion),
        (
            "header below 20 bytes",
            0,
            &[0x44],
            WireError::BadHeaderLength,
        ),
        ("no header at all", 0, &[0x40], WireError::BadHeaderLength),
        ("options past the end", 0, &[0x4f], WireError::Truncated),
        ("total below the header", 2, &[0, 19], WireError::BadLength),
        ("total zero", 2, &[0, 0], WireError::BadLength),
        ("total past the end", 2, &[0, 29], WireError::Truncated),
        (
            "fragment past 65,535",
            6,
            &[0x1f, 0xff],
            WireError::BadLength,
        ),
    ] {
        let mut bytes = packet(&[0; 8], |_| {});
        patch(&mut bytes, 20, place, value);
        assert_eq!(
            Ipv4Header::parse(&bytes, ChecksumPolicy::Verify),
            Err(expected),
            "{name}"
        );
    }
    let verdict = Ipv4Header::parse(&[0x45; 19], ChecksumPolicy::Verify);
    assert_eq!(verdict, Err(WireError::Truncated));
}

#[test]
fn a_flipped_length_is_a_bad_checksum_and_not_a_bad_length() {
    let mut bytes = packet(&[0; 8], |_| {});
    bytes[2] ^= 0x40;
    assert_eq!(
        Ipv4Header::parse(&bytes, ChecksumPolicy::Verify),
        Err(WireError::BadChecksum)
    );
    assert_eq!(
        Ipv4Header::parse(&bytes, ChecksumPolicy::Trust),
        Err(WireError::Truncated)
    );
}

#[test]
fn a_trusted_checksum_is_not_looked_at() {
    let mut bytes = packet(b"text", |_| {});
    bytes[10] ^= 0xff;
    let (_, payload) = Ipv4Header::parse(&bytes, ChecksumPolicy::Trust).unwrap();
    assert_eq!(payload, b"text");
}

#[test]
fn a_fragment_has_its_offset_and_its_flag() {
    for (offset, more, is_fragment) in [
        (0, false, false),
        (0, true, true),
        (1480, true, true),
        (65_512, false, true),
    ] {
        let bytes = packet(&[0; 16], |header| {
            header.fragment_offset = offset;
            header.more_fragments = more;
        });
        let (header, _) = Ipv4Header::parse(&bytes, ChecksumPolicy::Verify).unwrap();
        assert_eq!(
            (header.fragment_offset, header.more_fragments),
            (offset, more)
        );
        assert_eq!(header.is_fragment(), is_fragment, "{offset} {more}");
    }
}

#[test]
fn a_quoted_header_is_read_though_its_packet_was_cut() {
    let mut bytes = packet(&[7; 1000], |_| {});
    bytes[10] ^= 0xff;
    for (quoted, expected) in [(20, 0), (28, 8), (576, 556)] {
        let (header, start) = Ipv4Header::parse_quoted(&bytes[..quoted]).unwrap();
        assert_eq!((header.payload_len(), start.len()), (1000, expected));
    }
    bytes.extend([0xee; 30]);
    let (_, start) = Ipv4Header::parse_quoted(&bytes).unwrap();
    assert_eq!(
        start, [7; 1000],
        "extensions after the packet are not part of it"
    );
    assert_eq!(
        Ipv4Header::parse_quoted(&bytes[..19]),
        Err(WireError::Truncated)
    );
}

#[test]
fn the_largest_packet_can_be_written() {
    let bytes = packet(&vec![1; Ipv4Header::MAX_PAYLOAD_LEN], |_| {});
    let (header, payload) = Ipv4Header::parse(&bytes, ChecksumPolicy::Verify).unwrap();
    assert_eq!((header.total_len, payload.len()), (65_535, 65_515));
}

#[test]
#[should_panic(expected = "do not fit")]
fn a_payload_above_the_largest_panics() {
    Ipv4Header::new(SRC, DST, Protocol::Tcp, Ipv4Header::MAX_PAYLOAD_LEN + 1);
}

#[test]
#[should_panic(expected = "multiple of 8")]
fn an_offset_that_is_no_multiple_of_eight_panics() {
    packet(&[], |header| header.fragment_offset = 4);
}

#[test]
fn every_protocol_converts_to_its_number_and_back() {
    for value in 0..=u8::MAX {
        assert_eq!(u8::from(Protocol::from(value)), value);
    }
}

#[test]
fn options_are_read_for_source_routes_and_refused_if_their_lengths_are_wrong() {
    for (name, options, expected) in [
        ("none", &[][..], Ok(false)),
        ("padding", &[1, 1, 0, 9], Ok(false)),
        ("record route", &[7, 7, 4, 0, 0, 0, 0, 0], Ok(false)),
        ("loose", &[1, 131, 7, 4, 10, 0, 0, 1], Ok(true)),
        ("strict, completed", &[137, 3, 4, 0], Ok(true)),
        ("length of 1", &[7, 1, 0, 0], Err(WireError::BadOption)),
        ("length of 0", &[148, 0, 0, 0], Err(WireError::BadOption)),
        (
            "beyond the header",
            &[7, 9, 4, 0, 0, 0, 0, 0],
            Err(WireError::BadOption),
        ),
        ("no length", &[1, 1, 1, 7], Err(WireError::BadOption)),
        (
            "a route without a pointer",
            &[131, 2, 0, 0],
            Err(WireError::BadOption),
        ),
    ] {
        assert_eq!(Ipv4Header::has_source_route(options), expected, "{name}");
    }
}
