//! Tests of `neighbours`.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use fullpipe_pool::{Duration, Holder, PoolConfig};
use fullpipe_wire::{ArpPacket, EtherType};

use super::*;
use crate::ip::Subnet;

const US: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const OUR_IP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const START: Instant = Instant::from_secs(10);

/// The address in 10.0.0.0/16 whose last 16 bits are `n`.
fn ip(n: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0000 | u32::from(n))
}

fn mac(n: u16) -> MacAddress {
    let [a, b] = n.to_be_bytes();
    MacAddress([2, 9, 0, 0, a, b])
}

/// A neighbour cache and the arguments of its calls.
struct Rig {
    addresses: Addresses,
    neighbours: Neighbours,
    pool: Pool,
    counters: Counters,
    now: Instant,
}

#[derive(Debug, PartialEq, Eq)]
enum Sent {
    Request {
        to: MacAddress,
        target: Ipv4Addr,
    },
    ArpReply {
        to: MacAddress,
        target: Ipv4Addr,
    },
    Packet {
        to: MacAddress,
        first: u8,
        len: usize,
    },
}

impl Rig {
    fn new(change: impl FnOnce(&mut ArpConfig)) -> Self {
        let mut config = ArpConfig {
            entries: 4,
            queue_packets: 2,
            ..ArpConfig::default()
        };
        change(&mut config);
        let subnet = Subnet {
            address: OUR_IP.into(),
            prefix_len: 16,
        };
        let pool = PoolConfig {
            blocks: 16,
            block_size: 128,
            ..PoolConfig::default()
        };
        Self {
            neighbours: Neighbours::new(US, &config, Rng::seeded(1)),
            pool: Pool::new(&pool),
            counters: Counters::default(),
            now: START,
            addresses: Addresses::new(subnet, 1, false),
        }
    }

    fn resolve(&mut self, n: u16) -> Resolution {
        self.resolve_for(Asker::Connection, n)
    }

    fn resolve_for(&mut self, asker: Asker, n: u16) -> Resolution {
        let ip = ip(n).into();
        self.neighbours
            .resolve(ip, asker, self.now, &mut self.pool, &mut self.counters)
    }

    /// Looks up neighbour `n`; returns true if a request is due or was sent.
    fn asks(&mut self, asker: Asker, n: u16) -> bool {
        matches!(self.resolve_for(asker, n), Resolution::Pending(_))
    }

    fn hold(&mut self, n: u16, packet: &[u8]) {
        self.neighbours
            .hold(ip(n).into(), packet, &mut self.pool, &mut self.counters);
    }

    fn arp(&mut self, operation: ArpOperation, n: u16, target_ip: Ipv4Addr) {
        self.arp_from(operation, mac(n), ip(n), target_ip);
    }

    fn arp_from(
        &mut self,
        operation: ArpOperation,
        sender_mac: MacAddress,
        sender_ip: Ipv4Addr,
        target_ip: Ipv4Addr,
    ) {
        let mut bytes = [0; 46]; // with the padding of a short frame
        let target_mac = US;
        ArpPacket {
            operation,
            sender_mac,
            sender_ip,
            target_mac,
            target_ip,
        }
        .write(&mut bytes);
        self.arp_bytes(&bytes);
    }

    fn arp_bytes(&mut self, bytes: &[u8]) {
        let (pool, counters) = (&mut self.pool, &mut self.counters);
        let addresses = &self.addresses;
        self.neighbours
            .on_arp_packet(addresses, bytes, self.now, pool, counters);
    }

    /// Advances to `now`, sending the frames that become due.
    fn run_until(&mut self, now: Instant) -> Vec<Sent> {
        let mut sent = self.drain();
        while let Some(next) = self.neighbours.next_timeout().filter(|next| *next <= now) {
            self.now = self.now.max(next);
            self.neighbours
                .on_timeout(self.now, &mut self.pool, &mut self.counters);
            sent.extend(self.drain());
        }
        self.now = now;
        sent
    }

