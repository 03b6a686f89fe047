//! A device that is a pair of packet queues: one end for a stack, the other for any stream of IP
//! packets.
//!
//! Rule: the two ends are Unix datagram sockets, and one datagram is one packet. The kernel bounds
//! the queues, and a full queue makes its writer wait. Packets have complete checksums and no link
//! header.

use std::{
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixDatagram,
    },
};

use fullpipe::device::{Capabilities, Medium, RxMeta, TxMeta};
use fullpipe_host::HostDevice;

/// One end of a pair of packet queues, as a device of a stack.
#[derive(Debug)]
pub struct PipeDevice {
    socket: UnixDatagram,
    mtu: usize,
}

impl PipeDevice {
    /// Creates a pair of devices that exchange packets of at most `mtu` bytes.
    ///
    /// # Errors
    /// Fails if the system refuses the sockets.
    pub fn pair(mtu: usize) -> io::Result<(Self, Self)> {
        let (one, other) = UnixDatagram::pair()?;
        for socket in [&one, &other] {
            socket.set_nonblocking(true)?;
        }
        let end = |socket| Self { socket, mtu };
        Ok((end(one), end(other)))
    }

    /// Creates a device and the pipe to its other end. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// Fails if the system refuses the sockets.
    pub fn with_pipe(mtu: usize) -> io::Result<(Self, PacketPipe)> {
        let (device, other) = Self::pair(mtu)?;
        let pipe = tokio::net::UnixDatagram::from_std(other.socket)?;
        Ok((device, PacketPipe(pipe)))
    }
}

impl AsFd for PipeDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl HostDevice for PipeDevice {
    fn capabilities(&self) -> Capabilities {
        Capabilities::plain(Medium::Ip, self.mtu)
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, RxMeta)> {
        let len = self.socket.recv(buffer)?;
        Ok((len, RxMeta::default()))
    }

    fn send(&self, frame: &[u8], _: TxMeta) -> io::Result<()> {
        self.socket.send(frame).map(drop)
    }
}

/// The program's end of a pair of packet queues: the program passes packets, for example of a
/// tunnel, to and from the stack at the other end.
#[derive(Debug)]
pub struct PacketPipe(tokio::net::UnixDatagram);

impl PacketPipe {
    /// Passes a packet to the stack; waits while the queue is full.
    ///
    /// # Errors
    /// Fails if the stack has ended.
    pub async fn send(&self, packet: &[u8]) -> io::Result<()> {
        self.0.send(packet).await.map(drop)
    }

    /// Waits for the next packet of the stack. Returns its length. Bytes that do not fit in
    /// `buffer` are lost.
    ///
    /// # Errors
    /// Fails if the system refuses the call.
    pub async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.recv(buffer).await
    }
}
