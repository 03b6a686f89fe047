//! Two hosts and a cable, in virtual time.
//!
//! Rule: all memory is preallocated, and time advances only when neither host has work. A test may
//! watch each frame on the cable, and drop it.

#![allow(dead_code, reason = "each test file uses its own part of this")]

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use fullpipe::{
    Config, ConnectOptions, ConnectionId, Duration, Instant, Interface, ListenOptions, ListenerId,
    MacAddress, Read, Ready, Stack, TcpState,
    device::{Capabilities, Device, Medium, Received, RxMeta, TxMeta},
    turn,
};
use fullpipe_wire::{EtherType, EthernetHeader, Ipv4Header, Protocol, TcpFlags, TcpHeader};

/// The port that tests listen on.
pub const PORT: u16 = 80;

/// A queue of frames in memory that is reused.
#[derive(Debug)]
pub struct Ring {
    frames: Vec<(Vec<u8>, usize, TxMeta)>,
    first: usize,
    len: usize,
}

impl Ring {
    fn new(frames: usize, frame_len: usize) -> Self {
        let frame = || (vec![0; frame_len], 0, TxMeta::default());
        Self {
            frames: (0..frames).map(|_| frame()).collect(),
            first: 0,
            len: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.len == self.frames.len()
    }

    fn place(&self, index: usize) -> usize {
        (self.first + index) % self.frames.len()
    }
}

/// One host's network device.
#[derive(Debug)]
pub struct Port {
    capabilities: Capabilities,
    pub incoming: Ring,
    pub outgoing: Ring,
    /// Calls of `lend` until the device is full.
    pub lends: usize,
}

impl Port {
    pub fn new(capabilities: Capabilities, frames: usize) -> Self {
        let len = 14 + capabilities.mtu.max(capabilities.super_segment + 120);
        Self {
            capabilities,
            incoming: Ring::new(frames, len),
            outgoing: Ring::new(frames, len),
            lends: usize::MAX,
        }
    }

    /// Adds a frame to be received.
    pub fn inject(&mut self, frame: &[u8]) {
        let ring = &mut self.incoming;
        assert!(!ring.is_full());
        let place = ring.place(ring.len);
        ring.frames[place].0[..frame.len()].copy_from_slice(frame);
        ring.frames[place].1 = frame.len();
        ring.len += 1;
    }
}

impl Device for Port {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        let ring = &mut self.incoming;
        if ring.len == 0 {
            return None;
        }
        let place = ring.first;
        ring.first = ring.place(1);
        ring.len -= 1;
        let (frame, len, _) = &ring.frames[place];
        let meta = RxMeta {
            checksum_verified: self.capabilities.checksum_tx,
            merged: 0,
            ..RxMeta::default()
        };
        Some(Received {
            frame: &frame[..*len],
            meta,
        })
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        let ring = &mut self.outgoing;
        if ring.is_full() || self.lends == 0 {
            return None;
        }
        let place = ring.place(ring.len);
        Some(&mut ring.frames[place].0[..len])
    }

    fn send(&mut self, len: usize, meta: TxMeta) {
        let ring = &mut self.outgoing;
        let place = ring.place(ring.len);
        (ring.frames[place].1, ring.frames[place].2) = (len, meta);
        ring.len += 1;
        self.lends = self.lends.saturating_sub(1);
    }
}

/// A stack and its device.
pub struct Host {
    pub stack: Stack,
    pub port: Port,
}

/// One of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    A,
    B,
}

/// A TCP segment on the cable, as a test sees it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub from: Side,
    pub header: TcpHeader,
    pub payload: Vec<u8>,
    pub meta: TxMeta,
}

/// A filter of segments on the cable: true lets a segment pass.
pub type Watch = Box<dyn FnMut(&Seen) -> bool>;

/// Two hosts on one cable.
pub struct Pair {
    pub a: Host,
    pub b: Host,
    pub now: Instant,
    pub watch: Option<Watch>,
}

pub const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

pub fn interface(side: Side, capabilities: Capabilities) -> Interface {
    let (last, address) = match side {
        Side::A => (1, A),
        Side::B => (2, B),
    };
    Interface {
        mac: MacAddress([2, 0, 0, 0, 0, last]),
        address: IpAddr::V4(address),
        prefix_len: 24,
        gateway: None,
        capabilities,
    }
}

fn host(side: Side, config: &Config, capabilities: Capabilities) -> Host {
    let stack = Stack::new(config, interface(side, capabilities), [side as u8 + 1; 16]);
    Host {
        stack: stack.expect("a sound configuration"),
        port: Port::new(capabilities, 128),
    }
}

