//! Tests of `ip`.

use alloc::{vec, vec::Vec};
use core::net::Ipv4Addr;

use fullpipe_pool::{Instant, Pool, PoolConfig, Rng};
use fullpipe_wire::{Ecn, Ipv4Header, Protocol};

use super::*;
use crate::{
    config::IpConfig,
    counters::{Counters, Discard},
    device::{Capabilities, Medium},
    interface_id::InterfaceId,
    link::Station,
};

const US: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

fn addresses() -> Addresses {
    let subnet = Subnet {
        address: US.into(),
        prefix_len: 24,
    };
    Addresses::new(subnet, 1, false)
}

fn packet(src: Ipv4Addr, dst: Ipv4Addr, protocol: Protocol) -> Vec<u8> {
    let mut bytes = vec![7; 40];
    Ipv4Header::new(src, dst, protocol, 20).write(&mut bytes);
    bytes
}

fn receive(bytes: &[u8], link_broadcast: bool) -> (Option<bool>, Counters) {
    let mut pool = Pool::new(&PoolConfig::default());
    let mut counters = Counters::default();
    let mut receiver = IpReceiver::new(&IpConfig::default(), &crate::secret::Secret([5; 16]));
    let received = receiver.on_packet(
        &Routes::new(addresses(), 0),
        bytes,
        (Station::UNSPECIFIED, link_broadcast),
        &mut pool,
        Instant::ZERO,
        &mut counters,
    );
    (received.map(|packet| packet.broadcast), counters)
}

#[test]
fn packets_for_this_host_are_delivered_and_counted() {
    let mut bytes = packet(PEER, US, Protocol::Udp);
    bytes.extend([0; 6]); // link padding
    let (received, counters) = receive(&bytes, false);
    assert_eq!(received, Some(false));
    assert_eq!(
        (counters.mib.ip_in_receives, counters.mib.ip_in_delivers),
        (1, 1)
    );
    assert_eq!(counters.mib.ip_ext_in_octets, 40);
    let broadcast = packet(PEER, Ipv4Addr::new(10, 0, 0, 255), Protocol::Udp);
    assert_eq!(receive(&broadcast, true).0, Some(true));
}

#[test]
fn invalid_packets_and_packets_for_others_are_discarded_by_reason() {
    let sound = || packet(PEER, US, Protocol::Udp);
    let flipped = |place: usize, bits: u8| {
        let mut bytes = sound();
        bytes[place] ^= bits;
        bytes
    };
    let from = |src: [u8; 4]| packet(src.into(), US, Protocol::Udp);
    let to = |dst: [u8; 4]| packet(PEER, dst.into(), Protocol::Udp);
    for (name, bytes, link_broadcast, reason) in [
        ("empty", vec![], false, Discard::IpTruncated),
        ("cut", sound()[..39].to_vec(), false, Discard::IpTruncated),
        ("version 6", flipped(0, 0x20), false, Discard::IpBadVersion),
        (
            "header of 16 bytes",
            flipped(0, 0x01),
            false,
            Discard::IpBadHeaderLength,
        ),
        (
            "a flipped bit",
            flipped(8, 1),
            false,
            Discard::IpBadChecksum,
        ),
        (
            "from everybody",
            from([255; 4]),
            false,
            Discard::IpBadSource,
        ),
        (
            "from our broadcast",
            from([10, 0, 0, 255]),
            false,
            Discard::IpBadSource,
        ),
        (
            "from a group",
            from([224, 0, 0, 1]),
            false,
            Discard::IpBadSource,
        ),
        (
            "from ourselves",
            from([10, 0, 0, 2]),
            false,
            Discard::IpBadSource,
        ),
        ("from nobody", from([0; 4]), false, Discard::IpBadSource),
        (
            "from loopback",
            from([127, 0, 0, 1]),
            false,
            Discard::IpBadSource,
        ),
        ("to another", to([10, 0, 0, 3]), false, Discard::IpNotForUs),
        ("to a group", to([224, 0, 0, 1]), false, Discard::IpNotForUs),
        (
            "to us, shouted",
            sound(),
            true,
            Discard::IpUnicastInBroadcast,
        ),
    ] {
        let (received, counters) = receive(&bytes, link_broadcast);
        assert_eq!(received, None, "{name}");
        assert_eq!(counters.discarded(reason), 1, "{name}");
        assert_eq!(counters.mib.ip_in_delivers, 0, "{name}");
    }
}

