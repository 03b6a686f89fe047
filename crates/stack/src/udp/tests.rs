//! Tests of `udp`.

use alloc::{vec, vec::Vec};

use fullpipe_pool::PoolConfig;
use fullpipe_wire::{Checksum, Protocol};

use super::*;
use crate::{
    config::IpConfig,
    device::{Capabilities, Medium},
    ip::{Addresses, IpHeader, IpReceiver, Subnet},
};

/// The UDP sockets of a host and the arguments of their calls.
struct Host {
    routes: Routes,
    config: Config,
    udp: UdpSockets,
    pool: Pool,
    counters: Counters,
    sender: IpSender,
}

impl Host {
    fn new(address: &str, change: impl FnOnce(&mut Config)) -> Self {
        let pool = PoolConfig {
            blocks: 128,
            block_size: 256,
            send_floor: 0,
            receive_floor: 0,
            ..PoolConfig::default()
        };
        let mut config = Config {
            pool,
            ..Config::default()
        };
        change(&mut config);
        let subnet = Subnet {
            address: address.parse().unwrap(),
            prefix_len: 24,
        };
        let device = Capabilities::plain(Medium::Ip, 1500);
        Self {
            routes: Routes::new(Addresses::new(subnet, 1, false), 0),
            udp: UdpSockets::new(&config, Rng::seeded(1)),
            pool: Pool::new(&config.pool),
            counters: Counters::default(),
            sender: IpSender::new(&device, &IpConfig::default(), Rng::seeded(2), true),
            config,
        }
    }

    fn bind(&mut self, local: &str) -> Result<UdpId, UdpError> {
        self.udp.bind(local.parse().unwrap(), &self.routes)
    }

    fn send(&mut self, id: UdpId, to: &str, payload: &[u8]) -> Result<bool, UdpError> {
        let outcome = self.udp.send(
            id,
            (None, to.parse().unwrap()),
            payload,
            &self.routes,
            &mut self.pool,
            &mut self.counters,
        )?;
        Ok(outcome == PushOutcome::Queued)
    }

    fn receive(&mut self, id: UdpId) -> Option<(Vec<u8>, SocketAddr)> {
        let mut out = vec![0; 65_535];
        let received = self.udp.receive(id, &mut out, &mut self.pool).unwrap()?;
        Some((out[..received.len].to_vec(), received.from))
    }

    fn poll(&mut self) -> Option<(Vec<u8>, Option<UdpId>)> {
        let mut packet = vec![0; 1500];
        let Self {
            udp,
            pool,
            counters,
            sender,
            ..
        } = self;
        let (built, id) =
            udp.poll_datagram(InterfaceId::FIRST, sender, pool, &mut packet, counters)?;
        Some((packet[..built.len].to_vec(), id))
    }

    fn deliver(&mut self, receiver: &mut IpReceiver, bytes: &[u8]) -> Option<Delivery> {
        let Self {
            udp,
            pool,
            counters,
            routes,
            ..
        } = self;
        let now = fullpipe_pool::Instant::ZERO;
        let packet = receiver.on_packet(
            routes,
            bytes,
            (crate::link::Station::UNSPECIFIED, false),
            pool,
            now,
            counters,
        )?;
        Some(udp.on_datagram(&packet, false, pool, counters))
    }

    fn receiver(&self) -> IpReceiver {
        IpReceiver::new(&self.config.ip, &crate::secret::Secret([5; 16]))
    }
}

fn datagram(dst_port: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 8 + payload.len()];
    bytes[8..].copy_from_slice(payload);
    UdpHeader {
        src_port: 9,
        dst_port,
        len: bytes.len() as u16,
    }
    .write(&mut bytes);
    let (src, dst) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    udp::set_checksum(&mut bytes, src, dst, Checksum::of(payload));
    bytes
}

fn packet(payload: &[u8]) -> Packet<'_> {
    let (src, dst) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let header = Ipv4Header::new(src, dst, Protocol::Udp, payload.len());
    Packet {
        header: IpHeader::V4(header),
        broadcast: false,
        station: crate::link::Station::UNSPECIFIED,
        payload,
    }
}

