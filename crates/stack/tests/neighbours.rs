//! Tests of neighbours on an Ethernet: many at once, silent neighbours, and unknown hosts that
//! flood.
//!
//! Rule: the other stations are scripts. They answer ARP and SYNs, or are silent; the
//! host under test is a whole stack. Time is virtual.

mod port;

use std::{
    collections::VecDeque,
    net::{IpAddr, Ipv4Addr, SocketAddr},
};

use fullpipe::{
    CloseReason, Config, ConnectOptions, ConnectionId, Duration, Instant, Interface, ListenOptions,
    MacAddress, Stack, TcpState,
    device::{Capabilities, Medium},
    turn,
};
use fullpipe_wire::{
    ArpOperation, ArpPacket, Checksum, EtherType, EthernetHeader, Icmpv4Message, Ipv4Header,
    Protocol, TcpFlags, TcpHeader, tcp::set_checksum,
};

use port::Port;

const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const HOST_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const PORT: u16 = 80;
/// One-way delay between any two stations.
const DELAY: Duration = Duration::from_millis(1);

/// The address of station `n`.
fn ip(n: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a01_0000 + n)
}

/// The MAC address of station `n`.
fn mac(n: u32) -> MacAddress {
    let [_, a, b, c] = n.to_be_bytes();
    MacAddress([2, 1, 0, a, b, c])
}

fn number(ip: Ipv4Addr) -> u32 {
    ip.to_bits() - 0x0a01_0000
}

const CAPABILITIES: Capabilities = Capabilities::plain(Medium::Ethernet, 1_500);

fn frame(n: u32, ether_type: EtherType, payload: &[u8], dst: MacAddress) -> Vec<u8> {
    let mut frame = vec![0; EthernetHeader::LEN];
    let src = mac(n);
    EthernetHeader {
        dst,
        src,
        ether_type,
    }
    .write(&mut frame);
    frame.extend(payload);
    frame
}

/// An IP packet of station `n` to the host, in a frame.
fn packet(n: u32, protocol: Protocol, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; Ipv4Header::LEN];
    Ipv4Header::new(ip(n), HOST, protocol, payload.len()).write(&mut bytes);
    bytes.extend(payload);
    frame(n, EtherType::Ipv4, &bytes, HOST_MAC)
}

fn segment(n: u32, header: &TcpHeader) -> Vec<u8> {
    let mut bytes = vec![0; header.header_len()];
    header.write(&mut bytes);
    set_checksum(&mut bytes, ip(n).into(), HOST.into(), Checksum::of(&[]));
    packet(n, Protocol::Tcp, &bytes)
}

fn syn(n: u32) -> Vec<u8> {
    let header = TcpHeader {
        src_port: 4_000,
        dst_port: PORT,
        seq: 99,
        flags: TcpFlags::SYN,
        window: 65_535,
        ..TcpHeader::default()
    };
    segment(n, &header)
}

fn echo_request(n: u32) -> Vec<u8> {
    let mut bytes = vec![0; Icmpv4Message::LEN];
    Icmpv4Message::EchoRequest { ident: 1, seq: 1 }.write(&mut bytes, Checksum::new());
    packet(n, Protocol::Icmp, &bytes)
}

fn arp(n: u32, operation: ArpOperation) -> Vec<u8> {
    let mut bytes = vec![0; ArpPacket::LEN];
    ArpPacket {
        operation,
        sender_mac: mac(n),
        sender_ip: ip(n),
        target_mac: HOST_MAC,
        target_ip: HOST,
    }
    .write(&mut bytes);
    let dst = match operation {
        ArpOperation::Request => MacAddress::BROADCAST,
        ArpOperation::Reply => HOST_MAC,
    };
    frame(n, EtherType::Arp, &bytes, dst)
}

/// The host and its Ethernet.
struct Lan {
    stack: Stack,
    port: Port,
    start: Instant,
    now: Instant,
    /// Frames in flight to the host, soonest first.
    flying: VecDeque<(Instant, Vec<u8>)>,
    /// Stations below this number answer ARP requests, and SYNs.
    answering: u32,
    requests: u32,
    /// Segments that reached their destination, each with the number of the destination station.
    delivered: Vec<(u32, TcpHeader)>,
}

