//! Tests of `echo`.

use alloc::{vec, vec::Vec};

use fullpipe_pool::{PoolConfig, Rng};
use fullpipe_wire::{Checksum, ChecksumPolicy, Icmpv4Message, Ipv4Header, Protocol};

use super::*;
use crate::{
    config::IpConfig,
    device::{Capabilities, Medium},
    icmp,
    ip::{Addresses, IpHeader, Subnet},
};

fn addresses() -> Addresses {
    let subnet = Subnet {
        address: [10, 0, 0, 2].into(),
        prefix_len: 24,
    };
    Addresses::new(subnet, 1, false)
}

fn request(payload: &[u8]) -> Vec<u8> {
    let mut message = vec![0; 8 + payload.len()];
    message[8..].copy_from_slice(payload);
    Icmpv4Message::EchoRequest { ident: 1, seq: 2 }.write(&mut message, Checksum::of(payload));
    message
}

fn packet(payload: &[u8], broadcast: bool) -> Packet<'_> {
    let (src, dst) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let header = Ipv4Header::new(src, dst, Protocol::Icmp, payload.len());
    Packet {
        header: IpHeader::V4(header),
        broadcast,
        station: crate::link::Station::UNSPECIFIED,
        payload,
    }
}

fn feed(echo: &mut Echo, payload: &[u8], broadcast: bool, pool: &mut Pool) -> Counters {
    let mut counters = Counters::default();
    let packet = packet(payload, broadcast);
    let event = icmp::on_packet(&packet, &addresses(), 552, echo, pool, &mut counters);
    assert_eq!(event, None);
    counters
}

#[test]
fn an_echo_reply_has_the_bytes_of_its_request() {
    let mut pool = Pool::new(&PoolConfig::default());
    let mut echo = Echo::new(&IcmpConfig::default());
    let counters = feed(&mut echo, &request(b"are you there?"), false, &mut pool);
    assert_eq!(counters.mib.icmp_in_echos, 1);
    assert!(echo.wants_output());

    let device = Capabilities::plain(Medium::Ip, 1500);
    let mut sender = IpSender::new(&device, &IpConfig::default(), Rng::seeded(1), true);
    let mut counters = Counters::default();
    let mut out = [0; 1500];
    let built = echo
        .poll_packet(&mut sender, &mut pool, &mut out, &mut counters)
        .unwrap();
    let (header, payload) = Ipv4Header::parse(&out[..built.len], ChecksumPolicy::Verify).unwrap();
    assert_eq!(
        (header.src.octets(), header.dst.octets()),
        ([10, 0, 0, 2], [10, 0, 0, 1])
    );
    let (message, payload) = Icmpv4Message::parse(payload, ChecksumPolicy::Verify).unwrap();
    assert_eq!(message, Icmpv4Message::EchoReply { ident: 1, seq: 2 });
    assert_eq!(payload, b"are you there?");
    assert_eq!(
        (counters.mib.icmp_out_msgs, counters.mib.icmp_out_echo_reps),
        (1, 1)
    );
    assert!(!echo.wants_output());
    assert_eq!(pool.free_blocks(), pool.block_count());
}

#[test]
fn a_flood_of_requests_costs_no_more_than_its_queue() {
    let mut pool = Pool::new(&PoolConfig {
        blocks: 36,
        block_size: 196,
        ..Default::default()
    });
    let config = IcmpConfig {
        echo_replies: 4,
        echo_bytes: 2_000,
        ..IcmpConfig::default()
    };
    let mut echo = Echo::new(&config);
    let mut refused = 0;
    for _ in 0..100 {
        let counters = feed(&mut echo, &request(&[0; 600]), false, &mut pool);
        refused += counters.discarded(Discard::IcmpEchoQueueFull);
    }
    assert_eq!(refused, 97);
    assert!(pool.held(Holder::Echo) * 196 <= 2_000 + 196);
    echo.release(&mut pool);
    assert_eq!(pool.free_blocks(), 36);
}

#[test]
fn broadcast_and_damaged_requests_are_not_answered() {
    let mut damaged = request(b"data");
    damaged[9] ^= 1;
    let mut reply = vec![0; 8];
    Icmpv4Message::EchoReply { ident: 1, seq: 2 }.write(&mut reply, Checksum::new());
    for (name, payload, broadcast, reason) in [
        (
            "to everybody",
            request(b""),
            true,
            Discard::IcmpEchoBroadcast,
        ),
        ("damaged", damaged, false, Discard::IcmpBadChecksum),
        ("cut", vec![8, 0, 0], false, Discard::IcmpTruncated),
        ("a reply", reply, false, Discard::IcmpUnwanted),
    ] {
        let mut pool = Pool::new(&PoolConfig::default());
        let mut echo = Echo::new(&IcmpConfig::default());
        let counters = feed(&mut echo, &payload, broadcast, &mut pool);
        assert_eq!(counters.discarded(reason), 1, "{name}");
        assert!(!echo.wants_output(), "{name}");
    }
}