/// Returns knobs for tests: small tables, a pool of a megabyte.
pub fn config() -> Config {
    let mut config = Config::default();
    for (name, value) in [
        ("stack.connections", "16"),
        ("stack.half_open", "8"),
        ("stack.time_wait_entries", "8"),
        ("pool.blocks", "512"),
        ("pool.block_size", "2048"),
    ] {
        config.set(name, value).expect("a knob");
    }
    config
}

pub fn ethernet() -> Capabilities {
    Capabilities::plain(Medium::Ethernet, 1500)
}

impl Pair {
    pub fn new(config: &Config) -> Self {
        Self::with(config, config, ethernet())
    }

    pub fn with(config_a: &Config, config_b: &Config, capabilities: Capabilities) -> Self {
        Self {
            a: host(Side::A, config_a, capabilities),
            b: host(Side::B, config_b, capabilities),
            now: Instant::from_secs(1_000),
            watch: None,
        }
    }

    pub fn host(&mut self, side: Side) -> &mut Host {
        match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        }
    }

    /// Runs one turn of each host and carries the frames. Returns true if a frame was carried.
    pub fn step(&mut self) -> bool {
        let mut moved = false;
        for side in [Side::A, Side::B] {
            let now = self.now;
            let host = self.host(side);
            let turned = turn(&mut host.stack, &mut host.port, now);
            moved |= turned.received + turned.sent > 0;
        }
        moved |= self.carry(Side::A);
        moved |= self.carry(Side::B);
        moved
    }

    /// Carries the frames of `from` to the other end.
    fn carry(&mut self, from: Side) -> bool {
        let (sender, receiver) = match from {
            Side::A => (&mut self.a.port, &mut self.b.port),
            Side::B => (&mut self.b.port, &mut self.a.port),
        };
        let mut moved = false;
        while sender.outgoing.len > 0 && !receiver.incoming.is_full() {
            let place = sender.outgoing.first;
            sender.outgoing.first = sender.outgoing.place(1);
            sender.outgoing.len -= 1;
            moved = true;
            let (frame, len, meta) = &mut sender.outgoing.frames[place];
            let passes = match &mut self.watch {
                Some(watch) => seen(from, &frame[..*len], *meta).is_none_or(|seen| watch(&seen)),
                None => true,
            };
            if passes {
                let ring = &mut receiver.incoming;
                let to = ring.place(ring.len);
                core::mem::swap(&mut ring.frames[to].0, frame);
                ring.frames[to].1 = *len;
                ring.len += 1;
            }
        }
        moved
    }

    /// Runs both hosts until neither has work at this time.
    pub fn settle(&mut self) {
        for _ in 0..100_000 {
            let now = self.now;
            let due = |host: &Host| {
                host.stack.next_timeout().is_some_and(|at| at <= now) && host.port.lends > 0
            };
            if !self.step() && !due(&self.a) && !due(&self.b) {
                return;
            }
        }
        panic!("the two hosts never come to rest");
    }

    /// Advances to the next deadline and runs both hosts; returns false if there is
    /// none.
    pub fn advance(&mut self) -> bool {
        let next = [&self.a, &self.b]
            .into_iter()
            .filter_map(|host| host.stack.next_timeout());
        let Some(next) = next.min() else {
            return false;
        };
        self.now = self.now.max(next);
        self.settle();
        true
    }

    /// Advances by `time`, deadline by deadline.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        self.settle();
        loop {
            let next = [&self.a, &self.b]
                .into_iter()
                .filter_map(|host| host.stack.next_timeout())
                .min();
            match next {
                Some(next) if next <= end => {
                    self.now = self.now.max(next);
                    self.settle();
                }
                _ => break,
            }
        }
        self.now = end;
        self.settle();
    }

    /// Advances until `done` returns true, for at most a hundred thousand deadlines.
    pub fn until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let mut idle = 0;
        for _ in 0..100_000 {
            self.settle();
            if done(self) {
                return;
            }
            // Frames that the application's calls made due are carried before time advances. These
            // frames may give the application more to do.
            self.settle();
            idle = if self.advance() { 0 } else { idle + 1 };
            assert!(idle < 3, "nothing left to wait for, but not: {what}");
        }
        panic!("a hundred thousand deadlines have passed, but not: {what}");
    }

    pub fn listen(&mut self, side: Side, options: ListenOptions) -> ListenerId {
        let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT));
        self.host(side)
            .stack
            .tcp_listen(any, options)
            .expect("a free port")
    }

    pub fn connect(&mut self, from: Side, to: SocketAddr) -> ConnectionId {
        let now = self.now;
        let stack = &mut self.host(from).stack;
        stack
            .tcp_connect(to, None, ConnectOptions::default(), now)
            .expect("a free place")
    }

    /// Opens a listener at B and a connection from A, and accepts the connection.
    pub fn connected(&mut self) -> (ConnectionId, ConnectionId) {
        let listener = self.listen(Side::B, ListenOptions::default());
        let client = self.connect(Side::A, SocketAddr::from((B, PORT)));
        let mut server = None;
        self.until("accepted", |pair| {
            let accepted = pair
                .b
                .stack
                .tcp_accept(listener, pair.now)
                .expect("it listens");
            server = server.or(accepted.map(|(id, _)| id));
            server.is_some()
        });
        (client, server.expect("until says so"))
    }

    pub fn ready(&mut self, side: Side, id: ConnectionId) -> Ready {
        let now = self.now;
        self.host(side)
            .stack
            .tcp_ready(id, now)
            .expect("an open connection")
    }

    pub fn state(&mut self, side: Side, id: ConnectionId) -> TcpState {
        let now = self.now;
        self.host(side)
            .stack
            .tcp_info(id, now)
            .expect("an open connection")
            .state
    }

    pub fn read(&mut self, side: Side, id: ConnectionId, out: &mut [u8]) -> Read {
        let now = self.now;
        self.host(side)
            .stack
            .tcp_read(id, out, now)
            .expect("a sound connection")
    }

    pub fn write(&mut self, side: Side, id: ConnectionId, payload: &[u8]) -> usize {
        let now = self.now;
        self.host(side)
            .stack
            .tcp_write(id, payload, now)
            .expect("a sound connection")
    }

    /// Checks the invariants of both stacks.
    pub fn verify(&self) {
        self.a.stack.verify(self.now);
        self.b.stack.verify(self.now);
    }
}

