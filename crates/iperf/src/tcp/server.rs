//! The TCP server: counts what clients send, and sends what reversed tests ask for.
//!
//! Rule: a few connections are served at a time, and later ones wait in the listener's backlog. The
//! connection of a client that is silent for ten seconds is aborted, to free its memory.

use core::net::SocketAddr;

use fullpipe::{Instant, ListenOptions, ListenerId, OpenError, Read, Stack};

use super::{Flow, Head, Sent};
use crate::{
    failure::Failure,
    header::{CLIENT_LEN, ClientHeader, acknowledgement},
    report::TestKind,
    tester::{Event, Remaining, SILENCE, Tester},
};

/// Connections that are served at a time.
const FLOWS: usize = 4;

/// A TCP server.
#[derive(Debug)]
pub struct TcpServer {
    listener: ListenerId,
    served: [Option<Served>; FLOWS],
}

#[derive(Debug)]
struct Served {
    flow: Flow,
    role: Role,
}

#[derive(Debug)]
enum Role {
    Receiving(Head),
    Sending(Remaining, usize),
    /// All payload of a reversed test is written; the client's FIN has not arrived.
    Draining,
}

impl TcpServer {
    /// Returns a server that listens on `local`.
    ///
    /// # Errors
    /// See [`Stack::tcp_listen`].
    pub fn new(local: SocketAddr, stack: &mut Stack) -> Result<Self, OpenError> {
        let listener = stack.tcp_listen(local, ListenOptions::default())?;
        Ok(Self {
            listener,
            served: [const { None }; FLOWS],
        })
    }
}

impl Served {
    /// Does what can be done now. Returns the test's result if it has ended.
    fn poll(&mut self, stack: &mut Stack, now: Instant) -> Option<Event> {
        let kind = match self.role {
            Role::Receiving(_) => TestKind::TcpReceived,
            Role::Sending(..) | Role::Draining => TestKind::TcpSent,
        };
        let end = match self.step(stack, now) {
            Ok(true) => None,
            Ok(false) => return None,
            Err(failure) => Some(failure),
        };
        Some(self.flow.end(kind, end, stack, now))
    }

    /// Does what can be done now. Returns true if the test has ended.
    fn step(&mut self, stack: &mut Stack, now: Instant) -> Result<bool, Failure> {
        let refused = Failure::Connection;
        let Self { flow, role } = self;
        match role {
            Role::Receiving(head) => {
                let read = flow.receive(head, stack, now).map_err(refused)?;
                if read == Read::End {
                    return Ok(true);
                }
                let header = match head.len {
                    CLIENT_LEN => head.bytes.and_then(|bytes| ClientHeader::parse(&bytes)),
                    _ => None,
                };
                if let Some(header) = header {
                    // Overwrite the header with zeros, which no later read parses as a header.
                    head.bytes = Some([0; CLIENT_LEN]);
                    if header.wants_ack {
                        stack
                            .tcp_write(flow.id, &acknowledgement(), now)
                            .map_err(refused)?;
                    }
                    if header.reverse {
                        *flow = Flow::new(flow.id, flow.peer, now);
                        let length = match header.length {
                            0 => super::WRITE_MAX,
                            length => length as usize,
                        };
                        *role = Role::Sending(Remaining::new(header.amount, now), length);
                        return self.step(stack, now);
                    }
                }
            }
            Role::Sending(remaining, length) => {
                let sent = flow.send(remaining, *length, stack, now).map_err(refused)?;
                // Do not count silence while sending: without ACKs the stack ends the connection.
                flow.last_arrival = now;
                if let Sent::All = sent {
                    stack.tcp_shutdown(flow.id, now).map_err(refused)?;
                    *role = Role::Draining;
                }
            }
            Role::Draining => {
                if flow.drain(stack, now)? {
                    return Ok(true);
                }
            }
        }
        if self.flow.is_silent(now) {
            return Err(Failure::Silence);
        }
        Ok(false)
    }

    /// Returns the time of the next call if no frame arrives before it.
    fn wake(&self) -> Instant {
        let silence = self.flow.last_arrival + SILENCE;
        match &self.role {
            Role::Sending(remaining, _) => remaining.end.map_or(silence, |end| end.min(silence)),
            Role::Receiving(_) | Role::Draining => silence,
        }
    }
}

impl Tester for TcpServer {
    fn poll(&mut self, stack: &mut Stack, now: Instant) -> Event {
        for slot in &mut self.served {
            if slot.is_none()
                && let Ok(Some((id, peer))) = stack.tcp_accept(self.listener, now)
            {
                *slot = Some(Served {
                    flow: Flow::new(id, peer, now),
                    role: Role::Receiving(Head::default()),
                });
            }
            if let Some(served) = slot
                && let Some(end) = served.poll(stack, now)
            {
                *slot = None;
                return end;
            }
        }
        Event::Waits(self.served.iter().flatten().map(Served::wake).min())
    }
}