impl Lan {
    fn new(knobs: &[(&str, &str)], answering: u32) -> Self {
        let mut config = Config::default();
        for (name, value) in knobs {
            config.set(name, value).expect("a knob");
        }
        let interface = Interface {
            mac: HOST_MAC,
            address: IpAddr::V4(HOST),
            prefix_len: 8,
            gateway: None,
            capabilities: CAPABILITIES,
        };
        let start = Instant::from_secs(1_000);
        Self {
            stack: Stack::new(&config, interface, [9; 16]).expect("a sound configuration"),
            port: Port::new(CAPABILITIES),
            start,
            now: start,
            flying: VecDeque::new(),
            answering,
            requests: 0,
            delivered: Vec::new(),
        }
    }

    fn connect(&mut self, n: u32) -> ConnectionId {
        let to = SocketAddr::from((ip(n), PORT));
        let options = ConnectOptions::default();
        let opened = self.stack.tcp_connect(to, None, options, self.now);
        opened.expect("a free slot")
    }

    fn state(&mut self, id: ConnectionId) -> TcpState {
        self.stack.tcp_info(id, self.now).expect("it is open").state
    }

    fn are_established(&mut self, ids: &[ConnectionId]) -> usize {
        let up = |id: &&ConnectionId| self.state(**id) == TcpState::Established;
        ids.iter().filter(up).count()
    }

    fn closed(&mut self, id: ConnectionId) -> Option<CloseReason> {
        self.stack
            .tcp_ready(id, self.now)
            .expect("it is open")
            .closed
    }

    /// Puts a frame on the wire to the host.
    fn send(&mut self, frame: Vec<u8>) {
        self.flying.push_back((self.now + DELAY, frame));
    }

    /// Runs the host until it has no work, and lets the stations answer.
    fn turn(&mut self) {
        while self.flying.front().is_some_and(|next| next.0 <= self.now) {
            let (_, frame) = self.flying.pop_front().expect("it is there");
            self.port.arrived.push_back(frame);
        }
        for round in 0.. {
            assert!(round < 10_000, "the host never comes to rest");
            let turned = turn(&mut self.stack, &mut self.port, self.now);
            while let Some(frame) = self.port.sent.pop_front() {
                self.answer(&frame);
            }
            if !turned.more_work {
                break;
            }
        }
        self.stack.verify(self.now);
    }

    /// The stations' answer to a frame of the host.
    fn answer(&mut self, frame: &[u8]) {
        let (ethernet, body) = EthernetHeader::parse(frame).expect("a sound frame");
        if ethernet.ether_type == EtherType::Arp {
            let request = ArpPacket::parse(body).expect("a sound packet");
            if request.operation == ArpOperation::Request {
                self.requests += 1;
                let n = number(request.target_ip);
                if n < self.answering {
                    self.send(arp(n, ArpOperation::Reply));
                }
            }
            return;
        }
        let (header, bytes) = Ipv4Header::parse(body, Default::default()).expect("a packet");
        let n = number(header.dst);
        if header.protocol != Protocol::Tcp || ethernet.dst != mac(n) {
            return;
        }
        let (segment, _) = TcpHeader::parse(bytes).expect("a segment");
        self.delivered.push((n, segment));
        if segment.flags.contains(TcpFlags::SYN) && !segment.flags.contains(TcpFlags::ACK) {
            let answer = TcpHeader {
                src_port: segment.dst_port,
                dst_port: segment.src_port,
                seq: 500,
                ack: segment.seq.wrapping_add(1),
                flags: TcpFlags::SYN | TcpFlags::ACK,
                window: 65_535,
                ..TcpHeader::default()
            };
            self.send(self::segment(n, &answer));
        }
    }

