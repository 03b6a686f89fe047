//! Tests of a stack with two interfaces, each on a link of its own.
//!
//! Rule: a test looks at the frames of each link, because the interface by which a packet leaves is
//! what it tests.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

mod port;

use fullpipe::{
    AddressError, CloseReason, Config, ConfigError, ConnectionId, Duration, HostNeighbour, Instant,
    Interface, InterfaceId, ListenOptions, ListenerId, MacAddress, PathError, Reachability, Read,
    RouteEntry, SocketEvent, Stack, Subnet,
    counters::Discard,
    device::{Capabilities, Medium, RxMeta},
    turn,
};
use fullpipe_wire::{
    ArpOperation, ArpPacket, Checksum, EtherType, EthernetHeader, Icmpv4Message, Ipv4Header,
    Protocol, UdpHeader, UnreachableCode,
};
use port::Port;

/// Addresses of the host with two interfaces.
const OWN: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 1, 1), Ipv4Addr::new(10, 0, 2, 1)];
/// The host on each link.
const PEER: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 1, 9), Ipv4Addr::new(10, 0, 2, 9)];
/// A host behind both links.
const FAR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 7);
/// The port that tests listen on.
const PORT: u16 = 80;
const MTUS: [usize; 2] = [1_500, 700];

/// A host and the devices of its interfaces.
struct Host {
    stack: Stack,
    ports: Vec<Port>,
}

impl Host {
    /// Runs a turn of each device until none has more work. Returns true if a frame moved.
    fn turn(&mut self, now: Instant) -> bool {
        let (mut moved, mut more) = (false, true);
        while more {
            more = false;
            for port in &mut self.ports {
                let turned = turn(&mut self.stack, port, now);
                moved |= turned.received + turned.sent > 0;
                more |= turned.more_work;
            }
        }
        self.stack.verify(now);
        moved
    }

    fn established(&self) -> u64 {
        self.stack.tcp_counts().0.into()
    }
}

/// The host with two interfaces, and a peer on each link.
struct World {
    host: Host,
    peers: [Host; 2],
    now: Instant,
    /// Frames that the host sent on each link.
    seen: [Vec<Vec<u8>>; 2],
}

fn mac(last: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, last])
}

fn config() -> Config {
    let mut config = Config::default();
    for (name, value) in [
        ("stack.connections", "16"),
        ("pool.blocks", "256"),
        ("pool.block_size", "2048"),
    ] {
        config.set(name, value).expect("a knob");
    }
    config
}

fn interface(last: u8, address: Ipv4Addr, gateway: Option<IpAddr>, link: usize) -> Interface {
    Interface {
        mac: mac(last),
        address: address.into(),
        prefix_len: 24,
        gateway,
        capabilities: Capabilities::plain(Medium::Ethernet, MTUS[link]),
    }
}

fn host(config: &Config, interfaces: &[Interface]) -> Host {
    let (first, others) = interfaces.split_first().expect("one at least");
    let secret = [first.mac.0[5]; 16];
    let mut stack = Stack::new(config, *first, secret).expect("a sound configuration");
    for other in others {
        stack.add_interface(config, *other).expect("sound, too");
    }
    let devices = stack.interface_ids().zip(interfaces);
    let ports = devices.map(|(id, interface)| {
        let mut port = Port::new(interface.capabilities);
        port.interface = id;
        port
    });
    Host {
        ports: ports.collect(),
        stack,
    }
}

impl World {
    /// Each peer is the gateway of its link.
    fn new() -> Self {
        Self::with(&[], false)
    }

    /// The host has these settings, and its first device may report completions.
    fn with(settings: &[(&str, &str)], reports_sent: bool) -> Self {
        let mut own_config = config();
        for (name, value) in settings {
            own_config.set(name, value).expect("a knob");
        }
        let own = |link: usize| {
            let gateway = (link == 0).then_some(PEER[0].into());
            let mut own = interface(1 + link as u8, OWN[link], gateway, link);
            own.capabilities.reports_sent = reports_sent && link == 0;
            own
        };
        let peer = |link: usize| {
            let gateway = Some(OWN[link].into());
            let own = interface(8 + link as u8, PEER[link], gateway, link);
            host(&config(), &[own])
        };
        let mut world = Self {
            host: host(&own_config, &[own(0), own(1)]),
            peers: [peer(0), peer(1)],
            now: Instant::from_secs(100),
            seen: [vec![], vec![]],
        };
        let second = RouteEntry {
            interface: SECOND,
            metric: 10,
            ..RouteEntry::default_through(PEER[1].into())
        };
        world.host.stack.routes_mut().add(second).unwrap();
        world
    }

