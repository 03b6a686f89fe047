//! A host under attack, an honest client that uses it, and an attacker who sends
//! arbitrary packets.
//!
//! Rule: the attacker is on the host's network; the client is 5 ms away. The link is Ethernet only
//! in attacks that involve ARP or IPv6; in all other attacks the link carries bare IPv4 packets.
//! Work is counted in visited nodes of lists and trees, not in time, so an attack gives the same
//! results on every machine. `attackers` and `forge` make the IP packets of an attack.

use std::{
    collections::VecDeque,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use fullpipe::{
    Config, ConnectOptions, ConnectionId, Info, Instant, Interface, InterfaceId, ListenOptions,
    ListenerId, MacAddress, Read, SocketEvent, Stack, Subnet,
    device::{Capabilities, Device, Medium, Received, RxMeta, TxMeta},
};
use fullpipe_pool::{Duration, Rng};
use fullpipe_wire::{
    ArpOperation, ArpPacket, EtherType, EthernetHeader, Ipv4Header, Ipv6Header, Protocol, TcpHeader,
};

/// The link of host, client and attacker, and the IP version of the client's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Bare IPv4 packets.
    Packets,
    /// IPv4 over Ethernet. No host knows another's MAC address at first.
    Ethernet,
    /// IPv6 over Ethernet. No host knows another's MAC address at first.
    EthernetV6,
    /// IPv4 over Ethernet, on which the hosts also configure IPv6 (knob `ip.autoconfiguration`).
    Autoconfigured,
}

impl Network {
    const fn medium(self) -> Medium {
        match self {
            Self::Packets => Medium::Ip,
            Self::Ethernet | Self::EthernetV6 | Self::Autoconfigured => Medium::Ethernet,
        }
    }

    /// The address of host number `number`, in the IP version of the client's connections.
    fn address(self, number: u8) -> IpAddr {
        match self {
            Self::Packets | Self::Ethernet | Self::Autoconfigured => {
                Ipv4Addr::new(10, 0, 0, number).into()
            }
            Self::EthernetV6 => v6(number.into()).into(),
        }
    }
}

/// The address whose last 64 bits are `number`, in the IPv6 network of host, client and attacker.
pub fn v6(number: u64) -> Ipv6Addr {
    Ipv6Addr::from_bits(0xfd << 120 | u128::from(number))
}

/// Number of the host under attack. A host's number is the last part of its IP and MAC addresses.
const HOST_NUMBER: u8 = 1;
/// The client's number.
const CLIENT_NUMBER: u8 = 2;
/// The attacker's number.
pub const STRANGER_NUMBER: u8 = 3;

/// The host under attack.
pub const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// The honest client.
pub const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// The attacker's own address.
pub const STRANGER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 3);
/// Port at which the host sends [`SOURCE_BYTES`] and closes.
pub const SOURCE: u16 = 80;
/// Port at which the host reads to the end.
pub const SINK: u16 = 81;
/// Bytes that the host sends at [`SOURCE`]. The client sends the same number to [`SINK`].
pub const SOURCE_BYTES: usize = 2 << 20;

/// One-way delay between host and client.
const DELAY: Duration = Duration::from_millis(5);
/// Time for which a server waits for a peer that accepts no payload.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes that an application reads or writes at once.
const CHUNK: usize = 8_192;

/// The byte at offset `at` of the client's and the host's streams.
fn pattern(at: usize) -> u8 {
    (at % 251) as u8
}

/// The MAC address of the host under attack.
const HOST_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
/// The client's MAC address.
const CLIENT_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
/// The attacker's MAC address.
const STRANGER_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 3]);

/// A device without a link: a test puts in received frames and takes out sent frames.
struct Port {
    medium: Medium,
    arrived: VecDeque<Vec<u8>>,
    current: Vec<u8>,
    lent: Vec<u8>,
    sent: VecDeque<Vec<u8>>,
}

impl Device for Port {
    fn capabilities(&self) -> Capabilities {
        Capabilities::plain(self.medium, 1_500)
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        self.current = self.arrived.pop_front()?;
        Some(Received {
            frame: &self.current,
            meta: RxMeta::default(),
        })
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        self.lent.resize(len, 0);
        Some(&mut self.lent)
    }

