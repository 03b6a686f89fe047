//! The interface between an application and its connection.
//!
//! Rule: an application sees its connection only through [`Socket`]. The simulator has one
//! implementation of `Socket`, and the tests have another.

use fullpipe_pool::Instant;
use fullpipe_tcp::SocketOption;

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// This many bytes were read, at least 1, and all were verified.
    Bytes(u64),
    /// No payload has arrived.
    Empty,
    /// The peer has closed its direction, and all its payload was read.
    End,
}

/// An application's side of its connection.
pub trait Socket {
    /// The current time.
    fn now(&self) -> Instant;

    /// Writes the next `len` bytes of the test pattern (`pattern.rs`), or as many as the stack
    /// accepts. Returns the number of bytes accepted; 0 means that the send buffer is full.
    fn write(&mut self, len: u64) -> u64;

    /// Changes a setting of the connection.
    fn set(&mut self, option: SocketOption);

    /// Reads up to `len` bytes and verifies them.
    fn read(&mut self, len: u64) -> ReadOutcome;

    /// Closes the sending direction; everything written is still delivered.
    fn shutdown(&mut self);

    /// Closes the connection. If payload is unread, it is lost, and the peer gets a reset.
    fn close(&mut self);

    /// Resets the connection.
    fn abort(&mut self);

    /// Vanishes: from now on no packet of this connection leaves this end or
    /// arrives at it, and the peer is not informed.
    fn vanish(&mut self);
}

/// The time of an application's next run. The application also runs after each event on its
/// connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextRun {
    /// The application runs after the next event only.
    OnEvent,
    /// The application runs at this time at the latest.
    At(Instant),
    /// The application never runs again: it has closed, aborted or vanished.
    Done,
}

impl NextRun {
    /// Returns `Done` if either value is `Done`; otherwise returns the earlier run.
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

/// A program with one connection. The program first runs when the connection is established.
pub trait Application: std::fmt::Debug + Send {
    /// Does everything that is possible now.
    fn run(&mut self, socket: &mut dyn Socket) -> NextRun;
}