    /// Carries frames until no host has something to send.
    fn settle(&mut self) {
        for _ in 0..1_000 {
            let mut moved = self.host.turn(self.now);
            for link in [0, 1] {
                let sent: Vec<_> = self.host.ports[link].sent.drain(..).collect();
                self.peers[link].ports[0].arrived.extend(sent.clone());
                self.seen[link].extend(sent);
                moved |= self.peers[link].turn(self.now);
                let back: Vec<_> = self.peers[link].ports[0].sent.drain(..).collect();
                self.host.ports[link].arrived.extend(back);
            }
            if !moved {
                return;
            }
        }
        panic!("the hosts never finish");
    }

    fn pass(&mut self, time: Duration) {
        for _ in 0..time.as_millis() / 10 {
            self.now += Duration::from_millis(10);
            self.settle();
        }
    }

    /// Tells the peer of `link` the MAC address of the host, whose device may be full.
    fn answer_arp(&mut self, link: usize) {
        let of_host = |link: usize| ArpPacket {
            operation: ArpOperation::Reply,
            sender_mac: mac(1 + link as u8),
            sender_ip: OWN[link],
            target_mac: mac(8 + link as u8),
            target_ip: PEER[link],
        };
        let mut frame = vec![0; EthernetHeader::LEN + ArpPacket::LEN];
        EthernetHeader {
            dst: mac(8 + link as u8),
            src: mac(1 + link as u8),
            ether_type: EtherType::Arp,
        }
        .write(&mut frame);
        of_host(link).write(&mut frame[EthernetHeader::LEN..]);
        self.peers[link].turn(self.now);
        self.peers[link].ports[0].arrived.push_back(frame);
    }

    /// A connection from the host to the peer of `link`, with the peer's end.
    fn connected(&mut self, link: usize) -> (ConnectionId, ConnectionId) {
        let options = ListenOptions::default();
        let at = SocketAddr::from((PEER[link], PORT));
        let peer = &mut self.peers[link];
        let listener: ListenerId = peer.stack.tcp_listen(at, options).unwrap();
        let now = self.now;
        let connect = self
            .host
            .stack
            .tcp_connect(at, None, Default::default(), now);
        let id = connect.unwrap();
        self.settle();
        let accepted = self.peers[link].stack.tcp_accept(listener, now).unwrap();
        (id, accepted.expect("it is established").0)
    }

    fn packets(&self, link: usize, protocol: Protocol) -> Vec<(MacAddress, Ipv4Header)> {
        let frames = self.seen[link].iter();
        frames
            .filter_map(|frame| {
                let (ethernet, packet) = EthernetHeader::parse(frame).unwrap();
                let is_ip = ethernet.ether_type == EtherType::Ipv4;
                let (header, _) = Ipv4Header::parse_quoted(packet).ok().filter(|_| is_ip)?;
                (header.protocol == protocol).then_some((ethernet.dst, header))
            })
            .collect()
    }
}

const FIRST: InterfaceId = InterfaceId::FIRST;
/// The interface that was added second.
const SECOND: InterfaceId = match InterfaceId::from_index(1) {
    Some(id) => id,
    None => panic!("there can be two"),
};

