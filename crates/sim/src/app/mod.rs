//! What applications do with a connection.
//!
//! Rule: an application decides how much and when, never which bytes. The
//! [`Socket`] writes the pattern and verifies what is read, so every
//! application is a check of delivery. It runs when something about its
//! connection has changed or when the time it asked for has come.

mod query;
mod reader;
mod request;
mod transfer;
mod writer;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;

pub use query::{QueryClient, QueryServer};
pub use reader::{ReadPlan, Reader};
pub use request::{Requester, Requests, Responder};
pub use transfer::{Ending, Transfer};
pub use writer::{Amount, WritePlan, WriteSize, Writer};

use fullpipe_pool::Instant;
use fullpipe_tcp::SocketOption;

/// What a read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// This many bytes, at least 1; they were the right ones.
    Bytes(u64),
    /// Nothing has arrived.
    Empty,
    /// The peer has closed its direction, and everything has been read.
    End,
}

/// An application's side of its connection.
pub trait Socket {
    /// The time.
    fn now(&self) -> Instant;

    /// Writes the next `len` bytes of the pattern, or as many as the stack
    /// takes; returns how many. 0 means that it is full.
    fn write(&mut self, len: u64) -> u64;

    /// Changes a setting of the connection.
    fn set(&mut self, option: SocketOption);

    /// Reads up to `len` bytes and verifies them.
    fn read(&mut self, len: u64) -> ReadOutcome;

    /// Closes the direction that is written; everything written is delivered.
    fn shutdown(&mut self);

    /// Closes the connection: the application is done with it. What has not
    /// been read is lost, and the peer is told so by a reset.
    fn close(&mut self);

    /// Resets the connection.
    fn abort(&mut self);

    /// Vanishes: from now on no packet of this connection leaves this end or
    /// arrives there, and nobody is told.
    fn vanish(&mut self);
}

/// When an application wants to run again. It also runs whenever something
/// about its connection has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextRun {
    /// Only when something has changed.
    OnEvent,
    /// At this time at the latest.
    At(Instant),
    /// Never: it has closed, aborted or vanished.
    Done,
}

impl NextRun {
    /// The earlier of the two.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::At(one), Self::At(two)) => Self::At(one.min(two)),
            (Self::At(at), Self::OnEvent) | (Self::OnEvent, Self::At(at)) => Self::At(at),
            (Self::OnEvent, Self::OnEvent) => Self::OnEvent,
            (Self::Done, _) | (_, Self::Done) => Self::Done,
        }
    }
}

/// A program with one connection. It first runs when the connection is
/// established.
pub trait Application: std::fmt::Debug + Send {
    /// Does what can be done now.
    fn run(&mut self, socket: &mut dyn Socket) -> NextRun;
}