    fn send(&mut self, len: usize, _meta: TxMeta) {
        self.lent.truncate(len);
        self.sent.push_back(std::mem::take(&mut self.lent));
    }
}

/// A stack and its device.
struct End {
    stack: Stack,
    port: Port,
}

impl End {
    fn new(network: Network, number: u8, mac: MacAddress, config: &Config) -> Self {
        let mut config = config.clone();
        config.ip.autoconfiguration = network == Network::Autoconfigured;
        let port = Port {
            medium: network.medium(),
            arrived: VecDeque::new(),
            current: Vec::new(),
            lent: Vec::new(),
            sent: VecDeque::new(),
        };
        let interface = Interface {
            mac,
            address: Ipv4Addr::new(10, 0, 0, number).into(),
            prefix_len: 8,
            gateway: None,
            capabilities: port.capabilities(),
        };
        let stack = Stack::new(&config, interface, [mac.0[5]; 16]);
        let mut stack = stack.expect("the configuration is sound");
        if network == Network::EthernetV6 {
            let added = stack.add_address(
                InterfaceId::FIRST,
                Subnet {
                    address: network.address(number),
                    prefix_len: 64,
                },
            );
            added.expect("there is room for an address");
        }
        Self { stack, port }
    }

    /// Calls the stack's `turn` until nothing is left to do now, but at most 100 times.
    fn turn(&mut self, now: Instant) {
        for _ in 0..100 {
            let turned = fullpipe::turn(&mut self.stack, &mut self.port, now);
            if !turned.more_work {
                return;
            }
        }
    }
}

/// A connection that the host under attack serves.
struct Served {
    id: ConnectionId,
    /// Bytes that the host has still to send; `None` if the host only reads.
    left: Option<usize>,
    /// Time of the last write that was accepted.
    moved: Instant,
}

/// The client's two connections.
#[derive(Default)]
struct ClientTransfers {
    reads: Option<ConnectionId>,
    writes: Option<ConnectionId>,
    read: usize,
    written: usize,
    intact: bool,
    begun: Option<Instant>,
    ended: Option<Instant>,
}

/// Peaks of memory use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peaks {
    /// Blocks in use or reserved.
    pub blocks: u32,
    /// Ranges of received bytes in the reassembly queues of TCP and IP.
    pub ranges: u32,
    /// Ranges of sent, unacknowledged payload that the host tracks.
    pub pieces: u32,
}

/// Cost of the attack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Toll {
    /// Packets that the attacker sent.
    pub packets: u64,
    /// Nodes that the host has visited, including those visited for the honest client.
    pub walked: u64,
    /// Nodes visited for the most expensive packet.
    pub walked_for_one: u64,
}

/// Host, client and attacker.
pub struct Arena {
    /// The time.
    pub now: Instant,
    /// The attacker's random numbers.
    pub rng: Rng,
    /// Cost of the attack so far.
    pub toll: Toll,
    /// Peaks so far.
    pub peaks: Peaks,
    network: Network,
    host: End,
    client: End,
    listeners: [(ListenerId, bool); 2],
    served: Vec<Served>,
    client_transfers: ClientTransfers,
    /// Frames in flight between host and client, in the order of arrival. Each has its arrival time
    /// and the number of the host that receives it.
    flying: VecDeque<(Instant, u8, Vec<u8>)>,
    /// Frames that the host sent and the attacker receives: all frames except those that only the
    /// client receives.
    replies: Vec<Vec<u8>>,
    walked_before: u64,
}

impl Arena {
    /// Creates a host with the knobs `config` in `network`. The client has the default knobs.
    pub fn new(config: &Config, network: Network) -> Self {
        let mut host = End::new(network, HOST_NUMBER, HOST_MAC, config);
        let mut listen = |port: u16| {
            let at = SocketAddr::new(network.address(HOST_NUMBER), port);
            let listener = host.stack.tcp_listen(at, ListenOptions::default());
            listener.expect("nobody listens there")
        };
        let listeners = [(listen(SOURCE), true), (listen(SINK), false)];
        Self {
            now: Instant::from_secs(1_000),
            rng: Rng::seeded(1),
            toll: Toll::default(),
            peaks: Peaks::default(),
            network,
            host,
            client: End::new(network, CLIENT_NUMBER, CLIENT_MAC, &Config::default()),
            listeners,
            served: Vec::new(),
            client_transfers: ClientTransfers {
                intact: true,
                ..ClientTransfers::default()
            },
            flying: VecDeque::new(),
            replies: Vec::new(),
            walked_before: 0,
        }
    }

