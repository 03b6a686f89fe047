//! TCP sockets of a running stack, with the methods of the standard library's sockets.
//!
//! Rule: the connection's state is in the stack; a socket here has only its id, addresses and
//! timeouts. The methods call the stack, and some wait until the stack has an outcome. All methods
//! take `&self`, so one thread may read while another writes. The methods named `poll_…` do not
//! wait: they register a waker. Sockets for an executor are built on them.

mod requests;

use std::{
    fmt,
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use fullpipe::{
    ConnectOptions, ConnectionId, Info, Instant, ListenOptions, ListenerId, Read as ReadOutcome,
    SocketOption, Stack, TcpError, Tuning,
};

use crate::{
    driver::Driver,
    error_kind::{close_kind, open_error},
    name_race::NameRace,
    runtime::Runtime,
    timeout::Timeout,
    wait::{Wait, poll_once},
    wakers::{Handle, Interest, WaiterKey},
};

pub(crate) fn tcp_error(error: TcpError) -> io::Error {
    let kind = match error {
        TcpError::NoSuchHandle => io::ErrorKind::NotConnected,
        TcpError::AddressRemoved => io::ErrorKind::AddrNotAvailable,
        TcpError::Shutdown => io::ErrorKind::BrokenPipe,
        TcpError::Ended(reason) => close_kind(reason),
        TcpError::Setting(_) => io::ErrorKind::InvalidInput,
    };
    io::Error::new(kind, error)
}

/// Checks once whether connection `id` is open.
fn connected(id: ConnectionId, stack: &mut Stack, now: Instant) -> Option<io::Result<()>> {
    match stack.tcp_ready(id, now) {
        Ok(ready) => match ready.closed {
            Some(reason) => Some(Err(io::Error::new(close_kind(reason), reason.describe()))),
            None => ready.connected.then_some(Ok(())),
        },
        Err(error) => Some(Err(tcp_error(error))),
    }
}

/// Tries once to read; `Ok(0)` is the end of the stream.
fn read(
    id: ConnectionId,
    buffer: &mut [u8],
    stack: &mut Stack,
    now: Instant,
) -> Option<io::Result<usize>> {
    outcome(stack.tcp_read(id, buffer, now))
}

/// Tries once to copy received payload that stays unread.
fn peek(
    id: ConnectionId,
    buffer: &mut [u8],
    stack: &mut Stack,
    now: Instant,
) -> Option<io::Result<usize>> {
    outcome(stack.tcp_peek(id, buffer, now))
}

fn outcome(read: Result<ReadOutcome, TcpError>) -> Option<io::Result<usize>> {
    match read {
        Ok(ReadOutcome::Data(read)) => Some(Ok(read)),
        Ok(ReadOutcome::End) => Some(Ok(0)),
        Ok(ReadOutcome::Empty) => None,
        Err(error) => Some(Err(tcp_error(error))),
    }
}

/// Tries once to write.
fn write(
    id: ConnectionId,
    bytes: &[u8],
    stack: &mut Stack,
    now: Instant,
) -> Option<io::Result<usize>> {
    match stack.tcp_write(id, bytes, now) {
        Ok(0) => None,
        Ok(written) => Some(Ok(written)),
        Err(error) => Some(Err(tcp_error(error))),
    }
}

/// A TCP connection, for threads that block, or through `poll_…` for tasks.
///
/// Dropping the stream closes the connection. Written payload is still delivered while the
/// [`Runtime`] runs, unless received payload is unread: then the peer gets a reset.
pub struct TcpStream {
    driver: Arc<Driver>,
    id: ConnectionId,
    local: SocketAddr,
    peer: SocketAddr,
    read_timeout: Timeout,
    write_timeout: Timeout,
}

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpStream")
            .field("local", &self.local)
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

impl TcpStream {
    /// Opens a connection to `remote`, and waits until it is established.
    ///
    /// # Errors
    /// Fails if there is no route, no connection or port is free, the peer refused, or the peer did
    /// not answer.
    pub fn connect(runtime: &Runtime, remote: SocketAddr) -> io::Result<Self> {
        Self::connect_with(runtime, remote, None, None)
    }

    /// Opens a connection from `local` to `remote` and waits for it. The connection leaves by the
    /// interface that has the address of `local`; port 0 lets the stack choose the port.
    ///
    /// # Errors
    /// Returns the errors of [`connect`](Self::connect), and `AddrNotAvailable` if the stack does
    /// not have the address.
    pub fn connect_from(
        runtime: &Runtime,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> io::Result<Self> {
        let stream = Self::start(runtime, (Some(local), remote), None)?;
        stream.await_connection(None)
    }

    /// Opens a connection to `remote` with the buffers and options of `tuning`, and waits for at
    /// most `timeout`. Without `tuning`, the knobs (settings of the stack) apply. Without
    /// `timeout`, the call waits as long as the stack retries.
    ///
    /// # Errors
    /// Returns the errors of [`connect`](Self::connect); `TimedOut` after the timeout.
    pub fn connect_with(
        runtime: &Runtime,
        remote: SocketAddr,
        tuning: Option<Tuning>,
        timeout: Option<Duration>,
    ) -> io::Result<Self> {
        let stream = Self::start_connect(runtime, remote, tuning)?;
        stream.await_connection(timeout)
    }

    /// Waits until the connection is open, for at most `timeout`.
    fn await_connection(self, timeout: Option<Duration>) -> io::Result<Self> {
        let (driver, id) = (&self.driver, self.id);
        let attempt = |stack: &mut Stack, now| connected(id, stack, now);
        let outcome = Wait::new(driver, self.handle(), Interest::Connect, attempt).block(timeout);
        match outcome {
            Ok(outcome) => outcome.map(|()| self),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(io::ErrorKind::TimedOut.into())
            }
            Err(error) => Err(error),
        }
    }

    /// Opens a connection to a name and a port, such as `"www.example.com:443"`, and waits until it
    /// is established. The name's IPv6 and IPv4 addresses are tried in turn, and the first that
    /// answers wins (RFC 8305). Addresses such as `"192.0.2.1:443"` are accepted too.
    ///
    /// # Errors
    /// Returns `InvalidInput` if `remote` is no name and port; `NotFound` if the name has no address;
    /// `TimedOut` if no DNS server answers; otherwise the errors of [`connect`](Self::connect) for
    /// the last address.
    pub fn connect_to_name(runtime: &Runtime, remote: &str) -> io::Result<Self> {
        match remote.parse() {
            Ok(address) => Self::connect(runtime, address),
            Err(_) => {
                let driver = runtime.driver();
                let race = NameRace::connect(driver, remote, None)?;
                Self::of(driver, race.block_for_connection()?)
            }
        }
    }

    /// Begins to open a connection to `remote` and does not wait.
    /// [`poll_connect`](Self::poll_connect) is ready once the connection is open. Until then
    /// nothing can be written.
    ///
    /// # Errors
    /// Fails if there is no route, or no free connection or port.
    pub fn start_connect(
        runtime: &Runtime,
        remote: SocketAddr,
        tuning: Option<Tuning>,
    ) -> io::Result<Self> {
        Self::start(runtime, (None, remote), tuning)
    }

    fn start(
        runtime: &Runtime,
        (local, remote): (Option<SocketAddr>, SocketAddr),
        tuning: Option<Tuning>,
    ) -> io::Result<Self> {
        let driver = runtime.driver();
        let options = ConnectOptions { tuning };
        let id = driver
            .call(|stack, now| stack.tcp_connect(remote, local, options, now))
            .map_err(open_error)?;
        Self::of(driver, id)
    }

    pub(crate) fn of(driver: &Arc<Driver>, id: ConnectionId) -> io::Result<Self> {
        let (local, peer) = driver
            .call(|stack, _| stack.tcp_ends(id))
            .map_err(tcp_error)?;
        Ok(Self {
            driver: Arc::clone(driver),
            id,
            local,
            peer,
            read_timeout: Timeout::default(),
            write_timeout: Timeout::default(),
        })
    }

    const fn handle(&self) -> Handle {
        Handle::Tcp(self.id.index())
    }

    /// The connection's id in the stack, for [`Runtime::with_stack`].
    pub const fn id(&self) -> ConnectionId {
        self.id
    }

    /// This end's address.
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The peer's address.
    pub const fn peer_addr(&self) -> SocketAddr {
        self.peer
    }

    /// Sets the longest wait of a read; `None` is no limit.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) {
        self.read_timeout.set(timeout);
    }

    /// Sets the longest wait of a write; `None` is no limit.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) {
        self.write_timeout.set(timeout);
    }

    /// Switches Nagle's algorithm off (true) or on.
    ///
    /// # Errors
    /// Fails if the connection is gone.
    pub fn set_nodelay(&self, no_delay: bool) -> io::Result<()> {
        self.set(SocketOption::NoDelay(no_delay))
    }

    /// Changes an option of the connection. [`info`](Self::info) has the present values, as
    /// `tuning`.
    ///
    /// # Errors
    /// Returns `InvalidInput` for a value out of range; another error if the connection is gone.
    pub fn set(&self, option: SocketOption) -> io::Result<()> {
        self.driver
            .call(|stack, now| stack.tcp_set(self.id, option, now))
            .map_err(tcp_error)
    }

    /// Closes one direction, or both. Closing the reading direction discards unread payload and
    /// payload that arrives later. The peer does not learn that the reading direction is closed,
    /// because no TCP segment reports it.
    ///
    /// # Errors
    /// Fails if the connection is gone.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let (reads, writes) = match how {
            Shutdown::Read => (true, false),
            Shutdown::Write => (false, true),
            Shutdown::Both => (true, true),
        };
        let outcome = self.driver.call(|stack, now| {
            if reads {
                stack.tcp_shutdown_read(self.id, now)?;
            }
            if writes {
                stack.tcp_shutdown(self.id, now)?;
            }
            Ok(())
        });
        // Wake a reader or writer that is blocked.
        for (is_closed, interest) in [(reads, Interest::Read), (writes, Interest::Write)] {
            if is_closed {
                self.driver.wake(self.handle(), interest);
            }
        }
        outcome.map_err(tcp_error)
    }

    /// Ends the connection with a reset. Later calls on the stream fail.
    pub fn abort(&self) {
        // If the stack no longer has the connection, there is nothing to reset.
        let _ = self.driver.call(|stack, now| stack.tcp_abort(self.id, now));
    }

    /// The connection's state, counters, windows and the time charged to each limit.
    ///
    /// # Errors
    /// Fails if the connection is gone.
    pub fn info(&self) -> io::Result<Info> {
        self.driver
            .call(|stack, now| stack.tcp_info(self.id, now))
            .map_err(tcp_error)
    }

    /// Describes the connection in lines of text: each bound with its value and its knob (setting),
    /// and the time charged to each limit.
    ///
    /// # Errors
    /// Fails if the connection is gone.
    pub fn describe(&self) -> io::Result<String> {
        let description = self
            .driver
            .call(|stack, now| stack.describe(self.id, now))
            .map_err(tcp_error)?;
        Ok(description.to_string())
    }

    /// Reads the bytes that have arrived, and waits until there is at least one. If
    /// `receive_low_water` is set, waits until that many bytes have arrived, the bytes that have
    /// arrived fill `buffer`, or the receive window is full. Returns 0 at the end of the stream.
    ///
    /// # Errors
    /// Returns `WouldBlock` after the read timeout; otherwise the reason for which the connection
    /// ended.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let attempt = |stack: &mut Stack, now| read(self.id, buffer, stack, now);
        Wait::new(&self.driver, self.handle(), Interest::Read, attempt)
            .block(self.read_timeout.get())?
    }

    /// Copies the bytes that have arrived and leaves them unread. Waits as
    /// [`receive`](Self::receive) does, and returns 0 at the end of the stream.
    ///
    /// # Errors
    /// Returns the errors of [`receive`](Self::receive).
    pub fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let attempt = |stack: &mut Stack, now| peek(self.id, buffer, stack, now);
        Wait::new(&self.driver, self.handle(), Interest::Read, attempt)
            .block(self.read_timeout.get())?
    }

    /// Writes as many bytes as there is room for, and waits until there is room for at least one
    /// byte.
    ///
    /// # Errors
    /// Returns `WouldBlock` after the write timeout; otherwise the reason for which the connection
    /// ended.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let attempt = |stack: &mut Stack, now| write(self.id, bytes, stack, now);
        Wait::new(&self.driver, self.handle(), Interest::Write, attempt)
            .block(self.write_timeout.get())?
    }
}

