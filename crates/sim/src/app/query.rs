//! A query: the client sends one request; the server waits for its think time and then
//! answers with a stream.
//!
//! Rule: the server begins to write when it has read the whole request and its think time is over.
//! The plans of the two [`Transfer`]s decide everything else about reading and writing.

use fullpipe_pool::{Duration, Instant};

use super::interface::{Application, NextRun, ReadOutcome, Socket};
use super::transfer::Transfer;

/// The client.
#[derive(Debug)]
pub struct QueryClient {
    /// Bytes of the request not written yet.
    unasked: u64,
    sink: Transfer,
}

impl QueryClient {
    /// Sends a request of `request` bytes and reads the answer with `sink`, which must write
    /// nothing.
    pub fn new(request: u64, sink: Transfer) -> Self {
        Self {
            unasked: request,
            sink,
        }
    }
}

impl Application for QueryClient {
    fn run(&mut self, socket: &mut dyn Socket) -> NextRun {
        while self.unasked > 0 {
            match socket.write(self.unasked) {
                0 => break,
                taken => self.unasked -= taken,
            }
        }
        self.sink.run(socket)
    }
}

/// The server.
#[derive(Debug)]
pub struct QueryServer {
    /// Bytes of the request not read yet.
    unheard: u64,
    think: Duration,
    /// Time at which the answer starts; `None` until the request is complete.
    begins: Option<Instant>,
    answer: Transfer,
}

impl QueryServer {
    /// Answers a request of `request` bytes with `answer`, after `think`.
    pub fn new(request: u64, think: Duration, answer: Transfer) -> Self {
        Self {
            unheard: request,
            think,
            begins: None,
            answer,
        }
    }
}

impl Application for QueryServer {
    fn run(&mut self, socket: &mut dyn Socket) -> NextRun {
        while self.unheard > 0 {
            match socket.read(self.unheard) {
                ReadOutcome::Bytes(count) => self.unheard -= count,
                ReadOutcome::Empty => return NextRun::OnEvent,
                ReadOutcome::End => {
                    socket.close();
                    return NextRun::Done;
                }
            }
        }
        let now = socket.now();
        let begins = *self.begins.get_or_insert(now + self.think);
        if now < begins {
            return NextRun::At(begins);
        }
        self.answer.run(socket)
    }
}