#[test]
fn each_interface_has_its_connections_addresses_and_neighbours() {
    let mut world = World::new();
    let ids: Vec<_> = world.host.stack.interface_ids().collect();
    assert_eq!(ids, [FIRST, SECOND]);
    for link in [0, 1] {
        let (id, accepted) = world.connected(link);
        let now = world.now;
        let (local, _) = world.host.stack.tcp_ends(id).unwrap();
        assert_eq!(local.ip(), IpAddr::from(OWN[link]));
        assert_eq!(world.host.stack.tcp_write(id, b"hello", now), Ok(5));
        world.settle();
        let read = world.peers[link].stack.tcp_read(accepted, &mut [0; 9], now);
        assert_eq!(read, Ok(Read::Data(5)));
        let other = 1 - link;
        let strays = world.packets(other, Protocol::Tcp).into_iter();
        assert_eq!(strays.filter(|(_, it)| it.src == OWN[link]).count(), 0);
    }
    let own = world
        .host
        .stack
        .addresses()
        .map(|own| (own.address, own.interface));
    let expected = [(OWN[0].into(), FIRST), (OWN[1].into(), SECOND)];
    assert_eq!(own.collect::<Vec<_>>(), expected);
}

#[test]
fn a_neighbour_is_known_on_its_own_interface_only() {
    let mut world = World::new();
    world.connected(1);
    let neighbours: Vec<_> = world.host.stack.neighbours().collect();
    let expected = HostNeighbour {
        address: PEER[1].into(),
        mac: Some(mac(9)),
        interface: SECOND,
        state: Reachability::Reachable,
    };
    assert_eq!(neighbours, [expected]);
}

#[test]
fn a_listener_at_every_address_is_reached_by_each_interface() {
    let mut world = World::new();
    let any = SocketAddr::from(([0, 0, 0, 0], PORT));
    let listener = world
        .host
        .stack
        .tcp_listen(any, ListenOptions::default())
        .unwrap();
    let now = world.now;
    for link in [0, 1] {
        let to = SocketAddr::from((OWN[link], PORT));
        let connect = world.peers[link]
            .stack
            .tcp_connect(to, None, Default::default(), now);
        let id = connect.unwrap();
        world.settle();
        let (accepted, remote) = world.host.stack.tcp_accept(listener, now).unwrap().unwrap();
        assert_eq!(remote.ip(), IpAddr::from(PEER[link]));
        assert_eq!(world.host.stack.tcp_write(accepted, b"hi", now), Ok(2));
        world.settle();
        let read = world.peers[link].stack.tcp_read(id, &mut [0; 9], now);
        assert_eq!(read, Ok(Read::Data(2)));
    }
}

/// RFC 1122 §3.3.4.2, the strong model.
#[test]
fn an_interface_refuses_packets_to_the_address_of_another() {
    let mut world = World::new();
    let to = SocketAddr::from((OWN[1], PORT));
    let now = world.now;
    world
        .host
        .stack
        .tcp_listen(to, ListenOptions::default())
        .unwrap();
    world.peers[0]
        .stack
        .tcp_connect(to, None, Default::default(), now)
        .unwrap();
    world.settle();
    assert_eq!(
        world.host.stack.counters().discarded(Discard::IpNotForUs),
        1
    );
    assert_eq!(world.host.established(), 0);
}

#[test]
fn the_metric_and_the_source_choose_the_gateway() {
    let mut world = World::new();
    let to = SocketAddr::from((FAR, PORT));
    let now = world.now;
    for (source, link) in [(None, 0), (Some(OWN[1]), 1), (Some(OWN[0]), 0)] {
        let local = source.map(|source| SocketAddr::from((source, 0)));
        let connect = world
            .host
            .stack
            .tcp_connect(to, local, Default::default(), now);
        let id = connect.unwrap();
        world.seen = Default::default();
        world.settle();
        let syns = [0, 1].map(|link| world.packets(link, Protocol::Tcp));
        assert_eq!(syns[1 - link], [], "{source:?}");
        let (gateway, header) = &syns[link][0];
        assert_eq!(*gateway, mac(8 + link as u8), "{source:?}");
        assert_eq!((header.src, header.dst), (OWN[link], FAR));
        world.host.stack.tcp_abort(id, now).unwrap();
    }
}

#[test]
fn a_longer_prefix_wins_over_a_smaller_metric() {
    let mut world = World::new();
    let network = Subnet {
        address: FAR.into(),
        prefix_len: 24,
    };
    let route = RouteEntry {
        interface: SECOND,
        metric: 700,
        ..RouteEntry::through(network, PEER[1].into())
    };
    world.host.stack.routes_mut().add(route).unwrap();
    let (to, now) = (SocketAddr::from((FAR, PORT)), world.now);
    world
        .host
        .stack
        .tcp_connect(to, None, Default::default(), now)
        .unwrap();
    world.settle();
    assert_eq!(world.packets(0, Protocol::Tcp), []);
    assert_eq!(world.packets(1, Protocol::Tcp)[0].1.src, OWN[1]);
}

