//! UDP sockets of a running stack, with the methods of the standard library's sockets.
//!
//! Rule: the socket's state is in the stack; a socket here has only its id, address and timeouts.
//! Every method makes one call to the stack, or waits for one outcome; `poll_…` registers a waker
//! instead of waiting.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    ops::Range,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use fullpipe::{Instant, Refusal, Stack, UdpError, UdpId};

use crate::{
    driver::Driver,
    runtime::Runtime,
    timeout::Timeout,
    wait::{Wait, poll_once},
    wakers::{Handle, Interest, WaiterKey},
};

fn udp_error(error: UdpError) -> io::Error {
    let kind = match error {
        UdpError::NoSuchSocket => io::ErrorKind::NotConnected,
        UdpError::TooManySockets => io::ErrorKind::OutOfMemory,
        UdpError::AddressInUse | UdpError::NoFreePort => io::ErrorKind::AddrInUse,
        UdpError::AddressNotOurs | UdpError::AddressRemoved => io::ErrorKind::AddrNotAvailable,
        UdpError::BadSource | UdpError::BadDestination | UdpError::TooLong { .. } => {
            io::ErrorKind::InvalidInput
        }
    };
    io::Error::new(kind, error)
}

/// Largest payload of a datagram over IPv4, in bytes.
const DATAGRAM_MAX: usize = 65_507;

/// Memory for several datagrams that one call receives.
#[derive(Debug)]
pub struct DatagramBatch {
    buffer: Box<[u8]>,
    datagrams: Vec<(Range<usize>, SocketAddr)>,
    most: usize,
}

impl DatagramBatch {
    /// Memory for up to `most` datagrams (at least one). The last datagram may have any size if
    /// the others are at most as large as an Ethernet frame.
    pub fn new(most: usize) -> Self {
        let most = most.max(1);
        Self {
            buffer: vec![0; DATAGRAM_MAX + most * 1_500].into(),
            datagrams: Vec::with_capacity(most),
            most,
        }
    }

    /// Removes the datagrams.
    pub fn clear(&mut self) {
        self.datagrams.clear();
    }

    /// The datagrams in order, each with its sender's address.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], SocketAddr)> {
        self.datagrams
            .iter()
            .map(|(range, from)| (&self.buffer[range.clone()], *from))
    }

    /// Lets `receive` write one more datagram of any size and return its length and
    /// sender. Returns false if there is no room or no datagram waits.
    ///
    /// # Errors
    /// Returns the errors of `receive`.
    pub fn push_with<E>(
        &mut self,
        receive: impl FnOnce(&mut [u8]) -> Result<Option<(usize, SocketAddr)>, E>,
    ) -> Result<bool, E> {
        let start = self.datagrams.last().map_or(0, |(range, _)| range.end);
        if self.datagrams.len() == self.most || self.buffer.len() - start < DATAGRAM_MAX {
            return Ok(false);
        }
        let Some((len, from)) = receive(&mut self.buffer[start..])? else {
            return Ok(false);
        };
        self.datagrams.push((start..start + len, from));
        Ok(true)
    }
}

/// Tries once to send; `None` while the queue is full.
fn send(id: UdpId, bytes: &[u8], to: SocketAddr, stack: &mut Stack) -> Option<io::Result<usize>> {
    match stack.udp_send(id, to, bytes) {
        Ok(true) => Some(Ok(bytes.len())),
        Ok(false) => None,
        Err(error) => Some(Err(udp_error(error))),
    }
}

/// A received datagram's length and sender.
type Received = io::Result<(usize, SocketAddr)>;

/// A received datagram's length, sender and destination.
#[cfg(feature = "tokio")]
type ReceivedTo = io::Result<(usize, SocketAddr, SocketAddr)>;

/// Tries once to receive; `None` if no datagram waits.
fn receive(id: UdpId, buffer: &mut [u8], stack: &mut Stack) -> Option<Received> {
    match stack.udp_receive(id, buffer) {
        Ok(Some(received)) => Some(Ok((received.copied, received.from))),
        Ok(None) => None,
        Err(error) => Some(Err(udp_error(error))),
    }
}

