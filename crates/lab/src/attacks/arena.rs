//! Where attacks are played: a host that serves, a friend who uses it, and a
//! stranger who sends whatever packets it likes.
//!
//! Rule: the stranger is next door and waits for nobody; the friend is 5 ms
//! away. Work is counted in nodes of lists visited, never timed, so the same
//! attack gives the same figures on every machine. What an attack sends is not
//! decided here.

use std::{
    collections::VecDeque,
    net::{IpAddr, Ipv4Addr, SocketAddr},
};

use fullpipe::{
    Config, ConnectOptions, ConnectionId, Info, Instant, Interface, ListenOptions, ListenerId,
    MacAddress, Read, SocketEvent, Stack,
    device::{Capabilities, Device, Medium, Received, RxMeta, TxMeta},
};
use fullpipe_pool::{Duration, Rng};
use fullpipe_wire::{Ipv4Header, Protocol, TcpHeader};

/// The host under attack.
pub const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// Who uses it.
pub const FRIEND: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// Where the stranger really is.
pub const STRANGER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 3);
/// Here the host sends [`SOURCE_BYTES`] and closes.
pub const SOURCE: u16 = 80;
/// Here the host reads to the end.
pub const SINK: u16 = 81;
/// What the host has to say at [`SOURCE`], and the friend at [`SINK`].
pub const SOURCE_BYTES: usize = 2 << 20;

/// One way between host and friend.
const DELAY: Duration = Duration::from_millis(5);
/// How long a server waits for a peer that takes nothing.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes copied at once by the applications.
const CHUNK: usize = 8_192;

/// The byte at offset `at` of everything that is sent honestly.
fn pattern(at: usize) -> u8 {
    (at % 251) as u8
}

/// A device without a link: frames in, frames out.
#[derive(Default)]
struct Port {
    arrived: VecDeque<Vec<u8>>,
    current: Vec<u8>,
    lent: Vec<u8>,
    sent: VecDeque<Vec<u8>>,
}

const CAPABILITIES: Capabilities = Capabilities::plain(Medium::Ip, 1_500);

impl Device for Port {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
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
    fn new(address: Ipv4Addr, config: &Config, secret: u8) -> Self {
        let interface = Interface {
            mac: MacAddress([2, 0, 0, 0, 0, secret]),
            address: IpAddr::V4(address),
            prefix_len: 8,
            gateway: None,
            capabilities: CAPABILITIES,
        };
        let stack = Stack::new(config, interface, [secret; 16]);
        Self {
            stack: stack.expect("the configuration is sound"),
            port: Port::default(),
        }
    }

    /// Turns until there is nothing left to do now. Bounded, like everything.
    fn turn(&mut self, now: Instant) {
        for _ in 0..100 {
            let turned = fullpipe::turn(&mut self.stack, &mut self.port, now);
            if !turned.more_work {
                return;
            }
        }
    }
}

/// A connection that the host serves.
struct Served {
    id: ConnectionId,
    /// What it still has to say; `None`: it only reads.
    left: Option<usize>,
    /// When it last could say something.
    moved: Instant,
}

/// The friend's two conversations.
#[derive(Default)]
struct Friendship {
    reads: Option<ConnectionId>,
    writes: Option<ConnectionId>,
    read: usize,
    written: usize,
    intact: bool,
    begun: Option<Instant>,
    ended: Option<Instant>,
}

/// The most that there ever was of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peaks {
    /// Blocks held or promised.
    pub blocks: u32,
    /// Ranges of reassembly, of TCP and IP.
    pub ranges: u32,
    /// Pieces in flight that are remembered.
    pub pieces: u32,
}

/// What the attack cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Toll {
    /// Packets that the stranger sent.
    pub packets: u64,
    /// Nodes visited for all of them together, answers included.
    pub walked: u64,
    /// Nodes visited to take the one that cost most.
    pub walked_for_one: u64,
}

/// Everybody.
pub struct Arena {
    /// The time.
    pub now: Instant,
    /// The stranger's dice.
    pub rng: Rng,
    /// What the attack cost so far.
    pub toll: Toll,
    /// What there was at most.
    pub peaks: Peaks,
    host: End,
    friend: End,
    listeners: [(ListenerId, bool); 2],
    served: Vec<Served>,
    friendship: Friendship,
    /// On their way between host and friend, soonest first.
    flying: VecDeque<(Instant, Ipv4Addr, Vec<u8>)>,
    /// Packets for anybody but the friend.
    replies: Vec<Vec<u8>>,
    walked_before: u64,
}