    /// The stack under attack.
    pub fn stack(&self) -> &Stack {
        &self.host.stack
    }

    /// A counter of the host, by its standard name.
    pub fn counter(&self, name: &str) -> u64 {
        let stack = &self.host.stack;
        let (below, tcp) = (stack.counters().iter(), stack.tcp_counters().iter());
        let discards = stack.tcp_discards().iter();
        let mut all = below.chain(tcp).chain(discards);
        all.find(|row| row.0 == name).map_or(0, |row| row.1)
    }

    /// Delivers an IPv6 packet of the attacker over Ethernet.
    pub fn inject_v6(&mut self, packet: &[u8]) {
        let (header, _) = Ipv6Header::parse(packet).expect("the attacker's headers are whole");
        let dst = match header.dst.octets() {
            [0xff, .., a, b, c, d] => MacAddress([0x33, 0x33, a, b, c, d]),
            _ => HOST_MAC,
        };
        let mut frame = vec![0; EthernetHeader::LEN];
        EthernetHeader {
            dst,
            src: STRANGER_MAC,
            ether_type: EtherType::Ipv6,
        }
        .write(&mut frame);
        frame.extend_from_slice(packet);
        self.inject_frame(&frame);
    }

    /// Delivers an IPv4 packet of the attacker.
    pub fn inject(&mut self, packet: &[u8]) {
        match self.host.port.medium {
            Medium::Ip => self.inject_frame(packet),
            Medium::Ethernet => {
                let mut frame = vec![0; EthernetHeader::LEN];
                EthernetHeader {
                    dst: HOST_MAC,
                    src: STRANGER_MAC,
                    ether_type: EtherType::Ipv4,
                }
                .write(&mut frame);
                frame.extend_from_slice(packet);
                self.inject_frame(&frame);
            }
        }
    }

    /// Delivers an ARP request for the host's address, from `sender`.
    pub fn inject_arp(&mut self, sender: Ipv4Addr) {
        let mut frame = vec![0; EthernetHeader::LEN + ArpPacket::LEN];
        EthernetHeader {
            dst: MacAddress::BROADCAST,
            src: STRANGER_MAC,
            ether_type: EtherType::Arp,
        }
        .write(&mut frame);
        ArpPacket {
            operation: ArpOperation::Request,
            sender_mac: STRANGER_MAC,
            sender_ip: sender,
            target_mac: MacAddress::UNSPECIFIED,
            target_ip: HOST,
        }
        .write(&mut frame[EthernetHeader::LEN..]);
        self.inject_frame(&frame);
    }

    fn inject_frame(&mut self, packet: &[u8]) {
        let stack = &mut self.host.stack;
        let before = stack.nodes_walked();
        stack.receive(packet, RxMeta::default(), self.now);
        let walked = stack.nodes_walked() - before;
        self.toll.packets += 1;
        self.toll.walked_for_one = self.toll.walked_for_one.max(walked);
        self.measure();
    }

    /// Removes and returns the frames of the host that the attacker has received.
    pub fn replies(&mut self) -> Vec<Vec<u8>> {
        self.serve();
        std::mem::take(&mut self.replies)
    }

    /// The host's state of its connection with the attacker's port `port`.
    pub fn info(&mut self, port: u16) -> Option<Info> {
        let now = self.now;
        let peer = SocketAddr::from((STRANGER, port));
        let stack = &mut self.host.stack;
        let ids = self.served.iter().map(|served| served.id);
        let id = ids
            .filter(|&id| stack.tcp_ends(id).is_ok_and(|ends| ends.1 == peer))
            .last()?;
        stack.tcp_info(id, now).ok()
    }

