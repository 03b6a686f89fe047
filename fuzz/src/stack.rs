//! Checks of a whole stack, with a script (the fuzzer's input) of frames, times and calls.
//!
//! The one rule: with every script, the stack does not panic, allocates nothing after construction,
//! and sends only valid frames. After everything was closed and all timers have expired, every
//! block is back in the pool.
//!
//! The order of received bytes is not checked here, because the peer sends arbitrary bytes; the
//! simulator checks it.

use core::net::{IpAddr, SocketAddr};

use fullpipe::config::Config;
use fullpipe::device::RxMeta;
use fullpipe::{
    ConnectOptions, ConnectionId, Duration, Instant, Interface, ListenOptions, ListenerId,
    SocketOption, Stack, UdpId, presets,
};
use fullpipe_pool::Holder;
use fullpipe_wire::ArpOperation;

use crate::device::Wire;
use crate::frames::{self, Frame, LISTENING_PORT, OUR_IP, OUR_MAC, PEER_IP};
use crate::script::Script;

/// Largest number of connections that the application has at once.
const HANDLES: usize = 4;

/// After everything was closed, the stack must have no timer left after this many timers have
/// expired.
const MOST_DEADLINES: u32 = 2_000;

/// Runs a stack with the script `bytes`, closes everything, and checks that all memory was
/// returned.
pub fn live(bytes: &[u8]) {
    let mut script = Script::new(bytes);
    let Some(first) = script.byte() else { return };
    let mut host = Host::new(&config(first));
    let allocations = allocation_counter::measure(|| {
        while host.step(&mut script).is_some() {
            host.stack.verify(host.now);
        }
        host.end();
    });
    assert_eq!(
        allocations.count_total, 0,
        "the stack allocated memory after its construction"
    );
    host.check_all_returned();
}

/// Returns one of two small configurations: the preset `nuttx`, or that preset with reassembly of
/// fragments.
fn config(first: u8) -> Config {
    let preset = presets::find("nuttx").expect("the preset exists");
    let mut config = preset.config();
    if first.is_multiple_of(2) {
        config.pool.blocks = 96;
        config.pool.block_size = 512;
        config.ip.reassembly_datagrams = 3;
        config.ip.reassembly_bytes = 16_384;
        config.ip.reassembly_largest = 8_192;
        config.arp.queue_packets = 4;
        config.trace.records = 32;
    }
    config
}

struct Host {
    stack: Stack,
    wire: Wire,
    now: Instant,
    frame: Frame,
    listener: ListenerId,
    udp: UdpId,
    connections: [Option<ConnectionId>; HANDLES],
}

impl Host {
    fn new(config: &Config) -> Host {
        let interface = Interface {
            mac: OUR_MAC,
            address: OUR_IP.into(),
            prefix_len: 24,
            gateway: None,
            capabilities: Wire::CAPABILITIES,
        };
        let mut stack = Stack::new(config, interface, *b"not a secret key").expect("it is valid");
        let ours = |port| SocketAddr::new(IpAddr::V4(OUR_IP), port);
        let options = ListenOptions::default();
        let listener = stack
            .tcp_listen(ours(LISTENING_PORT), options)
            .expect("the port is free");
        let udp = stack
            .udp_bind(ours(LISTENING_PORT))
            .expect("the port is free");
        let (wire, now, frame) = (Wire::new(), Instant::from_secs(1), [0; 2048]);
        Host {
            stack,
            wire,
            now,
            frame,
            listener,
            udp,
            connections: [None; HANDLES],
        }
    }

    /// Performs the next step of the script. Returns `None` at the end of the script.
    fn step(&mut self, script: &mut Script<'_>) -> Option<()> {
        match script.byte()? % 8 {
            0 => {
                let len = usize::from(script.number()? % 1600);
                let frame = script.bytes(len);
                let mut batch = self.stack.receive_batch(self.now);
                batch.receive(frame, RxMeta::default());
            }
            1 => {
                let len = frames::ip(&mut self.frame, script)?;
                self.receive(len);
            }
            2 | 3 => {
                let len = frames::tcp(&mut self.frame, script, &self.wire.last)?;
                self.receive(len);
            }
            4 => {
                let len = frames::icmp(&mut self.frame, script, self.wire.last_packet())?;
                self.receive(len);
            }
            5 => self.pass(script.byte()?),
            6 => self.turn(usize::from(script.byte()? % 16)),
            7.. => self.call(script)?,
        }
        Some(())
    }

    /// Delivers the frame in `self.frame` to the stack, like a device that has verified the
    /// transport checksum.
    fn receive(&mut self, len: usize) {
        let meta = RxMeta {
            checksum_verified: true,
            merged: 0,
            ..RxMeta::default()
        };
        self.stack
            .receive_batch(self.now)
            .receive(&self.frame[..len], meta);
    }

