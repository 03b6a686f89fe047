//! Passes echo requests (ping) on to their destinations, and the replies back.
//!
//! Rule: a request is answered only if its destination answered with the same data. One kernel socket
//! for each version of IP carries all requests, so each gets a sequence number of the forwarder's
//! own. The number of outstanding requests and the time for which they wait are bounded.

mod outstanding;

use std::{
    hash::{BuildHasher, RandomState},
    io,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use fullpipe::Refusal;
use fullpipe_wire::{Checksum, ChecksumPolicy, Icmpv4Message, Icmpv6Message};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::{
    net::UdpSocket,
    time::{Instant, sleep_until},
};

use super::refusal_of;
use crate::{EchoRequest, EchoRequests};
use outstanding::Outstanding;

/// Longest message that a kernel socket delivers, in bytes.
const MESSAGE_MAX: usize = 65_535;
/// Largest number of requests of one version of IP that wait for a reply. A further one is dropped.
const OUTSTANDING_MAX: usize = 1_024;
/// Time after which a request no longer waits for its reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(10);

/// Kernel sockets for echo requests, not yet in use. A program opens them before it gives up its
/// privileges.
#[derive(Debug)]
pub struct EchoSockets {
    v4: EchoSocket,
    /// `None` if the kernel has no IPv6.
    v6: Option<EchoSocket>,
}

#[derive(Debug)]
struct EchoSocket {
    socket: Socket,
    /// A raw socket, which receives every message of the host. A ping socket receives the replies to
    /// its own requests only, because the kernel chooses their identifier.
    is_raw: bool,
}

impl EchoSocket {
    /// Opens a ping socket or, if this user may open none, a raw socket.
    fn open(domain: Domain, protocol: Protocol, device: Option<&str>) -> io::Result<Self> {
        let is_refused = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        let (socket, is_raw) = match Socket::new(domain, Type::DGRAM, Some(protocol)) {
            Err(refused) if is_refused(&refused) => {
                let raw = Socket::new(domain, Type::RAW, Some(protocol));
                (raw.map_err(|_| refused)?, true)
            }
            opened => (opened?, false),
        };
        socket.bind_device(device.map(str::as_bytes))?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, is_raw })
    }
}

impl EchoSockets {
    /// Opens the sockets, bound to the interface `device` if one is given. A ping socket is open to
    /// the groups in the sysctl `net.ipv4.ping_group_range`, a raw socket to `CAP_NET_RAW`.
    ///
    /// # Errors
    /// Returns the kernel's error. A kernel without IPv6 is no error.
    pub fn open(device: Option<&str>) -> io::Result<Self> {
        let v4 = EchoSocket::open(Domain::IPV4, Protocol::ICMPV4, device)?;
        let v6 = match EchoSocket::open(Domain::IPV6, Protocol::ICMPV6, device) {
            Ok(opened) => Some(opened),
            Err(error) if error.raw_os_error() == Some(libc::EAFNOSUPPORT) => None,
            Err(error) => return Err(error),
        };
        Ok(Self { v4, v6 })
    }

    /// Passes requests on until the stack stops. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// Returns the error of the stack.
    pub async fn pass(self, mut requests: EchoRequests) -> io::Result<()> {
        let mut v4 = Passing::new(Some(self.v4))?;
        let mut v6 = Passing::new(self.v6)?;
        let [mut of_v4, mut of_v6] = [(); 2].map(|()| vec![0; MESSAGE_MAX]);
        loop {
            let expiry = [&v4, &v6].into_iter().filter_map(Passing::expiry).min();
            let expiry = expiry.map(Instant::from_std);
            tokio::select! {
                request = requests.next() => {
                    let request = request?;
                    match request.destination() {
                        IpAddr::V4(_) => v4.pass(request).await,
                        IpAddr::V6(_) => v6.pass(request).await,
                    }
                }
                received = v4.receive(&mut of_v4) => v4.take_reply(received, &of_v4).await,
                received = v6.receive(&mut of_v6) => v6.take_reply(received, &of_v6).await,
                () = sleep_until(expiry.unwrap_or_else(Instant::now)), if expiry.is_some() => {}
            }
            let now = std::time::Instant::now();
            v4.outstanding.expire(now);
            v6.outstanding.expire(now);
        }
    }
}

/// The requests of one version of IP.
struct Passing {
    socket: Option<UdpSocket>,
    is_raw: bool,
    /// Identifier of the requests that a raw socket sends.
    ident: u16,
    outstanding: Outstanding<EchoRequest>,
}