    /// The client's port of the connection from which it reads, and the host's state of that
    /// connection. A real attacker would have to guess these numbers.
    pub fn clients_numbers(&mut self) -> Option<(u16, Info)> {
        let id = self.client_transfers.reads?;
        let port = self.client.stack.tcp_ends(id).ok()?.0.port();
        let peer = SocketAddr::new(self.network.address(CLIENT_NUMBER), port);
        let now = self.now;
        let stack = &mut self.host.stack;
        let served = self.served.iter().map(|served| served.id);
        let own = served
            .filter(|&id| stack.tcp_ends(id).is_ok_and(|ends| ends.1 == peer))
            .last()?;
        Some((port, stack.tcp_info(own, now).ok()?))
    }

    /// The client opens its two connections.
    pub fn connect_client(&mut self) {
        let now = self.now;
        let host = self.network.address(HOST_NUMBER);
        let mut open = |port: u16| {
            let at = SocketAddr::new(host, port);
            let options = ConnectOptions::default();
            self.client.stack.tcp_connect(at, None, options, now).ok()
        };
        self.client_transfers.reads = open(SOURCE);
        self.client_transfers.writes = open(SINK);
        self.client_transfers.begun = Some(now);
    }

    /// Returns true while the client's transfers run.
    pub fn has_client(&self) -> bool {
        self.client_transfers.begun.is_some() && self.client_transfers.ended.is_none()
    }

    /// Duration of the client's transfers. `None` if one of them has not ended, or if a byte that
    /// the client read is wrong.
    pub fn client_took(&self) -> Option<Duration> {
        let whole = self.client_transfers.intact && self.client_transfers.read == SOURCE_BYTES;
        let took = self
            .client_transfers
            .ended?
            .since(self.client_transfers.begun?);
        whole.then_some(took)
    }

    /// Lets `time` pass.
    pub fn pass(&mut self, time: Duration) {
        self.now += time;
        while self.flying.front().is_some_and(|next| next.0 <= self.now) {
            let Some((_, to, packet)) = self.flying.pop_front() else {
                break;
            };
            let end = if to == CLIENT_NUMBER {
                &mut self.client
            } else {
                &mut self.host
            };
            end.port.arrived.push_back(packet);
        }
        self.serve();
        self.run_client();
        self.measure();
    }

    /// Makes the host work until nothing is left to do at this time.
    fn serve(&mut self) {
        self.host.turn(self.now);
        self.answer_events();
        self.host.turn(self.now);
        while let Some(frame) = self.host.port.sent.pop_front() {
            let (for_client, for_others) = match self.host.port.medium {
                Medium::Ip => {
                    let is_clients = destination(&frame) == Some(CLIENT);
                    (is_clients, !is_clients)
                }
                Medium::Ethernet => match EthernetHeader::parse(&frame) {
                    Ok((link, _)) if link.dst.is_unicast() => {
                        (link.dst == CLIENT_MAC, link.dst != CLIENT_MAC)
                    }
                    _ => (true, true),
                },
            };
            if for_client {
                let frame = frame.clone();
                self.flying
                    .push_back((self.now + DELAY, CLIENT_NUMBER, frame));
            }
            if for_others {
                self.replies.push(frame);
            }
        }
    }

    /// Runs the host's applications: accept, read, write, close.
    fn answer_events(&mut self) {
        while self.host.stack.next_event().is_some_and(|event| {
            // Every connection is polled below, so the contents of events are not needed.
            matches!(
                event,
                SocketEvent::Tcp(_) | SocketEvent::Accept(_) | SocketEvent::Udp(_)
            )
        }) {}
        let (stack, now) = (&mut self.host.stack, self.now);
        for (listener, speaks) in self.listeners {
            while let Ok(Some((id, _))) = stack.tcp_accept(listener, now) {
                let left = speaks.then_some(SOURCE_BYTES);
                self.served.push(Served {
                    id,
                    left,
                    moved: now,
                });
            }
        }
        self.served
            .retain_mut(|served| serve_one(stack, served, now));
    }