    fn drain(&mut self) -> Vec<Sent> {
        let mut sent = Vec::new();
        let mut frame = [0; 1514];
        while self.neighbours.wants_output(self.now) {
            let Self {
                neighbours,
                pool,
                counters,
                now,
                addresses,
            } = self;
            let len = neighbours
                .poll_packet(addresses, *now, pool, &mut frame, counters)
                .unwrap();
            let (header, body) = EthernetHeader::parse(&frame[..len]).unwrap();
            assert_eq!(header.src, US);
            let to = header.dst;
            sent.push(match header.ether_type {
                EtherType::Arp => {
                    let arp = ArpPacket::parse(body).unwrap();
                    assert_eq!((arp.sender_mac, arp.sender_ip), (US, OUR_IP));
                    match arp.operation {
                        ArpOperation::Request => Sent::Request {
                            to,
                            target: arp.target_ip,
                        },
                        ArpOperation::Reply => Sent::ArpReply {
                            to,
                            target: arp.target_ip,
                        },
                    }
                }
                EtherType::Ipv4 => Sent::Packet {
                    to,
                    first: body[0],
                    len: body.len(),
                },
                EtherType::Ipv6 | EtherType::Other(_) => panic!("{header:?}"),
            });
        }
        sent
    }
}

#[test]
fn a_packet_waits_for_the_reply_and_then_leaves() {
    let mut rig = Rig::new(|_| ());
    assert!(rig.asks(Asker::Connection, 7));
    rig.hold(7, &[1; 300]);
    let broadcast = MacAddress::BROADCAST;
    assert_eq!(
        rig.drain(),
        [Sent::Request {
            to: broadcast,
            target: ip(7)
        }]
    );
    rig.arp(ArpOperation::Reply, 7, OUR_IP);
    assert_eq!(
        rig.drain(),
        [Sent::Packet {
            to: mac(7),
            first: 1,
            len: 300
        }]
    );
    assert_eq!(rig.resolve(7), Resolution::Known(mac(7)));
    assert_eq!(rig.pool.free_blocks(), 16);
}

#[test]
fn the_newest_packets_are_kept() {
    let mut rig = Rig::new(|_| ());
    rig.resolve(7);
    for first in 1..=5 {
        rig.hold(7, &[first; 40]);
    }
    assert_eq!(rig.counters.discarded(Discard::ArpWaitQueueFull), 3);
    rig.arp(ArpOperation::Reply, 7, OUR_IP);
    let left = |first| Sent::Packet {
        to: mac(7),
        first,
        len: 40,
    };
    assert_eq!(rig.drain(), [left(4), left(5)]);
}

#[test]
fn a_packet_larger_than_the_memory_left_is_dropped() {
    let mut rig = Rig::new(|_| ());
    rig.resolve(7);
    rig.hold(7, &[1; 1_000]);
    rig.hold(7, &[2; 16 * 128 + 1]);
    assert_eq!(rig.counters.discarded(Discard::ArpWaitNoMemory), 1);
    assert_eq!(
        rig.pool.held(Holder::Neighbour),
        0,
        "older packets made room in vain"
    );
}

#[test]
fn requests_leave_once_a_second_until_the_neighbour_fails() {
    let mut rig = Rig::new(|_| ());
    assert!(rig.asks(Asker::Connection, 7));
    rig.hold(7, &[1; 300]);
    for _ in 0..100 {
        rig.resolve(7);
    }
    assert_eq!(rig.run_until(START + Duration::from_millis(999)).len(), 1);
    assert_eq!(rig.run_until(START + Duration::from_millis(2_999)).len(), 2);
    assert!(rig.asks(Asker::Connection, 7));
    assert_eq!(rig.run_until(START + Duration::from_secs(3)).len(), 0);
    assert_eq!(rig.resolve(7), Resolution::Unreachable);
    assert_eq!(rig.counters.discarded(Discard::ArpUnresolved), 1);
    assert_eq!(rig.pool.free_blocks(), 16);
    assert_eq!(rig.neighbours.next_timeout(), None);
    rig.now = START + Duration::from_secs(4);
    assert!(
        rig.asks(Asker::Connection, 7),
        "after a while it is tried again"
    );
}