#[test]
fn a_removed_address_ends_its_connections_with_a_reason_and_no_others() {
    let mut world = World::new();
    let (kept, accepted) = world.connected(0);
    let (ended, _) = world.connected(1);
    let now = world.now;
    while world.host.stack.next_event().is_some() {}
    world.host.stack.remove_address(OWN[1].into(), now).unwrap();
    assert_eq!(world.host.stack.next_event(), Some(SocketEvent::Tcp(ended)));
    assert_eq!(world.host.stack.next_event(), None);
    let ready = world.host.stack.tcp_ready(ended, now).unwrap();
    assert_eq!(ready.closed, Some(CloseReason::AddressRemoved));
    assert_eq!(world.host.stack.tcp_write(kept, b"on", now), Ok(2));
    world.settle();
    let read = world.peers[0].stack.tcp_read(accepted, &mut [0; 9], now);
    assert_eq!(read, Ok(Read::Data(2)));
    let left: Vec<_> = world
        .host
        .stack
        .addresses()
        .map(|own| own.address)
        .collect();
    assert_eq!(left, [IpAddr::from(OWN[0])]);
}

#[test]
fn errors_answer_by_the_interface_of_the_datagram() {
    let mut world = World::new();
    for link in [1, 0] {
        let peer = &mut world.peers[link].stack;
        let socket = peer.udp_bind(SocketAddr::from((PEER[link], 0))).unwrap();
        let closed = SocketAddr::from((OWN[link], 9));
        assert_eq!(peer.udp_send(socket, closed, b"anyone?"), Ok(true));
        world.settle();
        let error = world.peers[link].stack.udp_take_error(socket).unwrap();
        let expected = (closed, PathError::Unreachable { hard: true });
        assert_eq!(error, Some(expected));
        assert_eq!(world.packets(link, Protocol::Icmp).len(), 1);
    }
}

#[test]
fn datagrams_are_cut_for_the_device_of_their_interface() {
    let mut world = World::new();
    let any = SocketAddr::from(([0, 0, 0, 0], 5_000));
    let socket = world.host.stack.udp_bind(any).unwrap();
    for link in [0, 1] {
        let at = SocketAddr::from((PEER[link], 5_001));
        let peer = world.peers[link].stack.udp_bind(at).unwrap();
        let sent = world.host.stack.udp_send(socket, at, &[7; 3_000]);
        assert_eq!(sent, Ok(true));
        world.settle();
        let mut bytes = [0; 4_000];
        let received = world.peers[link]
            .stack
            .udp_receive(peer, &mut bytes)
            .unwrap();
        let received = received.expect("it was put together");
        assert_eq!(
            (received.len, received.from.ip()),
            (3_000, OWN[link].into())
        );
        let fragments = world.packets(link, Protocol::Udp);
        let most = fragments.iter().map(|(_, header)| header.total_len).max();
        assert!(most.is_some_and(|len| usize::from(len) <= MTUS[link]));
        assert_eq!(
            fragments.len(),
            3_008usize.div_ceil((MTUS[link] - 20) / 8 * 8)
        );
    }
}

