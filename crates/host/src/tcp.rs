//! Blocking TCP sockets over a running stack, shaped like the standard
//! library's.
//!
//! Rule: a socket is a name for something in the stack; every method is one
//! call, or one wait. All methods take `&self`, so one thread may read while
//! another writes.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use fullpipe::{
    CloseReason, ConnectOptions, ConnectionId, Info, ListenOptions, ListenerId, OpenError,
    Read as Got, SocketOption, TcpError, Tuning,
};

use crate::runtime::{Handle, Runtime, Shared};

/// A wait's bound, which another thread may change.
#[derive(Debug, Default)]
pub(crate) struct Timeout(AtomicU64);

impl Timeout {
    /// `None` waits for ever.
    pub(crate) fn set(&self, timeout: Option<Duration>) {
        let nanos = timeout.map_or(0, |timeout| (timeout.as_nanos() as u64).max(1));
        self.0.store(nanos, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Option<Duration> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(Duration::from_nanos(nanos)),
        }
    }
}

fn open_error(error: OpenError) -> io::Error {
    let kind = match error {
        OpenError::AddressNotOurs => io::ErrorKind::AddrNotAvailable,
        OpenError::AddressInUse | OpenError::NoFreePort => io::ErrorKind::AddrInUse,
        OpenError::NoPort => io::ErrorKind::InvalidInput,
        OpenError::NoRoute => io::ErrorKind::NetworkUnreachable,
        OpenError::TooManyConnections | OpenError::TooManyListeners => io::ErrorKind::OutOfMemory,
    };
    io::Error::new(kind, error)
}

fn close_kind(reason: CloseReason) -> io::ErrorKind {
    match reason {
        CloseReason::Finished => io::ErrorKind::BrokenPipe,
        CloseReason::Reset => io::ErrorKind::ConnectionReset,
        CloseReason::Refused => io::ErrorKind::ConnectionRefused,
        CloseReason::TimedOut => io::ErrorKind::TimedOut,
        CloseReason::Unreachable => io::ErrorKind::HostUnreachable,
        CloseReason::Aborted => io::ErrorKind::ConnectionAborted,
    }
}

fn tcp_error(error: TcpError) -> io::Error {
    let kind = match error {
        TcpError::NoSuchHandle => io::ErrorKind::NotConnected,
        TcpError::Shutdown => io::ErrorKind::BrokenPipe,
        TcpError::Ended(reason) => close_kind(reason),
    };
    io::Error::new(kind, error)
}

/// A TCP connection. Dropping it closes it: what was written is still
/// delivered while the [`Runtime`] runs.
pub struct TcpStream {
    shared: Arc<Shared>,
    id: ConnectionId,
    local: SocketAddr,
    peer: SocketAddr,
    read_timeout: Timeout,
    write_timeout: Timeout,
}