/// A UDP socket, for threads that block, or through `poll_…` for tasks.
///
/// After the socket is dropped, unread datagrams are lost, and queued datagrams are still sent.
pub struct UdpSocket {
    driver: Arc<Driver>,
    id: UdpId,
    local: SocketAddr,
    read_timeout: Timeout,
    write_timeout: Timeout,
}

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UdpSocket")
            .field("local", &self.local)
            .finish_non_exhaustive()
    }
}

impl UdpSocket {
    /// Opens a socket on `local`; port 0 lets the stack choose one.
    ///
    /// # Errors
    /// Fails if the address is in use, or is no address of the stack; or the stack has no free
    /// socket.
    pub fn bind(runtime: &Runtime, local: SocketAddr) -> io::Result<Self> {
        let driver = runtime.driver();
        let bound = driver.call(|stack, _| {
            let id = stack.udp_bind(local)?;
            Ok((id, stack.udp_local(id)?))
        });
        let (id, local) = bound.map_err(udp_error)?;
        Ok(Self::of(driver, id, local))
    }

    fn of(driver: &Arc<Driver>, id: UdpId, local: SocketAddr) -> Self {
        Self {
            driver: Arc::clone(driver),
            id,
            local,
            read_timeout: Timeout::default(),
            write_timeout: Timeout::default(),
        }
    }

    /// Opens a socket that receives the datagrams to every port of `ip` to which no other socket is
    /// bound when they arrive; see `Stack::udp_bind_all_ports`.
    ///
    /// # Errors
    /// Fails if there is such a socket already, or the stack has no free socket.
    pub fn bind_all_ports(runtime: &Runtime, ip: IpAddr) -> io::Result<Self> {
        let driver = runtime.driver();
        let bound = driver.call(|stack, _| stack.udp_bind_all_ports(ip));
        let id = bound.map_err(udp_error)?;
        Ok(Self::of(driver, id, SocketAddr::new(ip, 0)))
    }

    /// Opens a socket that receives the echo requests (ping) of the IP version of `ip` in place of
    /// the stack: each is a datagram from the peer's address, with the identifier as its port, to the destination, with the
    /// sequence number as its port. See `Stack::udp_bind_echo`.
    ///
    /// # Errors
    /// Fails if there is such a socket already, or the stack has no free socket.
    pub fn bind_echo(runtime: &Runtime, ip: IpAddr) -> io::Result<Self> {
        let driver = runtime.driver();
        let bound = driver.call(|stack, _| stack.udp_bind_echo(ip));
        let id = bound.map_err(udp_error)?;
        Ok(Self::of(driver, id, SocketAddr::new(ip, 0)))
    }

    /// Refuses an echo request that came from `from` to `to`, with an ICMP error.
    pub fn refuse_echo(&self, from: SocketAddr, to: SocketAddr, refusal: Refusal) {
        self.driver
            .call(|stack, now| stack.echo_refuse(from, to, refusal, now));
    }

    /// Refuses a datagram that came from `from` to `to`, with an ICMP error.
    pub fn refuse(&self, from: SocketAddr, to: SocketAddr, refusal: Refusal) {
        self.driver
            .call(|stack, now| stack.udp_refuse(from, to, refusal, now));
    }

    const fn handle(&self) -> Handle {
        Handle::Udp(self.id.index())
    }