    /// Lets time pass until `done`, or for `time`; returns the time that passed.
    fn until(&mut self, time: Duration, mut done: impl FnMut(&mut Self) -> bool) -> Duration {
        let (begun, end) = (self.now, self.now + time);
        loop {
            self.turn();
            if done(self) || self.now >= end {
                return self.now.since(begun);
            }
            let frame = self.flying.front().map(|next| next.0);
            let due = self.stack.next_timeout().into_iter().chain(frame).min();
            self.now = due.unwrap_or(end).max(self.now).min(end);
        }
    }
}

/// Connects to the stations `0..count`.
fn connect_all(lan: &mut Lan, count: u32) -> Vec<ConnectionId> {
    (0..count).map(|n| lan.connect(n)).collect()
}

#[test]
fn connects_to_more_neighbours_than_entries_all_come_up() {
    // Columns: cache entries, connections, and the longest time in seconds. At most 100 ARP
    // requests leave in a second.
    for (entries, count, most_s) in [("64", 128, 3), ("64", 250, 4), ("2", 20, 3), ("1", 2, 2)] {
        let mut lan = Lan::new(&[("arp.entries", entries)], count);
        let ids = connect_all(&mut lan, count);
        let took = lan.until(Duration::from_secs(300), |lan| {
            lan.are_established(&ids) == ids.len()
        });
        let up = lan.are_established(&ids);
        assert_eq!(
            up as u32, count,
            "{entries} entries, {} requests",
            lan.requests
        );
        assert!(
            took <= Duration::from_secs(most_s),
            "{entries} entries, {count} connects: {took}"
        );
    }
}

#[test]
fn connects_to_silent_neighbours_fail_by_their_timers_however_many_there_are() {
    let knobs = [("arp.entries", "64"), ("tcp.syn_retries", "4")];
    let mut alone = Lan::new(&knobs, 0);
    let one = alone.connect(0);
    let took_alone = alone.until(Duration::from_secs(1_000), |lan| lan.closed(one).is_some());
    assert_eq!(alone.closed(one), Some(CloseReason::TimedOut));
    // SYNs leave at intervals of 1, 2, 4, 8 and 16 s. ARP takes 3 s before the first SYN fails, and
    // up to 3 s for each later SYN.
    assert!(took_alone <= Duration::from_secs(46), "{took_alone}");

    let mut lan = Lan::new(&knobs, 0);
    let ids = connect_all(&mut lan, 128);
    let took = lan.until(Duration::from_secs(1_000), |lan| {
        ids.iter().all(|id| lan.closed(*id).is_some())
    });
    for id in &ids {
        assert_eq!(lan.closed(*id), Some(CloseReason::TimedOut), "after {took}");
    }
    // Allow more time: while a connection waits for room in the cache, its SYN is not sent. When
    // the lookup then fails, the retransmission timer starts anew.
    assert!(took <= Duration::from_secs(60), "{took}");
    assert!(lan.delivered.is_empty());
}

#[test]
fn the_user_timeout_ends_an_attempt_that_waits_for_a_silent_neighbour() {
    let knobs = [("arp.entries", "2"), ("tcp.user_timeout", "5s")];
    let mut lan = Lan::new(&knobs, 0);
    let ids = connect_all(&mut lan, 20);
    lan.until(Duration::from_millis(5_001), |_| false);
    for id in &ids {
        assert_eq!(lan.closed(*id), Some(CloseReason::TimedOut));
    }
}

#[test]
fn silent_neighbours_do_not_keep_others_from_being_reached() {
    let mut lan = Lan::new(&[("arp.entries", "16")], 8);
    let silent: Vec<_> = (100..140).map(|n| lan.connect(n)).collect();
    lan.until(Duration::from_millis(10), |_| false);
    let ids = connect_all(&mut lan, 8);
    let took = lan.until(Duration::from_secs(60), |lan| {
        lan.are_established(&ids) == 8
    });
    assert_eq!(lan.are_established(&ids), 8, "{took}");
    // Eight lookups at a time fail after three seconds; the other connections wait meanwhile.
    assert!(took <= Duration::from_secs(16), "{took}");
    assert_eq!(silent.len(), 40);
}