#[test]
fn an_old_reply_is_probed_while_it_is_in_use() {
    let mut rig = Rig::new(|_| ());
    rig.resolve(7);
    rig.drain();
    rig.arp(ArpOperation::Reply, 7, OUR_IP);
    rig.now = START + Duration::from_secs(60);
    assert_eq!(rig.resolve(7), Resolution::Known(mac(7)));
    let again = rig.run_until(rig.now + Duration::from_millis(2_500));
    let request = |to| Sent::Request { to, target: ip(7) };
    let all = MacAddress::BROADCAST;
    assert_eq!(again, [request(mac(7)), request(all), request(all)]);
    assert_eq!(rig.resolve(7), Resolution::Known(mac(7)));
    rig.arp_from(ArpOperation::Reply, mac(8), ip(7), OUR_IP);
    assert_eq!(rig.resolve(7), Resolution::Known(mac(8)), "it has moved");
    rig.now += Duration::from_secs(60);
    rig.resolve(7);
    rig.run_until(rig.now + Duration::from_secs(3));
    assert_eq!(rig.resolve(7), Resolution::Unreachable, "it has gone");
}

#[test]
fn negative_advice_probes_a_neighbour_at_its_next_lookup() {
    let mut rig = Rig::new(|_| ());
    rig.resolve(7);
    rig.drain();
    rig.arp(ArpOperation::Reply, 7, OUR_IP);
    rig.resolve(7);
    assert_eq!(rig.drain(), [], "known and trusted");
    rig.neighbours.on_negative_advice(ip(7).into(), rig.now);
    assert_eq!(rig.resolve(7), Resolution::Known(mac(7)), "used meanwhile");
    let request = Sent::Request {
        to: mac(7),
        target: ip(7),
    };
    assert_eq!(rig.drain(), [request], "it is asked itself");
}

#[test]
fn a_released_packet_is_kept_while_its_neighbour_is_probed() {
    let mut rig = Rig::new(|config| config.reachable_time = Duration::from_millis(500));
    rig.resolve(7);
    rig.hold(7, &[1; 40]);
    rig.resolve(8);
    assert_eq!(rig.drain().len(), 2);
    rig.arp(ArpOperation::Reply, 7, OUR_IP);
    // The device is full until the reply is old and other requests are due.
    rig.now = START + Duration::from_secs(2);
    assert_eq!(rig.resolve(7), Resolution::Known(mac(7)));
    rig.neighbours
        .on_timeout(rig.now, &mut rig.pool, &mut rig.counters);
    let sent = rig.drain();
    let packet = Sent::Packet {
        to: mac(7),
        first: 1,
        len: 40,
    };
    assert!(sent.contains(&packet), "{sent:?}");
    assert_eq!(rig.pool.free_blocks(), 16);
}

#[test]
fn a_request_for_this_host_is_answered_and_its_sender_stored() {
    let mut rig = Rig::new(|_| ());
    rig.arp(ArpOperation::Request, 7, OUR_IP);
    rig.arp(ArpOperation::Request, 7, OUR_IP);
    assert_eq!(
        rig.drain(),
        [Sent::ArpReply {
            to: mac(7),
            target: ip(7)
        }],
        "once is enough"
    );
    assert_eq!(rig.resolve(7), Resolution::Known(mac(7)));
    rig.arp_from(ArpOperation::Request, mac(9), Ipv4Addr::UNSPECIFIED, OUR_IP);
    let probe = Sent::ArpReply {
        to: mac(9),
        target: Ipv4Addr::UNSPECIFIED,
    };
    assert_eq!(
        rig.drain(),
        [probe],
        "our address is defended against a probe"
    );
}

