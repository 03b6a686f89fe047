//! Cost of many connections in two cases: all of them carry payload, or all but one are idle.
//!
//! Rule: the same work is done with any number of connections, so that a difference comes from
//! their number: it is the cost of caches, tables and timers.

use std::fs;

use anyhow::{Context, Result};

use crate::{
    cases::{SEGMENT, Work},
    hosts::Hosts,
    stack::{End, Setup, Stack},
};

/// Bytes that are written to a connection in each step.
const WRITE: usize = 8 << 10;

/// Fewest writes in a step. If there are fewer connections than this, the application writes
/// several times to each.
const WRITES: usize = 8;

/// Buffer size of a connection, enough for all writes of a step.
const BUFFER: usize = WRITE * WRITES;

/// Buffer size of an idle connection.
const IDLE_BUFFER: usize = 4 << 10;

/// The two ends of a connection.
type Ends<S> = (<S as Stack>::Stream, <S as Stack>::Stream);

/// Connections that all carry payload at the same time.
pub struct Active<S: Stack> {
    hosts: Hosts<S>,
    connections: Vec<Flow<S>>,
}

/// A connection, with the bytes written and read so far.
struct Flow<S: Stack> {
    ends: Ends<S>,
    written: u64,
    read: u64,
}

impl<S: Stack> Active<S> {
    /// Opens `count` connections.
    pub fn new(count: u32) -> Self {
        let mut hosts = Hosts::new(Setup {
            buffer: BUFFER,
            connections: count,
            active: count,
        });
        let flow = |_| Flow {
            ends: hosts.open(),
            written: 0,
            read: 0,
        };
        Self {
            connections: (0..count).map(flow).collect(),
            hosts,
        }
    }

    /// Writes to every connection, transfers the payload, and reads it. Returns the number of bytes
    /// read.
    fn step(&mut self) -> u64 {
        for _ in 0..WRITES.div_ceil(self.connections.len()) {
            for flow in &mut self.connections {
                let payload = self.hosts.payload.at(flow.written, WRITE);
                let stack = &mut self.hosts.stack;
                flow.written += stack.write(End::Client, flow.ends.0, payload) as u64;
            }
        }
        // Do not read between the turns: the cost of asking every connection would grow with the
        // number of connections.
        self.hosts.until_quiet(End::Client);
        let mut total = 0;
        for flow in &mut self.connections {
            let count = self.hosts.read(End::Server, flow.ends.1, flow.read);
            flow.read += count;
            total += count;
        }
        total
    }
}

impl<S: Stack> Work for Active<S> {
    fn run(&mut self, units: u64) -> f64 {
        let mut done = 0;
        while done < units * SEGMENT {
            done += self.step();
        }
        done as f64 / SEGMENT as f64
    }
}

/// One connection that carries transactions, beside others that were used once.
pub struct Idle<S: Stack> {
    hosts: Hosts<S>,
    first: Ends<S>,
    transactions: u64,
}

impl<S: Stack> Idle<S> {
    /// Opens `count` connections and uses each once.
    pub fn new(count: u32) -> Self {
        let mut hosts = Hosts::new(Setup {
            buffer: IDLE_BUFFER,
            connections: count,
            active: 1,
        });
        let mut open = || {
            let ends = hosts.open();
            transaction(&mut hosts, ends, 0);
            ends
        };
        let first = open();
        for _ in 1..count {
            open();
        }
        Self {
            hosts,
            first,
            transactions: 1,
        }
    }
}

impl<S: Stack> Work for Idle<S> {
    fn run(&mut self, units: u64) -> f64 {
        for _ in 0..units {
            transaction(&mut self.hosts, self.first, self.transactions);
            self.transactions += 1;
        }
        units as f64
    }
}

/// Sends one byte to the server and one byte back.
fn transaction<S: Stack>(hosts: &mut Hosts<S>, ends: Ends<S>, position: u64) {
    let (client, server) = ((End::Client, ends.0), (End::Server, ends.1));
    hosts.carry(client, server, position);
    hosts.carry(server, client, position);
}

/// Memory that this process occupies, in bytes.
///
/// # Errors
/// Fails if the operating system does not report the memory in `/proc`; only Linux does.
pub fn resident_bytes() -> Result<u64> {
    let text = fs::read_to_string("/proc/self/status").context("reading /proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kib: u64 = kib.context("no VmRSS")?.parse().context("reading VmRSS")?;
    Ok(kib << 10)
}
