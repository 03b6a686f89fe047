//! The application above the stack: it accepts and opens connections, reads, writes, closes and
//! aborts.
//!
//! The one rule: the stack may refuse a call, because the script (the fuzzer's input) selects calls
//! at random. Every byte that is read is checked, and the model (`flows`) learns of every byte that
//! is written.

use core::net::{IpAddr, SocketAddr};

use fullpipe::config::CongestionAlgorithm;
use fullpipe::congestion::CongestionChoice;
use fullpipe::{
    ConnectOptions, ConnectionId, Duration, Info, ListenOptions, Read, SocketOption, TcpState,
};

use super::packets::OUR_IP;
use super::setup::peer_ip;
use super::tuple::{Tuple, byte_of};
use super::{Held, PORT, World};
use crate::script::Script;

/// Largest number of connections that the application has at once.
const MOST_HELD: usize = 6;

impl World {
    /// Makes a call that the script selects. Returns `None` at the end of the script.
    pub fn call(&mut self, script: &mut Script<'_>) -> Option<()> {
        let call = script.byte()?;
        let held = match self.held.len() {
            0 => None,
            count => Some(usize::from(script.byte()?) % count),
        };
        match (call % 16, held) {
            (0..=2, _) | (3..=5, None) => self.accept(),
            (6, _) | (7..=8, None) => self.connect(script.number()?),
            (9, _) => self.call_udp(script)?,
            (10, _) => self.call_listener(script.byte()?),
            (3..=5, Some(at)) => self.read(at, usize::from(script.byte()?) * 32),
            (7..=8, Some(at)) => self.write(at, usize::from(script.byte()?) * 32, call & 16 != 0),
            (11, Some(at)) => self.set(at, script)?,
            (12, Some(at)) if call >= 240 => self.shut_read(at),
            (12, Some(at)) => self.shut(at),
            (13, Some(at)) => self.look(at),
            (14, Some(at)) => self.let_go(at, false),
            (15, Some(at)) => self.let_go(at, call & 16 != 0),
            (_, None) => self.quiet(|stack, _| while stack.next_event().is_some() {}),
            (16.., Some(_)) => unreachable!("a remainder of 16 is below 16"),
        }
        Some(())
    }

    /// Returns the stack's information about the application's open connection `tuple`.
    pub fn info(&mut self, tuple: Tuple) -> Option<Info> {
        // Ignore closed connections: the application may still have an older one with the same
        // tuple.
        (0..self.held.len()).find_map(|at| {
            let Held { id, tuple: its, .. } = self.held[at];
            let info = self.quiet(|stack, now| stack.tcp_info(id, now)).ok();
            info.filter(|info| its == tuple && info.state != TcpState::Closed)
        })
    }

    /// Adds a connection to those of the application.
    fn hold(&mut self, id: ConnectionId) {
        let (local, remote) = self.stack.tcp_ends(id).expect("the connection is open");
        let IpAddr::V4(peer) = remote.ip() else {
            unreachable!("every peer has an IPv4 address");
        };
        let tuple = Tuple {
            peer,
            peer_port: remote.port(),
            port: local.port(),
        };
        self.held.push(Held {
            id,
            tuple,
            read: 0,
            written: 0,
        });
        self.learn(tuple);
    }

    /// Informs the model about the options on which both ends of a connection agreed.
    pub fn learn(&mut self, tuple: Tuple) {
        if let Some(info) = self.info(tuple) {
            self.flows.agreed(tuple, &info);
        }
    }

    /// Accepts a connection, if one waits and the application has fewer than [`MOST_HELD`].
    pub fn accept(&mut self) {
        if self.held.len() == MOST_HELD {
            let over = (0..MOST_HELD).find(|&at| self.is_over(at));
            over.into_iter().for_each(|at| self.let_go(at, false));
        }
        let Some(listener) = self.listener.filter(|_| self.held.len() < MOST_HELD) else {
            return;
        };
        let accepted = self.quiet(|stack, now| stack.tcp_accept(listener, now));
        if let Some((id, _)) = accepted.expect("it listens") {
            self.hold(id);
        }
    }

    fn connect(&mut self, choice: u16) {
        if self.held.len() >= MOST_HELD {
            return;
        }
        let peer = SocketAddr::new(peer_ip(choice as u8).into(), 9 + (choice >> 8) % 2);
        let options = ConnectOptions::default();
        let opened = self.quiet(|stack, now| stack.tcp_connect(peer, None, options, now));
        if let Ok(id) = opened {
            self.hold(id);
        }
    }

