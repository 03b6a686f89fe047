//! UDP sockets.
//!
//! Rule: the type wraps the blocking type of the same name and adds no state.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    task::{Context, Poll},
};

use ::tokio::io::ReadBuf;
use fullpipe::Refusal;

use crate::{runtime::Runtime, udp};

/// A UDP socket. All methods take `&self`: one task may send while others
/// receive.
#[derive(Debug)]
pub struct UdpSocket(udp::UdpSocket);

impl UdpSocket {
    /// Opens a socket on `local`; port 0 lets the stack choose one.
    ///
    /// # Errors
    /// Fails if the address is in use or not the stack's, or no socket is free.
    pub fn bind(runtime: &Runtime, local: SocketAddr) -> io::Result<Self> {
        udp::UdpSocket::bind(runtime, local).map(Self)
    }

    /// Opens a socket that receives the datagrams to every port of `ip` to which no other socket is
    /// bound when they arrive; see `Stack::udp_bind_all_ports`.
    ///
    /// # Errors
    /// Fails if there is such a socket already, or the stack has no free socket.
    pub fn bind_all_ports(runtime: &Runtime, ip: IpAddr) -> io::Result<Self> {
        udp::UdpSocket::bind_all_ports(runtime, ip).map(Self)
    }

    /// Opens a socket that receives the echo requests (ping) of the IP version of `ip` in place of
    /// the stack; see `Stack::udp_bind_echo`.
    ///
    /// # Errors
    /// Fails if there is such a socket already, or the stack has no free socket.
    pub fn bind_echo(runtime: &Runtime, ip: IpAddr) -> io::Result<Self> {
        udp::UdpSocket::bind_echo(runtime, ip).map(Self)
    }

    /// Refuses an echo request that came from `from` to `to`, with an ICMP error.
    pub fn refuse_echo(&self, from: SocketAddr, to: SocketAddr, refusal: Refusal) {
        self.0.refuse_echo(from, to, refusal);
    }

    /// Sends one datagram from `from`, an address and a port of the socket. Waits while the send
    /// queue is full.
    ///
    /// # Errors
    /// Fails if nothing can be sent from that source or to the destination, or the datagram is too
    /// long.
    pub async fn send_from(
        &self,
        bytes: &[u8],
        from: SocketAddr,
        to: SocketAddr,
    ) -> io::Result<usize> {
        self.0.sending_from(bytes, (from, to)).await?
    }

    /// Receives one datagram. Returns its length, its sender and its destination; bytes that do
    /// not fit in `buffer` are lost.
    ///
    /// # Errors
    /// Fails if the runtime was stopped.
    pub async fn recv_from_to(
        &self,
        buffer: &mut [u8],
    ) -> io::Result<(usize, SocketAddr, SocketAddr)> {
        self.0.receiving_to(buffer).await?
    }

    /// Refuses a datagram that came from `from` to `to`, with an ICMP error.
    pub fn refuse(&self, from: SocketAddr, to: SocketAddr, refusal: Refusal) {
        self.0.refuse(from, to, refusal);
    }

    /// This end's address.
    pub const fn local_addr(&self) -> SocketAddr {
        self.0.local_addr()
    }

    /// Sends one datagram, waiting while the send queue is full.
    ///
    /// # Errors
    /// Fails if nothing can be sent to the destination, or the datagram is too long.
    pub async fn send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<usize> {
        self.0.sending(bytes, to).await?
    }

    /// Receives one datagram. Returns its length and its sender; bytes that do not
    /// fit in `buffer` are lost.
    ///
    /// # Errors
    /// Fails if the runtime was stopped.
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.receiving(buffer).await?
    }

    /// Ready once the datagram is in the send queue. Only the waker of the last sender is
    /// kept.
    ///
    /// # Errors
    /// Returns the errors of [`send_to`](Self::send_to).
    pub fn poll_send_to(
        &self,
        context: &mut Context<'_>,
        bytes: &[u8],
        to: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.0.poll_send_to(context, bytes, to)
    }

    /// Ready with the sender of a datagram that is now in `buffer`. Only the waker of the
    /// last receiver is kept.
    ///
    /// # Errors
    /// Fails if the runtime was stopped.
    pub fn poll_recv_from(
        &self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        let free = buffer.initialize_unfilled();
        let received = self.0.poll_recv_from(context, free);
        received.map_ok(|(len, from)| {
            buffer.advance(len);
            from
        })
    }
}