/// Methods for executors. The connection keeps three wakers: one for reading and peeking,
/// one for writing, and one for the handshake. A later call replaces the waker of its kind.
impl TcpStream {
    /// Ready once the connection is open.
    ///
    /// # Errors
    /// Fails if the peer refused, or did not answer.
    pub fn poll_connect(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(Interest::Connect, context, |stack, now| {
            connected(self.id, stack, now)
        })
    }

    /// Ready with the number of bytes read; 0 is the end of the stream.
    ///
    /// # Errors
    /// Returns the reason for which the connection ended.
    pub fn poll_receive(
        &self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if buffer.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.poll(Interest::Read, context, |stack, now| {
            read(self.id, buffer, stack, now)
        })
    }

    /// Ready with the number of bytes copied, which stay unread; 0 is the end of the stream.
    ///
    /// # Errors
    /// Returns the reason why the connection ended.
    pub fn poll_peek(
        &self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if buffer.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.poll(Interest::Read, context, |stack, now| {
            peek(self.id, buffer, stack, now)
        })
    }

    /// Becomes ready with the number of bytes written, at least one.
    ///
    /// # Errors
    /// Returns the reason for which the connection ended.
    pub fn poll_send(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.poll(Interest::Write, context, |stack, now| {
            write(self.id, bytes, stack, now)
        })
    }

