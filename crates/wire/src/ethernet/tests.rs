//! Tests of frames, and of the text form of addresses.

extern crate std;

use std::string::ToString;

use super::*;

#[test]
fn a_frame_is_read_with_its_padding() {
    let mut frame = [0xee; 60];
    let header = EthernetHeader {
        dst: MacAddress::BROADCAST,
        src: MacAddress([2, 0, 0, 0, 0, 7]),
        ether_type: EtherType::Arp,
    };
    header.write(&mut frame);
    assert_eq!(
        frame[..14],
        [255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 7, 8, 6]
    );
    assert_eq!(EthernetHeader::parse(&frame), Ok((header, &[0xee; 46][..])));
}

#[test]
fn a_frame_of_only_a_header_has_an_empty_payload() {
    let (_, payload) = EthernetHeader::parse(&[0; 14]).unwrap();
    assert!(payload.is_empty());
    assert_eq!(EthernetHeader::parse(&[0; 13]), Err(WireError::Truncated));
}

#[test]
fn every_type_converts_to_its_number_and_back() {
    for value in 0..=u16::MAX {
        assert_eq!(u16::from(EtherType::from(value)), value);
    }
    assert_eq!(EtherType::from(0x86dd), EtherType::Ipv6);
}

#[test]
fn broadcast_multicast_and_unicast_addresses_are_distinguished() {
    for (address, broadcast, multicast, unicast) in [
        (MacAddress::BROADCAST, true, true, false),
        (MacAddress::UNSPECIFIED, false, false, false),
        (MacAddress([0x01, 0, 0x5e, 0, 0, 1]), false, true, false),
        (MacAddress([0x02, 0, 0, 0, 0, 1]), false, false, true),
    ] {
        assert_eq!(
            (
                address.is_broadcast(),
                address.is_multicast(),
                address.is_unicast()
            ),
            (broadcast, multicast, unicast),
            "{address}"
        );
    }
}

#[test]
fn an_address_is_printed_as_it_is_read() {
    let address = MacAddress([0x02, 0xab, 0, 0x1f, 0, 1]);
    assert_eq!(address.to_string(), "02:ab:00:1f:00:01");
    assert_eq!("02:AB:00:1f:00:01".parse(), Ok(address));
    for wrong in [
        "",
        "02:ab:00:1f:00",
        "02:ab:00:1f:00:01:02",
        "2:ab:00:1f:00:01",
        "02:ab:00:1f:00:+1",
        "02-ab-00-1f-00-01",
        "02:ab:00:1f:00:0g",
    ] {
        assert_eq!(
            wrong.parse::<MacAddress>(),
            Err(ParseMacAddressError),
            "{wrong}"
        );
    }
}
