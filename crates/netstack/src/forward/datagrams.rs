//! Carries the datagrams of one UDP flow.
//!
//! Rule: each flow has a socket of its own, so each answer's flow is known without a table. A flow
//! ends when there was no datagram in either direction for the time `FlowLimits::udp_idle`. If the
//! target refuses datagrams, the peer gets an ICMP error.

use std::{io, sync::Arc};

use fullpipe::Refusal;
use tokio::{
    io::{AsyncReadExt, Interest},
    net::UdpSocket,
};

use super::{
    Forwarder, refusal_of,
    table::{Entry, FlowTable},
    via::{SOCKS_HEADER_MAX, push_address, without_header},
};
use crate::{relay_clock::RelaySide, udp::UdpFlow};

/// Largest datagram in bytes, with room for the longest header of SOCKS5.
const DATAGRAM_MAX: usize = 65_535 + SOCKS_HEADER_MAX;

impl Forwarder {
    /// Carries one UDP flow.
    pub(super) async fn carry_datagrams(&self, mut flow: UdpFlow, table: &Arc<FlowTable>) {
        let destination = flow.destination();
        let opening = self.via.datagrams(destination, self.bind_device.as_deref());
        let opened = match tokio::time::timeout(self.connect_timeout, opening).await {
            Ok(opened) => opened,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        };
        let (socket, mut keeper) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                table.count_refused();
                flow.refuse(refusal_of(&error));
                return;
            }
        };
        let entry = Entry::udp(table, flow.peer(), destination);
        let has_header = self.via.has_datagram_header();
        let sender = flow.sender();
        let back = async {
            let mut buffer = Vec::new();
            loop {
                let payload = receive(&socket, &mut buffer, has_header).await?;
                if let Some(payload) = payload {
                    entry.clock.count(RelaySide::Down, payload.len());
                    sender.send(payload).await?;
                }
            }
        };
        let forth = async {
            let mut wrapped = Vec::new();
            while let Some(payload) = flow.recv().await {
                entry.clock.count(RelaySide::Up, payload.len());
                if has_header {
                    wrapped.clear();
                    wrapped.extend([0, 0, 0]);
                    push_address(&mut wrapped, destination);
                    wrapped.extend(&payload);
                    socket.send(&wrapped).await?;
                } else {
                    socket.send(&payload).await?;
                }
            }
            Ok(())
        };
        let kept = async {
            match &mut keeper {
                // The proxy closes the stream when it no longer relays.
                Some(stream) => drop(stream.read_u8().await),
                None => std::future::pending().await,
            }
        };
        let ended: io::Result<()> = tokio::select! {
            ended = back => ended,
            ended = forth => ended,
            () = kept => Ok(()),
        };
        if let Err(error) = ended
            && error.kind() == io::ErrorKind::ConnectionRefused
        {
            flow.refuse(Refusal::Port);
        }
    }
}

/// Receives one datagram. Returns `None` if the socket turns out to be empty, if the datagram's
/// SOCKS5 header is malformed, or if the header says that the datagram is a fragment. The buffer
/// has the size of the largest datagram only during the read, so that idle flows need no memory.
async fn receive<'a>(
    socket: &UdpSocket,
    buffer: &'a mut Vec<u8>,
    has_header: bool,
) -> io::Result<Option<&'a [u8]>> {
    *buffer = Vec::new();
    // An ICMP error does not make the socket readable.
    let ready = socket.ready(Interest::READABLE | Interest::ERROR).await?;
    if ready.is_error() {
        if let Some(error) = socket.take_error()? {
            return Err(error);
        }
        // The error is gone: without this call, `ready` would return at once again.
        let none = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
        let _ = socket.try_io(Interest::ERROR, none);
    }
    buffer.resize(DATAGRAM_MAX, 0);
    match socket.try_recv(buffer) {
        Ok(len) => {
            buffer.truncate(len);
            buffer.shrink_to_fit();
            Ok(match has_header {
                true => without_header(buffer),
                false => Some(buffer.as_slice()),
            })
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}
