//! TCP streams and listeners.
//!
//! Rule: each type wraps the blocking type of the same name and adds no state.

use std::{
    io,
    net::{Shutdown, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
};

use ::tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use fullpipe::{
    ConnectionId, Info, ListenOptions, Refusal, RequestId, SocketOption, TcpRequest, Tuning,
};

use super::split::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::{name_race::NameRace, runtime::Runtime, tcp};

/// A TCP connection. Dropping the stream closes the connection; written payload is still delivered
/// while the [`Runtime`] runs.
#[derive(Debug)]
pub struct TcpStream(tcp::TcpStream);

impl TcpStream {
    /// Opens a connection to `remote`; the future is ready once the connection is established.
    ///
    /// # Errors
    /// Fails if there is no route, no connection or port is free, the peer refused, or the peer did
    /// not answer.
    pub async fn connect(runtime: &Runtime, remote: SocketAddr) -> io::Result<Self> {
        Self::connect_with(runtime, remote, None).await
    }

    /// Opens a connection to `remote` with the buffers and options of `tuning`. Without `tuning`,
    /// the knobs (settings of the stack) apply.
    ///
    /// # Errors
    /// Returns the errors of [`connect`](Self::connect).
    pub async fn connect_with(
        runtime: &Runtime,
        remote: SocketAddr,
        tuning: Option<Tuning>,
    ) -> io::Result<Self> {
        let stream = tcp::TcpStream::start_connect(runtime, remote, tuning)?;
        std::future::poll_fn(|context| stream.poll_connect(context)).await?;
        Ok(Self(stream))
    }

    /// Opens a connection to a name and a port, such as `"www.example.com:443"`. The name's IPv6 and
    /// IPv4 addresses are tried in turn, and the first that answers wins (RFC 8305).
    ///
    /// # Errors
    /// Returns the errors of [`connect_to_name`](crate::TcpStream::connect_to_name).
    pub async fn connect_to_name(runtime: &Runtime, remote: &str) -> io::Result<Self> {
        if let Ok(address) = remote.parse() {
            return Self::connect(runtime, address).await;
        }
        let mut race = NameRace::connect(runtime.driver(), remote, None)?;
        let id = std::future::poll_fn(|context| race.poll_connection(context)).await?;
        tcp::TcpStream::of(runtime.driver(), id).map(Self)
    }

    /// The connection's id in the stack, for [`Runtime::with_stack`].
    pub const fn id(&self) -> ConnectionId {
        self.0.id()
    }

    /// This end's address.
    pub const fn local_addr(&self) -> SocketAddr {
        self.0.local_addr()
    }

    /// The peer's address.
    pub const fn peer_addr(&self) -> SocketAddr {
        self.0.peer_addr()
    }

    /// Switches Nagle's algorithm off (true) or on.
    ///
    /// # Errors
    /// Fails if the connection is gone.
    pub fn set_nodelay(&self, no_delay: bool) -> io::Result<()> {
        self.0.set_nodelay(no_delay)
    }

    /// Changes an option of the connection. [`info`](Self::info) has the present values, as
    /// `tuning`.
    ///
    /// # Errors
    /// Returns `InvalidInput` for a value out of range; another error if the connection is gone.
    pub fn set(&self, option: SocketOption) -> io::Result<()> {
        self.0.set(option)
    }

    /// Copies the bytes that have arrived and leaves them unread. Waits until there is at least
    /// one byte; returns 0 at the end of the stream.
    ///
    /// # Errors
    /// Returns the reason why the connection ended.
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        std::future::poll_fn(|context| self.0.poll_peek(context, buffer)).await
    }

    /// Closes the reading direction: unread bytes, and bytes that arrive later, are discarded.
    /// `AsyncWriteExt::shutdown` closes the writing direction.
    ///
    /// # Errors
    /// Fails if the connection is gone.
    pub fn shutdown_read(&self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Read)
    }

    /// Ends the connection with a reset. Later calls on the stream fail.
    pub fn abort(&self) {
        self.0.abort();
    }

    /// The connection's state, counters, windows and the time charged to each limit.
    ///
    /// # Errors
    /// Fails if the connection is gone.
    pub fn info(&self) -> io::Result<Info> {
        self.0.info()
    }

    /// Describes the connection in lines of text: each bound with its value and its knob (setting),
    /// and the time charged to each limit.
    ///
    /// # Errors
    /// Fails if the connection is gone.
    pub fn describe(&self) -> io::Result<String> {
        self.0.describe()
    }

    /// The two directions, for one task.
    pub const fn split(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
        split::borrowed(&self.0)
    }

    /// The two directions, for two tasks. Dropping the writing half closes that
    /// direction.
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        split::owned(self.0)
    }
}

impl AsyncRead for TcpStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        split::poll_read(&self.0, context, buffer)
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_send(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.shutdown(Shutdown::Write))
    }
}

/// A TCP listener. Dropping the listener resets connections that were not accepted.
#[derive(Debug)]
pub struct TcpListener(tcp::TcpListener);

impl TcpListener {
    /// Listens on `local`.
    ///
    /// # Errors
    /// Fails if the address is in use or not the stack's, or no listener is free.
    pub fn bind(runtime: &Runtime, local: SocketAddr) -> io::Result<Self> {
        tcp::TcpListener::bind(runtime, local).map(Self)
    }

    /// Listens on `local`. `options` gives the backlog, and the buffers and options of accepted
    /// connections.
    ///
    /// # Errors
    /// Returns the errors of [`bind`](Self::bind).
    pub fn bind_with(
        runtime: &Runtime,
        local: SocketAddr,
        options: ListenOptions,
    ) -> io::Result<Self> {
        tcp::TcpListener::bind_with(runtime, local, options).map(Self)
    }

    /// The address on which the listener accepts connections.
    pub const fn local_addr(&self) -> SocketAddr {
        self.0.local_addr()
    }

    /// Waits for the next connection. Returns the connection and its peer's address. Several tasks
    /// may wait; each connection goes to one of them.
    ///
    /// # Errors
    /// Fails if the runtime was stopped.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let accepted = self.0.accepting().await?;
        let (stream, peer) = self.0.stream(accepted)?;
        Ok((TcpStream(stream), peer))
    }

    /// Waits for the next SYN of a deferred listener (`ListenOptions::deferred`). One task may
    /// wait here while another waits in [`accept`](Self::accept).
    ///
    /// # Errors
    /// Fails if the runtime was stopped.
    pub async fn next_request(&self) -> io::Result<TcpRequest> {
        self.0.asking().await?.map_err(tcp::tcp_error)
    }

    /// Answers a SYN with a SYN-ACK; [`accept`](Self::accept) returns the connection when its
    /// handshake is complete.
    ///
    /// # Errors
    /// Fails if the request has ended: the peer gave up, or the decision took too long.
    pub fn admit(&self, request: RequestId) -> io::Result<()> {
        self.0.admit(request)
    }

    /// Refuses a SYN.
    ///
    /// # Errors
    /// Fails if the request has ended.
    pub fn refuse(&self, request: RequestId, refusal: Refusal) -> io::Result<()> {
        self.0.refuse(request, refusal)
    }

    /// Becomes ready with the next connection and its peer's address. Only the waker of the last
    /// call is kept.
    ///
    /// # Errors
    /// Fails if the runtime was stopped.
    pub fn poll_accept(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let accepted = self.0.poll_accept(context);
        accepted.map_ok(|(stream, peer)| (TcpStream(stream), peer))
    }
}
