//! A cable: two devices joined by a pair of the kernel's sockets.

use std::{
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixDatagram,
    },
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use fullpipe::device::{Capabilities, Medium, RxMeta, TxMeta};
use fullpipe_host::HostDevice;

/// One end of a cable.
pub struct CableEnd {
    socket: UnixDatagram,
    broken: Arc<AtomicBool>,
}

/// Breaks a device from outside.
pub struct Breaker {
    broken: Arc<AtomicBool>,
    reader: UnixDatagram,
}

pub fn wire() -> (CableEnd, CableEnd) {
    let (one, other) = UnixDatagram::pair().expect("a pair of sockets");
    let end = |socket: UnixDatagram| {
        socket.set_nonblocking(true).expect("it is a socket");
        CableEnd {
            socket,
            broken: Arc::default(),
        }
    };
    (end(one), end(other))
}

impl CableEnd {
    pub fn breaker(&self) -> Breaker {
        Breaker {
            broken: Arc::clone(&self.broken),
            reader: self.socket.try_clone().expect("it is a socket"),
        }
    }
}

impl Breaker {
    pub fn cut(&self) {
        self.broken.store(true, Ordering::Release);
        // Ends the reading half, which ends the runtime's wait for the device.
        self.reader
            .shutdown(std::net::Shutdown::Both)
            .expect("it is a socket");
    }
}

impl AsFd for CableEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl HostDevice for CableEnd {
    fn capabilities(&self) -> Capabilities {
        Capabilities::plain(Medium::Ethernet, 1_500)
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, RxMeta)> {
        if self.broken.load(Ordering::Acquire) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let len = self.socket.recv(buffer)?;
        Ok((len, RxMeta::default()))
    }

    fn send(&self, frame: &[u8], _meta: TxMeta) -> io::Result<()> {
        self.socket.send(frame).map(drop)
    }
}