impl Passing {
    fn new(opened: Option<EchoSocket>) -> io::Result<Self> {
        let is_raw = opened.as_ref().is_some_and(|opened| opened.is_raw);
        let socket = opened.map(|opened| UdpSocket::from_std(opened.socket.into()));
        Ok(Self {
            socket: socket.transpose()?,
            is_raw,
            ident: RandomState::new().hash_one(0) as u16,
            outstanding: Outstanding::new(OUTSTANDING_MAX, REPLY_TIMEOUT),
        })
    }

    fn expiry(&self) -> Option<std::time::Instant> {
        self.outstanding.expiry()
    }

    /// Sends a request to its destination. If the kernel has no way there, the peer gets an ICMP error.
    async fn pass(&mut self, request: EchoRequest) {
        let Some(socket) = &self.socket else {
            return request.refuse(Refusal::Network);
        };
        let to = request.destination();
        let mut message = vec![0; Icmpv4Message::LEN];
        message.extend(request.data());
        let now = std::time::Instant::now();
        let Some(seq) = self.outstanding.add(to, request, now) else {
            return;
        };
        write_header(&mut message, to, (self.ident, seq));
        let sent = socket.send_to(&message, SocketAddr::new(to, 0)).await;
        if let Err(error) = sent
            && let Some(request) = self.outstanding.take_if(seq, to, |_| true)
        {
            match refusal_of(&error) {
                // There are no ports to be refused.
                Refusal::Port => request.refuse(Refusal::Host),
                refusal => request.refuse(refusal),
            }
        }
    }

    /// Waits for a message; forever if there is no socket.
    async fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        match &self.socket {
            Some(socket) => socket.recv_from(buffer).await,
            None => std::future::pending().await,
        }
    }

    /// Answers the request to which a message is the reply. Other messages are ignored, and so is an
    /// error, which the kernel reports once, for example while the interface is down.
    async fn take_reply(&mut self, received: io::Result<(usize, SocketAddr)>, buffer: &[u8]) {
        let Ok((len, from)) = received else {
            return;
        };
        let Some((ident, seq, data)) = reply_in(&buffer[..len], from.ip(), self.is_raw) else {
            return;
        };
        let is_own = !self.is_raw || ident == self.ident;
        let has_data = |request: &EchoRequest| request.data() == data;
        if is_own && let Some(request) = self.outstanding.take_if(seq, from.ip(), has_data) {
            // The answer fails only if the stack stopped, or its queue is too short for any such
            // answer. The peer's ping shows the loss.
            let _ = request.answer().await;
        }
    }
}

/// Writes the header of an echo request to the start of `message`. The kernel computes the checksum
/// of ICMPv6, which depends on the source address.
fn write_header(message: &mut [u8], to: IpAddr, (ident, seq): (u16, u16)) {
    let (header, data) = message.split_at_mut(Icmpv4Message::LEN);
    let sum = Checksum::of(data);
    match to {
        IpAddr::V4(_) => Icmpv4Message::EchoRequest { ident, seq }.write(header, sum),
        IpAddr::V6(to) => {
            let ends = (Ipv6Addr::UNSPECIFIED, to);
            Icmpv6Message::EchoRequest { ident, seq }.write(header, ends, sum);
        }
    }
}

/// Returns identifier, sequence number and data of the echo reply in `message`; `None` if it is
/// another message. The kernel has checked the checksum. A raw IPv4 socket delivers the IPv4 header, too.
fn reply_in(message: &[u8], from: IpAddr, is_raw: bool) -> Option<(u16, u16, &[u8])> {
    match from {
        IpAddr::V4(_) => {
            let header = match is_raw {
                true => usize::from(message.first()? & 0x0f) * 4,
                false => 0,
            };
            let message = message.get(header..)?;
            match Icmpv4Message::parse(message, ChecksumPolicy::Trust) {
                Ok((Icmpv4Message::EchoReply { ident, seq }, data)) => Some((ident, seq, data)),
                Ok(_) | Err(_) => None,
            }
        }
        IpAddr::V6(from) => {
            let ends = (from, Ipv6Addr::UNSPECIFIED);
            match Icmpv6Message::parse(message, ends, ChecksumPolicy::Trust) {
                Ok((Icmpv6Message::EchoReply { ident, seq }, data)) => Some((ident, seq, data)),
                Ok(_) | Err(_) => None,
            }
        }
    }
}

#[cfg(test)]
mod tests;