#[test]
fn datagrams_of_every_length_arrive() {
    let mut here = Host::new("10.0.0.1", |_| ());
    let mut there = Host::new("10.0.0.2", |_| ());
    let mut receiver = there.receiver();
    let (from, to) = (
        here.bind("0.0.0.0:5001").unwrap(),
        there.bind("10.0.0.2:7").unwrap(),
    );
    for len in [0, 1, 1_472, 1_473, 5_888, 12_000] {
        let payload: Vec<u8> = (0..len).map(|k| k as u8).collect();
        assert_eq!(here.send(from, "10.0.0.2:7", &payload), Ok(true));
        while let Some((bytes, _)) = here.poll() {
            there.deliver(&mut receiver, &bytes);
        }
        let (read, sender) = there.receive(to).expect("the datagram arrived");
        assert_eq!(
            (read, sender),
            (payload, "10.0.0.1:5001".parse().unwrap()),
            "{len}"
        );
    }
    assert_eq!(
        (
            here.counters.mib.udp_out_datagrams,
            there.counters.mib.udp_in_datagrams
        ),
        (6, 6)
    );
    for host in [here, there] {
        assert_eq!(host.pool.free_blocks(), host.pool.block_count());
    }
}

#[test]
fn a_port_has_one_owner_and_a_closed_one_is_free_again() {
    let mut host = Host::new("10.0.0.2", |_| ());
    let first = host.bind("0.0.0.0:7").unwrap();
    assert_eq!(host.bind("10.0.0.2:7"), Err(UdpError::AddressInUse));
    assert_eq!(host.bind("10.0.0.3:8"), Err(UdpError::AddressNotOurs));
    host.udp.close(first, &mut host.pool).unwrap();
    assert_eq!(
        host.udp.close(first, &mut host.pool),
        Err(UdpError::NoSuchSocket)
    );
    let second = host.bind("10.0.0.2:7").unwrap();
    assert_ne!(first, second);
    assert_eq!(host.udp.local(first), Err(UdpError::NoSuchSocket));
    assert_eq!(host.udp.local(second), Ok("10.0.0.2:7".parse().unwrap()));
}

#[test]
fn port_zero_chooses_every_free_port_before_it_fails() {
    let mut host = Host::new("10.0.0.2", |config| {
        (config.stack.ephemeral_low, config.stack.ephemeral_high) = (50_000, 50_002);
        config.udp.sockets = 4;
    });
    let bound: Vec<UdpId> = (0..3).map(|_| host.bind("0.0.0.0:0").unwrap()).collect();
    let mut ports: Vec<u16> = bound
        .into_iter()
        .map(|id| host.udp.local(id).unwrap().port())
        .collect();
    ports.sort_unstable();
    assert_eq!(ports, [50_000, 50_001, 50_002]);
    assert_eq!(host.bind("0.0.0.0:0"), Err(UdpError::NoFreePort));
    host.bind("0.0.0.0:1").unwrap();
    assert_eq!(host.bind("0.0.0.0:2"), Err(UdpError::TooManySockets));
}

#[test]
fn a_socket_that_is_not_read_costs_its_queue_and_no_more() {
    for (name, queue, bytes, reason) in [
        ("datagrams", 3, 1 << 20, Discard::UdpQueueFull),
        ("bytes", 100, 3_000, Discard::UdpQueueFull),
        ("pool", 10_000, 1 << 20, Discard::UdpNoMemory),
    ] {
        let mut host = Host::new("10.0.0.2", |config| {
            config.udp.receive_queue = queue;
            config.udp.receive_buffer = bytes;
        });
        let id = host.bind("0.0.0.0:7").unwrap();
        let payload = datagram(7, &[5; 1_000]);
        let mut queued = 0;
        let Host {
            udp,
            pool,
            counters,
            ..
        } = &mut host;
        for _ in 0..200 {
            match udp.on_datagram(&packet(&payload), false, pool, counters) {
                Delivery::Queued(to) => {
                    assert_eq!(to, id);
                    queued += 1;
                }
                Delivery::Dropped => {}
                Delivery::NoPort => panic!("{name}"),
            }
        }
        assert_eq!(counters.discarded(reason), 200 - queued, "{name}");
        assert_eq!(counters.mib.udp_rcvbuf_errors, 200 - queued, "{name}");
        let info = udp.info(id).unwrap();
        assert_eq!(info.drops, 200 - queued, "{name}");
        assert_eq!(info.unread.datagrams as u64, queued, "{name}");
        assert_eq!(info.unread.bytes, queued * 1_000, "{name}");
        assert_eq!(info.unread.is_full(1_000), name != "pool", "{name}");
        for _ in 0..queued {
            assert_eq!(host.receive(id).unwrap().0, [5; 1_000], "{name}");
        }
        assert_eq!(host.receive(id), None, "{name}");
        host.pool.verify();
        assert_eq!(host.pool.free_blocks(), 128, "{name}");
    }
}

