//! Tests of lengths, padding, extension headers in legal and illegal order, options, and fragments.

extern crate std;

use std::vec;
use std::vec::Vec;

use super::*;

const SRC: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const DST: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);

const TCP: u8 = 6;

/// A packet whose first header after IPv6 is `next`, with `payload`.
fn packet(next: u8, payload: &[u8]) -> Vec<u8> {
    let header = Ipv6Header {
        next_header: next,
        ..Ipv6Header::new(SRC, DST, Protocol::Tcp, payload.len())
    };
    let mut bytes = vec![0; Ipv6Header::LEN];
    header.write(&mut bytes);
    bytes.extend(payload);
    bytes
}

/// An extension header of options, padded to a multiple of 8 bytes.
fn options(next: u8, options: &[u8]) -> Vec<u8> {
    let len = (options.len() + 2).next_multiple_of(8);
    let mut bytes = vec![next, (len / 8 - 1) as u8];
    bytes.extend(options);
    bytes.resize(len, 0);
    bytes
}

fn fragment(next: u8, offset: u16, more: bool) -> Vec<u8> {
    let mut bytes = vec![0; FragmentHeader::LEN];
    FragmentHeader {
        next_header: next,
        offset,
        more,
        identification: 7,
    }
    .write(&mut bytes);
    bytes
}

#[test]
fn a_header_has_the_bytes_of_the_rfc() {
    let header = Ipv6Header {
        dscp: 46,
        ecn: Ecn::Ce,
        flow_label: 0x0abcde,
        hop_limit: 63,
        ..Ipv6Header::new(SRC, DST, Protocol::Icmpv6, 4)
    };
    let mut bytes = [0; 44];
    header.write(&mut bytes);
    assert_eq!(bytes[..8], [0x6b, 0xba, 0xbc, 0xde, 0, 4, 58, 63]);
    assert_eq!(bytes[8..24], SRC.octets());
    assert_eq!(bytes[24..40], DST.octets());
    assert_eq!(Ipv6Header::parse(&bytes), Ok((header, &[0; 4][..])));
}

#[test]
fn link_padding_is_not_payload() {
    let mut bytes = packet(TCP, b"abc");
    bytes.resize(60, 0xee);
    let (header, payload) = Ipv6Header::parse(&bytes).unwrap();
    assert_eq!((header.payload_len, payload), (3, &b"abc"[..]));
}

#[test]
fn a_wrong_header_is_refused_with_a_reason() {
    let whole = packet(TCP, b"abcd");
    for len in 0..40 {
        assert_eq!(
            Ipv6Header::parse(&whole[..len]),
            Err(WireError::Truncated),
            "{len}"
        );
    }
    assert_eq!(Ipv6Header::parse(&whole[..43]), Err(WireError::Truncated));
    let mut version = whole.clone();
    version[0] = 0x45;
    assert_eq!(Ipv6Header::parse(&version), Err(WireError::BadVersion));
    let (_, quoted) = Ipv6Header::parse_quoted(&whole[..42]).unwrap();
    assert_eq!(quoted, b"ab");
}

#[test]
fn the_walk_reaches_the_protocol_in_any_order() {
    let routing = vec![60, 0, 200, 0, 0, 0, 0, 0];
    for (name, first, headers) in [
        ("none", TCP, vec![]),
        ("hop-by-hop", 0, options(TCP, &[])),
        (
            "destination options",
            60,
            options(TCP, &[1, 1, 0, 5, 2, 0, 0]),
        ),
        (
            "no segments left",
            43,
            [routing, options(TCP, &[])].concat(),
        ),
        (
            "options twice",
            60,
            [options(60, &[]), options(TCP, &[])].concat(),
        ),
        ("an atomic fragment", 44, fragment(TCP, 0, false)),
    ] {
        let bytes = packet(first, &[&headers[..], b"segment"].concat());
        let chain = HeaderChain::of(&bytes).expect(name);
        assert_eq!(chain.protocol, Protocol::Tcp, "{name}");
        assert_eq!(&bytes[chain.payload_at..], b"segment", "{name}");
        assert_eq!(bytes[chain.named_at], TCP, "{name}");
        assert_eq!(chain.fragment, None, "{name}");
    }
}

fn problem(code: ParameterProblemCode, pointer: u32, even_to_group: bool) -> ChainError {
    ChainError::Problem {
        code,
        pointer,
        even_to_group,
    }
}

