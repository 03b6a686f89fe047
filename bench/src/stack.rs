//! The interface between a benchmark case and a stack under test.
//!
//! Rule: an implementation consists of two hosts in one process, connected by a link of frames
//! with an MTU of 1500 bytes and without offloads. Each checksum is computed and verified, and
//! payload is copied from and to the caller's memory. The caller passes the time.
//!
//! Implementations do not verify payload; the cases do.

use std::time::Duration;

/// Largest IP packet of the link in bytes.
pub const MTU: usize = 1500;

/// Number of frames that the link queues in each direction before a stack must wait. The transmit
/// rings of common network cards have this size.
pub const LINK_FRAMES: usize = 1024;

/// One of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Opens connections and sends datagrams.
    Client,
    /// Accepts connections and receives datagrams.
    Server,
}

impl End {
    /// The opposite end.
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// Sizes for two hosts.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Bytes of the send buffer and of the receive buffer of a connection, at each end.
    pub buffer: usize,
    /// Connections that are open at the same time.
    pub connections: u32,
    /// Connections that carry payload at the same time.
    pub active: u32,
}

/// Outcome of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// This many bytes were read, at least 1.
    Data(usize),
    /// No payload is available.
    Empty,
    /// The peer has closed its direction, and all its payload was read.
    Closed,
}

/// Two hosts of one stack and the link between them.
pub trait Stack {
    /// Identifies one end of a connection.
    type Stream: Copy;

    /// Creates two hosts. The server listens; each host has one UDP socket.
    fn new(setup: Setup) -> Self;

    /// Opens a connection from the client to the server. Returns the client's end.
    fn connect(&mut self) -> Self::Stream;

    /// Returns the server's end of an established connection; `None` if there is no new one.
    fn accept(&mut self) -> Option<Self::Stream>;

    /// Copies as much of `payload` as fits into the send buffer, and returns the number of bytes.
    fn write(&mut self, end: End, stream: Self::Stream, payload: &[u8]) -> usize;

    /// Copies received payload to `out`.
    fn read(&mut self, end: End, stream: Self::Stream, out: &mut [u8]) -> Read;

    /// Closes one end of a connection. The caller must not use `stream` afterwards.
    fn close(&mut self, end: End, stream: Self::Stream);

    /// Queues a datagram from the client to the server. Returns false if there is no space.
    fn send_datagram(&mut self, payload: &[u8]) -> bool;

    /// Copies the server's oldest datagram to `out` and returns its length.
    fn receive_datagram(&mut self, out: &mut [u8]) -> Option<usize>;

    /// Lets one end receive frames, run timers and send frames.
    ///
    /// Returns true if any frame was received or sent.
    fn turn(&mut self, end: End, now: Duration) -> bool;

    /// Returns the earliest time at which a timer expires.
    fn next_timeout(&mut self) -> Option<Duration>;
}
