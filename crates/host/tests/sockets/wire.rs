//! Two devices joined by a pair of sockets of the kernel: a cable.

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

use fullpipe::device::{Capabilities, Device, Medium, Received, RxMeta, TxMeta};
use fullpipe_host::HostDevice;

/// One end of a cable.
pub struct End {
    socket: UnixDatagram,
    /// Keeps the other end open for the sake of [`Breaker`].
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    broken: Arc<AtomicBool>,
}

/// Ends a device from outside.
pub struct Breaker {
    broken: Arc<AtomicBool>,
    bell: UnixDatagram,
}

pub fn wire() -> (End, End) {
    let (one, other) = UnixDatagram::pair().expect("a pair of sockets");
    let end = |socket: UnixDatagram| {
        socket.set_nonblocking(true).expect("it is a socket");
        End {
            socket,
            incoming: vec![0; 2048],
            outgoing: vec![0; 2048],
            broken: Arc::default(),
        }
    };
    (end(one), end(other))
}

impl End {
    pub fn breaker(&self) -> Breaker {
        Breaker {
            broken: Arc::clone(&self.broken),
            bell: self.socket.try_clone().expect("it is a socket"),
        }
    }
}

impl Breaker {
    pub fn cut(&self) {
        self.broken.store(true, Ordering::Release);
        // The reading half ends, which wakes who waits for it.
        self.bell
            .shutdown(std::net::Shutdown::Both)
            .expect("it is a socket");
    }
}

impl AsFd for End {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl HostDevice for End {
    fn failure(&mut self) -> Option<io::Error> {
        self.broken
            .load(Ordering::Acquire)
            .then(|| io::ErrorKind::NotFound.into())
    }
}

impl Device for End {
    fn capabilities(&self) -> Capabilities {
        Capabilities::plain(Medium::Ethernet, 1_500)
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        let len = self
            .socket
            .recv(&mut self.incoming)
            .ok()
            .filter(|len| *len > 0)?;
        Some(Received {
            frame: &self.incoming[..len],
            meta: RxMeta::default(),
        })
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        self.outgoing.get_mut(..len)
    }

    fn send(&mut self, len: usize, _meta: TxMeta) {
        // A full queue loses the frame, as a wire would.
        let _ = self.socket.send(&self.outgoing[..len]);
    }
}
