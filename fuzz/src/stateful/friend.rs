//! An honest client: another instance of the stack, which connects after the script has ended.
//!
//! The one rule: after any script, the stack under test receives the client's request, and the
//! client receives the answer within [`PATIENCE`].

use core::net::SocketAddr;

use fullpipe::config::Config;
use fullpipe::device::{Capabilities, RxMeta};
use fullpipe::{ConnectOptions, ConnectionId, Duration, Info, Instant, Interface, Read, Stack};
use fullpipe_pool::Holder;

use super::packets::{FRIEND_IP, OUR_IP, mac_of};
use super::port::Port;
use super::tuple::{Tuple, byte_of};
use super::{PORT, World};

/// Bytes of the client's request.
const REQUEST: u32 = 700;
/// Bytes of the answer to the client.
const ANSWER: u32 = 500;
/// Longest time until the client has its answer.
const PATIENCE: Duration = Duration::from_secs(4 * 3_600);
/// Largest number of turns of both stacks until the client has its answer.
const MOST_TURNS: u32 = 100_000;

struct Friend {
    stack: Stack,
    port: Port,
    id: ConnectionId,
    tuple: Tuple,
    written: u32,
    read: u32,
}

impl Friend {
    fn new(world: &World, secret: u8) -> Friend {
        let capabilities = Capabilities::plain(world.medium, world.mtu);
        let mut config = Config::default();
        (config.pool.blocks, config.pool.block_size) = (64, 1_024);
        // Answer every probe: some configurations end a connection if two probes within 10 ms have
        // no answer.
        config.tcp.challenge_ack_interval = Duration::ZERO;
        // Retransmit often: an overcommitted pool may accept only a few bytes of each
        // retransmission.
        config.tcp.rto_max = Duration::from_secs(4);
        (config.tcp.retries2, config.tcp.syn_retries) = (255, 255);
        let interface = Interface {
            mac: mac_of(FRIEND_IP),
            address: FRIEND_IP.into(),
            prefix_len: 24,
            gateway: None,
            capabilities,
        };
        let mut stack = Stack::new(&config, interface, [secret; 16]).expect("it is valid");
        let to = SocketAddr::new(OUR_IP.into(), PORT);
        let options = ConnectOptions::default();
        let id = stack
            .tcp_connect(to, None, options, world.now)
            .expect("there is a route");
        let (local, _) = stack.tcp_ends(id).expect("the connection is open");
        let tuple = Tuple {
            peer: FRIEND_IP,
            peer_port: local.port(),
            port: PORT,
        };
        Friend {
            stack,
            port: Port::new(capabilities),
            id,
            tuple,
            written: 0,
            read: 0,
        }
    }

    /// Writes the remaining bytes of the request, and reads the answer.
    fn act(&mut self, now: Instant) {
        let info = self.stack.tcp_info(self.id, now).expect("it is held");
        if let Some(reason) = info.close_reason {
            panic!(
                "the connection of an honest client ended: {reason:?} after {} timeouts",
                info.timeouts
            );
        }
        let first = info.iss.wrapping_add(1);
        let byte = |at| byte_of(self.tuple, info.iss, first.wrapping_add(at), true);
        let request: Vec<u8> = (self.written..REQUEST).map(byte).collect();
        let taken = self.stack.tcp_write(self.id, &request, now);
        self.written += taken.expect("it is open") as u32;
        let mut answer = [0; 1024];
        if let Ok(Read::Data(len)) = self.stack.tcp_read(self.id, &mut answer, now) {
            let first = info.irs.wrapping_add(1).wrapping_add(self.read);
            for (at, &byte) in answer[..len].iter().enumerate() {
                let seq = first.wrapping_add(at as u32);
                assert_eq!(
                    byte,
                    byte_of(self.tuple, info.irs, seq, false),
                    "the answer"
                );
            }
            self.read += len as u32;
        }
    }

