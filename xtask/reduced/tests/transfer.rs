//! Transfers between two stacks over a cable in memory that loses frames.
//!
//! Rule: time is virtual, and losses follow from a seed, so that each run is the same.

use core::net::{IpAddr, SocketAddr};
use std::{collections::VecDeque, mem};

use fullpipe::{
    Config, ConnectionId, Duration, Instant, Interface, MacAddress, Read, Stack,
    device::{Capabilities, Device, Medium, Received, RxMeta, TxMeta},
    turn,
};

/// Payload of each direction, in bytes.
const PAYLOAD: usize = 400_000;
/// Delay of the cable.
const DELAY: Duration = Duration::from_millis(10);
/// Virtual time after which a transfer has failed.
const LIMIT: Instant = Instant::from_secs(600);
const CABLE: Capabilities = Capabilities::plain(Medium::Ethernet, 1_500);

#[derive(Default)]
struct Port {
    arrived: VecDeque<Vec<u8>>,
    reading: Vec<u8>,
    lent: Vec<u8>,
    sent: VecDeque<Vec<u8>>,
}

impl Device for Port {
    fn capabilities(&self) -> Capabilities {
        CABLE
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
        self.sent.push_back(mem::take(&mut self.lent));
    }
}

/// Two hosts, and a cable that loses one of `one_in` frames at random (none with 0).
struct Pair {
    hosts: [Stack; 2],
    ports: [Port; 2],
    now: Instant,
    random: u64,
    one_in: u64,
    lost: u32,
    /// True if a segment had a SACK block.
    has_sacked: bool,
}

impl Pair {
    fn new(one_in: u64) -> Self {
        let host = |last: u8| {
            let interface = Interface {
                mac: MacAddress([2, 0, 0, 0, 0, last]),
                address: address(last),
                prefix_len: 24,
                gateway: None,
                capabilities: CABLE,
            };
            Stack::new(&Config::default(), interface, [last; 16]).expect("the defaults are sound")
        };
        Self {
            hosts: [host(1), host(2)],
            ports: [Port::default(), Port::default()],
            now: Instant::ZERO,
            random: 0x9e37_79b9_7f4a_7c15,
            one_in,
            lost: 0,
            has_sacked: false,
        }
    }

    fn step(&mut self) {
        for (host, port) in self.hosts.iter_mut().zip(&mut self.ports) {
            turn(host, port, self.now);
        }
        let [near, far] = &mut self.ports;
        for (from, to) in [
            (near.sent.drain(..), &mut far.arrived),
            (far.sent.drain(..), &mut near.arrived),
        ] {
            for frame in from {
                // Xorshift.
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                self.has_sacked |= has_sack(&frame);
                match self.one_in > 0 && self.random % self.one_in == 0 {
                    true => self.lost += 1,
                    false => to.push_back(frame),
                }
            }
        }
        self.now += DELAY;
        assert!(self.now < LIMIT, "not in time");
    }
}

/// Returns true if the frame is a TCP segment with the SACK option (RFC 2018 §3).
fn has_sack(frame: &[u8]) -> bool {
    let is_tcp = frame.get(12..14) == Some(&[8, 0]) && frame.get(23) == Some(&6);
    let Some(segment) = frame.get(34..).filter(|_| is_tcp) else {
        return false;
    };
    let mut options = &segment[20..usize::from(segment[12] >> 4) * 4];
    while let [kind, rest @ ..] = options {
        options = match (kind, rest) {
            (5, _) => return true,
            (1, _) => rest,
            (0, _) | (_, []) => return false,
            (_, [len, ..]) => &options[usize::from(*len)..],
        };
    }
    false
}

fn address(last: u8) -> IpAddr {
    [10, 0, 0, last].into()
}

/// The byte of host `from` at a position of its payload.
fn byte(from: usize, position: usize) -> u8 {
    (position % 4_093 % 251) as u8 ^ (from as u8 * 0x55)
}

/// The transfer in one direction, seen by both ends.
#[derive(Default)]
struct Progress {
    written: usize,
    read: usize,
    is_ended: bool,
}