    /// This end's address.
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Sets the longest wait of [`recv_from`](Self::recv_from); `None` is no limit.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) {
        self.read_timeout.set(timeout);
    }

    /// Sets the longest wait of [`send_to`](Self::send_to); `None` is no limit.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) {
        self.write_timeout.set(timeout);
    }

    /// Sends one datagram, waiting while the send queue is full.
    ///
    /// # Errors
    /// Returns `WouldBlock` after the write timeout; another error if nothing can be sent to the
    /// destination or the datagram is too long.
    pub fn send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<usize> {
        self.sending(bytes, to).block(self.write_timeout.get())?
    }

    /// Receives one datagram. Returns its length and its sender; bytes that do not
    /// fit in `buffer` are lost.
    ///
    /// # Errors
    /// Returns `WouldBlock` after the read timeout.
    pub fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.receiving(buffer).block(self.read_timeout.get())?
    }

    /// Receives all waiting datagrams for which `batch` has room, and waits until there is at
    /// least one datagram.
    ///
    /// # Errors
    /// Returns `WouldBlock` after the read timeout.
    pub fn recv_batch(&self, batch: &mut DatagramBatch) -> io::Result<()> {
        batch.clear();
        let attempt = |stack: &mut Stack, _: Instant| {
            loop {
                let more = batch.push_with(|buffer| {
                    let received = stack.udp_receive(self.id, buffer)?;
                    Ok(received.map(|received| (received.copied, received.from)))
                });
                match more {
                    Ok(true) => {}
                    Ok(false) if batch.datagrams.is_empty() => return None,
                    Ok(false) => return Some(Ok(())),
                    Err(error) => return Some(Err(udp_error(error))),
                }
            }
        };
        Wait::new(&self.driver, self.handle(), Interest::Read, attempt)
            .block(self.read_timeout.get())?
    }

    /// Becomes ready once the datagram is in the send queue. Only the waker of the last call is kept.
    ///
    /// # Errors
    /// Fails if nothing can be sent to the destination, or the datagram is too long.
    pub fn poll_send_to(
        &self,
        context: &mut Context<'_>,
        bytes: &[u8],
        to: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        let on = (self.handle(), Interest::Write);
        let mut key = Some(WaiterKey::POLLED);
        let attempt = |stack: &mut Stack, _| send(self.id, bytes, to, stack);
        poll_once(&self.driver, on, &mut key, context.waker(), attempt).map(Result::flatten)
    }

    /// Becomes ready with a datagram's length and its sender. Only the waker of the last call is kept.
    ///
    /// # Errors
    /// Fails if the runtime was stopped.
    pub fn poll_recv_from(
        &self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let on = (self.handle(), Interest::Read);
        let mut key = Some(WaiterKey::POLLED);
        let attempt = |stack: &mut Stack, _| receive(self.id, buffer, stack);
        poll_once(&self.driver, on, &mut key, context.waker(), attempt).map(Result::flatten)
    }

    /// Creates the wait until a datagram is in the send queue.
    pub(crate) fn sending(
        &self,
        bytes: &[u8],
        to: SocketAddr,
    ) -> Wait<'_, impl FnMut(&mut Stack, Instant) -> Option<io::Result<usize>> + Unpin> {
        let attempt = move |stack: &mut Stack, _| send(self.id, bytes, to, stack);
        Wait::new(&self.driver, self.handle(), Interest::Write, attempt)
    }

    /// Creates the wait until a datagram from `from` is in the send queue.
    #[cfg(feature = "tokio")]
    pub(crate) fn sending_from(
        &self,
        bytes: &[u8],
        (from, to): (SocketAddr, SocketAddr),
    ) -> Wait<'_, impl FnMut(&mut Stack, Instant) -> Option<io::Result<usize>> + Unpin> {
        let attempt =
            move |stack: &mut Stack, _| match stack.udp_send_from(self.id, from, to, bytes) {
                Ok(true) => Some(Ok(bytes.len())),
                Ok(false) => None,
                Err(error) => Some(Err(udp_error(error))),
            };
        Wait::new(&self.driver, self.handle(), Interest::Write, attempt)
    }

    /// Creates the wait for a datagram, with its sender and its destination.
    #[cfg(feature = "tokio")]
    pub(crate) fn receiving_to(
        &self,
        buffer: &mut [u8],
    ) -> Wait<'_, impl FnMut(&mut Stack, Instant) -> Option<ReceivedTo> + Unpin> {
        let attempt = |stack: &mut Stack, _| match stack.udp_receive(self.id, buffer) {
            Ok(Some(received)) => Some(Ok((received.copied, received.from, received.to))),
            Ok(None) => None,
            Err(error) => Some(Err(udp_error(error))),
        };
        Wait::new(&self.driver, self.handle(), Interest::Read, attempt)
    }

    /// Creates the wait for a datagram.
    pub(crate) fn receiving(
        &self,
        buffer: &mut [u8],
    ) -> Wait<'_, impl FnMut(&mut Stack, Instant) -> Option<Received> + Unpin> {
        let attempt = |stack: &mut Stack, _| receive(self.id, buffer, stack);
        Wait::new(&self.driver, self.handle(), Interest::Read, attempt)
    }
}

impl Drop for UdpSocket {
    fn drop(&mut self) {
        self.driver.close(self.handle(), |stack, _| {
            // If the stack no longer has the socket, there is nothing to close.
            let _ = stack.udp_close(self.id);
        });
    }
}