#[test]
fn invalid_arp_packets_are_discarded_by_reason() {
    use ArpOperation::*;
    let somebody = mac(7);
    let off_link = Ipv4Addr::new(192, 0, 2, 1);
    for (name, operation, sender_mac, sender_ip, target, reason) in [
        (
            "a group's station",
            Reply,
            MacAddress([1; 6]),
            ip(7),
            OUR_IP,
            Discard::ArpBadSender,
        ),
        (
            "all stations",
            Reply,
            MacAddress::BROADCAST,
            ip(7),
            OUR_IP,
            Discard::ArpBadSender,
        ),
        (
            "no station",
            Reply,
            MacAddress::UNSPECIFIED,
            ip(7),
            OUR_IP,
            Discard::ArpBadSender,
        ),
        (
            "our own station",
            Reply,
            US,
            ip(7),
            OUR_IP,
            Discard::ArpBadSender,
        ),
        (
            "broadcast",
            Request,
            somebody,
            ip(0xffff),
            OUR_IP,
            Discard::ArpBadSender,
        ),
        (
            "our address",
            Request,
            somebody,
            OUR_IP,
            ip(1),
            Discard::ArpConflict,
        ),
        (
            "off the link",
            Request,
            somebody,
            off_link,
            OUR_IP,
            Discard::ArpOffLink,
        ),
        (
            "about others",
            Request,
            somebody,
            ip(7),
            ip(8),
            Discard::ArpNotForUs,
        ),
        (
            "unasked for",
            Reply,
            somebody,
            ip(7),
            ip(8),
            Discard::ArpNotForUs,
        ),
    ] {
        let mut rig = Rig::new(|_| ());
        rig.arp_from(operation, sender_mac, sender_ip, target);
        assert_eq!(rig.counters.discarded(reason), 1, "{name}");
        assert_eq!(rig.drain(), [], "{name}");
        assert_eq!(rig.neighbours.entries.len(), 0, "{name}");
    }
    let mut rig = Rig::new(|_| ());
    rig.arp_bytes(&[0; 27]);
    assert_eq!(rig.counters.discarded(Discard::ArpMalformed), 1);
}

#[test]
fn a_flood_of_unasked_packets_does_not_evict_a_neighbour_in_use() {
    let mut rig = Rig::new(|config| config.replies = 8);
    rig.resolve(7);
    rig.drain();
    rig.arp(ArpOperation::Reply, 7, OUR_IP);
    assert_eq!(rig.resolve(7), Resolution::Known(mac(7)));
    for n in 100..10_000 {
        rig.arp(ArpOperation::Request, n, OUR_IP);
    }
    assert_eq!(rig.resolve(7), Resolution::Known(mac(7)));
    assert_eq!(rig.drain().len(), 8, "replies are bounded");
    assert_eq!(
        rig.counters.discarded(Discard::ArpReplyQueueFull),
        9_900 - 8
    );
    rig.pool.verify();
}

#[test]
fn lookups_of_unused_addresses_do_not_evict_resolved_neighbours() {
    let mut rig = Rig::new(|config| config.entries = 8);
    for n in [7, 8] {
        rig.resolve(n);
        rig.arp(ArpOperation::Reply, n, OUR_IP);
        rig.resolve(n);
    }
    rig.drain();
    let mut asked = 0;
    for n in 100..2_000 {
        let asker = [Asker::Connection, Asker::Datagram][usize::from(n % 2)];
        if rig.asks(asker, n) {
            rig.hold(n, &[1; 100]);
            asked += 1;
        }
        assert_eq!(rig.resolve(7), Resolution::Known(mac(7)));
        assert_eq!(rig.resolve(8), Resolution::Known(mac(8)));
    }
    assert_eq!(asked, 4 + 2, "half for connections, in place of datagrams");
    rig.pool.verify();
    assert!(rig.pool.held(Holder::Neighbour) <= 8);
    rig.neighbours.release(&mut rig.pool, &mut rig.counters);
    assert_eq!(rig.pool.free_blocks(), 16);
}

#[test]
fn requests_for_all_neighbours_together_are_limited() {
    let mut rig = Rig::new(|config| {
        config.entries = 64;
        config.requests_per_second = 20;
        config.requests = 1;
        config.entries = 128;
    });
    for n in 100..164 {
        rig.resolve(n);
    }
    let sent = rig.run_until(START + Duration::from_secs(1));
    assert_eq!(
        sent.len(),
        2 + 20,
        "a tenth of a second's worth at once, then the rate"
    );
    assert_eq!(
        rig.run_until(START + Duration::from_secs(10)).len(),
        64 - 22
    );
}

#[test]
fn random_use_never_panics_and_never_leaks() {
    let mut rng = Rng::seeded(21);
    for _ in 0..20 {
        let mut rig = Rig::new(|config| config.entries = 3);
        for _ in 0..3_000 {
            let n = 3 + rng.below(6) as u16;
            match rng.below(6) {
                0 => rig.arp(ArpOperation::Reply, n, OUR_IP),
                1 => rig.arp(ArpOperation::Request, n, OUR_IP),
                2 => drop(rig.drain()),
                3 => {
                    let later = rig.now + Duration::from_millis(rng.below(30_000));
                    rig.run_until(later);
                }
                4 => {
                    let junk: [u8; 28] = core::array::from_fn(|_| rng.below(3) as u8);
                    rig.arp_bytes(&junk);
                }
                _ => {
                    let asker = [Asker::Connection, Asker::Datagram][rng.below(2) as usize];
                    if rig.asks(asker, n) {
                        rig.hold(n, &alloc::vec![1; rng.between(1, 900) as usize]);
                    }
                }
            }
        }
        rig.pool.verify();
        rig.neighbours.release(&mut rig.pool, &mut rig.counters);
        assert_eq!(rig.pool.free_blocks(), 16);
    }
}

