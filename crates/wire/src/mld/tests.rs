//! Tests that read queries and write reports.

use super::*;
use crate::checksum::ChecksumPolicy;

const GROUP: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 2);

#[test]
fn queries_of_both_versions_are_read() {
    let v1 = GROUP.octets();
    let mut v2 = GROUP.octets().to_vec();
    v2.extend([2, 125, 0, 0]);
    for (name, code, body, expected) in [
        ("version 1", [0xff, 0xff], &v1[..], 65_535),
        ("version 2", [0x27, 0x10], &v2, 10_000),
        ("an exponent", [0x80, 0x00], &v2, 0x1000 << 3),
        ("the longest", [0xff, 0xff], &v2, 0x1fff << 10),
    ] {
        let query = Query::parse(0, [code[0], code[1], 0, 0], body, 1).unwrap();
        assert_eq!(query.max_response_ms, expected, "{name}");
        assert_eq!(query.group, GROUP);
    }
}

#[test]
fn invalid_queries_are_refused() {
    let body = GROUP.octets();
    let parse = |code, body, hop_limit| Query::parse(code, [0; 4], body, hop_limit);
    assert_eq!(parse(0, &body, 2), Err(WireError::BadOperation));
    assert_eq!(parse(1, &body, 1), Err(WireError::BadOperation));
    assert_eq!(parse(0, &body[..15], 1), Err(WireError::Truncated));
    let host = Ipv6Addr::LOCALHOST.octets();
    assert_eq!(parse(0, &host, 1), Err(WireError::BadAddressFormat));
}

#[test]
fn a_report_has_a_record_for_each_group() {
    let records = [
        (RecordKind::ChangeToExclude, GROUP),
        (RecordKind::ChangeToInclude, ALL_ROUTERS),
    ];
    let mut bytes = [0xee; 64];
    let len = write_report(&mut bytes, Ipv6Addr::UNSPECIFIED, records.into_iter());
    assert_eq!((len, report_len(2)), (48, 48));
    let ends = (Ipv6Addr::UNSPECIFIED, ALL_ROUTERS);
    let parsed = Icmpv6Message::parse(&bytes[..len], ends, ChecksumPolicy::Verify);
    let (message, body) = parsed.unwrap();
    let expected = Icmpv6Message::Other {
        kind: 143,
        code: 0,
        rest: [0, 0, 0, 2],
    };
    assert_eq!(message, expected);
    assert_eq!(body[..4], [4, 0, 0, 0]);
    assert_eq!(body[4..20], GROUP.octets());
    assert_eq!(body[20..24], [3, 0, 0, 0]);
}
