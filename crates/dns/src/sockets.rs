//! The sockets of a resolver, in a stack.
//!
//! Rule: each query has a socket of its own with a random port. The socket is closed when an answer
//! to the query no longer counts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use fullpipe::{ConnectOptions, ConnectionId, Instant, PathError, Read, Stack, UdpId};

use crate::resolver::{AttemptId, Resolver, Transmit, Transport};

/// Longest message over UDP that is read. Longer ones are cut off, and refused by the parser.
const DATAGRAM_MAX: usize = 2_048;
/// Bytes of the field with the length before each message over TCP.
const LENGTH_LEN: usize = 2;

/// The socket of one attempt.
#[derive(Debug)]
struct Socket {
    attempt: AttemptId,
    link: Link,
}

#[derive(Debug)]
enum Link {
    Udp(UdpId),
    Tcp(Exchange),
}

/// A query over TCP, and its answer.
#[derive(Debug)]
struct Exchange {
    id: ConnectionId,
    unsent: Vec<u8>,
    received: Vec<u8>,
}

/// Progress of an exchange.
enum Progress {
    Waits,
    Complete,
    Failed,
}

impl Exchange {
    /// Writes the query and reads the answer, as far as possible.
    fn advance(&mut self, stack: &mut Stack, now: Instant) -> Progress {
        if !self.unsent.is_empty() {
            match stack.tcp_write(self.id, &self.unsent, now) {
                Ok(written) => drop(self.unsent.drain(..written)),
                Err(_) => return Progress::Failed,
            }
        }
        let mut buffer = [0; 4_096];
        loop {
            if self.is_complete() {
                return Progress::Complete;
            }
            match stack.tcp_read(self.id, &mut buffer, now) {
                Ok(Read::Data(len)) => self.received.extend_from_slice(&buffer[..len]),
                Ok(Read::Empty) => return Progress::Waits,
                Ok(Read::End) | Err(_) => return Progress::Failed,
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.message().is_some()
    }

    /// Returns the message if all of it has arrived.
    fn message(&self) -> Option<&[u8]> {
        let (length, rest) = self.received.split_first_chunk::<LENGTH_LEN>()?;
        rest.get(..usize::from(u16::from_be_bytes(*length)))
    }
}

/// The open sockets of a resolver.
#[derive(Debug)]
pub(crate) struct Sockets(Vec<Socket>);

impl Sockets {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Passes everything that has arrived to the resolver.
    pub(crate) fn read(&mut self, resolver: &mut Resolver, stack: &mut Stack, now: Instant) {
        for socket in &mut self.0 {
            let attempt = socket.attempt;
            match &mut socket.link {
                Link::Udp(id) => read_datagrams(attempt, *id, resolver, (stack, now)),
                Link::Tcp(exchange) => match exchange.advance(stack, now) {
                    Progress::Waits => {}
                    Progress::Failed => resolver.on_failure(attempt, now),
                    Progress::Complete => {
                        let message = exchange.message().unwrap_or_default();
                        resolver.on_tcp_message(attempt, message, now);
                    }
                },
            }
        }
    }

    /// Sends the resolver's queries, and closes the sockets that the resolver no longer needs.
    pub(crate) fn write(&mut self, resolver: &mut Resolver, stack: &mut Stack, now: Instant) {
        while let Some(query) = resolver.poll_transmit() {
            let attempt = query.attempt;
            match open(query, stack, now) {
                Some(socket) => self.0.push(socket),
                None => resolver.on_failure(attempt, now),
            }
        }
        self.0.retain(|socket| {
            let is_open = resolver.is_open(socket.attempt);
            if !is_open {
                // If the stack no longer has the socket, there is nothing to close.
                match &socket.link {
                    Link::Udp(id) => drop(stack.udp_close(*id)),
                    Link::Tcp(exchange) => drop(stack.tcp_close(exchange.id, now)),
                }
            }
            is_open
        });
    }
}

fn read_datagrams(
    attempt: AttemptId,
    id: UdpId,
    resolver: &mut Resolver,
    (stack, now): (&mut Stack, Instant),
) {
    let mut buffer = [0; DATAGRAM_MAX];
    while resolver.is_open(attempt) {
        match stack.udp_receive(id, &mut buffer) {
            Ok(Some(received)) => {
                let bytes = &buffer[..received.copied];
                resolver.on_datagram(attempt, received.from, bytes, now);
            }
            Ok(None) => break,
            Err(_) => return resolver.on_failure(attempt, now),
        }
    }
    if let Ok(Some((_, PathError::Unreachable { .. }))) = stack.udp_take_error(id) {
        resolver.on_failure(attempt, now);
    }
}

/// Sends a query from a new socket; `None` if the stack refuses.
fn open(query: Transmit, stack: &mut Stack, now: Instant) -> Option<Socket> {
    let (attempt, server) = (query.attempt, query.server);
    let link = match query.transport {
        Transport::Udp => {
            let any: IpAddr = match server {
                SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            let source = stack.routes().source(server.ip()).unwrap_or(any);
            let id = stack.udp_bind((source, 0).into()).ok()?;
            if stack.udp_send(id, server, &query.payload) != Ok(true) {
                let _ = stack.udp_close(id);
                return None;
            }
            Link::Udp(id)
        }
        Transport::Tcp => {
            let id = stack.tcp_connect(server, None, ConnectOptions::default(), now);
            Link::Tcp(Exchange {
                id: id.ok()?,
                unsent: query.payload,
                received: Vec::new(),
            })
        }
    };
    Some(Socket { attempt, link })
}
