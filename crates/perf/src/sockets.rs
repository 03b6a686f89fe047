//! Traits of the sockets that TCP and UDP tests use.
//!
//! Rule: every call except [`Sockets::connect`] waits for a bounded time. A call that cannot
//! proceed within [`POLL`](crate::stop::POLL) fails with `WouldBlock`, so that the test can check
//! its clock and [`Stop`](crate::Stop). All methods take `&self`, so that one thread may write
//! while another reads. The traits contain only the calls that the tests in this crate need.

use std::{io, net::SocketAddr, time::Duration};

pub use fullpipe_host::DatagramBatch;

/// Options of a new socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Size in bytes of each of the two buffers, send and receive; `None`
    /// keeps the stack's default and its autotuning.
    pub buffer: Option<u32>,
    /// Disables the Nagle algorithm (TCP_NODELAY).
    pub no_delay: bool,
}

/// Values of a TCP connection at the end of its handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeInfo {
    /// The initial congestion window, in bytes.
    pub initial_window: u64,
    /// Largest payload of a segment, in bytes.
    pub mss: u32,
    /// Round-trip time of the handshake.
    pub rtt: Duration,
}

/// Time for which a connection was limited by one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitTime {
    /// The stack's name for the limit (`receive_window`).
    pub name: &'static str,
    /// Total time of the limit.
    pub time: Duration,
}

/// Limits of a connection, for each direction of data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Limits as a sender. The times add up to the connection's lifetime.
    pub sender: Vec<LimitTime>,
    /// Limits as a receiver. The times add up to the connection's lifetime.
    pub receiver: Vec<LimitTime>,
}

/// A network stack that opens sockets.
pub trait Sockets: Sync {
    /// TCP connection of this stack.
    type Stream: Stream;
    /// TCP listener of this stack.
    type Listener: StreamListener<Stream = Self::Stream>;
    /// UDP socket of this stack.
    type DatagramSocket: DatagramSocket;

    /// Opens a connection and waits until it is established or has failed.
    ///
    /// # Errors
    /// Returns the stack's error: refused, unreachable or timed out.
    fn connect(&self, remote: SocketAddr, options: &SocketOptions) -> io::Result<Self::Stream>;

    /// Listens on `local`.
    ///
    /// # Errors
    /// Fails if the address is already in use, or is not an address of the stack.
    fn listen(&self, local: SocketAddr, options: &SocketOptions) -> io::Result<Self::Listener>;

    /// Opens a UDP socket on `local`; port 0 lets the stack choose.
    ///
    /// # Errors
    /// Fails if the address is already in use, or is not an address of the stack.
    fn datagram_socket(
        &self,
        local: SocketAddr,
        options: &SocketOptions,
    ) -> io::Result<Self::DatagramSocket>;

    /// Returns the source address that this stack uses towards `remote`, with port 0. A client
    /// binds its UDP sockets to this address. A server that listens on every address prints this
    /// address as its own.
    fn source_address_for(&self, remote: SocketAddr) -> SocketAddr;

    /// Returns the initial size of the send buffer, in bytes, of a TCP connection that is
    /// opened with `options`.
    fn stream_send_buffer(&self, options: &SocketOptions) -> io::Result<u64>;
}

/// A TCP connection.
pub trait Stream: Send + Sync {
    /// Reads payload that has arrived. Returns 0 after the peer has closed its direction.
    ///
    /// # Errors
    /// Returns `WouldBlock` if nothing arrived in time; otherwise the error that ended the
    /// connection.
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes as many bytes as fit into the send buffer, at least one.
    ///
    /// # Errors
    /// Returns `WouldBlock` if the send buffer had no free space in time; otherwise the error that
    /// ended the connection.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Closes this side's direction with a FIN.
    ///
    /// # Errors
    /// Fails if the connection has ended.
    fn shutdown_write(&self) -> io::Result<()>;

    /// Returns the local address.
    ///
    /// # Errors
    /// Fails if the connection has ended.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// Returns the peer's address.
    ///
    /// # Errors
    /// Fails if the connection has ended.
    fn peer_addr(&self) -> io::Result<SocketAddr>;

    /// Returns the values at the end of the handshake; `None` when the stack
    /// does not report them.
    fn handshake_info(&self) -> Option<HandshakeInfo>;

    /// Returns the limits of the connection so far; `None` when the stack does
    /// not report them.
    fn limits(&self) -> Option<Limits>;
}

/// A TCP listener.
pub trait StreamListener: Send + Sync {
    /// Accepted connection.
    type Stream: Stream;

    /// Accepts the next connection.
    ///
    /// # Errors
    /// Returns `WouldBlock` if no connection arrived in time.
    fn accept(&self) -> io::Result<Self::Stream>;

    /// Returns the address that the listener is bound to.
    ///
    /// # Errors
    /// Fails if the listener is closed.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// Returns the initial size of the receive buffer of an accepted connection, in
    /// bytes.
    ///
    /// # Errors
    /// Fails if the listener is closed.
    fn receive_buffer(&self) -> io::Result<u64>;
}

/// A UDP socket.
pub trait DatagramSocket: Send + Sync {
    /// Sends one datagram; waits for free space in the send buffer.
    ///
    /// # Errors
    /// Returns `WouldBlock` if the send buffer had no free space in time.
    fn send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<()>;

    /// Receives one datagram. Bytes that do not fit in `buffer` are discarded.
    ///
    /// # Errors
    /// Returns `WouldBlock` if no datagram arrived in time.
    fn receive_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)>;

    /// Receives at least one datagram, and as many more as have arrived and fit
    /// in `batch`.
    ///
    /// # Errors
    /// Returns `WouldBlock` if no datagram arrived in time.
    fn receive_batch(&self, batch: &mut DatagramBatch) -> io::Result<()> {
        batch.clear();
        batch
            .push_with(|buffer| self.receive_from(buffer).map(Some))
            .map(drop)
    }

    /// Returns the local address.
    ///
    /// # Errors
    /// Fails if the socket is closed.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// Returns the size of the send buffer in bytes.
    ///
    /// # Errors
    /// Fails if the socket is closed.
    fn send_buffer(&self) -> io::Result<u64>;

    /// Returns the size of the receive buffer in bytes.
    ///
    /// # Errors
    /// Fails if the socket is closed.
    fn receive_buffer(&self) -> io::Result<u64>;
}

/// Returns true for an error after which the call can be repeated: no data could be received or
/// sent in time, or a signal interrupted the call. Returns false for `TimedOut`, which means that
/// the peer no longer answers.
pub fn would_block(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