    /// Runs the client's applications.
    fn run_client(&mut self) {
        let (now, client) = (self.now, &mut self.client_transfers);
        let stack = &mut self.client.stack;
        let mut chunk = [0; CHUNK];
        while let Some(id) = client.reads {
            match stack.tcp_read(id, &mut chunk, now) {
                Ok(Read::Data(count)) => {
                    let sound = |(at, byte): (usize, &u8)| *byte == pattern(client.read + at);
                    client.intact &= chunk[..count].iter().enumerate().all(sound);
                    client.read += count;
                }
                Ok(Read::Empty) => break,
                Ok(Read::End) | Err(_) => {
                    _ = stack.tcp_close(id, now);
                    client.reads = None;
                }
            }
        }
        while let Some(id) = client.writes {
            let left = SOURCE_BYTES - client.written;
            if left == 0 {
                // The transfer ends only after the host has also closed.
                _ = stack.tcp_shutdown(id, now);
                if stack.tcp_read(id, &mut chunk, now) == Ok(Read::End) {
                    _ = stack.tcp_close(id, now);
                    client.writes = None;
                }
                break;
            }
            let len = left.min(CHUNK);
            for (at, byte) in chunk[..len].iter_mut().enumerate() {
                *byte = pattern(client.written + at);
            }
            match stack.tcp_write(id, &chunk[..len], now) {
                Ok(0) => break,
                Ok(taken) => client.written += taken,
                Err(_) => (client.intact, client.writes) = (false, None),
            }
        }
        let over = client.begun.is_some() && client.reads.is_none() && client.writes.is_none();
        if over && client.ended.is_none() {
            client.ended = Some(now);
        }
        self.client.turn(now);
        for packet in self.client.port.sent.drain(..) {
            self.flying.push_back((now + DELAY, HOST_NUMBER, packet));
        }
    }

    fn measure(&mut self) {
        let stack = &self.host.stack;
        let pool = stack.pool();
        let nodes = stack.nodes_used();
        let blocks = pool.block_count() - pool.free_blocks() + pool.promised();
        let peaks = &mut self.peaks;
        peaks.blocks = peaks.blocks.max(blocks);
        peaks.ranges = peaks.ranges.max(nodes.ranges);
        peaks.pieces = peaks.pieces.max(nodes.pieces);
        self.toll.walked = stack.nodes_walked() - self.walked_before;
    }

    /// Restarts the count of visited nodes ([`Toll::walked`]) at 0.
    pub fn reset_cost(&mut self) {
        self.walked_before = self.host.stack.nodes_walked();
    }
}

/// Serves one connection; returns false once the host has closed the connection.
fn serve_one(stack: &mut Stack, served: &mut Served, now: Instant) -> bool {
    let mut chunk = [0; CHUNK];
    let Some(left) = &mut served.left else {
        loop {
            match stack.tcp_read(served.id, &mut chunk, now) {
                Ok(Read::Data(_)) => {}
                Ok(Read::Empty) => return true,
                Ok(Read::End) | Err(_) => {
                    _ = stack.tcp_close(served.id, now);
                    return false;
                }
            }
        }
    };
    while *left > 0 {
        let from = SOURCE_BYTES - *left;
        let len = (*left).min(CHUNK);
        for (at, byte) in chunk[..len].iter_mut().enumerate() {
            *byte = pattern(from + at);
        }
        match stack.tcp_write(served.id, &chunk[..len], now) {
            Ok(0) if now.since(served.moved) < PATIENCE => return true,
            Ok(0) | Err(_) => break,
            Ok(taken) => (*left, served.moved) = (*left - taken, now),
        }
    }
    _ = stack.tcp_close(served.id, now);
    false
}

/// The destination of an IP packet.
fn destination(packet: &[u8]) -> Option<Ipv4Addr> {
    let (header, _) = Ipv4Header::parse(packet, Default::default()).ok()?;
    Some(header.dst)
}

/// The IP header, the TCP header and the payload length of a packet, if it carries TCP.
pub fn tcp_of(packet: &[u8]) -> Option<(Ipv4Header, TcpHeader, usize)> {
    let (ip, segment) = Ipv4Header::parse(packet, Default::default()).ok()?;
    if ip.protocol != Protocol::Tcp {
        return None;
    }
    let (header, text) = TcpHeader::parse(segment).ok()?;
    Some((ip, header, text.len()))
}

/// The IPv6 header of a frame, and everything after it.
pub fn v6_of(frame: &[u8]) -> Option<(Ipv6Header, &[u8])> {
    let (ethernet, packet) = EthernetHeader::parse(frame).ok()?;
    let is_v6 = ethernet.ether_type == EtherType::Ipv6;
    Ipv6Header::parse(packet).ok().filter(|_| is_v6)
}
