//! Tests of clients against servers: two stacks and a cable, in virtual time.
//!
//! Rule: time advances only when neither host has work, and every test ends with all packet memory
//! free.

use std::{
    collections::VecDeque,
    net::{Ipv6Addr, SocketAddr},
    string::ToString,
    vec,
    vec::Vec,
};

use fullpipe::{
    Config, Instant, Interface, InterfaceId, MacAddress, Stack, Subnet,
    device::{Capabilities, Device, Medium, Received, RxMeta, TxMeta},
    turn,
};

use super::*;

const PLAIN: Capabilities = Capabilities::plain(Medium::Ethernet, 1500);
const SERVER: ([u8; 4], u16) = ([10, 0, 0, 2], DEFAULT_PORT);
/// Delay of the cable.
const DELAY: fullpipe::Duration = fullpipe::Duration::from_millis(5);

#[derive(Default)]
struct Port {
    arrived: VecDeque<Vec<u8>>,
    reading: Vec<u8>,
    lent: Vec<u8>,
    sent: VecDeque<Vec<u8>>,
}

impl Device for Port {
    fn capabilities(&self) -> Capabilities {
        PLAIN
    }
    fn receive(&mut self) -> Option<Received<'_>> {
        self.reading = self.arrived.pop_front()?;
        Some(Received {
            frame: &self.reading,
            meta: RxMeta::default(),
        })
    }
    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        self.lent.resize(len, 0);
        Some(&mut self.lent)
    }
    fn send(&mut self, len: usize, _: TxMeta) {
        self.lent.truncate(len);
        self.sent.push_back(core::mem::take(&mut self.lent));
    }
}

fn host(last: u8, settings: &[(&str, &str)]) -> Stack {
    let mut config = Config::default();
    for (knob, value) in settings {
        config.set(knob, value).expect("in range");
    }
    let interface = Interface {
        mac: MacAddress([2, 0, 0, 0, 0, last]),
        address: [10, 0, 0, last].into(),
        prefix_len: 24,
        gateway: None,
        capabilities: PLAIN,
    };
    Stack::new(&config, interface, [last; 16]).expect("the configuration is sound")
}

/// Runs both testers until each has reported a test, and checks that all memory is free.
///
/// `loses` gets the number of each frame of the client, and returns true if the frame is lost.
fn run(
    hosts: &mut [Stack; 2],
    testers: [&mut dyn Tester; 2],
    loses: impl Fn(usize) -> bool,
) -> [Report; 2] {
    let (mut ports, mut reports, mut now) = (
        [Port::default(), Port::default()],
        [None, None],
        Instant::ZERO,
    );
    let [client, server] = testers;
    let (testers, mut sent) = ([client, server], 0);
    let free = |hosts: &[Stack; 2]| {
        hosts
            .iter()
            .all(|host| host.pool().free_blocks() == host.pool().block_count())
    };
    while reports.iter().any(Option::is_none) || !free(hosts) {
        for (index, host) in hosts.iter_mut().enumerate() {
            // Both testers must reach a state in which the processor of a real device would sleep.
            for again in 0.. {
                assert!(again < 100, "{index} does not sleep at {now:?}");
                turn(host, &mut ports[index], now);
                while host.next_event().is_some() {}
                while let Event::Ended(report) = testers[index].poll(host, now) {
                    assert!(reports[index].replace(report).is_none(), "one test");
                }
                if host.next_timeout().is_none_or(|at| at > now) {
                    break;
                }
            }
            host.verify(now);
        }
        let [near, far] = &mut ports;
        for frame in near.sent.drain(..) {
            sent += 1;
            if !loses(sent) {
                far.arrived.push_back(frame);
            }
        }
        near.arrived.append(&mut far.sent);
        now += DELAY;
        assert!(now < Instant::from_secs(100), "{reports:?}");
    }
    reports.map(|report| report.expect("both ended"))
}

fn plan(amount: Amount, length: usize) -> TestPlan {
    TestPlan {
        remote: SERVER.into(),
        amount,
        length,
        rate: Rate::Bits(1_000_000),
        reverse: false,
        sends_header: true,
    }
}

const TINY: &[(&str, &str)] = &[("pool.blocks", "36"), ("pool.block_size", "196")];