#[test]
fn an_entry_whose_request_is_in_flight_is_not_evicted_before_it_fails() {
    let mut rig = Rig::new(|_| ());
    assert!(rig.asks(Asker::Connection, 7));
    assert!(rig.asks(Asker::Connection, 8));
    assert_eq!(rig.drain().len(), 2);
    for n in 100..200 {
        assert_eq!(rig.resolve(n), Resolution::Full);
        rig.arp(ArpOperation::Request, n, OUR_IP);
    }
    assert_eq!(rig.neighbours.room(), 0);
    rig.arp(ArpOperation::Reply, 7, OUR_IP);
    assert_eq!(rig.neighbours.take_settled(), Some(0));
    assert_eq!(
        rig.resolve(9),
        Resolution::Full,
        "those that wait for 7 look it up first"
    );
    assert_eq!(rig.resolve(7), Resolution::Known(mac(7)));
    assert!(rig.asks(Asker::Connection, 9));
    rig.run_until(START + Duration::from_secs(4));
    assert_eq!(rig.neighbours.take_settled(), Some(1), "8 has failed");
    assert_eq!(rig.neighbours.room(), 2);
}

#[test]
fn a_resolved_neighbour_that_nobody_looks_up_again_makes_room_after_a_while() {
    let mut rig = Rig::new(|config| config.entries = 1);
    assert!(rig.asks(Asker::Connection, 7));
    rig.drain();
    rig.arp(ArpOperation::Reply, 7, OUR_IP);
    assert_eq!(rig.resolve(8), Resolution::Full);
    rig.run_until(START + Duration::from_secs(1));
    assert!(rig.asks(Asker::Connection, 8));
}

#[test]
fn a_connection_takes_the_entry_of_a_datagram() {
    let mut rig = Rig::new(|_| ());
    assert!(rig.asks(Asker::Datagram, 7));
    rig.hold(7, &[1; 100]);
    assert_eq!(rig.resolve_for(Asker::Datagram, 8), Resolution::Full);
    assert!(rig.asks(Asker::Connection, 9));
    assert!(rig.asks(Asker::Connection, 10), "at the cost of 7");
    assert_eq!(rig.counters.discarded(Discard::ArpUnresolved), 1);
    assert_eq!(rig.resolve(11), Resolution::Full);
    assert_eq!(rig.resolve_for(Asker::Datagram, 7), Resolution::Full);
    rig.pool.verify();
}

#[test]
fn a_request_for_this_host_is_answered_even_if_the_cache_is_full_of_neighbours_in_use() {
    let mut rig = Rig::new(|_| ());
    for n in 20..24 {
        rig.arp(ArpOperation::Request, n, OUR_IP);
        assert_eq!(rig.resolve(n), Resolution::Known(mac(n)));
    }
    rig.drain();
    rig.arp(ArpOperation::Request, 7, OUR_IP);
    assert_eq!(rig.counters.discarded(Discard::ArpTableFull), 1);
    let reply = Sent::ArpReply {
        to: mac(7),
        target: ip(7),
    };
    assert_eq!(rig.drain(), [reply]);
}

#[test]
fn an_answer_makes_no_entry_and_probes_an_old_one() {
    let mut rig = Rig::new(|_| ());
    assert_eq!(rig.neighbours.known(ip(7).into(), rig.now), None);
    assert_eq!(rig.neighbours.entries.len(), 0);
    rig.arp(ArpOperation::Request, 7, OUR_IP);
    rig.drain();
    rig.now += Duration::from_secs(60);
    assert_eq!(rig.neighbours.known(ip(7).into(), rig.now), Some(mac(7)));
    let request = Sent::Request {
        to: mac(7),
        target: ip(7),
    };
    assert_eq!(rig.drain(), [request]);
}
