//! The cases: one application at each end, the same for every stack.
//!
//! Rule: both applications are part of the cost. They write as long as there is room, read
//! as long as there is payload, and verify each byte by its position.
//!
//! The clock is virtual and advances by [`TURN`] each turn, so a run does the same work on
//! every machine.

#[cfg(test)]
mod tests;

use std::time::Duration;

use clap::ValueEnum;

use crate::{
    payload::{LONGEST, Payload},
    stack::{End, Read, Stack},
};

/// Time that a turn of both ends takes on the virtual clock.
const TURN: Duration = Duration::from_micros(20);

/// Turns without a frame after which a run has failed.
const STALLED: u32 = 1_000;

/// Payload of a full TCP segment without options. Bulk is counted in units of it, so that a
/// stack which sends smaller segments does the same work for one unit.
const SEGMENT: u64 = 1460;

/// Datagrams that the client sends before the server reads.
const DATAGRAMS: u32 = 32;

/// A benchmark case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Case {
    /// One connection, one direction, buffers of 16 KiB
    #[value(name = "bulk-16k")]
    Bulk16k,
    /// Buffers of 64 KiB
    #[value(name = "bulk-64k")]
    Bulk64k,
    /// Buffers of 256 KiB
    #[value(name = "bulk-256k")]
    Bulk256k,
    /// Buffers of 4 MiB
    #[value(name = "bulk-4m")]
    Bulk4m,
    /// Request and response of one byte on one connection
    Rr,
    /// Connect, request, response, close
    Crr,
    /// Datagrams of 1472 bytes
    #[value(name = "udp-1472")]
    Udp1472,
    /// Datagrams of 64 bytes
    #[value(name = "udp-64")]
    Udp64,
}

impl Case {
    /// Name on the command line and in tables.
    pub fn name(self) -> String {
        let value = self.to_possible_value().expect("no case is hidden");
        value.get_name().to_owned()
    }

    /// Name of the unit of work.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Bulk16k | Self::Bulk64k | Self::Bulk256k | Self::Bulk4m => "segment",
            Self::Rr => "transaction",
            Self::Crr => "connection",
            Self::Udp1472 | Self::Udp64 => "datagram",
        }
    }

    /// Bytes of each buffer of a connection.
    fn buffer(self) -> usize {
        match self {
            // Small, because smoltcp allocates and clears buffers for each connection.
            Self::Crr => 4 << 10,
            Self::Bulk16k => 16 << 10,
            Self::Bulk64k | Self::Rr | Self::Udp1472 | Self::Udp64 => 64 << 10,
            Self::Bulk256k => 256 << 10,
            Self::Bulk4m => 4 << 20,
        }
    }
}

/// A case that is running on one stack. It can be continued as long as wanted, so a
/// measurement can begin after the handshake and slow start.
pub trait Work {
    /// Does at least `units` of work more, and returns how much it was: bulk and
    /// datagrams end with the turn that completes the work.
    fn run(&mut self, units: u64) -> f64;
}

/// Two hosts, their clock and the applications' memory.
pub struct Bench<S: Stack> {
    case: Case,
    stack: S,
    payload: Payload,
    out: Vec<u8>,
    now: Duration,
    /// Turns since a frame was last received or sent.
    silent: u32,
    /// The two ends of the connection, unless the case opens its own.
    connection: Option<(S::Stream, S::Stream)>,
    /// Bytes of payload written by the client.
    written: u64,
    /// Bytes of payload read by the server.
    read: u64,
}

impl<S: Stack> Work for Bench<S> {
    fn run(&mut self, units: u64) -> f64 {
        let before = self.read;
        let bytes_of_unit = match self.case {
            Case::Bulk16k | Case::Bulk64k | Case::Bulk256k | Case::Bulk4m => SEGMENT,
            Case::Rr | Case::Crr => 1,
            Case::Udp1472 => 1472,
            Case::Udp64 => 64,
        };
        match self.case {
            Case::Bulk16k | Case::Bulk64k | Case::Bulk256k | Case::Bulk4m => {
                self.bulk(units * bytes_of_unit);
            }
            Case::Rr => self.transactions(units),
            Case::Crr => self.connections(units),
            Case::Udp1472 | Case::Udp64 => self.datagrams(bytes_of_unit as usize, units),
        }
        (self.read - before) as f64 / bytes_of_unit as f64
    }
}