    /// Advances the clock by a power of two of microseconds, up to some hours.
    fn pass(&mut self, exponent: u8) {
        self.now += Duration::from_micros(1 << (exponent % 34));
        self.stack.on_timeouts(self.now);
    }

    fn turn(&mut self, room: usize) {
        self.wire.room = room;
        self.stack.transmit(&mut self.wire, self.now, 64);
    }

    /// Makes a call of the application. The stack may refuse the call.
    fn call(&mut self, script: &mut Script<'_>) -> Option<()> {
        let (call, number) = (script.byte()?, script.byte()?);
        let place = usize::from(call >> 4) % HANDLES;
        let (stack, now) = (&mut self.stack, self.now);
        let text = [b'y'; 2048];
        let text = &text[..usize::from(number) * 8];
        let peer = SocketAddr::new(IpAddr::V4(PEER_IP), 9);
        match (call & 0x0f, self.connections[place]) {
            (0..=1, None) => {
                let opened = stack.tcp_connect(peer, None, ConnectOptions::default(), now);
                self.connections[place] = opened.ok();
            }
            (2..=6, None) => {
                let accepted = stack.tcp_accept(self.listener, now).expect("it is open");
                self.connections[place] = accepted.map(|(id, _)| id);
            }
            (7, _) => {
                let _refused = stack.udp_send(self.udp, peer, text);
            }
            (8, _) => {
                let _refused = stack.udp_receive(self.udp, &mut self.frame);
            }
            (9, _) => while stack.next_event().is_some() {},
            (10, _) => {
                let len = frames::arp(&mut self.frame, ArpOperation::Request);
                self.receive(len);
            }
            (11.., None) => {
                let len = frames::arp(&mut self.frame, ArpOperation::Reply);
                self.receive(len);
            }
            (what, Some(id)) => self.call_connection(what, place, id, text),
        }
        Some(())
    }

    fn call_connection(&mut self, what: u8, place: usize, id: ConnectionId, text: &[u8]) {
        let (stack, now) = (&mut self.stack, self.now);
        match what {
            0..=3 => {
                let _refused = stack.tcp_write(id, text, now);
            }
            4..=6 => {
                let _refused = stack.tcp_peek(id, &mut self.frame, now);
                let _refused = stack.tcp_read(id, &mut self.frame, now);
            }
            11 => {
                let _refused = match text.len() % 4 {
                    0 => stack.tcp_shutdown_read(id, now),
                    _ => stack.tcp_shutdown(id, now),
                };
            }
            12 => {
                let size = text.len() as u32;
                let option = match size % 8 {
                    0 => SocketOption::ReceiveBuffer(size),
                    1 => SocketOption::SendBuffer(size),
                    2 => SocketOption::Cork(size > 1024),
                    3 => SocketOption::QuickAck(size > 1024),
                    4 => SocketOption::MaxSegment(size),
                    5 => SocketOption::UnsentLowWater(size),
                    6 => SocketOption::ReceiveLowWater(size),
                    7.. => SocketOption::SendLowWater(size),
                };
                let _refused = stack.tcp_set(id, option, now);
            }
            13 => {
                let _refused = stack.tcp_info(id, now);
            }
            14 => {
                self.connections[place] = None;
                stack.tcp_close(id, now).expect("the handle was held");
            }
            15 => {
                self.connections[place] = None;
                stack.tcp_abort(id, now).expect("the handle was held");
            }
            other => unreachable!("{other} is not the number of a call on a connection"),
        }
    }

    /// Closes everything, and advances the clock until every timer has expired. No frame is
    /// answered.
    fn end(&mut self) {
        for id in self.connections.iter_mut().filter_map(Option::take) {
            self.stack
                .tcp_close(id, self.now)
                .expect("the handle was held");
        }
        self.stack
            .tcp_close_listener(self.listener, self.now)
            .expect("it was open");
        self.stack.udp_close(self.udp).expect("it was open");
        // Advance the clock from timer to timer. The stack at most retransmits a few dozen segments
        // on each connection, to a neighbour that does not answer.
        for _ in 0..MOST_DEADLINES {
            self.wire.room = 64;
            let turn = fullpipe::turn(&mut self.stack, &mut self.wire, self.now);
            match self.stack.next_timeout() {
                Some(at) => self.now = self.now.max(at),
                None if turn.device_full => {}
                None => break,
            }
        }
        self.stack.verify(self.now);
    }

    fn check_all_returned(&self) {
        assert_eq!(self.stack.next_timeout(), None, "a timer is left");
        assert_eq!(
            self.stack.tcp_counts(),
            (0, 0, 0),
            "connections, handshakes or TIME-WAIT entries remain"
        );
        let pool = self.stack.pool();
        for holder in Holder::ALL {
            assert_eq!(pool.held(holder), 0, "blocks held for {}", holder.name());
        }
        assert_eq!(
            pool.free_blocks(),
            pool.block_count(),
            "blocks remain in use"
        );
        assert_eq!(pool.promised(), 0, "reserved blocks remain");
    }
}
