//! Tests with attackers that infer shared state of a host from the answers that they get. The cases
//! are scans for a client's port (CVE-2016-5696), for a resolver's port (CVE-2020-25705) and for
//! sequence numbers (CVE-2020-36516).
//!
//! Rule: the attacker sends any packet from any address, knows the code and every setting, and sees
//! only the packets that the host sends to the attacker's own addresses. These packets must not
//! show if a guess of the attacker is right: with right and wrong guesses they may differ only by
//! chance. Seeds are fixed.

mod port;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use fullpipe::{
    Config, Duration, Instant, Interface, ListenOptions, MacAddress, Stack,
    device::{Capabilities, Medium},
    turn,
};
use fullpipe_pool::Rng;
use fullpipe_wire::{
    Checksum, Icmpv4Message, Ipv4Header, Protocol, TcpFlags, TcpHeader, UdpHeader,
    tcp::set_checksum, udp,
};

use port::Port;

const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// Address of the victim: the client, or the server that the resolver asks. The attacker forges
/// packets with this source address.
const VICTIM: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const PORT: u16 = 80;
const CLOSED: u16 = 81;

/// The attacker's own address `n`.
fn attacker(n: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a02_0000 + n)
}

const CAPABILITIES: Capabilities = Capabilities::plain(Medium::Ip, 1_500);

fn packet(src: Ipv4Addr, protocol: Protocol, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; Ipv4Header::LEN];
    Ipv4Header::new(src, HOST, protocol, payload.len()).write(&mut bytes);
    bytes.extend(payload);
    bytes
}

fn segment(src: Ipv4Addr, header: &TcpHeader) -> Vec<u8> {
    let mut bytes = vec![0; header.header_len()];
    header.write(&mut bytes);
    set_checksum(&mut bytes, src.into(), HOST.into(), Checksum::of(&[]));
    packet(src, Protocol::Tcp, &bytes)
}

/// A SYN to a port without a listener: it is answered with a reset.
fn probe(src: Ipv4Addr, src_port: u16) -> Vec<u8> {
    let header = TcpHeader {
        src_port,
        dst_port: CLOSED,
        flags: TcpFlags::SYN,
        ..TcpHeader::default()
    };
    segment(src, &header)
}

fn datagram(src: Ipv4Addr, dst_port: u16) -> Vec<u8> {
    let len = UdpHeader::LEN as u16;
    let mut bytes = vec![0; UdpHeader::LEN];
    UdpHeader {
        src_port: 53,
        dst_port,
        len,
    }
    .write(&mut bytes);
    udp::set_checksum(&mut bytes, src.into(), HOST.into(), Checksum::new());
    packet(src, Protocol::Udp, &bytes)
}

fn echo_request(src: Ipv4Addr) -> Vec<u8> {
    let mut bytes = vec![0; Icmpv4Message::LEN];
    Icmpv4Message::EchoRequest { ident: 1, seq: 1 }.write(&mut bytes, Checksum::new());
    packet(src, Protocol::Icmp, &bytes)
}

/// The host, and the frames that it sent since they were last taken.
struct Scene {
    stack: Stack,
    wire: Port,
    now: Instant,
}