    /// Reads up to `most` bytes from the application's connection with the index `at`, and checks
    /// them.
    pub fn read(&mut self, at: usize, most: usize) {
        let Held { id, tuple, .. } = self.held[at];
        let mut out = core::mem::take(&mut self.buffer);
        let known = self.quiet(|stack, now| stack.tcp_info(id, now));
        let read = self.quiet(|stack, now| stack.tcp_read(id, &mut out[..most], now));
        if let (Ok(Read::Data(len)), Ok(info)) = (read, known) {
            let already = self.held[at].read;
            self.flows.check_read(tuple, info.irs, already, &out[..len]);
            self.held[at].read += len as u32;
        }
        self.buffer = out;
    }

    /// Checks bytes that the next read would return, without reading them.
    fn peek(&mut self, at: usize) {
        let Held {
            id, tuple, read, ..
        } = self.held[at];
        let mut out = [0; 256];
        let known = self.quiet(|stack, now| stack.tcp_info(id, now));
        let seen = self.quiet(|stack, now| stack.tcp_peek(id, &mut out, now));
        if let (Ok(Read::Data(len)), Ok(info)) = (seen, known) {
            self.flows.check_read(tuple, info.irs, read, &out[..len]);
        }
    }

    /// Writes up to `len` bytes, either from a buffer or directly into the stack's memory
    /// (`in_place`).
    pub fn write(&mut self, at: usize, len: usize, in_place: bool) {
        let Held {
            id, tuple, written, ..
        } = self.held[at];
        let Ok(info) = self.quiet(|stack, now| stack.tcp_info(id, now)) else {
            return;
        };
        let first = info.iss.wrapping_add(1).wrapping_add(written);
        let byte = |at: usize| byte_of(tuple, info.iss, first.wrapping_add(at as u32), false);
        let mut payload = core::mem::take(&mut self.buffer);
        for (place, slot) in payload[..len].iter_mut().enumerate() {
            *slot = byte(place);
        }
        let taken = if in_place {
            let mut rest = &payload[..len];
            let mut fill = |slice: &mut [u8]| {
                let (now, later) = rest.split_at(rest.len().min(slice.len()));
                slice[..now.len()].copy_from_slice(now);
                rest = later;
                now.len()
            };
            self.quiet(|stack, now| stack.tcp_write_with(id, &mut fill, now))
        } else {
            self.quiet(|stack, now| stack.tcp_write(id, &payload[..len], now))
        };
        self.buffer = payload;
        // Inform the model only if the stack accepted bytes: a closed connection accepts none, and
        // a later connection may have the same initial sequence number.
        if let Ok(taken) = taken {
            let written = written + taken as u32;
            self.held[at].written = written;
            self.flows.wrote(tuple, info.iss, written);
        }
    }

    fn announce_end(&mut self, at: usize) {
        let Held { id, tuple, .. } = self.held[at];
        let info = self.quiet(|stack, now| stack.tcp_info(id, now));
        if let Ok(info) = info
            && info.state != TcpState::Closed
        {
            self.flows.ended(tuple, info.iss);
        }
    }

    fn shut(&mut self, at: usize) {
        self.announce_end(at);
        let id = self.held[at].id;
        let _refused = self.quiet(|stack, now| stack.tcp_shutdown(id, now));
    }

    fn shut_read(&mut self, at: usize) {
        let id = self.held[at].id;
        let shut = self.quiet(|stack, now| stack.tcp_shutdown_read(id, now));
        shut.expect("the handle was held");
    }

    fn look(&mut self, at: usize) {
        let id = self.held[at].id;
        self.peek(at);
        let _refused = self.quiet(|stack, now| stack.tcp_ready(id, now));
        let described = self.stack.describe(id, self.now);
        assert!(described.is_ok_and(|lines| !lines.to_string().is_empty()));
    }

    /// Closes or aborts a connection.
    pub fn let_go(&mut self, at: usize, abort: bool) {
        self.announce_end(at);
        let Held { id, tuple, .. } = self.held[at];
        let info = self.quiet(|stack, now| stack.tcp_info(id, now));
        if let Ok(info) = info
            && info.state != TcpState::Closed
        {
            self.flows.let_go(tuple, &info);
        }
        let held = self.held.swap_remove(at);
        let gone = match abort {
            true => self.quiet(|stack, now| stack.tcp_abort(held.id, now)),
            false => self.quiet(|stack, now| stack.tcp_close(held.id, now)),
        };
        gone.expect("the handle was held");
    }