#[test]
fn a_full_device_holds_up_only_its_own_interface() {
    let mut world = World::new();
    let (slow, _) = world.connected(0);
    let (fast, accepted) = world.connected(1);
    let any = SocketAddr::from(([0, 0, 0, 0], 5_000));
    let socket = world.host.stack.udp_bind(any).unwrap();
    world.host.ports[0].is_full = true;
    let now = world.now;
    assert_eq!(world.host.stack.tcp_write(slow, b"waits", now), Ok(5));
    assert_eq!(world.host.stack.tcp_write(fast, b"goes", now), Ok(4));
    let other = world
        .host
        .stack
        .udp_bind(SocketAddr::from((OWN[1], 0)))
        .unwrap();
    for (socket, link) in [(socket, 0), (other, 1)] {
        let to = SocketAddr::from((PEER[link], 5_001));
        assert_eq!(world.host.stack.udp_send(socket, to, b"datagram"), Ok(true));
    }
    world.seen = Default::default();
    world.settle();
    let read = world.peers[1].stack.tcp_read(accepted, &mut [0; 9], now);
    assert_eq!(read, Ok(Read::Data(4)));
    assert_eq!(world.packets(1, Protocol::Udp).len(), 1);
    assert_eq!(world.seen[0].len(), 0);
    world.host.ports[0].is_full = false;
    world.settle();
    assert_eq!(world.packets(0, Protocol::Udp).len(), 1);
    assert_eq!(world.packets(0, Protocol::Tcp).len(), 1);
}

/// A report about a packet of the second interface changes the segments of this connection only.
#[test]
fn a_path_mtu_belongs_to_the_connection_of_the_interface() {
    let mut world = World::new();
    let (first, _) = world.connected(0);
    let (second, _) = world.connected(1);
    let now = world.now;
    let mss = |world: &mut World, id| world.host.stack.tcp_info(id, now).unwrap().mss;
    assert_eq!(
        (mss(&mut world, first), mss(&mut world, second)),
        (1_448, 648)
    );
    assert_eq!(world.host.stack.tcp_write(second, &[1; 640], now), Ok(640));
    world.host.turn(now);
    let lost = world.host.ports[1].sent.pop_back().expect("a segment");
    let quoted = &lost[EthernetHeader::LEN..][..28];
    let mut error = [0; 8 + 28];
    let (head, body) = error.split_at_mut(8);
    body.copy_from_slice(quoted);
    Icmpv4Message::Unreachable {
        code: UnreachableCode::FragmentationNeeded,
        next_hop_mtu: 600,
    }
    .write(head, Checksum::of(quoted));
    let mut frame = vec![0; EthernetHeader::LEN + Ipv4Header::LEN];
    EthernetHeader {
        dst: mac(2),
        src: mac(9),
        ether_type: EtherType::Ipv4,
    }
    .write(&mut frame);
    Ipv4Header::new(PEER[1], OWN[1], Protocol::Icmp, error.len())
        .write(&mut frame[EthernetHeader::LEN..]);
    frame.extend(error);
    world.host.ports[1].arrived.push_back(frame);
    world.pass(Duration::from_secs(3));
    assert_eq!(
        (mss(&mut world, first), mss(&mut world, second)),
        (1_448, 548)
    );
}

#[test]
fn an_address_belongs_to_one_interface() {
    let mut world = World::new();
    let subnet = Subnet {
        address: OWN[0].into(),
        prefix_len: 24,
    };
    let stack = &mut world.host.stack;
    assert_eq!(stack.add_address(SECOND, subnet), Err(AddressError::Exists));
    let again = interface(7, OWN[1], None, 0);
    let refused = stack.add_interface(&config(), again);
    assert!(
        matches!(refused, Err(ConfigError::Interface(_))),
        "{refused:?}"
    );
}

/// Each device of the host has a queue of answers of its own.
#[test]
fn answers_that_a_full_device_holds_up_leave_room_for_those_of_another() {
    let settings = [("stack.reset_queue", "2")];
    let mut world = World::with(&settings, false);
    world.host.ports[0].is_full = true;
    let now = world.now;
    // No neighbour must be asked first: the device that is full would not send the question.
    for (link, attempts) in [(0, 12), (1, 1)] {
        let closed = SocketAddr::from((OWN[link], 9));
        for _ in 0..attempts {
            let peer = &mut world.peers[link].stack;
            peer.tcp_connect(closed, None, Default::default(), now)
                .unwrap();
        }
    }
    world.answer_arp(0);
    world.settle();
    let refused = world.host.stack.counters();
    assert!(refused.discarded(Discard::TcpResetQueueFull) > 0);
    assert_eq!(world.packets(1, Protocol::Tcp).len(), 1);
    assert_eq!(world.packets(0, Protocol::Tcp).len(), 0);
    world.host.ports[0].is_full = false;
    world.settle();
    assert_eq!(world.packets(0, Protocol::Tcp).len(), 2);
}

