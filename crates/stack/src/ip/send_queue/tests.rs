//! Tests of `send_queue`.

use alloc::{vec, vec::Vec};

use fullpipe_pool::{Instant, PoolConfig, Rng};
use fullpipe_wire::ChecksumPolicy;

use super::*;

use crate::{
    config::IpConfig,
    device::{Capabilities, Medium},
    ip::{Addresses, IpReceiver, Routes, Subnet},
};

/// The datagrams answer no frame.
const TO: Option<MacAddress> = None;

const NOBODY: (crate::link::Station, bool) = (crate::link::Station::UNSPECIFIED, false);
const HERE: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1));
const THERE: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 2));
const UDP: DatagramHeader = DatagramHeader::Udp {
    src_port: 5001,
    dst_port: 7,
};

fn sender(device: &Capabilities) -> IpSender {
    IpSender::new(device, &IpConfig::default(), Rng::seeded(1), true)
}

fn plain() -> Capabilities {
    Capabilities::plain(Medium::Ethernet, 1500)
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|k| (k * 7 % 251) as u8).collect()
}

/// Polls the queue until it is empty, and returns the packets.
fn drain(queue: &mut SendQueue, pool: &mut Pool, counters: &mut Counters) -> Vec<Vec<u8>> {
    let mut sender = sender(&plain());
    let mut packets = Vec::new();
    let mut packet = vec![0xee; 1500];
    while let Some(built) = queue.poll_packet(&mut sender, pool, &mut packet, counters) {
        assert_eq!((built.dst, built.checksum), (THERE, TxChecksum::Complete));
        packets.push(packet[..built.len].to_vec());
    }
    packets
}

#[test]
fn every_length_arrives_as_it_was_written() {
    for len in [0, 1, 7, 1_471, 1_472, 1_473, 5_888, 65_507] {
        for heading in [UDP, DatagramHeader::EchoReply { ident: 3, seq: 4 }] {
            let mut pool = Pool::new(&PoolConfig {
                blocks: 700,
                block_size: 196,
                send_floor: 0,
                receive_floor: 0,
                ..Default::default()
            });
            let mut counters = Counters::default();
            let mut queue = SendQueue::new(Holder::Datagram, 4, 1 << 20);
            assert!(queue.push((HERE, THERE), TO, heading, &pattern(len), &mut pool));
            let packets = drain(&mut queue, &mut pool, &mut counters);
            assert_eq!(packets.len(), (len + 8).div_ceil(1480), "{len}");
            assert_eq!(counters.mib.ip_out_requests, 1);
            assert_eq!(pool.free_blocks(), 700, "sending gives all memory back");

            let there = Subnet {
                address: THERE,
                prefix_len: 24,
            };
            let there = Routes::new(Addresses::new(there, 1, false), 0);
            let mut receiver =
                IpReceiver::new(&IpConfig::default(), &crate::secret::Secret([5; 16]));
            let mut whole = None;
            for packet in &packets {
                let now = Instant::ZERO;
                let received =
                    receiver.on_packet(&there, packet, NOBODY, &mut pool, now, &mut counters);
                whole = received.map(|packet| packet.payload.to_vec());
            }
            let whole = whole.expect("the last packet completes the datagram");
            assert_eq!(&whole[8..], pattern(len), "{len}");
            match heading {
                DatagramHeader::Udp { .. } => {
                    assert_eq!(udp::verify_checksum(&whole, HERE, THERE), Ok(()), "{len}");
                }
                DatagramHeader::EchoReply { ident, seq } => assert_eq!(
                    Icmpv4Message::parse(&whole, ChecksumPolicy::Verify)
                        .unwrap()
                        .0,
                    Icmpv4Message::EchoReply { ident, seq },
                ),
            }
        }
    }
}

#[test]
fn a_full_queue_takes_nothing_and_changes_nothing() {
    for (name, datagrams, bytes, blocks) in [
        ("datagrams", 2, 10_000, 64),
        ("bytes", 9, 150, 64),
        ("blocks", 9, 10_000, 2),
    ] {
        let mut pool = Pool::new(&PoolConfig {
            blocks,
            block_size: 64,
            send_floor: 0,
            receive_floor: 0,
            ..Default::default()
        });
        let mut queue = SendQueue::new(Holder::Datagram, datagrams, bytes);
        assert!(
            queue.push((HERE, THERE), TO, UDP, &[1; 60], &mut pool),
            "{name}"
        );
        assert!(
            queue.push((HERE, THERE), TO, UDP, &[2; 60], &mut pool),
            "{name}"
        );
        let free = pool.free_blocks();
        assert!(
            !queue.push((HERE, THERE), TO, UDP, &[3; 60], &mut pool),
            "{name}"
        );
        assert_eq!(pool.free_blocks(), free, "{name}");
        let packets = drain(&mut queue, &mut pool, &mut Counters::default());
        assert_eq!(
            packets.iter().map(|packet| packet[28]).collect::<Vec<_>>(),
            [1, 2],
            "{name}"
        );
    }
}

#[test]
fn sending_empties_a_pool_full_to_the_last_byte() {
    let mut pool = Pool::new(&PoolConfig {
        blocks: 36,
        block_size: 196,
        send_floor: 0,
        receive_floor: 0,
        ..Default::default()
    });
    let mut counters = Counters::default();
    let mut queue = SendQueue::new(Holder::Datagram, 8, 65_536);
    // Send a short datagram first, so that the stream then begins inside a block.
    assert!(queue.push((HERE, THERE), TO, UDP, &pattern(100), &mut pool));
    drain(&mut queue, &mut pool, &mut counters);
    for _ in 0..3 {
        assert!(queue.push((HERE, THERE), TO, UDP, &pattern(36 * 196), &mut pool));
        assert_eq!(pool.free_blocks(), 0);
        assert_eq!(drain(&mut queue, &mut pool, &mut counters).len(), 5);
        assert_eq!(pool.free_blocks(), 36);
    }
    assert_eq!(
        (counters.mib.ip_frag_oks, counters.mib.ip_frag_creates),
        (3, 15)
    );
}

#[test]
fn a_device_that_completes_checksums_gets_the_pseudo_header_unless_the_datagram_is_fragmented() {
    let device = Capabilities {
        checksum_tx: true,
        ..plain()
    };
    let mut sender = sender(&device);
    let mut pool = Pool::new(&PoolConfig::default());
    let mut counters = Counters::default();
    let mut queue = SendQueue::new(Holder::Datagram, 4, 1 << 20);
    queue.push((HERE, THERE), TO, UDP, &pattern(101), &mut pool);
    queue.push((HERE, THERE), TO, UDP, &pattern(2_000), &mut pool);
    let mut packet = vec![0; 1500];
    let built = queue
        .poll_packet(&mut sender, &mut pool, &mut packet, &mut counters)
        .unwrap();
    assert_eq!(
        built.checksum,
        TxChecksum::Partial {
            start: 20,
            offset: 6
        }
    );
    // Do as the device does: sum from `start`, checksum field included, and store the result.
    let sum = Checksum::of(&packet[20..built.len]).finish();
    packet[26..28].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(
        udp::verify_checksum(&packet[20..built.len], HERE, THERE),
        Ok(())
    );
    let built = queue
        .poll_packet(&mut sender, &mut pool, &mut packet, &mut counters)
        .unwrap();
    assert_eq!(built.checksum, TxChecksum::Complete);
    queue.clear(&mut pool);
    assert_eq!(pool.free_blocks(), pool.block_count());
}
