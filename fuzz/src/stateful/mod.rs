//! Checks of a whole stack whose peers know the state of its connections and send false segments.
//!
//! The one rule: after each step, the stack's invariants hold. Every frame that the stack sends is
//! valid and agrees with the model (`flows`). A true peer (one that follows the protocol) could
//! have sent every byte that the application reads. At the end, an honest client receives its
//! answer, and every block is back in the pool.
//!
//! In [`stack`](crate::stack), a stack receives arbitrary bytes. Here the peers know the sequence
//! numbers, so that their segments reach open connections. The network loses, reorders and repeats
//! frames. Speed is not checked here, but by the simulator.

mod calls;
mod flows;
mod friend;
mod packets;
mod port;
mod segments;
mod setup;
mod streams;
mod tuple;

use std::collections::VecDeque;

use core::net::{Ipv4Addr, SocketAddr};

use fullpipe::device::{Medium, RxMeta, TxMeta};
use fullpipe::{ConnectionId, Instant, InterfaceId, ListenOptions, ListenerId, Stack, UdpId};
use fullpipe_pool::{Holder, Rng};
use fullpipe_wire::{ArpOperation, Ecn, Icmpv4Message, TcpHeader};

use crate::script::Script;
use flows::Flows;
use packets::{FRIEND_IP, OUR_IP, mac_of};
use port::{Port, Seen};
use setup::{Setup, peer_ip};
use tuple::Tuple;

/// The port on which the stack listens.
const PORT: u16 = 7;
/// Largest number of stored frames that may arrive again.
const REMEMBERED: usize = 16;
/// After everything was closed, the stack must have no timer left after this many timers have
/// expired. An hour of retransmissions with an ARP request in each millisecond needs 3.6 million
/// timers.
const MOST_DEADLINES: u32 = 4_000_000;

/// A connection of the application.
#[derive(Clone, Copy)]
struct Held {
    id: ConnectionId,
    tuple: Tuple,
    /// Bytes read so far.
    read: u32,
    /// Bytes written so far.
    written: u32,
}

struct World {
    stack: Stack,
    port: Port,
    medium: Medium,
    mtu: usize,
    now: Instant,
    /// Bytes that every writer is guaranteed (knob `pool.send_floor`), at most 64.
    piece: u32,
    listener: Option<ListenerId>,
    udp: UdpId,
    held: Vec<Held>,
    flows: Flows,
    /// Frames that have arrived, the newest last.
    history: VecDeque<(Vec<u8>, bool)>,
    /// Neighbours for which the stack has sent an ARP request.
    asked: Vec<Ipv4Addr>,
    /// Beginning of the last IP packet that the stack sent.
    last_packet: Vec<u8>,
    /// Bytes handed to the device.
    sent: u64,
    /// True if the stack may allocate memory for more busy connections.
    may_allocate: bool,
    fragmented: u16,
    buffer: Vec<u8>,
    /// Frames to the honest client.
    to_friend: Vec<Vec<u8>>,
}

/// Runs a stack and its peers with the script `bytes` (the fuzzer's input), and checks the stack
/// after each step and at the end. Returns the number of steps; 0 if the script makes no world.
///
/// # Panics
/// Panics if a check fails.
pub fn live(bytes: &[u8]) -> u64 {
    let mut script = Script::new(bytes);
    let Some(setup) = setup::draw(&mut script) else {
        return 0;
    };
    let (is_kind, serves) = (setup.is_kind, setup.serves);
    let Some(mut world) = World::new(&setup) else {
        return 0;
    };
    let mut steps = 0;
    while world.step(&mut script).is_some() {
        world.stack.verify(world.now);
        steps += 1;
    }
    world.end(is_kind, serves);
    steps
}

/// Returns a random script. Equal seeds give equal scripts on every machine.
pub fn script_of(seed: u64) -> Vec<u8> {
    let mut rng = Rng::seeded(seed);
    let len = rng.between(200, 12_000);
    (0..len).map(|_| rng.below(256) as u8).collect()
}