#[test]
fn cookies_that_a_full_device_holds_up_leave_room_for_those_of_another() {
    let settings = [("stack.cookie_queue", "1"), ("stack.syn_cookies", "always")];
    let mut world = World::with(&settings, false);
    let any = SocketAddr::from(([0, 0, 0, 0], PORT));
    let options = ListenOptions::default();
    let listener = world.host.stack.tcp_listen(any, options).unwrap();
    world.host.ports[0].is_full = true;
    let now = world.now;
    for link in [0, 1] {
        let to = SocketAddr::from((OWN[link], PORT));
        let peer = &mut world.peers[link].stack;
        peer.tcp_connect(to, None, Default::default(), now).unwrap();
        world.answer_arp(link);
        world.settle();
    }
    let accepted = world.host.stack.tcp_accept(listener, now).unwrap();
    assert_eq!(accepted.expect("connected").1.ip(), IpAddr::from(PEER[1]));
    world.host.ports[0].is_full = false;
    world.settle();
    let accepted = world.host.stack.tcp_accept(listener, now).unwrap();
    assert_eq!(accepted.expect("connected").1.ip(), IpAddr::from(PEER[0]));
}

#[test]
fn datagrams_of_one_socket_wait_only_for_the_device_of_their_interface() {
    let mut world = World::with(&[("udp.sockets", "1")], false);
    let any = SocketAddr::from(([0, 0, 0, 0], 5_000));
    let socket = world.host.stack.udp_bind(any).unwrap();
    world.host.ports[0].is_full = true;
    let to = |link: usize| SocketAddr::from((PEER[link], 5_001));
    let stack = &mut world.host.stack;
    let mut waiting = 0;
    while stack.udp_send(socket, to(0), b"waits").unwrap() {
        waiting += 1;
    }
    assert_eq!(stack.udp_send(socket, to(1), b"goes"), Ok(true));
    let unsent = stack.udp_info(socket).unwrap().unsent;
    assert_eq!(unsent.datagrams, waiting + 1);
    assert_eq!(unsent.most_datagrams, 2 * waiting);
    assert!(stack.udp_ready(socket).unwrap().writable, "one was queued");
    world.settle();
    assert_eq!(world.packets(1, Protocol::Udp).len(), 1);
    // The socket stays until its last datagram has left.
    let stack = &mut world.host.stack;
    assert_eq!(stack.udp_send(socket, to(1), b"goes, too"), Ok(true));
    stack.udp_close(socket).unwrap();
    world.settle();
    assert_eq!(world.packets(1, Protocol::Udp).len(), 2);
    assert!(world.host.stack.udp_bind(any).is_err());
    world.host.ports[0].is_full = false;
    world.settle();
    let sent = world.packets(0, Protocol::Udp).len();
    assert!(sent > 0, "some were dropped while ARP asked");
    assert!(world.host.stack.udp_bind(any).is_ok());
    assert_eq!(world.host.stack.pool().free_blocks(), 256);
}

/// A program that waits until the socket is writable sends to the link that has room, and does not
/// repeat a datagram that is refused.
#[test]
fn a_sender_waits_only_for_the_device_of_its_own_datagram() {
    let mut world = World::with(&[("udp.sockets", "1")], false);
    let any = SocketAddr::from(([0, 0, 0, 0], 5_000));
    let socket = world.host.stack.udp_bind(any).unwrap();
    world.host.ports[0].is_full = true;
    let to = |link: usize| SocketAddr::from((PEER[link], 5_001));
    let is_writable = |world: &World| world.host.stack.udp_ready(socket).unwrap().writable;
    for link in [0, 1] {
        while world.host.stack.udp_send(socket, to(link), b"?").unwrap() {}
        assert!(!is_writable(&world), "the last datagram was refused");
    }
    while world.host.stack.next_event().is_some() {}
    world.settle();
    assert_eq!(
        world.host.stack.next_event(),
        Some(SocketEvent::Udp(socket))
    );
    assert!(is_writable(&world), "datagrams left by one link");
    assert_eq!(world.host.stack.udp_send(socket, to(0), b"?"), Ok(false));
    assert!(!is_writable(&world), "to the other link");
    assert_eq!(world.host.stack.udp_send(socket, to(1), b"?"), Ok(true));
    world.host.ports[0].is_full = false;
    world.settle();
    assert!(is_writable(&world));
    assert_eq!(world.host.stack.udp_send(socket, to(0), b"?"), Ok(true));
}

