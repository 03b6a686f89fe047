//! Tests of `link`.

use core::net::IpAddr;

use fullpipe_wire::{EtherType, EthernetHeader, MacAddress};

use super::*;
use crate::{
    counters::{Counters, Discard},
    device::Medium,
};

const US: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const PEER: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

fn link(medium: Medium) -> LinkLayer {
    LinkLayer { medium, mac: US }
}

fn frame(dst: MacAddress, ether_type: EtherType) -> [u8; 16] {
    let mut frame = [9; 16];
    EthernetHeader {
        dst,
        src: PEER,
        ether_type,
    }
    .write(&mut frame);
    frame
}

#[test]
fn frames_for_this_host_are_parsed_and_others_discarded_by_reason() {
    let group = MacAddress([1, 0, 0x5e, 0, 0, 1]);
    let packet = [9; 2];
    let ip = |version, broadcast| Inbound::Ip {
        version,
        packet: &packet,
        broadcast,
        station: PEER,
    };
    for (name, frame, expected) in [
        (
            "ip",
            frame(US, EtherType::Ipv4),
            Ok(ip(IpVersion::V4, false)),
        ),
        (
            "ip to all",
            frame(MacAddress::BROADCAST, EtherType::Ipv4),
            Ok(ip(IpVersion::V4, true)),
        ),
        (
            "arp",
            frame(MacAddress::BROADCAST, EtherType::Arp),
            Ok(Inbound::Arp(&packet)),
        ),
        (
            "another's",
            frame(PEER, EtherType::Ipv4),
            Err(Discard::FrameNotForUs),
        ),
        (
            "a group's",
            frame(group, EtherType::Ipv4),
            Err(Discard::FrameNotForUs),
        ),
        (
            "ipv6",
            frame(US, EtherType::Ipv6),
            match cfg!(feature = "ipv6") {
                true => Ok(ip(IpVersion::V6, false)),
                false => Err(Discard::FrameUnknownType),
            },
        ),
        (
            "vlan",
            frame(US, EtherType::Other(0x8100)),
            Err(Discard::FrameUnknownType),
        ),
    ] {
        let mut counters = Counters::default();
        let inbound = link(Medium::Ethernet).on_frame(&frame, &mut counters);
        assert_eq!(inbound, expected.ok(), "{name}");
        if let Err(reason) = expected {
            assert_eq!(counters.discarded(reason), 1, "{name}");
        }
    }
    let mut counters = Counters::default();
    assert_eq!(
        link(Medium::Ethernet).on_frame(&[0; 13], &mut counters),
        None
    );
    assert_eq!(counters.discarded(Discard::FrameTruncated), 1);
}

#[test]
fn a_device_without_link_headers_has_none() {
    let link = link(Medium::Ip);
    let inbound = link.on_frame(&[1, 2, 3], &mut Counters::default());
    assert_eq!(
        inbound,
        Some(Inbound::Ip {
            version: IpVersion::V4,
            packet: &[1, 2, 3],
            broadcast: false,
            station: MacAddress::UNSPECIFIED
        })
    );
    let mut frame = [7; 4];
    link.write_header(&mut frame, PEER, IpAddr::from([10, 0, 0, 1]));
    assert_eq!((frame, link.header_len()), ([7; 4], 0));
}

#[test]
fn multicast_groups_map_to_the_station_addresses_of_the_rfcs() {
    for (group, station) in [
        ("224.0.0.251", "01:00:5e:00:00:fb"),
        ("239.129.2.3", "01:00:5e:01:02:03"),
        ("ff02::1:ff28:9c5a", "33:33:ff:28:9c:5a"),
    ] {
        assert_eq!(
            multicast_station(group.parse().unwrap()),
            station.parse().unwrap(),
            "{group}"
        );
    }
}