    fn poll<R>(
        &self,
        interest: Interest,
        context: &mut Context<'_>,
        attempt: impl FnOnce(&mut Stack, Instant) -> Option<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        let on = (self.handle(), interest);
        let mut key = Some(WaiterKey::POLLED);
        poll_once(&self.driver, on, &mut key, context.waker(), attempt).map(Result::flatten)
    }
}

impl Drop for TcpStream {
    fn drop(&mut self) {
        self.driver.close(self.handle(), |stack, now| {
            // The only possible error is an unknown id; the connection is then already closed.
            let _ = stack.tcp_close(self.id, now);
        });
    }
}

impl Read for &TcpStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.receive(buffer)
    }
}

impl Write for &TcpStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for TcpStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.receive(buffer)
    }
}

impl Write for TcpStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A TCP listener. Dropping the listener resets connections that were not accepted.
pub struct TcpListener {
    driver: Arc<Driver>,
    id: ListenerId,
    local: SocketAddr,
    timeout: Timeout,
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpListener")
            .field("local", &self.local)
            .finish_non_exhaustive()
    }
}

impl TcpListener {
    /// Listens on `local`.
    ///
    /// # Errors
    /// Fails if the address is in use or not the stack's, or no listener is free.
    pub fn bind(runtime: &Runtime, local: SocketAddr) -> io::Result<Self> {
        Self::bind_with(runtime, local, ListenOptions::default())
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
        let driver = runtime.driver();
        let id = driver
            .call(|stack, _| stack.tcp_listen(local, options))
            .map_err(open_error)?;
        Ok(Self {
            driver: Arc::clone(driver),
            id,
            local,
            timeout: Timeout::default(),
        })
    }