#[test]
fn a_tcp_client_and_a_server_count_the_same_bytes_in_each_direction() {
    let second = Amount::Time(core::time::Duration::from_secs(1));
    for (amount, length, reverse, settings) in [
        (Amount::Bytes(300_001), 16_384, false, &[][..]),
        (Amount::Bytes(300_001), 16_384, true, &[][..]),
        (Amount::Bytes(40_000), 16_384, false, TINY),
        (Amount::Bytes(40_000), 1_000, true, TINY),
        (Amount::Bytes(59), 16_384, false, TINY),
        (second, 16_384, false, TINY),
        (second, 16_384, true, TINY),
    ] {
        let mut hosts = [host(1, settings), host(2, settings)];
        let mut server = TcpServer::new(SERVER.into(), &mut hosts[1]).expect("the port is free");
        let mut client = TcpClient::new(TestPlan {
            reverse,
            ..plan(amount, length)
        });
        let [ours, theirs] = run(&mut hosts, [&mut client, &mut server], |_| false);
        let name = std::format!("{amount:?} {length} {reverse}");
        assert_eq!(
            ours.span.bytes, theirs.span.bytes,
            "{name}: {ours}\n{theirs}"
        );
        match amount {
            Amount::Bytes(bytes) => assert_eq!(ours.span.bytes, bytes, "{name}"),
            Amount::Time(_) => assert!(ours.span.bytes > 100_000, "{name}: {ours}"),
        }
        assert_eq!((ours.failure, theirs.failure), (None, None), "{name}");
        let text = ours.to_string();
        assert!(text.contains("limits (sender): "), "{text}");
    }
}

#[test]
fn a_write_that_never_fits_stalls_and_its_limit_is_named() {
    let settings = [TINY, &[("tcp.write_atomic", "true")]].concat();
    let mut hosts = [host(1, &settings), host(2, &[])];
    let mut server = TcpServer::new(SERVER.into(), &mut hosts[1]).expect("the port is free");
    let seconds = Amount::Time(core::time::Duration::from_secs(2));
    let mut client = TcpClient::new(TestPlan {
        sends_header: false,
        ..plan(seconds, 16_384)
    });
    let [ours, theirs] = run(&mut hosts, [&mut client, &mut server], |_| false);
    assert_eq!((ours.span.bytes, theirs.span.bytes), (0, 0));
    let text = ours.to_string();
    assert!(
        text.contains("limits (sender): send_buffer") || text.contains("limits (sender): memory"),
        "{text}"
    );
}

#[test]
fn a_udp_server_counts_losses_and_its_client_reads_the_counts() {
    let mut hosts = [host(1, TINY), host(2, TINY)];
    let mut server = UdpServer::new(SERVER.into(), &mut hosts[1]).expect("the port is free");
    let mut datagram = vec![0; 1_000];
    let plan = plan(Amount::Bytes(100_000), 1_000);
    let mut client = UdpClient::new(plan, &mut datagram, &mut hosts[0]).expect("a port is free");
    // The first frame is the ARP request.
    let [ours, theirs] = run(&mut hosts, [&mut client, &mut server], |frame| {
        [20, 50, 51].contains(&frame)
    });
    assert_eq!(ours.span.bytes, 100_000, "{ours}");
    assert_eq!(theirs.span.loss.lost, 3, "{theirs}");
    assert_eq!(theirs.span.loss.total, 100, "{theirs}");
    let at_peer = ours.at_peer.expect("the server answered");
    assert_eq!((at_peer.bytes, at_peer.loss.lost), (97_000, 3), "{ours}");
    assert_eq!(ours.failure, None);
}

/// Both hosts begin with an IPv4 address, and get an IPv6 address later.
#[test]
fn a_udp_client_sends_from_an_address_of_the_servers_family() {
    let settings = [TINY, &[("ip.dad_probes", "0")]].concat();
    let mut hosts = [host(1, &settings), host(2, &settings)];
    for (host, last) in hosts.iter_mut().zip(1..) {
        let address = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last).into();
        let prefix_len = 64;
        host.add_address(
            InterfaceId::FIRST,
            Subnet {
                address,
                prefix_len,
            },
        )
        .expect("a free entry");
    }
    let remote = SocketAddr::from((Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2), DEFAULT_PORT));
    let mut server = UdpServer::new(remote, &mut hosts[1]).expect("the port is free");
    let mut datagram = vec![0; 1_000];
    let plan = TestPlan {
        remote,
        ..plan(Amount::Bytes(20_000), 1_000)
    };
    let mut client = UdpClient::new(plan, &mut datagram, &mut hosts[0]).expect("a port is free");
    let [ours, theirs] = run(&mut hosts, [&mut client, &mut server], |_| false);
    assert_eq!(
        (ours.span.bytes, theirs.span.bytes),
        (20_000, 20_000),
        "{ours}"
    );
    assert_eq!(ours.failure, None);
}

#[test]
fn a_client_without_a_server_reports_the_refusal() {
    let mut hosts = [host(1, &[]), host(2, &[])];
    let mut client = TcpClient::new(plan(Amount::Bytes(1_000), 1_000));
    struct Idle(bool);
    impl Tester for Idle {
        fn poll(&mut self, _: &mut Stack, now: Instant) -> Event {
            if core::mem::replace(&mut self.0, true) {
                return Event::Waits(None);
            }
            Event::Ended(Report {
                kind: TestKind::TcpReceived,
                peer: SERVER.into(),
                span: tally::Span::default(),
                at_peer: None,
                limits: None,
                failure: (now == Instant::ZERO).then_some(Failure::Silence),
            })
        }
    }
    let [ours, _] = run(&mut hosts, [&mut client, &mut Idle(false)], |_| false);
    assert!(ours.to_string().contains("\nfailed: "), "{ours}");
}
