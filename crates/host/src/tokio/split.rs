//! The two directions of a TCP connection as separate values.
//!
//! Rule: the halves share one connection. They need no lock of their own, because reading and writing
//! register different wakers.

use std::{
    io,
    net::{Shutdown, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use ::tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::tcp::TcpStream as Connection;

/// The reading direction of a borrowed stream.
#[derive(Debug)]
pub struct ReadHalf<'a>(&'a Connection);

/// The writing direction of a borrowed stream.
#[derive(Debug)]
pub struct WriteHalf<'a>(&'a Connection);

/// The reading direction, owned.
#[derive(Debug)]
pub struct OwnedReadHalf(Arc<Connection>);

/// The writing direction, owned. Dropping this half closes the writing direction: the peer reads
/// the end of the stream.
#[derive(Debug)]
pub struct OwnedWriteHalf(Arc<Connection>);

pub(super) const fn borrowed(stream: &Connection) -> (ReadHalf<'_>, WriteHalf<'_>) {
    (ReadHalf(stream), WriteHalf(stream))
}

pub(super) fn owned(stream: Connection) -> (OwnedReadHalf, OwnedWriteHalf) {
    let stream = Arc::new(stream);
    (OwnedReadHalf(Arc::clone(&stream)), OwnedWriteHalf(stream))
}

/// Reads into the free part of `buffer`.
pub(super) fn poll_read(
    stream: &Connection,
    context: &mut Context<'_>,
    buffer: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    let free = buffer.initialize_unfilled();
    let read = stream.poll_receive(context, free);
    read.map_ok(|read| buffer.advance(read))
}

impl OwnedReadHalf {
    /// The peer's address.
    pub fn peer_addr(&self) -> SocketAddr {
        self.0.peer_addr()
    }
}

impl OwnedWriteHalf {
    /// The peer's address.
    pub fn peer_addr(&self) -> SocketAddr {
        self.0.peer_addr()
    }
}

impl Drop for OwnedWriteHalf {
    fn drop(&mut self) {
        // A connection that has ended need not be closed.
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

macro_rules! reads {
    ($($half:ty),*) => {$(
        impl AsyncRead for $half {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffer: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                poll_read(&self.0, context, buffer)
            }
        }
    )*};
}

macro_rules! writes {
    ($($half:ty),*) => {$(
        impl AsyncWrite for $half {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.0.poll_send(context, bytes)
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.0.shutdown(Shutdown::Write))
            }
        }
    )*};
}

reads!(ReadHalf<'_>, OwnedReadHalf);
writes!(WriteHalf<'_>, OwnedWriteHalf);
