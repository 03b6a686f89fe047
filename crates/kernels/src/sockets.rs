//! The kernel's TCP sockets, with a host's options.
//!
//! Rule: a socket is opened in the namespace of its host and may be used from any thread. Buffers
//! may exceed the machine's caps, because a row (a scenario of an experiment) has its own caps. A
//! read, write or accept waits at most for [`POLL`].

use std::{
    io,
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use fullpipe_host::{Namespace, kernel};
use fullpipe_perf::{POLL, sockets::Stream};
use socket2::{Domain, Protocol, Socket, Type};

use crate::settings::SocketSettings;

/// A listening socket.
pub struct Listening(Socket);

fn open(settings: &SocketSettings) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket
        .set_tcp_congestion(settings.congestion.as_bytes())
        .map_err(|error| {
            let name = &settings.congestion;
            io::Error::new(
                error.kind(),
                format!("this kernel has no congestion control `{name}`: {error}"),
            )
        })?;
    if let Some(bytes) = settings.send_buffer {
        kernel::force_send_buffer(&socket, bytes)?;
    }
    if let Some(bytes) = settings.receive_buffer {
        kernel::force_receive_buffer(&socket, bytes)?;
    }
    if let Some(mss) = settings.mss {
        socket.set_tcp_mss(mss)?;
    }
    if let Some(rate) = settings.pacing_rate {
        kernel::set_max_pacing_rate(&socket, rate)?;
    }
    if let Some(timeout) = settings.user_timeout {
        socket.set_tcp_user_timeout(Some(timeout))?;
    }
    socket.set_tcp_nodelay(settings.no_delay)?;
    // Discard unsent payload when the socket is closed. Otherwise the kernel would go on sending
    // the payload, and the socket would keep its namespace alive for minutes.
    socket.set_linger(Some(Duration::ZERO))?;
    socket.set_read_timeout(Some(POLL))?;
    Ok(socket)
}

/// Listens at `local`. Accepted connections inherit the options.
pub fn listen(
    side: &Namespace,
    local: SocketAddr,
    settings: &SocketSettings,
) -> io::Result<Listening> {
    side.enter(|| {
        let socket = open(settings)?;
        socket.bind(&local.into())?;
        socket.listen(1)?;
        Ok(Listening(socket))
    })?
}

impl Listening {
    /// Accepts the next connection; `None` if there is none within [`POLL`].
    pub fn accept(&self) -> io::Result<Option<TcpStream>> {
        match self.0.accept() {
            Ok((socket, _)) => timed(socket).map(Some),
            Err(error) if is_wait(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A socket that can be connected later.
pub struct Unconnected(Socket);

/// Opens a socket without connecting it.
pub fn unconnected(side: &Namespace, settings: &SocketSettings) -> io::Result<Unconnected> {
    side.enter(|| open(settings).map(Unconnected))?
}

impl Unconnected {
    /// Connects to `remote` within `time`.
    pub fn connect(self, remote: SocketAddr, time: Duration) -> io::Result<TcpStream> {
        self.0.connect_timeout(&remote.into(), time)?;
        timed(self.0)
    }
}

/// Sets timeouts for both directions of the socket.
fn timed(socket: Socket) -> io::Result<TcpStream> {
    socket.set_read_timeout(Some(POLL))?;
    socket.set_write_timeout(Some(POLL))?;
    Ok(socket.into())
}

/// A connection as the applications of a row use it.
pub trait AppStream: Stream {
    /// Sets `TCP_CORK`: while `on`, the stack delays partial segments.
    ///
    /// # Errors
    /// Fails if the stack has no such option, or the connection has ended.
    fn cork(&self, on: bool) -> io::Result<()>;

    /// Returns true if a read would return payload at once.
    fn has_unread(&self) -> bool;
}

impl AppStream for TcpStream {
    fn cork(&self, on: bool) -> io::Result<()> {
        socket2::SockRef::from(self).set_tcp_cork(on)
    }

    fn has_unread(&self) -> bool {
        let before = self.set_nonblocking(true);
        let found = self.peek(&mut [0]).is_ok_and(|count| count > 0);
        before.is_ok() && self.set_nonblocking(false).is_ok() && found
    }
}

/// Returns true if a call ended only because its timeout passed.
pub fn is_wait(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, WouldBlock};
    // Do not include `TimedOut`: the kernel's stack and fullpipe's return it for a connection that
    // timed out.
    matches!(error.kind(), Interrupted | WouldBlock)
}