impl Scene {
    fn new(seed: u64) -> Self {
        let mut config = Config::default();
        for (name, value) in [("pool.blocks", "256"), ("stack.connections", "8")] {
            config.set(name, value).expect("a knob");
        }
        let interface = Interface {
            mac: MacAddress([2, 0, 0, 0, 0, 1]),
            address: IpAddr::V4(HOST),
            prefix_len: 8,
            gateway: None,
            capabilities: CAPABILITIES,
        };
        let mut secret = [7; 16];
        secret[..8].copy_from_slice(&seed.to_be_bytes());
        let mut stack = Stack::new(&config, interface, secret).expect("a sound configuration");
        let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT));
        stack
            .tcp_listen(any, ListenOptions::default())
            .expect("a free port");
        Self {
            stack,
            wire: Port::new(CAPABILITIES),
            now: Instant::from_secs(1_000),
        }
    }

    /// The host receives `packets` one by one and answers. Returns its answers.
    fn exchange(&mut self, packets: impl IntoIterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
        for packet in packets {
            self.wire.arrived.push_back(packet);
            while turn(&mut self.stack, &mut self.wire, self.now).more_work {}
        }
        core::mem::take(&mut self.wire.sent).into()
    }

    /// Counts the answers to the attacker's own addresses.
    fn answered(&mut self, packets: impl IntoIterator<Item = Vec<u8>>) -> usize {
        let to_attacker = |packet: &&Vec<u8>| {
            let (ip, _) = Ipv4Header::parse(packet, Default::default()).expect("a packet");
            ip.dst.octets()[1] == 2
        };
        self.exchange(packets).iter().filter(to_attacker).count()
    }

    /// The victim opens a connection from `port`; returns the next sequence number of
    /// the victim.
    fn connect_victim(&mut self, port: u16) -> u32 {
        let mut header = TcpHeader {
            src_port: port,
            dst_port: PORT,
            seq: 1_000,
            flags: TcpFlags::SYN,
            window: 65_535,
            ..TcpHeader::default()
        };
        let answers = self.exchange([segment(VICTIM, &header)]);
        let (_, bytes) = Ipv4Header::parse(&answers[0], Default::default()).expect("a packet");
        let (syn_ack, _) = TcpHeader::parse(bytes).expect("a segment");
        header.seq = 1_001;
        header.ack = syn_ack.seq.wrapping_add(1);
        header.flags = TcpFlags::ACK;
        self.exchange([segment(VICTIM, &header)]);
        assert_eq!(self.stack.tcp_counts().0, 1);
        1_001
    }

    /// A segment with the victim's address as its source.
    fn forged(port: u16) -> Vec<u8> {
        let header = TcpHeader {
            src_port: port,
            dst_port: PORT,
            seq: 0x1234_5678,
            ack: 0x8765_4321,
            flags: TcpFlags::ACK,
            ..TcpHeader::default()
        };
        segment(VICTIM, &header)
    }

    /// Forges segments of `ports`. Returns the resets that the attacker then gets for 64 probes.
    fn resets_after(&mut self, ports: impl IntoIterator<Item = u16>) -> usize {
        self.exchange(ports.into_iter().map(Self::forged));
        self.answered((0..64).map(|n| probe(attacker(0), 1_000 + n)))
    }
}

#[test]
fn a_scan_of_all_ports_of_a_client_sees_the_same_answers_for_the_right_one() {
    let mut rng = Rng::seeded(1);
    for seed in 0..4 {
        let mut scene = Scene::new(seed);
        let right = rng.between(32_768, 65_535) as u16;
        scene.connect_victim(right);
        // Of 512 batches of 64 ports, one contains the right port. All batches get the same number
        // of resets.
        let seen: Vec<usize> = (0..512_u32)
            .map(|batch| {
                scene.now += Duration::from_secs(10);
                let first = 32_768 + batch * 64;
                scene.resets_after((first..first + 64).map(|port| port as u16))
            })
            .collect();
        assert!(seen.iter().all(|resets| *resets == 64), "{seen:?}");
        // Repeating a guess does not change the number of resets.
        for port in [right, right ^ 1] {
            scene.now += Duration::from_secs(10);
            assert_eq!(scene.resets_after([port; 200]), 64);
        }
    }
}

#[test]
fn an_attacker_that_crowds_the_accounts_guesses_ports_no_better_than_chance() {
    const TRIALS: u32 = 2_000;
    let mut seen = [Vec::new(), Vec::new()];
    let mut scene = Scene::new(9);
    let right = 40_000;
    scene.connect_victim(right);
    for trial in 0..TRIALS {
        scene.now += Duration::from_secs(10);
        let is_right = trial % 2 == 0;
        // The rate limit has 1,000 accounts and assigns each source address a random one. The 1,000
        // other sources therefore use about two thirds of the accounts.
        let crowd = (0..1_000).map(|n| probe(Ipv4Addr::from_bits(0x0a05_0000 + n), 9));
        scene.exchange(crowd);
        let port = if is_right { right } else { right + 1 };
        scene.exchange([Scene::forged(port), Scene::forged(port)]);
        let answered = scene.answered((0..32).map(|n| probe(attacker(n), 9)));
        seen[usize::from(is_right)].push(answered as u32);
    }
    judge("resets", &seen);
}

