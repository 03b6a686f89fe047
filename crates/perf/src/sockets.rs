//! What a tester asks of a network stack: the least that TCP and UDP tests need.
//!
//! Rule: every wait ends by itself. A call that finds nothing to do within
//! [`POLL`](crate::stop::POLL) fails with `WouldBlock`, so that a
//! tester can look at its clock and at [`Stop`](crate::Stop). All sockets are
//! used through `&self`: one thread may write while another reads.

use std::{io, net::SocketAddr, time::Duration};

pub use fullpipe_host::DatagramBatch;

/// What is asked of a socket when it is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Bytes of send buffer and of receive buffer; `None` leaves the stack's
    /// default, and its autotuning.
    pub buffer: Option<u32>,
    /// Send small segments at once (no Nagle).
    pub no_delay: bool,
}

/// What a TCP connection looked like when its handshake was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The initial congestion window, in bytes.
    pub initial_window: u64,
    /// Largest segment's text, in bytes.
    pub mss: u32,
    /// Round-trip time of the handshake.
    pub rtt: Duration,
}

/// How long one limit held a connection back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitTime {
    /// The limit's name, in the words of the stack (`receive_window`).
    pub name: &'static str,
    /// How long it held, in all.
    pub time: Duration,
}

/// What held a connection back, for each direction of data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// As a sender. The times add up to the connection's lifetime.
    pub sender: Vec<LimitTime>,
    /// As a receiver. The times add up to the connection's lifetime.
    pub receiver: Vec<LimitTime>,
}

/// A network stack that makes sockets.
pub trait Sockets: Sync {
    /// A TCP connection.
    type Stream: Stream;
    /// A TCP listener.
    type Listener: Listener<Stream = Self::Stream>;
    /// A UDP socket.
    type Datagrams: Datagrams;

    /// Opens a connection; waits until it is established or refused.
    ///
    /// # Errors
    /// As the stack names them: refused, unreachable, timed out.
    fn connect(&self, remote: SocketAddr, options: &SocketOptions) -> io::Result<Self::Stream>;

    /// Listens on `local`.
    ///
    /// # Errors
    /// An address in use, or one that is not the stack's.
    fn listen(&self, local: SocketAddr, options: &SocketOptions) -> io::Result<Self::Listener>;

    /// Opens a UDP socket on `local`; port 0 lets the stack choose.
    ///
    /// # Errors
    /// An address in use, or one that is not the stack's.
    fn datagrams(&self, local: SocketAddr, options: &SocketOptions) -> io::Result<Self::Datagrams>;

    /// The address this stack would use to reach `remote`, for a UDP socket
    /// that is to be bound before it knows its peer.
    fn local_towards(&self, remote: SocketAddr) -> SocketAddr;

    /// Bytes of send buffer that a TCP connection made now with `options`
    /// would begin with.
    fn stream_send_buffer(&self, options: &SocketOptions) -> io::Result<u64>;
}

/// A TCP connection.
pub trait Stream: Send + Sync {
    /// Reads what is there; 0 is the peer's end of stream.
    ///
    /// # Errors
    /// `WouldBlock` when nothing came in time; else the
    /// connection's end.
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes what fits, at least one byte.
    ///
    /// # Errors
    /// `WouldBlock` when there was no room in time; else the
    /// connection's end.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Ends our half of the stream.
    ///
    /// # Errors
    /// When the connection has ended.
    fn shutdown_write(&self) -> io::Result<()>;

    /// This end's address.
    ///
    /// # Errors
    /// When the connection has ended.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// The peer's address.
    ///
    /// # Errors
    /// When the connection has ended.
    fn peer_addr(&self) -> io::Result<SocketAddr>;

    /// What the handshake found, when the stack tells.
    fn opening(&self) -> Option<Opening>;

    /// What held the connection back so far, when the stack tells.
    fn limits(&self) -> Option<Limits>;
}

/// A TCP listener.
pub trait Listener: Send + Sync {
    /// The connections it gives.
    type Stream: Stream;

    /// The next connection.
    ///
    /// # Errors
    /// `WouldBlock` when none came in time.
    fn accept(&self) -> io::Result<Self::Stream>;

    /// The address listened on.
    ///
    /// # Errors
    /// When the listener has ended.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// Bytes of receive buffer that an accepted connection begins with.
    ///
    /// # Errors
    /// When the listener has ended.
    fn receive_buffer(&self) -> io::Result<u64>;
}

/// A UDP socket.
pub trait Datagrams: Send + Sync {
    /// Sends one datagram; waits for room.
    ///
    /// # Errors
    /// `WouldBlock` when there was no room in time.
    fn send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<()>;

    /// Receives one datagram. What does not fit in `buffer` is lost.
    ///
    /// # Errors
    /// `WouldBlock` when none came in time.
    fn receive_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)>;

    /// Receives what waits, as far as it fits in `batch`, at least one datagram.
    ///
    /// # Errors
    /// `WouldBlock` when none came in time.
    fn receive_batch(&self, batch: &mut DatagramBatch) -> io::Result<()> {
        batch.clear();
        batch
            .push_with(|buffer| self.receive_from(buffer).map(Some))
            .map(drop)
    }

    /// This end's address.
    ///
    /// # Errors
    /// When the socket has ended.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// Bytes of send buffer.
    ///
    /// # Errors
    /// When the socket has ended.
    fn send_buffer(&self) -> io::Result<u64>;

    /// Bytes of receive buffer.
    ///
    /// # Errors
    /// When the socket has ended.
    fn receive_buffer(&self) -> io::Result<u64>;
}

/// Whether `error` only says that nothing happened in time. `TimedOut` is no
/// such error: it says that the peer does not answer any more.
pub fn is_idle(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