    /// Runs the client's timers, and returns the frames that the client sends.
    fn turn(&mut self, now: Instant) -> Vec<Vec<u8>> {
        self.stack.on_timeouts(now);
        self.port.room = 64;
        self.stack.transmit(&mut self.port, now, 64);
        let frames = self.port.take();
        frames.into_iter().map(|(frame, _)| frame).collect()
    }
}

impl World {
    /// Connects an honest client, which must receive its answer. If its connection ends early,
    /// another client connects.
    ///
    /// # Panics
    /// Panics if no client receives its answer in time.
    pub fn serve_friend(&mut self, secret: u8) {
        if self.listener.is_none() {
            self.call_listener(0);
        }
        let deadline = self.now + PATIENCE;
        let mut friend = Friend::new(self, secret);
        self.to_friend.clear();
        for _ in 0..MOST_TURNS {
            if self.pass_on(&mut friend) {
                return;
            }
            let info = friend.stack.tcp_info(friend.id, self.now).expect("held");
            if self.now >= deadline {
                self.report_waiting(&friend, &info);
            }
            if info.close_reason.is_some() {
                self.let_all_go(true);
                self.now += Duration::from_secs(1);
                friend = Friend::new(self, secret.wrapping_add(self.now.as_millis() as u8));
            }
        }
        let info = friend.stack.tcp_info(friend.id, self.now).expect("held");
        self.report_waiting(&friend, &info)
    }

    /// Panics with the state of both ends of a connection that has not received its answer in time.
    fn report_waiting(&mut self, friend: &Friend, info: &Info) -> ! {
        let its = self.held.iter().find(|held| held.tuple == friend.tuple);
        let its = its.map(|held| {
            let info = self.stack.tcp_info(held.id, self.now);
            (held.read, held.written, info)
        });
        let pool = self.stack.pool();
        let uses = Holder::ALL.map(|holder| {
            let (held, promised) = (pool.held(holder), pool.promised_to(holder));
            (holder.name(), held, promised, pool.room(holder))
        });
        panic!(
            "an honest client received no answer in time: {} of {REQUEST} bytes written, {} of {ANSWER} bytes read\n\
             client: {info:?}\nstack (read, written, info): {its:?}\n\
             pool of {} x {} bytes, {} free; (held, promised, room): {uses:?}",
            friend.written,
            friend.read,
            pool.block_count(),
            pool.block_size(),
            pool.free_blocks()
        );
    }

    /// Lets both ends act once, and advances the clock. Returns true if the client has its answer.
    fn pass_on(&mut self, friend: &mut Friend) -> bool {
        friend.act(self.now);
        let frames = friend.turn(self.now);
        let mut busy = !frames.is_empty();
        for frame in frames {
            self.deliver_frame(frame, false);
        }
        self.accept();
        if let Some(at) = self.held.iter().position(|held| held.tuple == friend.tuple) {
            self.read(at, 1_024);
            // Write at most the bytes that every writer is guaranteed (knob `pool.send_floor`),
            // because with the knob `tcp.write_atomic` the stack accepts a write either whole or
            // not at all.
            let left = ANSWER - self.held[at].written;
            let piece = left.min(self.piece);
            if piece > 0 {
                self.write(at, piece as usize, false);
            }
            if friend.read == ANSWER && self.held[at].read == REQUEST {
                return true;
            }
        }
        self.quiet(|stack, now| stack.on_timeouts(now));
        self.turn(64, 0);
        self.asked.clear();
        for frame in core::mem::take(&mut self.to_friend) {
            busy = true;
            // Mark the checksum as verified, because a real device would have completed it.
            let meta = RxMeta {
                checksum_verified: true,
                merged: 0,
                ..RxMeta::default()
            };
            friend.stack.receive(&frame, meta, self.now);
        }
        self.stack.verify(self.now);
        let next = [self.stack.next_timeout(), friend.stack.next_timeout()];
        let next = next.into_iter().flatten().min();
        self.now = match next {
            Some(at) if !busy && at > self.now => at,
            _ => self.now + Duration::from_millis(1),
        };
        false
    }
}