/// Floods the host with `per_ms` frames per millisecond from invented addresses. Returns the time
/// until a client that the host does not know gets the SYN-ACK. If `asks_first` is true, the client
/// sends an ARP request for the host; otherwise it knows the host's MAC address.
fn served_beside(flood: fn(u32) -> Vec<u8>, per_ms: f64, asks_first: bool) -> Option<Duration> {
    let mut lan = Lan::new(&[], 0);
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT));
    lan.stack
        .tcp_listen(any, ListenOptions::default())
        .expect("a free port");
    let client = 7;
    let (mut sent, mut begun) = (0.0, None);
    for ms in 0..5_000_u64 {
        lan.now = lan.start + Duration::from_millis(ms);
        sent += per_ms;
        while sent >= 1.0 {
            sent -= 1.0;
            // Each invented address is used once.
            let n = 1_000 + (ms as u32 * 64 + sent as u32);
            lan.send(flood(n));
        }
        if ms == 2_000 {
            begun = Some(lan.now);
            if asks_first {
                lan.send(arp(client, ArpOperation::Request));
            }
        }
        if ms >= 2_002 && (ms - 2_002).is_multiple_of(1_000) {
            lan.send(syn(client));
        }
        lan.turn();
        let answered = |(n, header): &(u32, TcpHeader)| {
            *n == client && header.flags.contains(TcpFlags::SYN | TcpFlags::ACK)
        };
        if lan.delivered.iter().any(answered) {
            return begun.map(|begun| lan.now.since(begun));
        }
    }
    None
}

#[test]
fn a_client_unknown_before_a_flood_from_on_link_addresses_is_served_at_once() {
    for (name, flood) in [
        ("SYN", syn as fn(u32) -> Vec<u8>),
        ("echo request", echo_request),
    ] {
        for per_ms in [0.2, 1.0, 10.0, 50.0] {
            for asks_first in [true, false] {
                let took = served_beside(flood, per_ms, asks_first);
                assert!(
                    took.is_some_and(|took| took <= Duration::from_millis(10)),
                    "{name}, {per_ms} a millisecond, asks first: {asks_first}: {took:?}"
                );
            }
        }
    }
}

#[test]
fn answers_to_unknown_hosts_ask_for_no_neighbour() {
    let mut lan = Lan::new(&[], 0);
    for n in 1_000..3_000 {
        lan.send(syn(n));
        lan.send(echo_request(n + 10_000));
        lan.now += Duration::from_millis(1);
        lan.turn();
    }
    assert_eq!(lan.requests, 0);
}

/// A connection to station 0, which advertised `window` and fell silent long ago: the host has
/// forgotten the MAC address of the station.
fn to_a_vanished_neighbour(knobs: &[(&str, &str)], window: u16) -> (Lan, ConnectionId) {
    let mut all = vec![
        ("arp.reachable_time", "10ms"),
        ("arp.request_interval", "10ms"),
        ("arp.failed_time", "0"),
        ("tcp.rto_max", "1s"),
    ];
    all.extend(knobs);
    let mut lan = Lan::new(&all, 1);
    let id = lan.connect(0);
    lan.until(Duration::from_secs(1), |lan| {
        lan.are_established(&[id]) == 1
    });
    let (local, _) = lan.stack.tcp_ends(id).expect("it is open");
    let last = lan.delivered.last().expect("the host's ACK").1;
    lan.answering = 0;
    let update = TcpHeader {
        src_port: PORT,
        dst_port: local.port(),
        seq: last.ack,
        ack: last.seq,
        flags: TcpFlags::ACK,
        window,
        ..TcpHeader::default()
    };
    lan.send(segment(0, &update));
    lan.until(Duration::from_secs(1), |_| false);
    // A datagram makes the host send ARP requests for the station, which does not answer.
    let udp = lan
        .stack
        .udp_bind(SocketAddr::from((HOST, 9)))
        .expect("a free port");
    let sent = lan.stack.udp_send(udp, SocketAddr::from((ip(0), 9)), b"?");
    assert_eq!(sent, Ok(true));
    lan.until(Duration::from_secs(1), |_| false);
    lan.stack.udp_close(udp).expect("it is open");
    lan.until(Duration::from_secs(1), |_| false);
    (lan, id)
}