#[test]
fn a_turn_tells_of_its_own_device_only() {
    let mut world = World::with(&[("tcp.small_queue", "1000")], true);
    let (id, _) = world.connected(0);
    let now = world.now;
    world.host.stack.tcp_write(id, &[0; 60_000], now).unwrap();
    let of = |world: &mut World, link: usize| {
        turn(&mut world.host.stack, &mut world.host.ports[link], now)
    };
    assert!(of(&mut world, 0).device_full, "no frame is completed");
    assert!(world.host.stack.waits_for_device(FIRST));
    assert!(!of(&mut world, 1).device_full);
    assert!(!world.host.stack.waits_for_device(SECOND));
}

/// A neighbour that answered lets connections of its own interface go on.
#[test]
fn a_turn_has_no_more_work_because_of_another_link() {
    let mut world = World::new();
    let now = world.now;
    let to = SocketAddr::from((PEER[0], PORT));
    let stack = &mut world.host.stack;
    stack
        .tcp_connect(to, None, Default::default(), now)
        .unwrap();
    world.host.turn(now);
    let frames = world.host.ports[0].sent.drain(..);
    world.peers[0].ports[0].arrived.extend(frames);
    world.peers[0].turn(now);
    let answer = world.peers[0].ports[0].sent.pop_front().expect("ARP");
    let stack = &mut world.host.stack;
    stack.receive(&answer, RxMeta::default(), now);
    assert_eq!(stack.next_timeout(), Some(Instant::ZERO));
    assert!(!turn(stack, &mut world.host.ports[1], now).more_work);
    assert_eq!(turn(stack, &mut world.host.ports[0], now).sent, 1);
}

/// RFC 1122 §3.2.1.3.
#[test]
fn no_packet_from_a_link_has_an_address_of_this_host_as_its_source() {
    let mut world = World::new();
    let any = SocketAddr::from(([0, 0, 0, 0], 7));
    let socket = world.host.stack.udp_bind(any).unwrap();
    let sources = [OWN[0], OWN[1], Ipv4Addr::new(127, 0, 0, 1), PEER[0], FAR];
    for src in sources {
        let mut datagram = vec![0; UdpHeader::LEN];
        let header = UdpHeader {
            src_port: 7,
            dst_port: 7,
            len: UdpHeader::LEN as u16,
        };
        header.write(&mut datagram);
        let mut packet = vec![0; Ipv4Header::LEN];
        Ipv4Header::new(src, OWN[0], Protocol::Udp, datagram.len()).write(&mut packet);
        let mut frame = vec![0; EthernetHeader::LEN];
        EthernetHeader {
            dst: mac(1),
            src: mac(8),
            ether_type: EtherType::Ipv4,
        }
        .write(&mut frame);
        let frame = [frame, packet, datagram].concat();
        world
            .host
            .stack
            .receive(&frame, RxMeta::default(), world.now);
    }
    let counters = world.host.stack.counters();
    assert_eq!(counters.discarded(Discard::IpBadSource), 3);
    let mut received = || world.host.stack.udp_receive(socket, &mut []).unwrap();
    for src in [PEER[0], FAR] {
        assert_eq!(received().expect("it arrived").from.ip(), IpAddr::from(src));
    }
}

#[test]
fn two_ethernet_interfaces_need_two_mac_addresses() {
    let mut world = World::new();
    let again = interface(2, Ipv4Addr::new(10, 0, 3, 1), None, 0);
    let refused = world.host.stack.add_interface(&config(), again);
    let Err(ConfigError::Interface(why)) = refused else {
        panic!("{refused:?}")
    };
    assert!(why.contains("MAC"), "{why}");
    let without = Interface {
        capabilities: Capabilities::plain(Medium::Ip, 1_500),
        ..again
    };
    assert!(world.host.stack.add_interface(&config(), without).is_ok());
}