#[test]
fn a_datagram_as_large_as_the_pool_is_queued_whatever_preceded_it() {
    let mut host = Host::new("10.0.0.2", |config| config.pool.blocks = 4);
    let id = host.bind("0.0.0.0:7").unwrap();
    for len in [100, 1_024] {
        let payload = datagram(7, &vec![5; len]);
        let Host {
            udp,
            pool,
            counters,
            ..
        } = &mut host;
        let delivery = udp.on_datagram(&packet(&payload), false, pool, counters);
        assert_eq!(delivery, Delivery::Queued(id), "{len}");
        assert_eq!(host.receive(id).unwrap().0.len(), len);
    }
}

#[test]
fn invalid_datagrams_are_discarded_by_reason() {
    let sound = datagram(7, b"data");
    let mut damaged = sound.clone();
    damaged[9] ^= 1;
    let mut too_long = sound.clone();
    too_long[5] = 200;
    let mut unsummed = sound.clone();
    unsummed[6..8].fill(0);
    for (name, payload, verified, reason) in [
        (
            "cut",
            sound[..7].to_vec(),
            false,
            Some(Discard::UdpMalformed),
        ),
        (
            "longer than it is",
            too_long,
            false,
            Some(Discard::UdpMalformed),
        ),
        (
            "damaged",
            damaged.clone(),
            false,
            Some(Discard::UdpBadChecksum),
        ),
        ("damaged, but vouched for", damaged, true, None),
        ("not summed", unsummed, false, None),
        (
            "to nobody",
            datagram(8, b"data"),
            false,
            Some(Discard::UdpNoPort),
        ),
    ] {
        let mut host = Host::new("10.0.0.2", |_| ());
        host.bind("0.0.0.0:7").unwrap();
        let Host {
            udp,
            pool,
            counters,
            ..
        } = &mut host;
        let delivery = udp.on_datagram(&packet(&payload), verified, pool, counters);
        match reason {
            Some(reason) => assert_eq!(counters.discarded(reason), 1, "{name}"),
            None => assert!(matches!(delivery, Delivery::Queued(_)), "{name}"),
        }
        assert_eq!(
            delivery == Delivery::NoPort,
            reason == Some(Discard::UdpNoPort),
            "{name}"
        );
    }
}

#[test]
fn a_short_buffer_gets_the_start_of_a_datagram_and_its_length() {
    let mut host = Host::new("10.0.0.2", |_| ());
    let id = host.bind("0.0.0.0:7").unwrap();
    let payload = datagram(7, b"a long text");
    let Host {
        udp,
        pool,
        counters,
        ..
    } = &mut host;
    udp.on_datagram(&packet(&payload), false, pool, counters);
    udp.on_datagram(&packet(&payload), false, pool, counters);
    let mut out = [0; 6];
    let received = udp.receive(id, &mut out, pool).unwrap().unwrap();
    assert_eq!((received.copied, received.len), (6, 11));
    assert_eq!(&out, b"a long");
    assert_eq!(host.receive(id).unwrap().0, b"a long text");
}

#[test]
fn a_datagram_that_can_never_be_sent_is_an_error_and_a_full_queue_is_not() {
    let mut host = Host::new("10.0.0.2", |config| {
        config.pool = PoolConfig {
            blocks: 36,
            block_size: 196,
            send_floor: 0,
            receive_floor: 0,
            ..PoolConfig::default()
        };
    });
    let id = host.bind("0.0.0.0:7").unwrap();
    let most = 36 * 196;
    assert_eq!(
        host.send(id, "10.0.0.1:7", &vec![0; most + 1]),
        Err(UdpError::TooLong { most })
    );
    for to in ["10.0.0.1:0", "0.0.0.0:7", "[2001:db8::1]:7"] {
        assert_eq!(
            host.send(id, to, b""),
            Err(UdpError::BadDestination),
            "{to}"
        );
    }
    assert_eq!(host.send(id, "10.0.0.1:7", &vec![0; most]), Ok(true));
    assert_eq!(host.send(id, "10.0.0.1:7", &[0]), Ok(false));
    assert_eq!(host.counters.mib.udp_sndbuf_errors, 1);
    while host.poll().is_some() {}
    assert_eq!(host.send(id, "10.0.0.1:7", &[0]), Ok(true));
}