/// Checks that the two samples cannot be distinguished. The means differ by at most four standard
/// errors. Seven thresholds are tried as classifiers: the number of samples that a threshold
/// classifies correctly differs from half of all samples by at most four standard deviations.
fn judge(name: &str, seen: &[Vec<u32>; 2]) {
    let mean = |sample: &[u32]| {
        sample.iter().map(|value| f64::from(*value)).sum::<f64>() / sample.len() as f64
    };
    let variance = |sample: &[u32]| {
        let mean = mean(sample);
        let squares = sample
            .iter()
            .map(|value| (f64::from(*value) - mean).powi(2));
        squares.sum::<f64>() / sample.len() as f64
    };
    let trials = (seen[0].len() + seen[1].len()) as f64;
    let error = seen
        .iter()
        .map(|sample| variance(sample) / sample.len() as f64)
        .sum::<f64>()
        .sqrt();
    let difference = (mean(&seen[0]) - mean(&seen[1])).abs();
    assert!(
        difference <= 4.0 * error,
        "{name}: means differ by {difference:.3}, standard error {error:.3}"
    );
    let mut sorted: Vec<u32> = seen.iter().flatten().copied().collect();
    sorted.sort_unstable();
    for part in 1..8 {
        let threshold = sorted[sorted.len() * part / 8];
        let above = |sample: &[u32]| sample.iter().filter(|value| **value >= threshold).count();
        let below = seen[0].len() - above(&seen[0]);
        let correct = (above(&seen[1]) + below) as f64;
        let bias = (correct - trials / 2.0).abs();
        let deviation = trials.sqrt() / 2.0;
        assert!(
            bias <= 4.0 * deviation,
            "{name}: {correct} of {trials} guesses right with threshold {threshold}"
        );
    }
}

#[test]
fn a_scan_for_the_port_of_a_resolver_sees_the_same_errors_for_the_right_one() {
    for seed in 0..4 {
        let mut scene = Scene::new(seed);
        let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let socket = scene.stack.udp_bind(any).expect("a free port");
        let right = scene.stack.udp_local(socket).expect("it is open").port();
        // The attacker tries 16 ports with the victim's address as the source, and then counts the
        // ICMP errors that its own address gets.
        let seen: Vec<(u32, usize)> = (0..1_024_u32)
            .map(|batch| {
                scene.now += Duration::from_secs(10);
                let first = 49_152 + batch * 16;
                let ports = first..first + 16;
                scene.exchange(ports.map(|port| datagram(VICTIM, port as u16)));
                let errors = scene.answered((0..16).map(|_| datagram(attacker(0), 9)));
                (first, errors)
            })
            .collect();
        let other: Vec<_> = seen.iter().filter(|(_, got)| *got != seen[0].1).collect();
        assert!(
            other.is_empty(),
            "port {right}, {} errors: {other:?}",
            seen[0].1
        );
    }
}

#[test]
fn identifications_do_not_tell_whether_a_challenge_ack_was_sent() {
    let mut scene = Scene::new(3);
    let right = 40_000;
    let next = scene.connect_victim(right);
    let mut rng = Rng::seeded(4);
    let mut seen = [Vec::new(), Vec::new()];
    let mut challenged = 0;
    for trial in 0..2_000_u32 {
        scene.now += Duration::from_secs(2);
        let in_window = trial % 2 == 0;
        // The attacker chooses one of 256 addresses, because one of them may share the victim's
        // counter of identifications.
        let own = attacker(rng.below(256) as u32);
        let before = identification(&scene.exchange([echo_request(own)])[0]);
        let header = TcpHeader {
            src_port: right,
            dst_port: PORT,
            seq: if in_window {
                next.wrapping_add(100)
            } else {
                next.wrapping_add(1 << 31)
            },
            flags: TcpFlags::RST,
            ..TcpHeader::default()
        };
        for answer in scene.exchange((0..4).map(|_| segment(VICTIM, &header))) {
            challenged += 1;
            let (ip, _) = Ipv4Header::parse(&answer, Default::default()).expect("a packet");
            assert_eq!((ip.dont_fragment, ip.identification), (true, 0));
        }
        let after = identification(&scene.exchange([echo_request(own)])[0]);
        seen[usize::from(in_window)].push(u32::from(after.wrapping_sub(before)));
    }
    assert!(challenged >= 1_000, "{challenged}");
    judge("identifications", &seen);
}

fn identification(packet: &[u8]) -> u16 {
    let (ip, _) = Ipv4Header::parse(packet, Default::default()).expect("a packet");
    assert!(!ip.dont_fragment);
    ip.identification
}