impl std::fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
    /// No route, no place, refused, or no answer.
    pub fn connect(runtime: &Runtime, remote: SocketAddr) -> io::Result<Self> {
        Self::connect_with(runtime, remote, None, None)
    }

    /// Like [`connect`](Self::connect), with what the connection starts with
    /// (`None`: the knobs) and how long it may take (`None`: as long as the
    /// stack tries).
    ///
    /// # Errors
    /// As for `connect`; `TimedOut` when it took too long.
    pub fn connect_with(
        runtime: &Runtime,
        remote: SocketAddr,
        tuning: Option<Tuning>,
        timeout: Option<Duration>,
    ) -> io::Result<Self> {
        let shared = runtime.shared();
        let options = ConnectOptions { tuning };
        let id = shared
            .call(|stack, now| stack.tcp_connect(remote, None, options, now))
            .map_err(open_error)?;
        // From here on dropping it lets go of the connection.
        let stream = Self::of(shared, id)?;
        let connected = shared.wait(Handle::Tcp(id.index()), timeout, |stack, now| {
            match stack.tcp_ready(id, now) {
                Ok(ready) => match ready.closed {
                    Some(reason) => {
                        Some(Err(io::Error::new(close_kind(reason), reason.describe())))
                    }
                    None => ready.connected.then_some(Ok(())),
                },
                Err(error) => Some(Err(tcp_error(error))),
            }
        });
        match connected {
            Ok(outcome) => outcome.map(|()| stream),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(io::ErrorKind::TimedOut.into())
            }
            Err(error) => Err(error),
        }
    }

    fn of(shared: &Arc<Shared>, id: ConnectionId) -> io::Result<Self> {
        let (local, peer) = shared
            .call(|stack, _| stack.tcp_ends(id))
            .map_err(tcp_error)?;
        let shared = Arc::clone(shared);
        Ok(Self {
            shared,
            id,
            local,
            peer,
            read_timeout: Timeout::default(),
            write_timeout: Timeout::default(),
        })
    }

    /// This end's address.
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The peer's address.
    pub const fn peer_addr(&self) -> SocketAddr {
        self.peer
    }

    /// How long a read waits; `None`: for ever.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) {
        self.read_timeout.set(timeout);
    }

    /// How long a write waits; `None`: for ever.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) {
        self.write_timeout.set(timeout);
    }

    /// True switches Nagle's algorithm off.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn set_nodelay(&self, no_delay: bool) -> io::Result<()> {
        self.set(SocketOption::NoDelay(no_delay))
    }

    /// Changes a setting of the connection.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn set(&self, option: SocketOption) -> io::Result<()> {
        self.shared
            .call(|stack, now| stack.tcp_set(self.id, option, now))
            .map_err(tcp_error)
    }

    /// Closes one direction, or both. Closing the reading one changes nothing
    /// on the wire.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match how {
            Shutdown::Read => Ok(()),
            Shutdown::Write | Shutdown::Both => self
                .shared
                .call(|stack, now| stack.tcp_shutdown(self.id, now))
                .map_err(tcp_error),
        }
    }

    /// Everything there is to know of the connection, limits included.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn info(&self) -> io::Result<Info> {
        self.shared
            .call(|stack, now| stack.tcp_info(self.id, now))
            .map_err(tcp_error)
    }

    /// What bounds the connection to what, in lines for people.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn describe(&self) -> io::Result<String> {
        let description = self
            .shared
            .call(|stack, now| stack.describe(self.id, now))
            .map_err(tcp_error)?;
        Ok(description.to_string())
    }

    /// Reads what is there, at least one byte; 0 is the end.
    ///
    /// # Errors
    /// `WouldBlock` after the read timeout; how the connection ended.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let timeout = self.read_timeout.get();
        self.shared.wait(
            Handle::Tcp(self.id.index()),
            timeout,
            |stack, now| match stack.tcp_read(self.id, buffer, now) {
                Ok(Got::Data(read)) => Some(Ok(read)),
                Ok(Got::End) => Some(Ok(0)),
                Ok(Got::Empty) => None,
                Err(error) => Some(Err(tcp_error(error))),
            },
        )?
    }

    /// Writes what fits, at least one byte.
    ///
    /// # Errors
    /// `WouldBlock` after the write timeout; how the connection ended.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let timeout = self.write_timeout.get();
        self.shared.wait(
            Handle::Tcp(self.id.index()),
            timeout,
            |stack, now| match stack.tcp_write(self.id, bytes, now) {
                Ok(0) => None,
                Ok(written) => Some(Ok(written)),
                Err(error) => Some(Err(tcp_error(error))),
            },
        )?
    }
}

impl Drop for TcpStream {
    fn drop(&mut self) {
        // A connection that is gone needs no closing.
        let _ = self.shared.call(|stack, now| stack.tcp_close(self.id, now));
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

/// A TCP listener. Dropping it refuses what was not accepted.
pub struct TcpListener {
    shared: Arc<Shared>,
    id: ListenerId,
    local: SocketAddr,
    timeout: Timeout,
}

impl std::fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TcpListener")
            .field("local", &self.local)
            .finish_non_exhaustive()
    }
}

impl TcpListener {
    /// Listens on `local`.
    ///
    /// # Errors
    /// An address that is in use or not the stack's, or no place.
    pub fn bind(runtime: &Runtime, local: SocketAddr) -> io::Result<Self> {
        Self::bind_with(runtime, local, ListenOptions::default())
    }

    /// Like [`bind`](Self::bind), with a backlog and with what accepted
    /// connections start with.
    ///
    /// # Errors
    /// As for `bind`.
    pub fn bind_with(
        runtime: &Runtime,
        local: SocketAddr,
        options: ListenOptions,
    ) -> io::Result<Self> {
        let shared = runtime.shared();
        let id = shared
            .call(|stack, _| stack.tcp_listen(local, options))
            .map_err(open_error)?;
        Ok(Self {
            shared: Arc::clone(shared),
            id,
            local,
            timeout: Timeout::default(),
        })
    }

    /// The address listened on.
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// How long [`accept`](Self::accept) waits; `None`: for ever.
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        self.timeout.set(timeout);
    }

    /// The next connection, and who opened it.
    ///
    /// # Errors
    /// `WouldBlock` after the timeout.
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let timeout = self.timeout.get();
        let accepted =
            self.shared
                .wait(Handle::Accept(self.id.index()), timeout, |stack, now| {
                    stack.tcp_accept(self.id, now).transpose()
                })?;
        let (id, peer) = accepted.map_err(tcp_error)?;
        Ok((TcpStream::of(&self.shared, id)?, peer))
    }
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        // One that is gone needs no closing.
        let _ = self
            .shared
            .call(|stack, now| stack.tcp_close_listener(self.id, now));
    }
}