impl<S: Stack> Bench<S> {
    /// Creates two hosts for `case`.
    pub fn new(case: Case) -> Self {
        Self {
            case,
            stack: S::new(case.buffer()),
            payload: Payload::new(),
            out: vec![0; LONGEST],
            now: Duration::ZERO,
            silent: 0,
            connection: None,
            written: 0,
            read: 0,
        }
    }

    /// Lets both ends work once. If neither has, the clock advances to the next timer.
    fn turn(&mut self, first: End) {
        self.now += TURN;
        let carried = self.stack.turn(first, self.now);
        if self.stack.turn(first.other(), self.now) || carried {
            self.silent = 0;
            return;
        }
        self.silent += 1;
        assert!(self.silent < STALLED, "no frame for {STALLED} turns");
        if let Some(next) = self.stack.next_timeout() {
            self.now = self.now.max(next);
        }
    }

    /// Opens a connection and returns its two ends.
    fn open(&mut self) -> (S::Stream, S::Stream) {
        let client = self.stack.connect();
        loop {
            self.turn(End::Client);
            if let Some(server) = self.stack.accept() {
                return (client, server);
            }
        }
    }

    /// Returns the two ends of the one connection, which the first call opens.
    fn connection(&mut self) -> (S::Stream, S::Stream) {
        let ends = self.connection.unwrap_or_else(|| self.open());
        self.connection = Some(ends);
        ends
    }

    /// Reads what has arrived at `end`, verifies it, and returns the number of bytes.
    fn read(&mut self, end: End, stream: S::Stream, position: u64) -> u64 {
        let mut read = 0;
        while let Read::Data(count) = self.stack.read(end, stream, &mut self.out) {
            self.payload.verify(position + read, &self.out[..count]);
            read += count as u64;
        }
        read
    }

    fn bulk(&mut self, bytes: u64) {
        let (client, server) = self.connection();
        let end = self.read + bytes;
        while self.read < end {
            self.write(client);
            self.turn(End::Client);
            self.read += self.read(End::Server, server, self.read);
        }
    }

    /// Fills the client's send buffer.
    fn write(&mut self, client: S::Stream) {
        loop {
            let payload = self.payload.at(self.written, LONGEST);
            let count = self.stack.write(End::Client, client, payload);
            self.written += count as u64;
            if count < LONGEST {
                return;
            }
        }
    }

    /// Sends the byte at `position` from one end and waits for it at the other.
    fn carry(&mut self, from: (End, S::Stream), to: (End, S::Stream), position: u64) {
        let byte = self.payload.at(position, 1);
        let count = self.stack.write(from.0, from.1, byte);
        assert_eq!(count, 1, "an empty send buffer has room");
        while self.read(to.0, to.1, position) == 0 {
            self.turn(from.0);
        }
    }

    fn transactions(&mut self, count: u64) {
        let (client, server) = self.connection();
        let (client, server) = ((End::Client, client), (End::Server, server));
        for _ in 0..count {
            self.carry(client, server, self.read);
            self.carry(server, client, self.read);
            self.read += 1;
        }
    }

    fn connections(&mut self, count: u64) {
        for _ in 0..count {
            let (client, server) = self.open();
            let (client, server) = ((End::Client, client), (End::Server, server));
            self.carry(client, server, self.read);
            self.carry(server, client, self.read);
            self.read += 1;
            self.stack.close(client.0, client.1);
            while self.stack.read(server.0, server.1, &mut self.out) != Read::Closed {
                self.turn(End::Client);
            }
            self.stack.close(server.0, server.1);
            // The last ACK arrives in the first turn of the next connection.
            self.turn(End::Server);
        }
    }

    fn datagrams(&mut self, len: usize, count: u64) {
        let end = self.read + count * len as u64;
        while self.read < end {
            for _ in 0..DATAGRAMS {
                let payload = self.payload.at(self.written, len);
                if !self.stack.send_datagram(payload) {
                    break;
                }
                self.written += len as u64;
            }
            self.turn(End::Client);
            while let Some(count) = self.stack.receive_datagram(&mut self.out) {
                assert_eq!(count, len, "length of a datagram");
                self.payload.verify(self.read, &self.out[..len]);
                self.read += len as u64;
            }
        }
    }
}