#[test]
fn sockets_send_in_turn() {
    let mut host = Host::new("10.0.0.2", |_| ());
    let ids = [
        host.bind("0.0.0.0:1").unwrap(),
        host.bind("0.0.0.0:2").unwrap(),
    ];
    for _ in 0..3 {
        host.send(ids[0], "10.0.0.1:7", &[0; 2_000]).unwrap();
    }
    host.send(ids[1], "10.0.0.1:7", &[1]).unwrap();
    let order: Vec<Option<UdpId>> = core::iter::from_fn(|| host.poll())
        .map(|(_, id)| id)
        .collect();
    let [a, b] = ids.map(Some);
    assert_eq!(order, [None, a, b, None, a, None, a]);
}

#[test]
fn a_closed_socket_still_sends_its_queue() {
    let mut host = Host::new("10.0.0.2", |config| config.udp.sockets = 1);
    let id = host.bind("0.0.0.0:7").unwrap();
    host.send(id, "10.0.0.1:7", b"last words").unwrap();
    host.udp.close(id, &mut host.pool).unwrap();
    assert_eq!(
        host.send(id, "10.0.0.1:7", b"more"),
        Err(UdpError::NoSuchSocket)
    );
    assert_eq!(host.bind("0.0.0.0:7"), Err(UdpError::TooManySockets));
    let (bytes, id) = host.poll().unwrap();
    assert_eq!((&bytes[28..], id), (&b"last words"[..], None));
    assert!(!host.udp.wants_output(InterfaceId::FIRST));
    host.bind("0.0.0.0:7").unwrap();
    assert_eq!(host.pool.free_blocks(), host.pool.block_count());
}

#[test]
fn an_icmp_error_reaches_the_socket_it_is_about_and_no_other() {
    let mut host = Host::new("10.0.0.2", |_| ());
    let id = host.bind("0.0.0.0:7").unwrap();
    let event = |port: u16, protocol| IcmpEvent {
        error: PathError::Unreachable { hard: true },
        protocol,
        local: SocketAddr::new([10, 0, 0, 2].into(), port),
        remote: "10.0.0.1:5001".parse().unwrap(),
        seq: 0,
    };
    let Host { udp, counters, .. } = &mut host;
    assert_eq!(udp.on_icmp(&event(8, Protocol::Udp), counters), None);
    assert_eq!(udp.on_icmp(&event(7, Protocol::Tcp), counters), None);
    assert_eq!(udp.take_error(id), Ok(None));
    assert_eq!(udp.on_icmp(&event(7, Protocol::Udp), counters), Some(id));
    let (remote, error) = udp.take_error(id).unwrap().unwrap();
    assert_eq!(
        (remote.port(), error),
        (5001, PathError::Unreachable { hard: true })
    );
    assert_eq!(udp.take_error(id), Ok(None));
    assert_eq!(counters.discarded(Discard::IcmpQuoteUnmatched), 2);
}

#[test]
fn random_use_never_panics_and_never_leaks() {
    let mut rng = Rng::seeded(9);
    let mut host = Host::new("10.0.0.2", |config| {
        config.pool = PoolConfig {
            blocks: 20,
            block_size: 128,
            send_floor: 0,
            receive_floor: 0,
            ..PoolConfig::default()
        };
        config.udp.sockets = 3;
        config.udp.receive_queue = 4;
        config.udp.send_queue = 4;
    });
    let mut ids: Vec<UdpId> = Vec::new();
    for _ in 0..20_000 {
        let port = rng.between(1, 4) as u16;
        let id = ids.get(rng.below(4) as usize % ids.len().max(1)).copied();
        match (rng.below(6), id) {
            (0, _) => ids.extend(host.bind(&alloc::format!("0.0.0.0:{port}"))),
            (1, Some(id)) if rng.chance(0.2) => {
                ids.retain(|open| *open != id);
                host.udp.close(id, &mut host.pool).unwrap();
            }
            (2, Some(id)) => {
                host.send(id, "10.0.0.1:7", &vec![1; rng.below(2_000) as usize])
                    .unwrap();
            }
            (3, Some(id)) => drop(host.receive(id)),
            (4, _) => drop(host.poll()),
            _ => {
                let payload = datagram(port, &vec![2; rng.below(900) as usize]);
                let Host {
                    udp,
                    pool,
                    counters,
                    ..
                } = &mut host;
                udp.on_datagram(&packet(&payload), false, pool, counters);
            }
        }
    }
    host.pool.verify();
    host.udp.release(&mut host.pool);
    assert_eq!(host.pool.free_blocks(), 20);
    assert!(
        host.bind("0.0.0.0:1").is_ok(),
        "release closes every socket"
    );
}
