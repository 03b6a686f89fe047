//! The cases: one application at each end, identical for every stack.
//!
//! Rule: the applications write while the send buffer has space, and read while payload is
//! available.

#[cfg(test)]
mod tests;

use clap::ValueEnum;

use crate::{
    hosts::Hosts,
    payload::LONGEST,
    stack::{End, Read, Setup, Stack},
};

/// Unit of work of bulk transfers, in bytes: the payload of a full TCP segment without options. A
/// stack that sends smaller segments must carry the same payload for each unit.
pub const SEGMENT: u64 = 1460;

/// Number of datagrams that the client sends before the server reads.
const DATAGRAMS: u32 = 32;

/// A benchmark case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Case {
    /// One connection, one direction, buffers of 16 KiB
    #[value(name = "bulk-16k")]
    Bulk16k,
    /// As bulk-16k, with buffers of 64 KiB
    #[value(name = "bulk-64k")]
    Bulk64k,
    /// As bulk-16k, with buffers of 256 KiB
    #[value(name = "bulk-256k")]
    Bulk256k,
    /// As bulk-16k, with buffers of 4 MiB
    #[value(name = "bulk-4m")]
    Bulk4m,
    /// Request and response of one byte on one connection
    Rr,
    /// A new connection for each request: connect, request, response, close
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

    /// Size of each buffer of a connection, in bytes.
    fn buffer(self) -> usize {
        match self {
            // Use small buffers, because smoltcp allocates and clears buffers for each connection.
            Self::Crr => 4 << 10,
            Self::Bulk16k => 16 << 10,
            Self::Bulk64k | Self::Rr | Self::Udp1472 | Self::Udp64 => 64 << 10,
            Self::Bulk256k => 256 << 10,
            Self::Bulk4m => 4 << 20,
        }
    }
}

/// A case that is running on one stack. The case can be continued any number of times, so that a
/// measurement can begin after the handshake and slow start.
pub trait Work {
    /// Does at least `units` of further work, and returns the amount done. Bulk transfers and
    /// datagrams may exceed `units`, because one turn of the hosts carries many segments.
    fn run(&mut self, units: u64) -> f64;
}

/// A case on one stack.
pub struct Bench<S: Stack> {
    case: Case,
    hosts: Hosts<S>,
    /// The two ends of the connection; `None` for a case that opens its own connections.
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
        let setup = Setup {
            buffer: case.buffer(),
            connections: 1,
            active: 1,
        };
        Self {
            case,
            hosts: Hosts::new(setup),
            connection: None,
            written: 0,
            read: 0,
        }
    }

    /// Returns the two ends of the connection. The first call opens the connection.
    fn connection(&mut self) -> (S::Stream, S::Stream) {
        let ends = self.connection.unwrap_or_else(|| self.hosts.open());
        self.connection = Some(ends);
        ends
    }

    fn bulk(&mut self, bytes: u64) {
        let (client, server) = self.connection();
        let end = self.read + bytes;
        while self.read < end {
            self.write(client);
            self.hosts.turn(End::Client);
            self.read += self.hosts.read(End::Server, server, self.read);
        }
    }

    /// Fills the client's send buffer.
    fn write(&mut self, client: S::Stream) {
        loop {
            let payload = self.hosts.payload.at(self.written, LONGEST);
            let count = self.hosts.stack.write(End::Client, client, payload);
            self.written += count as u64;
            if count < LONGEST {
                return;
            }
        }
    }

    fn transactions(&mut self, count: u64) {
        let (client, server) = self.connection();
        let (client, server) = ((End::Client, client), (End::Server, server));
        for _ in 0..count {
            self.hosts.carry(client, server, self.read);
            self.hosts.carry(server, client, self.read);
            self.read += 1;
        }
    }

    fn connections(&mut self, count: u64) {
        for _ in 0..count {
            let (client, server) = self.hosts.open();
            let (client, server) = ((End::Client, client), (End::Server, server));
            self.hosts.carry(client, server, self.read);
            self.hosts.carry(server, client, self.read);
            self.read += 1;
            self.hosts.stack.close(client.0, client.1);
            while self
                .hosts
                .stack
                .read(server.0, server.1, &mut self.hosts.out)
                != Read::Closed
            {
                self.hosts.turn(End::Client);
            }
            self.hosts.stack.close(server.0, server.1);
            // Send the last ACK now. It arrives in the first turn of the next connection.
            self.hosts.turn(End::Server);
        }
    }

    fn datagrams(&mut self, len: usize, count: u64) {
        let end = self.read + count * len as u64;
        while self.read < end {
            for _ in 0..DATAGRAMS {
                let payload = self.hosts.payload.at(self.written, len);
                if !self.hosts.stack.send_datagram(payload) {
                    break;
                }
                self.written += len as u64;
            }
            self.hosts.turn(End::Client);
            while let Some(count) = self.hosts.stack.receive_datagram(&mut self.hosts.out) {
                assert_eq!(count, len, "length of a datagram");
                self.hosts.payload.verify(self.read, &self.hosts.out[..len]);
                self.read += len as u64;
            }
        }
    }
}