#[test]
fn an_orphan_ends_although_its_neighbour_has_vanished_whatever_it_has_to_send() {
    for (name, window, written, abort) in [
        ("FIN", 65_535, 0, false),
        ("payload", 65_535, 100, false),
        ("a window probe", 0, 100, false),
        ("a reset", 65_535, 0, true),
    ] {
        let (mut lan, id) = to_a_vanished_neighbour(&[], window);
        let delivered = lan.delivered.len();
        let taken = lan.stack.tcp_write(id, &vec![0; written], lan.now);
        assert_eq!(taken, Ok(written), "{name}");
        let closed = match abort {
            true => lan.stack.tcp_abort(id, lan.now),
            false => lan.stack.tcp_close(id, lan.now),
        };
        assert_eq!(closed, Ok(()), "{name}");
        let took = lan.until(Duration::from_secs(600), |lan| {
            lan.stack.tcp_counts() == (0, 0, 0)
        });
        assert!(took < Duration::from_secs(60), "{name}: {took}");
        assert_eq!(lan.delivered.len(), delivered, "{name}");
        let pool = lan.stack.pool();
        assert_eq!(pool.free_blocks(), pool.block_count(), "{name}");
    }
}

#[test]
fn a_short_keepalive_time_does_not_busy_wait_for_a_neighbour() {
    let knobs = [
        ("tcp.keepalive_time", "1ms"),
        ("tcp.keepalive_interval", "1s"),
    ];
    // The bound of 300 turns includes about 100 turns for ARP requests.
    let (mut lan, id) = to_a_vanished_neighbour(&knobs, 65_535);
    assert_eq!(lan.stack.tcp_write(id, b"?", lan.now), Ok(1));
    let mut turns = 0;
    lan.until(Duration::from_secs(1), |_| {
        turns += 1;
        false
    });
    assert!(turns < 300, "{turns} turns in a second");
}

/// A datagram may occupy the last cache entry, and an unknown host can cause such a datagram. The
/// ACK of a connection in TIME-WAIT therefore evicts the datagram's entry, as a lookup of an open
/// connection does.
#[test]
fn an_ack_in_time_wait_is_no_datagram_to_the_neighbour_cache() {
    let mut lan = Lan::new(&[("arp.entries", "2")], 10);
    let id = lan.connect(0);
    let second = Duration::from_secs(1);
    lan.until(second, |lan| lan.are_established(&[id]) == 1);
    let (local, _) = lan.stack.tcp_ends(id).expect("it is open");
    lan.stack.tcp_close(id, lan.now).expect("it is open");
    lan.until(second, |_| false);
    let last = lan.delivered.last().expect("the host's FIN").1;
    assert!(last.flags.contains(TcpFlags::FIN));
    let fin = TcpHeader {
        src_port: PORT,
        dst_port: local.port(),
        seq: last.ack,
        ack: last.seq.wrapping_add(1),
        flags: TcpFlags::FIN | TcpFlags::ACK,
        window: 65_535,
        ..TcpHeader::default()
    };
    lan.send(segment(0, &fin));
    lan.until(second, |_| false);
    assert_eq!(lan.stack.tcp_counts(), (0, 0, 1));
    // Two other neighbours take both entries.
    let others = [lan.connect(1), lan.connect(2)];
    lan.until(second * 5, |lan| lan.are_established(&others) == 2);
    let udp = lan.stack.udp_bind(SocketAddr::from((HOST, 9)));
    let udp = udp.expect("a free port");
    let sent = lan
        .stack
        .udp_send(udp, SocketAddr::from((ip(100), 9)), b"?");
    assert_eq!(sent, Ok(true));
    lan.turn();
    let (requests, delivered) = (lan.requests, lan.delivered.len());
    lan.send(segment(0, &fin));
    lan.until(second, |lan| lan.delivered.len() > delivered);
    assert_eq!(lan.requests, requests + 1, "for station 0");
    let (n, ack) = *lan.delivered.last().expect("an ACK");
    assert_eq!((n, ack.ack), (0, fin.seq.wrapping_add(1)));
}
