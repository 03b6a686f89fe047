//! Tests with requests, replies, and packets that are neither.

use super::*;

const REQUEST: ArpPacket = ArpPacket {
    operation: ArpOperation::Request,
    sender_mac: MacAddress([2, 0, 0, 0, 0, 1]),
    sender_ip: Ipv4Addr::new(10, 0, 0, 1),
    target_mac: MacAddress::UNSPECIFIED,
    target_ip: Ipv4Addr::new(10, 0, 0, 2),
};

#[test]
fn a_request_has_the_bytes_of_the_rfc() {
    let mut bytes = [0; ArpPacket::LEN];
    REQUEST.write(&mut bytes);
    let expected = [
        0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2,
    ];
    assert_eq!(bytes, expected);
    assert_eq!(ArpPacket::parse(&bytes), Ok(REQUEST));
}

#[test]
fn padding_after_the_packet_is_ignored() {
    let mut bytes = [0xee; 46];
    let reply = ArpPacket {
        operation: ArpOperation::Reply,
        ..REQUEST
    };
    reply.write(&mut bytes);
    assert_eq!(ArpPacket::parse(&bytes), Ok(reply));
}

#[test]
fn packets_other_than_ipv4_over_ethernet_are_refused_with_a_reason() {
    for (name, place, value, expected) in [
        ("another hardware", 1, 6, WireError::BadAddressFormat),
        ("another protocol", 2, 0x86, WireError::BadAddressFormat),
        ("longer link addresses", 4, 8, WireError::BadAddressFormat),
        (
            "longer protocol addresses",
            5,
            16,
            WireError::BadAddressFormat,
        ),
        ("a reverse request", 7, 3, WireError::BadOperation),
        ("operation zero", 7, 0, WireError::BadOperation),
    ] {
        let mut bytes = [0; ArpPacket::LEN];
        REQUEST.write(&mut bytes);
        bytes[place] = value;
        assert_eq!(ArpPacket::parse(&bytes), Err(expected), "{name}");
    }
    assert_eq!(ArpPacket::parse(&[0; 27]), Err(WireError::Truncated));
}