    fn set(&mut self, at: usize, script: &mut Script<'_>) -> Option<()> {
        let id = self.held[at].id;
        let (kind, value) = (script.byte()?, script.number()?);
        let (bytes, on) = (u32::from(value) << (kind >> 4), value % 2 == 0);
        let time = match value {
            u16::MAX => Duration::from_nanos(u64::MAX),
            _ => Duration::from_millis(u64::from(value)),
        };
        let algorithms = CongestionAlgorithm::ALL;
        let count = u32::from(value) >> (kind >> 4);
        let option = match kind % 16 {
            0 => SocketOption::NoDelay(on),
            1 => SocketOption::Cork(on),
            2 => SocketOption::SendBuffer(bytes),
            3 => SocketOption::SendLowWater(bytes),
            4 => SocketOption::ReceiveBuffer(bytes),
            5 => SocketOption::Keepalive(time),
            6 => SocketOption::UserTimeout(time),
            7 => {
                let choice = algorithms[usize::from(value) % algorithms.len()];
                SocketOption::Congestion(CongestionChoice::from(choice))
            }
            8 => SocketOption::Urgent,
            9 => SocketOption::UnsentLowWater(bytes),
            10 => SocketOption::ReceiveLowWater(bytes),
            11 => SocketOption::MaxSegment(count),
            12 => SocketOption::KeepaliveInterval(time),
            13 => SocketOption::KeepaliveProbes(count),
            14 => SocketOption::SynRetries(count),
            15.. => SocketOption::QuickAck(on),
        };
        let _refused = self.quiet(|stack, now| stack.tcp_set(id, option, now));
        Some(())
    }

    /// Closes the listener for some values of `choice`, or opens it if it is closed.
    pub fn call_listener(&mut self, choice: u8) {
        match self.listener {
            Some(listener) if choice.is_multiple_of(8) => {
                let closed = self.quiet(|stack, now| stack.tcp_close_listener(listener, now));
                closed.expect("it listens");
                self.listener = None;
            }
            Some(_) => {}
            None => {
                let local = SocketAddr::new(OUR_IP.into(), PORT);
                let backlog = (choice & 1 != 0).then_some(1 + u32::from(choice >> 4));
                let options = ListenOptions {
                    backlog,
                    ..ListenOptions::default()
                };
                // Ignore an error: handshakes of the previous listener may still use the port.
                self.listener = self.stack.tcp_listen(local, options).ok();
            }
        }
    }

    fn call_udp(&mut self, script: &mut Script<'_>) -> Option<()> {
        let (what, number) = (script.byte()?, script.byte()?);
        let to = SocketAddr::new(peer_ip(number).into(), u16::from(number));
        let (udp, len) = (self.udp, usize::from(script.byte()?) * 40);
        let mut buffer = core::mem::take(&mut self.buffer);
        match what % 4 {
            0 | 1 => {
                let _refused = self.quiet(|stack, _| stack.udp_send(udp, to, &buffer[..len]));
            }
            2 => {
                let _refused = self.quiet(|stack, _| stack.udp_receive(udp, &mut buffer[..len]));
            }
            _ => {
                let _refused = self.quiet(|stack, _| stack.udp_take_error(udp));
            }
        }
        self.buffer = buffer;
        Some(())
    }

    /// Reads every datagram in the receive queue.
    pub fn read_datagrams(&mut self) {
        let udp = self.udp;
        let mut out = [0; 64];
        while let Ok(Some(_)) = self.quiet(|stack, _| stack.udp_receive(udp, &mut out)) {}
    }

    /// Closes or aborts every connection, including those that wait to be accepted.
    pub fn let_all_go(&mut self, abort: bool) {
        loop {
            while !self.held.is_empty() {
                self.let_go(0, abort);
            }
            self.accept();
            if self.held.is_empty() {
                return;
            }
        }
    }

    /// Returns true if the connection is closed and all its payload was read.
    fn is_over(&mut self, at: usize) -> bool {
        let id = self.held[at].id;
        let info = self.quiet(|stack, now| stack.tcp_info(id, now));
        info.is_ok_and(|info| info.state == TcpState::Closed && info.receive_queue == 0)
    }
}
