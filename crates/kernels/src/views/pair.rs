//! Two devices that are connected to each other in this process.
//!
//! Rule: a pair is a socket pair of the kernel, and each message on it is an Ethernet frame. A send
//! to a full socket fails, like a send to any full device.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
};

use fullpipe::device::{Capabilities, Medium, RxMeta, TxMeta};
use fullpipe_host::HostDevice;
use socket2::{Domain, Socket, Type};

/// One end of a pair.
pub struct PairedDevice {
    socket: Socket,
    mtu: usize,
}

impl PairedDevice {
    /// Makes a pair of devices for packets of up to `mtu` bytes.
    ///
    /// # Errors
    /// Fails if the kernel refuses the sockets.
    pub fn pair(mtu: usize) -> io::Result<[Self; 2]> {
        let (one, other) = Socket::pair(Domain::UNIX, Type::SEQPACKET, None)?;
        let device = |socket: Socket| {
            socket.set_nonblocking(true)?;
            io::Result::Ok(Self { socket, mtu })
        };
        Ok([device(one)?, device(other)?])
    }
}

impl AsFd for PairedDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl HostDevice for PairedDevice {
    fn capabilities(&self) -> Capabilities {
        Capabilities::plain(Medium::Ethernet, self.mtu)
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, RxMeta)> {
        match io::Read::read(&mut &self.socket, buffer)? {
            0 => Err(io::ErrorKind::BrokenPipe.into()),
            len => Ok((len, RxMeta::default())),
        }
    }

    fn send(&self, frame: &[u8], _: TxMeta) -> io::Result<()> {
        self.socket.send(frame).map(drop)
    }
}