impl World {
    fn new(setup: &Setup) -> Option<World> {
        let Setup {
            config,
            interface,
            start,
            ..
        } = setup;
        let mut stack = Stack::new(config, *interface, *b"not a secret key").ok()?;
        let ours = SocketAddr::new(OUR_IP.into(), PORT);
        let listener = stack.tcp_listen(ours, ListenOptions::default()).ok();
        let udp = stack.udp_bind(ours).ok()?;
        Some(World {
            stack,
            port: Port::new(interface.capabilities),
            medium: interface.capabilities.medium,
            mtu: interface.capabilities.mtu,
            now: *start,
            piece: (config.pool.send_floor * config.pool.block_size).min(64),
            listener,
            udp,
            held: Vec::new(),
            flows: Flows::new(
                interface.capabilities.medium == Medium::Ethernet,
                config.pool.blocks * config.pool.block_size,
            ),
            history: VecDeque::new(),
            asked: Vec::new(),
            last_packet: Vec::new(),
            sent: 0,
            may_allocate: config.stack.busy_connections > 0,
            fragmented: 0,
            buffer: vec![0; 16_384],
            to_friend: Vec::new(),
        })
    }

    /// Calls the stack, and checks that the call allocates no memory, unless connections can rest:
    /// a call that makes more of them busy than `stack.busy_connections` allocates.
    fn quiet<R>(&mut self, call: impl FnOnce(&mut Stack, Instant) -> R) -> R {
        let (stack, now) = (&mut self.stack, self.now);
        let mut answer = None;
        let allocations = allocation_counter::measure(|| answer = Some(call(stack, now)));
        let may_allocate = self.may_allocate;
        assert!(
            may_allocate || allocations.count_total == 0,
            "the stack allocated"
        );
        answer.expect("it was called")
    }

    /// Performs the next step of the script. Returns `None` at the end of the script.
    fn step(&mut self, script: &mut Script<'_>) -> Option<()> {
        let what = script.byte()?;
        match what % 16 {
            0..=6 => self.segment(script)?,
            7..=9 => self.call(script)?,
            10 => self.pass(script.byte()?),
            11 | 12 => {
                self.answer_arp(script.byte()?);
                self.turn(usize::from(script.byte()? % 64), 0);
            }
            13 | 14 => self.other_packet(script)?,
            15.. => self.replay(script)?,
        }
        if what & 0xc0 != 0 {
            self.answer_arp(0);
            self.turn(64, u64::from(what & 0x30) << 4);
        }
        Some(())
    }

    /// Lets a peer send a segment that the script describes.
    fn segment(&mut self, script: &mut Script<'_>) -> Option<()> {
        let whose = script.byte()?;
        let now_ms = self.now.as_millis() as u32;
        let count = self.flows.all().len();
        let (tuple, (header, payload)) = if whose < 24 || count == 0 {
            let tuple = Tuple {
                peer: peer_ip(whose),
                peer_port: 1_000 + u16::from(whose % 8),
                port: if whose == 23 { 8 } else { PORT },
            };
            (tuple, segments::syn(script, tuple, now_ms)?)
        } else {
            // Select one of the newest connections, because these are most likely open.
            let back = usize::from(whose) % count.min(6);
            let flow = self.flows.all()[count - 1 - back].clone();
            let info = self.info(flow.tuple);
            let made = segments::of_flow(script, &flow, info.as_ref(), now_ms)?;
            (flow.tuple, made)
        };
        self.send_segment(script, tuple.peer, &header, &payload)
    }

    /// Delivers a segment to the stack: whole, in fragments, damaged or twice.
    fn send_segment(
        &mut self,
        script: &mut Script<'_>,
        from: Ipv4Addr,
        header: &TcpHeader,
        payload: &[u8],
    ) -> Option<()> {
        let how = script.byte()?;
        let ecn = if how % 16 == 15 { Ecn::Ce } else { Ecn::NotEct };
        let packet = packets::segment(from, header, payload, ecn);
        let vouched = how & 0x40 != 0;
        match how % 16 {
            0 => {
                self.fragmented = self.fragmented.wrapping_add(1);
                let size = usize::from(script.byte()?) * 8;
                let id = 0x8000 | self.fragmented;
                let mut pieces = packets::fragments(&packet, size, id);
                if how & 0x80 != 0 {
                    pieces.reverse();
                }
                for piece in pieces {
                    let frame = packets::frame(self.medium, from, &piece);
                    self.deliver(&frame, &packet, false);
                }
            }
            1 => {
                let mut frame = packets::frame(self.medium, from, &packet);
                let bit = usize::from(script.number()?) % (frame.len() * 8);
                frame[bit / 8] ^= 1 << (bit % 8);
                self.deliver_frame(frame, vouched);
            }
            2 => {
                let mut frame = packets::frame(self.medium, from, &packet);
                frame.truncate(usize::from(script.number()?) % (frame.len() + 1));
                self.deliver_frame(frame, vouched);
            }
            how => {
                let frame = packets::frame(self.medium, from, &packet);
                if how == 3 {
                    self.deliver_frame(frame.clone(), vouched);
                }
                self.deliver_frame(frame, vouched);
            }
        }
        Some(())
    }