/// Returns the TCP segment in an Ethernet frame, if any.
pub fn seen(from: Side, frame: &[u8], meta: TxMeta) -> Option<Seen> {
    let (ethernet, packet) = EthernetHeader::parse(frame).ok()?;
    if ethernet.ether_type != EtherType::Ipv4 {
        return None;
    }
    let (ip, segment) = Ipv4Header::parse(packet, Default::default()).ok()?;
    if ip.protocol != Protocol::Tcp {
        return None;
    }
    let (header, payload) = TcpHeader::parse(segment).ok()?;
    Some(Seen {
        from,
        header,
        payload: payload.to_vec(),
        meta,
    })
}

/// Builds an Ethernet frame between A and B with this segment.
pub fn frame(from: Side, header: &TcpHeader, payload: &[u8]) -> Vec<u8> {
    let ((src, dst), (here, there)) = match from {
        Side::A => ((A, B), (1, 2)),
        Side::B => ((B, A), (2, 1)),
    };
    let len = header.header_len() + payload.len();
    let mut frame = vec![0; 34 + len];
    let mac = |last| MacAddress([2, 0, 0, 0, 0, last]);
    let ethernet = EthernetHeader {
        dst: mac(there),
        src: mac(here),
        ether_type: EtherType::Ipv4,
    };
    ethernet.write(&mut frame);
    Ipv4Header::new(src, dst, Protocol::Tcp, len).write(&mut frame[14..]);
    let header_len = header.write(&mut frame[34..]);
    frame[34 + header_len..].copy_from_slice(payload);
    let sum = fullpipe_wire::Checksum::of(payload);
    let head = &mut frame[34..34 + header_len];
    fullpipe_wire::tcp::set_checksum(head, src.into(), dst.into(), sum);
    frame
}

/// Returns true if the segment has all of these flags.
pub fn has(seen: &Seen, flags: TcpFlags) -> bool {
    seen.header.flags.contains(flags)
}

impl Port {
    /// Returns the frame sent last, with its metadata.
    pub fn last_sent(&self) -> (Vec<u8>, TxMeta) {
        let ring = &self.outgoing;
        let (frame, len, meta) = &ring.frames[ring.place(ring.len - 1)];
        (frame[..*len].to_vec(), *meta)
    }
    /// Removes and returns the oldest frame that was sent.
    pub fn take_sent(&mut self) -> Vec<u8> {
        let ring = &mut self.outgoing;
        assert!(ring.len > 0);
        let place = ring.first;
        ring.first = ring.place(1);
        ring.len -= 1;
        let (frame, len, _) = &ring.frames[place];
        frame[..*len].to_vec()
    }
}

impl Port {
    /// Returns the number of frames sent and not carried yet.
    pub fn outgoing_len(&self) -> usize {
        self.outgoing.len
    }
}
