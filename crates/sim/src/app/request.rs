//! Requests and responses: a client sends requests, and a server answers each of them.
//!
//! Rule: the next request is sent only after the whole response was read. Response
//! times are not measured here.

use fullpipe_pool::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::interface::{Application, NextRun, ReadOutcome, Socket};

/// The plan of client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Number of requests.
    pub count: u64,
    /// Bytes of a request; at least 1.
    pub request_len: u64,
    /// Bytes of a response; at least 1.
    pub response_len: u64,
    /// Think time of the client between a response and the next request.
    #[serde(with = "crate::text_forms::duration")]
    pub think: Duration,
}

/// Bytes that one end has written and read so far, over all requests and responses.
#[derive(Debug, Default)]
struct Progress {
    sent: u64,
    received: u64,
}

impl Progress {
    /// Writes until `goal` bytes are written in total. Returns true if the goal is reached.
    fn send_to(&mut self, goal: u64, socket: &mut dyn Socket) -> bool {
        while self.sent < goal {
            match socket.write(goal - self.sent) {
                0 => return false,
                taken => self.sent += taken,
            }
        }
        true
    }

    /// Reads until `goal` bytes are read in total, or no more is available.
    fn receive_to(&mut self, goal: u64, socket: &mut dyn Socket) -> ReadOutcome {
        while self.received < goal {
            match socket.read(goal - self.received) {
                ReadOutcome::Bytes(count) => self.received += count,
                other @ (ReadOutcome::Empty | ReadOutcome::End) => return other,
            }
        }
        ReadOutcome::Bytes(goal)
    }
}

/// The client.
#[derive(Debug)]
pub struct Requester {
    plan: Requests,
    progress: Progress,
    answered: u64,
    not_before: Instant,
    shut_down: bool,
}

impl Requester {
    /// A client that has sent no request yet.
    pub fn new(plan: Requests) -> Self {
        Self {
            plan,
            progress: Progress::default(),
            answered: 0,
            not_before: Instant::ZERO,
            shut_down: false,
        }
    }
}

impl Application for Requester {
    fn run(&mut self, socket: &mut dyn Socket) -> NextRun {
        while self.answered < self.plan.count {
            if socket.now() < self.not_before {
                return NextRun::At(self.not_before);
            }
            let number = self.answered + 1;
            if !self
                .progress
                .send_to(number * self.plan.request_len, socket)
            {
                return NextRun::OnEvent;
            }
            match self
                .progress
                .receive_to(number * self.plan.response_len, socket)
            {
                ReadOutcome::Bytes(_) => self.answered += 1,
                ReadOutcome::Empty => return NextRun::OnEvent,
                ReadOutcome::End => break,
            }
            self.not_before = socket.now() + self.plan.think;
        }
        if !self.shut_down {
            self.shut_down = true;
            socket.shutdown();
        }
        match socket.read(1) {
            ReadOutcome::End => {
                socket.close();
                NextRun::Done
            }
            ReadOutcome::Empty | ReadOutcome::Bytes(_) => NextRun::OnEvent,
        }
    }
}

/// The server.
#[derive(Debug)]
pub struct Responder {
    plan: Requests,
    progress: Progress,
    answered: u64,
}

impl Responder {
    /// A server that has read no request yet.
    pub fn new(plan: Requests) -> Self {
        Self {
            plan,
            progress: Progress::default(),
            answered: 0,
        }
    }
}

impl Application for Responder {
    fn run(&mut self, socket: &mut dyn Socket) -> NextRun {
        loop {
            if !self
                .progress
                .send_to(self.answered * self.plan.response_len, socket)
            {
                return NextRun::OnEvent;
            }
            match self
                .progress
                .receive_to((self.answered + 1) * self.plan.request_len, socket)
            {
                ReadOutcome::Bytes(_) => self.answered += 1,
                ReadOutcome::Empty => return NextRun::OnEvent,
                ReadOutcome::End => {
                    socket.close();
                    return NextRun::Done;
                }
            }
        }
    }
}
