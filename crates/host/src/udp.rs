//! Blocking UDP sockets over a running stack, shaped like the standard
//! library's.
//!
//! Rule: as for TCP: a socket is a name, every method is one call or one wait.

use std::{io, net::SocketAddr, ops::Range, sync::Arc, time::Duration};

use fullpipe::{UdpError, UdpId};

use crate::{
    runtime::{Handle, Runtime, Shared},
    tcp::Timeout,
};

fn udp_error(error: UdpError) -> io::Error {
    let kind = match error {
        UdpError::NoSuchSocket => io::ErrorKind::NotConnected,
        UdpError::TooManySockets => io::ErrorKind::OutOfMemory,
        UdpError::AddressInUse | UdpError::NoFreePort => io::ErrorKind::AddrInUse,
        UdpError::AddressNotOurs => io::ErrorKind::AddrNotAvailable,
        UdpError::BadDestination | UdpError::TooLong { .. } => io::ErrorKind::InvalidInput,
    };
    io::Error::new(kind, error)
}

/// Largest datagram that IPv4 can carry.
const DATAGRAM_MAX: usize = 65_507;

/// Memory for several datagrams that are received with one call.
#[derive(Debug)]
pub struct DatagramBatch {
    buffer: Box<[u8]>,
    datagrams: Vec<(Range<usize>, SocketAddr)>,
    most: usize,
}

impl DatagramBatch {
    /// For at most `most` datagrams (at least one), and at least one of any size.
    pub fn new(most: usize) -> Self {
        let most = most.max(1);
        Self {
            // Room for `most` of the size of an Ethernet frame, and one that is
            // as large as they come.
            buffer: vec![0; DATAGRAM_MAX + most * 1_500].into(),
            datagrams: Vec::with_capacity(most),
            most,
        }
    }

    /// Forgets the datagrams.
    pub fn clear(&mut self) {
        self.datagrams.clear();
    }

    /// What was received, in order, and who sent it.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], SocketAddr)> {
        self.datagrams
            .iter()
            .map(|(range, from)| (&self.buffer[range.clone()], *from))
    }

    /// Lets `receive` write one more datagram, of any size, and say how long it
    /// is and who sent it. False when there is no room or nothing came.
    ///
    /// # Errors
    /// Those of `receive`.
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

/// A UDP socket. Dropping it loses what was not read; what was written is still
/// sent.
pub struct UdpSocket {
    shared: Arc<Shared>,
    id: UdpId,
    local: SocketAddr,
    read_timeout: Timeout,
    write_timeout: Timeout,
}

impl std::fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UdpSocket")
            .field("local", &self.local)
            .finish_non_exhaustive()
    }
}

impl UdpSocket {
    /// Opens a socket on `local`; port 0 lets the stack choose.
    ///
    /// # Errors
    /// An address that is in use or not the stack's, or no place.
    pub fn bind(runtime: &Runtime, local: SocketAddr) -> io::Result<Self> {
        let shared = runtime.shared();
        let id = shared
            .call(|stack, _| stack.udp_bind(local))
            .map_err(udp_error)?;
        let local = shared
            .call(|stack, _| stack.udp_local(id))
            .map_err(udp_error)?;
        let shared = Arc::clone(shared);
        Ok(Self {
            shared,
            id,
            local,
            read_timeout: Timeout::default(),
            write_timeout: Timeout::default(),
        })
    }

    /// This end's address.
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// How long [`recv_from`](Self::recv_from) waits; `None`: for ever.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) {
        self.read_timeout.set(timeout);
    }

    /// How long [`send_to`](Self::send_to) waits; `None`: for ever.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) {
        self.write_timeout.set(timeout);
    }

    /// Sends one datagram; waits while the queue is full.
    ///
    /// # Errors
    /// `WouldBlock` after the write timeout; a destination that cannot be sent
    /// to; a datagram that is too long.
    pub fn send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<usize> {
        let timeout = self.write_timeout.get();
        self.shared.wait(
            Handle::Udp(self.id.index()),
            timeout,
            |stack, _| match stack.udp_send(self.id, to, bytes) {
                Ok(true) => Some(Ok(bytes.len())),
                Ok(false) => None,
                Err(error) => Some(Err(udp_error(error))),
            },
        )?
    }

    /// Receives one datagram, and who sent it. What does not fit in `buffer` is
    /// lost.
    ///
    /// # Errors
    /// `WouldBlock` after the read timeout.
    pub fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let timeout = self.read_timeout.get();
        self.shared.wait(
            Handle::Udp(self.id.index()),
            timeout,
            |stack, _| match stack.udp_receive(self.id, buffer) {
                Ok(Some(received)) => Some(Ok((received.copied, received.from))),
                Ok(None) => None,
                Err(error) => Some(Err(udp_error(error))),
            },
        )?
    }
}

impl UdpSocket {
    /// Receives what waits, as far as it fits in `batch`, at least one datagram.
    ///
    /// # Errors
    /// `WouldBlock` after the read timeout.
    pub fn recv_batch(&self, batch: &mut DatagramBatch) -> io::Result<()> {
        let timeout = self.read_timeout.get();
        batch.clear();
        self.shared
            .wait(Handle::Udp(self.id.index()), timeout, |stack, _| {
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
            })?
    }
}

impl Drop for UdpSocket {
    fn drop(&mut self) {
        // One that is gone needs no closing.
        let _ = self.shared.call(|stack, _| stack.udp_close(self.id));
    }
}
