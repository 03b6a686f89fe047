//! Two hosts with their clock, and the work of the applications in every case.
//!
//! Rule: the work of both applications is part of the measured cost. Each byte that is read is
//! compared with the byte expected at its position.
//!
//! The clock is virtual and advances by [`TURN`] in each turn, so that a run does the same work on
//! every machine.

use std::time::Duration;

use crate::{
    payload::{LONGEST, Payload},
    stack::{End, Read, Setup, Stack},
};

/// Virtual time of one turn of both ends.
const TURN: Duration = Duration::from_micros(20);

/// A run has failed after this many turns without a frame.
const STALLED: u32 = 1_000;

/// Two hosts, their clock, and the memory of the applications.
pub struct Hosts<S: Stack> {
    /// The stack under test.
    pub stack: S,
    /// Payload of all connections.
    pub payload: Payload,
    /// Buffer for payload that is read.
    pub out: Vec<u8>,
    now: Duration,
    /// Number of turns since a frame was last received or sent.
    silent: u32,
}

impl<S: Stack> Hosts<S> {
    /// Creates two hosts without connections.
    pub fn new(setup: Setup) -> Self {
        Self {
            stack: S::new(setup),
            payload: Payload::new(),
            out: vec![0; LONGEST],
            now: Duration::ZERO,
            silent: 0,
        }
    }

    /// Lets both ends work once. If neither end sent or received a frame, advances the clock to
    /// the next timer.
    pub fn turn(&mut self, first: End) {
        self.now += TURN;
        let carried = self.stack.turn(first, self.now);
        if self.stack.turn(first.other(), self.now) || carried {
            self.silent = 0;
            return;
        }
        self.silent += 1;
        assert!(
            self.silent < STALLED,
            "the transfer stalled: no frame in {STALLED} turns"
        );
        if let Some(next) = self.stack.next_timeout() {
            self.now = self.now.max(next);
        }
    }

    /// Lets both ends work until neither receives nor sends a frame.
    pub fn until_quiet(&mut self, first: End) {
        loop {
            self.now += TURN;
            let carried = self.stack.turn(first, self.now);
            if !self.stack.turn(first.other(), self.now) && !carried {
                return;
            }
        }
    }

    /// Opens a connection and returns its two ends.
    pub fn open(&mut self) -> (S::Stream, S::Stream) {
        let client = self.stack.connect();
        loop {
            self.turn(End::Client);
            if let Some(server) = self.stack.accept() {
                return (client, server);
            }
        }
    }

    /// Reads the payload that has arrived at `end`, verifies it, and returns the number of bytes.
    pub fn read(&mut self, end: End, stream: S::Stream, position: u64) -> u64 {
        let mut read = 0;
        while let Read::Data(count) = self.stack.read(end, stream, &mut self.out) {
            self.payload.verify(position + read, &self.out[..count]);
            read += count as u64;
        }
        read
    }

    /// Sends the byte at `position` from one end, and waits until it arrives at the other end.
    pub fn carry(&mut self, from: (End, S::Stream), to: (End, S::Stream), position: u64) {
        let byte = self.payload.at(position, 1);
        let count = self.stack.write(from.0, from.1, byte);
        assert_eq!(count, 1, "an empty send buffer has room");
        while self.read(to.0, to.1, position) == 0 {
            self.turn(from.0);
        }
    }
}