    /// Delivers a frame to the stack, and stores it, so that it may arrive again later.
    fn deliver_frame(&mut self, frame: Vec<u8>, vouched: bool) {
        let packet = frame.get(self.port.header_len()..).unwrap_or_default();
        self.deliver(&frame, packet, vouched);
        self.history.push_back((frame, vouched));
        if self.history.len() > REMEMBERED {
            self.history.pop_front();
        }
    }

    /// Delivers a frame that contains the IP packet `whole` or a fragment of it. The model reads
    /// the packet before the stack receives the frame.
    fn deliver(&mut self, frame: &[u8], whole: &[u8], vouched: bool) {
        let cookies = self.stack.counters().mib.tcp_syncookies_recv;
        let seen = packets::read_segment(whole, vouched);
        let seen = seen.map(|(peer, header, payload)| {
            let tuple = Tuple {
                peer,
                peer_port: header.src_port,
                port: header.dst_port,
            };
            let info = self.info(tuple);
            self.flows.arrives(tuple, &header, payload, info.as_ref());
            (tuple, header, payload)
        });
        let meta = RxMeta {
            checksum_verified: vouched,
            merged: 0,
            ..RxMeta::default()
        };
        self.quiet(|stack, now| stack.receive(frame, meta, now));
        if let Some((tuple, header, payload)) = seen {
            if self.stack.counters().mib.tcp_syncookies_recv > cookies {
                self.flows.on_cookie(tuple, &header, payload);
            }
            self.learn(tuple);
        }
    }

    /// Delivers a stored frame again.
    fn replay(&mut self, script: &mut Script<'_>) -> Option<()> {
        let which = usize::from(script.byte()?);
        if !self.history.is_empty() {
            let (frame, vouched) = self.history[which % self.history.len()].clone();
            self.deliver_frame(frame, vouched);
        }
        Some(())
    }

    /// Delivers a packet that is not a TCP segment, except by chance.
    fn other_packet(&mut self, script: &mut Script<'_>) -> Option<()> {
        let (what, who) = (script.byte()?, script.byte()?);
        let from = peer_ip(who);
        let packet = match what % 8 {
            0..=2 => self.icmp(script, from)?,
            3 => {
                let len = usize::from(script.number()? % 3_000);
                let port = if what & 8 == 0 { PORT } else { 99 };
                packets::datagram(from, (9, port), &vec![who; len])
            }
            4 => packets::any_fragment(script, from)?,
            5 | 6 => {
                let operation = match what & 8 {
                    0 => ArpOperation::Reply,
                    _ => ArpOperation::Request,
                };
                // Sometimes let another station claim the address, or even the stack's own address.
                let station = mac_of(peer_ip(who.wrapping_add(what >> 6)));
                let claimed = if what & 48 == 48 { OUR_IP } else { from };
                if let Medium::Ethernet = self.medium {
                    let frame = packets::arp(operation, (station, claimed), OUR_IP);
                    self.deliver_frame(frame, false);
                }
                return Some(());
            }
            _ => {
                let len = usize::from(script.number()? % 1_600);
                let frame = script.bytes(len).to_vec();
                self.deliver_frame(frame, what & 8 != 0);
                return Some(());
            }
        };
        let frame = packets::frame(self.medium, from, &packet);
        self.deliver_frame(frame, false);
        Some(())
    }

    /// Returns an ICMP message that quotes the stack's last packet, sometimes with another sequence
    /// number.
    fn icmp(&mut self, script: &mut Script<'_>, from: Ipv4Addr) -> Option<Vec<u8>> {
        let (kind, code) = (script.byte()?, script.byte()?);
        let kind = [3, 3, 3, 11, 8, 4, 12, kind][usize::from(kind % 8)];
        let mtu = script.number()?;
        let message = Icmpv4Message::Other {
            kind,
            code: code % 16,
            rest: [0, 0, (mtu >> 8) as u8, mtu as u8],
        };
        let len = self.last_packet.len().min(28 + usize::from(code >> 4));
        let mut quoted = self.last_packet[..len].to_vec();
        if code & 0x10 != 0 && quoted.len() >= 28 {
            let known = u32::from_be_bytes(quoted[24..28].try_into().expect("four bytes"));
            let other = segments::near(script, known, 1 << 16)?;
            quoted[24..28].copy_from_slice(&other.to_be_bytes());
        }
        Some(packets::icmp(from, message, &quoted))
    }

