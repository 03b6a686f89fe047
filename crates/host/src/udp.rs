//! Blocking UDP sockets over a running stack, shaped like the standard
//! library's.
//!
//! Rule: as for TCP: a socket is a name, every method is one call or one wait.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

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

impl Drop for UdpSocket {
    fn drop(&mut self) {
        // One that is gone needs no closing.
        let _ = self.shared.call(|stack, _| stack.udp_close(self.id));
    }
}