impl Arena {
    /// A host with these knobs; the friend has the defaults.
    pub fn new(config: &Config) -> Self {
        let mut host = End::new(HOST, config, 1);
        let mut listen = |port: u16| {
            let at = SocketAddr::from((HOST, port));
            let listener = host.stack.tcp_listen(at, ListenOptions::default());
            listener.expect("nobody listens there")
        };
        let listeners = [(listen(SOURCE), true), (listen(SINK), false)];
        Self {
            now: Instant::from_secs(1_000),
            rng: Rng::seeded(1),
            toll: Toll::default(),
            peaks: Peaks::default(),
            host,
            friend: End::new(FRIEND, &Config::default(), 2),
            listeners,
            served: Vec::new(),
            friendship: Friendship {
                intact: true,
                ..Friendship::default()
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

    /// The stranger's packet arrives.
    pub fn strike(&mut self, packet: &[u8]) {
        let stack = &mut self.host.stack;
        let before = stack.nodes_walked();
        stack.receive(packet, RxMeta::default(), self.now);
        let walked = stack.nodes_walked() - before;
        self.toll.packets += 1;
        self.toll.walked_for_one = self.toll.walked_for_one.max(walked);
        self.measure();
    }

    /// What the host has answered to anybody but the friend.
    pub fn replies(&mut self) -> Vec<Vec<u8>> {
        self.serve();
        std::mem::take(&mut self.replies)
    }

    /// What the host knows of its connection with `port` of the stranger.
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

    /// The host's connection that the friend reads from, as the host sees it:
    /// the friend's port, and the numbers that a stranger would have to guess.
    pub fn friends_numbers(&mut self) -> Option<(u16, Info)> {
        let id = self.friendship.reads?;
        let port = self.friend.stack.tcp_ends(id).ok()?.0.port();
        let peer = SocketAddr::from((FRIEND, port));
        let now = self.now;
        let stack = &mut self.host.stack;
        let served = self.served.iter().map(|served| served.id);
        let own = served
            .filter(|&id| stack.tcp_ends(id).is_ok_and(|ends| ends.1 == peer))
            .last()?;
        Some((port, stack.tcp_info(own, now).ok()?))
    }

    /// The friend opens its two connections.
    pub fn befriend(&mut self) {
        let now = self.now;
        let mut open = |port: u16| {
            let at = SocketAddr::from((HOST, port));
            let options = ConnectOptions::default();
            self.friend.stack.tcp_connect(at, None, options, now).ok()
        };
        self.friendship.reads = open(SOURCE);
        self.friendship.writes = open(SINK);
        self.friendship.begun = Some(now);
    }

    /// Whether the friend is here.
    pub fn has_company(&self) -> bool {
        self.friendship.begun.is_some() && self.friendship.ended.is_none()
    }

    /// How long the friend's conversations took, once both have come to their
    /// end with every byte in its place.
    pub fn friend_took(&self) -> Option<Duration> {
        let whole = self.friendship.intact && self.friendship.read == SOURCE_BYTES;
        let took = self.friendship.ended?.since(self.friendship.begun?);
        whole.then_some(took)
    }

    /// Lets `time` pass.
    pub fn pass(&mut self, time: Duration) {
        self.now += time;
        while self.flying.front().is_some_and(|next| next.0 <= self.now) {
            let Some((_, to, packet)) = self.flying.pop_front() else {
                break;
            };
            let end = if to == FRIEND {
                &mut self.friend
            } else {
                &mut self.host
            };
            end.port.arrived.push_back(packet);
        }
        self.serve();
        self.keep_company();
        self.measure();
    }

    /// The host works until there is nothing left to do now.
    fn serve(&mut self) {
        self.host.turn(self.now);
        self.answer_events();
        self.host.turn(self.now);
        while let Some(packet) = self.host.port.sent.pop_front() {
            let to = Ipv4Header::parse(&packet, Default::default()).map(|(header, _)| header.dst);
            if to == Ok(FRIEND) {
                self.flying.push_back((self.now + DELAY, FRIEND, packet));
            } else {
                self.replies.push(packet);
            }
        }
    }

    /// The host's applications: accept, read, write, close.
    fn answer_events(&mut self) {
        while self.host.stack.next_event().is_some_and(|event| {
            // Whatever changed, everybody is asked below.
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

    /// The friend's applications.
    fn keep_company(&mut self) {
        let (now, friend) = (self.now, &mut self.friendship);
        let stack = &mut self.friend.stack;
        let mut chunk = [0; CHUNK];
        while let Some(id) = friend.reads {
            match stack.tcp_read(id, &mut chunk, now) {
                Ok(Read::Data(count)) => {
                    let sound = |(at, byte): (usize, &u8)| *byte == pattern(friend.read + at);
                    friend.intact &= chunk[..count].iter().enumerate().all(sound);
                    friend.read += count;
                }
                Ok(Read::Empty) => break,
                Ok(Read::End) | Err(_) => {
                    _ = stack.tcp_close(id, now);
                    friend.reads = None;
                }
            }
        }
        while let Some(id) = friend.writes {
            let left = SOURCE_BYTES - friend.written;
            if left == 0 {
                // The end is reached when the host has closed, too.
                _ = stack.tcp_shutdown(id, now);
                if stack.tcp_read(id, &mut chunk, now) == Ok(Read::End) {
                    _ = stack.tcp_close(id, now);
                    friend.writes = None;
                }
                break;
            }
            let len = left.min(CHUNK);
            for (at, byte) in chunk[..len].iter_mut().enumerate() {
                *byte = pattern(friend.written + at);
            }
            match stack.tcp_write(id, &chunk[..len], now) {
                Ok(0) => break,
                Ok(taken) => friend.written += taken,
                Err(_) => (friend.intact, friend.writes) = (false, None),
            }
        }
        let over = friend.begun.is_some() && friend.reads.is_none() && friend.writes.is_none();
        if over && friend.ended.is_none() {
            friend.ended = Some(now);
        }
        self.friend.turn(now);
        for packet in self.friend.port.sent.drain(..) {
            self.flying.push_back((now + DELAY, HOST, packet));
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

    /// What was visited so far was not the stranger's doing.
    pub fn begin_toll(&mut self) {
        self.walked_before = self.host.stack.nodes_walked();
    }
}

/// Moves one served connection on; false when the host has let go of it.
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

/// The TCP header and text of a packet, if it carries one.
pub fn tcp_of(packet: &[u8]) -> Option<(Ipv4Header, TcpHeader, usize)> {
    let (ip, segment) = Ipv4Header::parse(packet, Default::default()).ok()?;
    if ip.protocol != Protocol::Tcp {
        return None;
    }
    let (header, text) = TcpHeader::parse(segment).ok()?;
    Some((ip, header, text.len()))
}