#[test]
fn a_packet_of_an_unknown_protocol_is_counted_and_returned_for_an_error() {
    let mut bytes = packet(PEER, US, Protocol::Other(99));
    let (received, counters) = receive(&bytes, false);
    assert_eq!(received, Some(false));
    assert_eq!(counters.discarded(Discard::IpUnknownProtocol), 1);
    assert_eq!(counters.mib.ip_in_delivers, 0);
    // Only the first fragment causes an error. RFC 1122 §3.2.2.
    Ipv4Header {
        fragment_offset: 8,
        ..Ipv4Header::new(PEER, US, Protocol::Other(99), 20)
    }
    .write(&mut bytes);
    assert_eq!(receive(&bytes, false).0, None);
}

#[test]
fn arbitrary_bytes_never_panic_and_never_leak() {
    let mut rng = Rng::seeded(3);
    let mut pool = Pool::new(&PoolConfig {
        blocks: 32,
        block_size: 256,
        ..Default::default()
    });
    let mut counters = Counters::default();
    let mut receiver = IpReceiver::new(&IpConfig::default(), &crate::secret::Secret([5; 16]));
    for step in 0..20_000 {
        let mut bytes = packet(PEER, US, Protocol::Udp);
        if step % 2 == 0 {
            // Valid headers with random fields get past the first checks.
            Ipv4Header {
                more_fragments: rng.chance(0.5),
                fragment_offset: (rng.below(300) * 8) as u16,
                identification: rng.below(4) as u16,
                ..Ipv4Header::new(PEER, US, Protocol::Udp, rng.below(21) as usize)
            }
            .write(&mut bytes);
        } else {
            let place = rng.below(20) as usize;
            bytes[place] = rng.next_u64() as u8;
            bytes.truncate(rng.below(41) as usize);
        }
        let now = Instant::from_millis(step);
        receiver.on_packet(
            &Routes::new(addresses(), 0),
            &bytes,
            (Station::UNSPECIFIED, false),
            &mut pool,
            now,
            &mut counters,
        );
        receiver.on_timeout(&mut pool, now, &mut counters);
    }
    assert_eq!(counters.mib.ip_in_receives, 20_000);
    receiver.release(&mut pool);
    assert_eq!(pool.free_blocks(), 32);
    pool.verify();
}

#[test]
fn a_header_is_written_in_front_of_its_payload() {
    let device = Capabilities::plain(Medium::Ethernet, 1500);
    let mut sender = IpSender::new(&device, &IpConfig::default(), Rng::seeded(1), true);
    let mut counters = Counters::default();
    let mut packet = [7; 40];
    let outgoing = Outgoing {
        src: US.into(),
        dst: PEER.into(),
        protocol: Protocol::Tcp,
        ports: (7, 9),
        payload_len: 20,
        ecn: Ecn::Ect0,
        dont_fragment: true,
    };
    assert_eq!(sender.max_payload(PEER.into()), 1480);
    assert_eq!(
        sender.write_header(&mut packet, &outgoing, &mut counters),
        40
    );
    let (header, payload) =
        Ipv4Header::parse(&packet, fullpipe_wire::ChecksumPolicy::Verify).unwrap();
    assert_eq!((header.src, header.dst, header.ttl), (US, PEER, 64));
    assert!(header.dont_fragment && !header.is_fragment());
    assert_eq!(header.ecn, Ecn::Ect0);
    assert_eq!(payload, [7; 20]);
    assert_eq!(
        (counters.mib.ip_out_requests, counters.mib.ip_ext_out_octets),
        (1, 40)
    );
}

#[test]
fn a_removed_default_route_leads_nowhere() {
    let mut routes = Routes::new(addresses(), 1);
    let everywhere = Subnet {
        address: Ipv4Addr::UNSPECIFIED.into(),
        prefix_len: 0,
    };
    let far = Ipv4Addr::new(192, 0, 2, 1).into();
    let default = RouteEntry::on_link(everywhere);
    assert!(!routes.remove(&default));
    routes.set_default(PEER.into()).expect("there is room");
    let hop = Route::Neighbour(PEER.into());
    assert_eq!(routes.lookup(far), Some((InterfaceId::FIRST, hop)));
    assert!(routes.remove(&default));
    assert_eq!(routes.lookup(far), None);
}

/// Otherwise reports of the link's own MTU would remove those that matter.
#[cfg(all(feature = "ipv6", feature = "path-mtu"))]
#[test]
fn a_path_mtu_as_large_as_that_of_the_link_is_not_noted() {
    use core::net::Ipv6Addr;
    let device = Capabilities::plain(Medium::Ip, 1_500);
    let mut sender = IpSender::new(&device, &IpConfig::default(), Rng::seeded(2), false);
    let dst = |number| Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, number);
    let datagram = v6::path_mtu::Evidence::Datagram;
    sender.learn_path_mtu(dst(0), 1_400, datagram, Instant::ZERO);
    for number in 1..100 {
        sender.learn_path_mtu(dst(number), 1_500, datagram, Instant::ZERO);
    }
    assert_eq!(sender.max_datagram(dst(0).into()), 1_360);
}