#[test]
fn a_chain_is_refused_with_a_reason() {
    use ParameterProblemCode::*;
    let late = [options(0, &[]), options(TCP, &[])].concat();
    let many: Vec<u8> = [options(60, &[]).repeat(8), options(TCP, &[])].concat();
    for (name, first, headers, expected) in [
        ("cut", 0, vec![TCP], ChainError::Truncated),
        (
            "past the end",
            60,
            vec![TCP, 1, 0, 0, 0, 0, 0, 0],
            ChainError::Truncated,
        ),
        (
            "cut fragment",
            44,
            vec![TCP, 0, 0, 0],
            ChainError::Truncated,
        ),
        (
            "a late hop-by-hop",
            60,
            late,
            problem(NextHeader, 40, false),
        ),
        ("nine headers", 60, many, ChainError::TooLong),
        (
            "segments left",
            43,
            vec![TCP, 0, 0, 1, 0, 0, 0, 0],
            problem(HeaderField, 42, false),
        ),
    ] {
        assert_eq!(
            HeaderChain::of(&packet(first, &headers)),
            Err(expected),
            "{name}"
        );
    }
}

#[test]
fn an_option_is_refused_with_a_reason() {
    use ParameterProblemCode::*;
    for (name, first, headers, expected) in [
        (
            "17 options",
            60,
            options(TCP, &[1, 0].repeat(17)),
            ChainError::TooLong,
        ),
        (
            "option past the end",
            60,
            options(TCP, &[1, 9]),
            problem(HeaderField, 43, false),
        ),
        (
            "silent option",
            60,
            options(TCP, &[0x41, 0]),
            ChainError::Discard,
        ),
        (
            "reported option",
            60,
            options(TCP, &[1, 0, 0x81, 0]),
            problem(Option, 44, true),
        ),
        (
            "not to a group",
            0,
            options(TCP, &[0xc2, 4, 0, 1, 0, 0]),
            problem(Option, 42, false),
        ),
    ] {
        assert_eq!(
            HeaderChain::of(&packet(first, &headers)),
            Err(expected),
            "{name}"
        );
    }
}

#[test]
fn a_first_fragment_must_have_all_headers() {
    let piece = [fragment(60, 0, true), options(TCP, &[]), vec![0; 16]].concat();
    let bytes = packet(44, &piece);
    let chain = HeaderChain::of(&bytes).unwrap();
    let header = chain.fragment.unwrap();
    assert_eq!(
        (header.next_header, header.offset, header.more),
        (60, 0, true)
    );
    let rest = chain.in_first_fragment(&bytes).unwrap();
    assert_eq!((rest.protocol, rest.payload_at), (Protocol::Tcp, 56));

    let short = packet(
        44,
        &[&fragment(60, 0, true)[..], &[TCP, 1, 0, 0, 0, 0, 0, 0]].concat(),
    );
    let chain = HeaderChain::of(&short).unwrap();
    assert_eq!(chain.in_first_fragment(&short), Err(ChainError::Truncated));

    let nested = packet(
        44,
        &[fragment(44, 0, true), fragment(TCP, 8, true)].concat(),
    );
    let chain = HeaderChain::of(&nested).unwrap();
    assert_eq!(chain.in_first_fragment(&nested), Err(ChainError::TooLong));
}

#[test]
fn a_quotation_leads_to_the_ports_of_a_first_fragment_only() {
    let first = packet(44, &[&fragment(TCP, 0, true)[..], b"ports..."].concat());
    assert_eq!(HeaderChain::of_quoted(&first), Ok((Protocol::Tcp, 48)));
    let later = packet(44, &[&fragment(TCP, 8, true)[..], b"payload."].concat());
    assert_eq!(HeaderChain::of_quoted(&later), Err(WireError::Truncated));
}

#[test]
fn a_group_of_solicited_nodes_has_the_last_24_bits() {
    let address = Ipv6Addr::new(0xfe80, 0, 0, 0, 0x2aa, 0xff, 0xfe28, 0x9c5a);
    let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff28, 0x9c5a);
    assert_eq!(solicited_node(address), group);
}

#[test]
fn problems_of_errors_and_of_later_fragments_are_not_reported() {
    const ICMP: u8 = 58;
    let unknown = [0x80, 0, 1, 2, 0, 0];
    for (name, next, payload, expected) in [
        ("an option before TCP", 60, options(TCP, &unknown), true),
        (
            "an echo request",
            60,
            [options(ICMP, &unknown), vec![128; 8]].concat(),
            true,
        ),
        (
            "an error",
            60,
            [options(ICMP, &unknown), vec![1; 8]].concat(),
            false,
        ),
        (
            "a redirect",
            60,
            [options(ICMP, &unknown), vec![137; 8]].concat(),
            false,
        ),
        ("no message", 60, options(ICMP, &unknown), false),
        (
            "a first fragment",
            44,
            [&fragment(200, 0, true)[..], &[0; 8]].concat(),
            true,
        ),
        (
            "a later fragment",
            44,
            [&fragment(200, 8, true)[..], &[0; 8]].concat(),
            false,
        ),
        ("cut short", 60, vec![TCP, 1, 0, 0, 0, 0, 0, 0], false),
    ] {
        let bytes = packet(next, &payload);
        assert_eq!(HeaderChain::may_be_reported(&bytes), expected, "{name}");
    }
    assert!(!HeaderChain::may_be_reported(&[]));
}