/// Writes what the connection of host `from` takes, and closes its direction after the last byte.
fn write(pair: &mut Pair, from: usize, id: ConnectionId, progress: &mut Progress) {
    let (host, now) = (&mut pair.hosts[from], pair.now);
    if progress.written == PAYLOAD {
        return;
    }
    let end = PAYLOAD.min(progress.written + 20_000);
    let piece: Vec<_> = (progress.written..end).map(|at| byte(from, at)).collect();
    progress.written += host.tcp_write(id, &piece, now).expect("it is open");
    if progress.written == PAYLOAD {
        host.tcp_shutdown(id, now).expect("it is open");
    }
}

/// Reads what arrived at host `to`, and compares each byte.
fn read(pair: &mut Pair, to: usize, id: ConnectionId, progress: &mut Progress) {
    let mut buffer = [0; 4_096];
    while !progress.is_ended {
        match pair.hosts[to]
            .tcp_read(id, &mut buffer, pair.now)
            .expect("it is open")
        {
            Read::Data(count) => {
                for (at, got) in (progress.read..).zip(&buffer[..count]) {
                    assert_eq!(*got, byte(1 - to, at), "byte {at} to host {to}");
                }
                progress.read += count;
            }
            Read::Empty => return,
            Read::End => progress.is_ended = true,
        }
    }
}

/// Transfers the payload in both directions at the same time.
fn transfers(one_in: u64) -> Pair {
    let mut pair = Pair::new(one_in);
    let remote = SocketAddr::from((address(2), 7));
    let listener = pair.hosts[1]
        .tcp_listen(remote, Default::default())
        .expect("the port is free");
    let client = pair.hosts[0].tcp_connect(remote, None, Default::default(), pair.now);
    let client = client.expect("there is a route");
    let mut server = None;
    let [mut up, mut down] = [Progress::default(), Progress::default()];
    while !(up.is_ended && down.is_ended) {
        if server.is_none() {
            let accepted = pair.hosts[1]
                .tcp_accept(listener, pair.now)
                .expect("it listens");
            server = accepted.map(|(id, _)| id);
        }
        write(&mut pair, 0, client, &mut up);
        read(&mut pair, 0, client, &mut down);
        if let Some(server) = server {
            write(&mut pair, 1, server, &mut down);
            read(&mut pair, 1, server, &mut up);
        }
        pair.step();
    }
    assert_eq!((up.read, down.read), (PAYLOAD, PAYLOAD));
    let server = server.expect("it was accepted");
    pair.hosts[0]
        .tcp_close(client, pair.now)
        .expect("it is open");
    pair.hosts[1]
        .tcp_close(server, pair.now)
        .expect("it is open");
    while pair.hosts.iter().any(|host| host.tcp_counts().0 > 0) {
        pair.step();
    }
    pair
}

#[test]
fn every_byte_of_both_directions_arrives_over_a_cable_without_losses() {
    assert_eq!(transfers(0).lost, 0);
}

#[test]
fn every_byte_of_both_directions_arrives_although_one_frame_in_thirty_is_lost() {
    let pair = transfers(30);
    println!("{} frames were lost, {:?}", pair.lost, pair.now);
    assert!(pair.lost > 10, "{}", pair.lost);
    assert_eq!(pair.has_sacked, cfg!(feature = "sack"));
}

#[cfg(feature = "udp")]
#[test]
fn a_datagram_arrives_with_its_sender() {
    let mut pair = Pair::new(0);
    let ends = [1, 2].map(|last| SocketAddr::from((address(last), 9)));
    let [from, to] = [0, 1].map(|host| {
        pair.hosts[host]
            .udp_bind(ends[host])
            .expect("the port is free")
    });
    let sent = pair.hosts[0].udp_send(from, ends[1], b"datagram");
    assert!(sent.expect("there is a route"), "the queue has room");
    let mut buffer = [0; 100];
    loop {
        pair.step();
        if let Some(of) = pair.hosts[1]
            .udp_receive(to, &mut buffer)
            .expect("it is open")
        {
            assert_eq!((&buffer[..of.len], of.from), (&b"datagram"[..], ends[0]));
            return;
        }
    }
}