    /// Answers the stack's ARP requests. One neighbour never answers; another one does not answer
    /// if `silence` is odd.
    fn answer_arp(&mut self, silence: u8) {
        let asked = core::mem::take(&mut self.asked);
        for ip in asked {
            let is_silent = ip == peer_ip(3) || (silence & 1 != 0 && ip == peer_ip(2));
            if !is_silent {
                let frame = packets::arp(ArpOperation::Reply, (mac_of(ip), ip), OUR_IP);
                self.deliver_frame(frame, false);
            }
        }
    }

    /// Advances the clock to the next timer, or by a random time.
    fn pass(&mut self, how: u8) {
        match self.stack.next_timeout() {
            Some(at) if how < 128 => self.now = self.now.max(at),
            _ => self.now += setup::jump(how),
        }
        self.quiet(|stack, now| stack.on_timeouts(now));
    }

    /// Lets the device accept up to `room` frames, and complete all but the last `late` bytes.
    fn turn(&mut self, room: usize, late: u64) {
        self.port.room = room;
        self.port.completed = self.port.completed.max(self.sent.saturating_sub(late));
        let (stack, port, now) = (&mut self.stack, &mut self.port, self.now);
        let allocations = allocation_counter::measure(|| {
            stack.transmit(port, now, 64);
        });
        let may_allocate = self.may_allocate;
        assert!(
            may_allocate || allocations.count_total == 0,
            "the stack allocated"
        );
        for (frame, meta) in self.port.take() {
            self.sent += frame.len() as u64;
            self.leaves(frame, meta);
        }
    }

    /// Passes a frame from the stack to the model and to the neighbours.
    fn leaves(&mut self, frame: Vec<u8>, meta: TxMeta) {
        let at = self.port.header_len();
        let packet = &frame[at..];
        self.last_packet.clear();
        self.last_packet
            .extend_from_slice(&packet[..packet.len().min(64)]);
        let seen = self.port.read(frame.clone(), meta);
        match seen {
            Seen::Arp(packet) => {
                if packet.operation == ArpOperation::Request {
                    self.asked.push(packet.target_ip);
                }
                self.to_friend.push(frame);
            }
            Seen::Segment(ip, header, payload) => {
                let tuple = Tuple {
                    peer: ip.dst,
                    peer_port: header.dst_port,
                    port: header.src_port,
                };
                self.learn(tuple);
                self.flows.leaves(tuple, &header, &payload);
                if ip.dst == FRIEND_IP {
                    self.to_friend.push(frame);
                }
            }
            Seen::Other => {}
        }
    }

    /// Ends the run: aborts all connections, serves honest clients, closes everything, and checks
    /// that all memory was returned.
    fn end(&mut self, is_kind: bool, serves: bool) {
        self.let_all_go(true);
        self.read_datagrams();
        self.asked.clear();
        if is_kind {
            self.serve_friend(1);
        }
        self.let_all_go(false);
        self.run_out();
        if serves {
            self.serve_friend(2);
            self.let_all_go(false);
        }
        if let Some(listener) = self.listener.take() {
            let closed = self.quiet(|stack, now| stack.tcp_close_listener(listener, now));
            closed.expect("it listens");
        }
        let udp = self.udp;
        self.quiet(|stack, _| stack.udp_close(udp))
            .expect("it is open");
        self.run_out();
        self.check_all_returned();
    }

    /// Advances the clock from timer to timer until no timer is left. No frame is answered.
    fn run_out(&mut self) {
        for _ in 0..MOST_DEADLINES {
            self.quiet(|stack, now| stack.on_timeouts(now));
            self.turn(64, 0);
            match self.stack.next_timeout() {
                Some(at) => self.now = self.now.max(at),
                None if self.stack.waits_for_device(InterfaceId::FIRST) => {}
                None => break,
            }
        }
        self.stack.verify(self.now);
        assert_eq!(self.stack.next_timeout(), None, "a timer is left");
        let nothing = (0, 0, 0);
        assert_eq!(
            self.stack.tcp_counts(),
            nothing,
            "connections or handshakes remain"
        );
    }

    fn check_all_returned(&self) {
        let pool = self.stack.pool();
        for holder in Holder::ALL {
            assert_eq!(pool.held(holder), 0, "blocks held for {}", holder.name());
        }
        assert_eq!(pool.free_blocks(), pool.block_count(), "blocks");
        assert_eq!(pool.promised(), 0, "reserved blocks remain");
        assert_eq!(pool.free_ranges(), pool.range_count(), "ranges");
        assert_eq!(self.stack.nodes_used().pieces, 0, "ranges in flight");
    }
}