    const fn handle(&self) -> Handle {
        Handle::Listener(self.id.index())
    }

    /// The address on which the listener accepts connections.
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Sets the longest wait of [`accept`](Self::accept); `None` is no limit.
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        self.timeout.set(timeout);
    }

    /// Waits for the next connection. Returns the connection and its peer's address.
    ///
    /// # Errors
    /// Returns `WouldBlock` after the timeout.
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let accepted = self.accepting().block(self.timeout.get())?;
        self.stream(accepted)
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
        let on = (self.handle(), Interest::Read);
        let mut key = Some(WaiterKey::POLLED);
        let attempt = |stack: &mut Stack, now| stack.tcp_accept(self.id, now).transpose();
        poll_once(&self.driver, on, &mut key, context.waker(), attempt)
            .map(|accepted| self.stream(accepted?))
    }

    /// Creates the wait for the next connection.
    pub(crate) fn accepting(
        &self,
    ) -> Wait<'_, impl FnMut(&mut Stack, Instant) -> Option<Accepted> + Unpin> {
        let attempt = |stack: &mut Stack, now| stack.tcp_accept(self.id, now).transpose();
        Wait::new(&self.driver, self.handle(), Interest::Read, attempt)
    }

    /// Returns the stream of an accepted connection.
    pub(crate) fn stream(&self, accepted: Accepted) -> io::Result<(TcpStream, SocketAddr)> {
        let (id, peer) = accepted.map_err(tcp_error)?;
        Ok((TcpStream::of(&self.driver, id)?, peer))
    }
}

/// A connection that the stack accepted, and its peer's address.
pub(crate) type Accepted = Result<(ConnectionId, SocketAddr), TcpError>;

impl Drop for TcpListener {
    fn drop(&mut self) {
        self.driver.close(self.handle(), |stack, now| {
            // The only possible error is an unknown id; the listener is then already closed.
            let _ = stack.tcp_close_listener(self.id, now);
        });
    }
}
