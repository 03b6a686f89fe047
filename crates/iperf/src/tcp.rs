//! TCP: the client, and a server that serves a few connections at a time.
//!
//! Rule: a tester has no buffer for payload. Senders write from one constant. Receivers count the
//! bytes in the stack's blocks, and copy only the first bytes, which may be a header.

mod client;
mod server;

pub use client::TcpClient;
pub use server::TcpServer;

use core::net::SocketAddr;

use fullpipe::{ConnectionId, Instant, Read, Stack, TcpError};

use crate::{
    failure::Failure,
    header::CLIENT_LEN,
    report::{Limits, Report, TestKind},
    tally::Tally,
    tester::{Event, Remaining, SILENCE},
};

/// Bytes of the largest write.
const WRITE_MAX: usize = 16 * 1024;

/// iperf's payload, `0123456789` repeated.
static PAYLOAD: [u8; WRITE_MAX] = {
    let mut payload = [0; WRITE_MAX];
    let mut at = 0;
    while at < WRITE_MAX {
        payload[at] = b'0' + (at % 10) as u8;
        at += 1;
    }
    payload
};

/// One stream of a test.
#[derive(Debug)]
struct Flow {
    id: ConnectionId,
    peer: SocketAddr,
    started: Instant,
    last_arrival: Instant,
    tally: Tally,
    /// Bytes of the present write that were accepted; 0 between writes.
    written: usize,
    /// True if the last write was refused.
    is_blocked: bool,
}

/// The progress of a sender.
enum Sent {
    /// The whole amount was written.
    All,
    /// The send buffer is full.
    Blocked,
}

impl Flow {
    fn new(id: ConnectionId, peer: SocketAddr, now: Instant) -> Self {
        Self {
            id,
            peer,
            started: now,
            last_arrival: now,
            tally: Tally::default(),
            written: 0,
            is_blocked: false,
        }
    }

    /// Writes as much of `remaining` as the stack accepts, in writes of `length` bytes. After a
    /// refused write, returns [`Sent::Blocked`] without another attempt until the connection is
    /// writable: repeated writes would always give the stack work, and the processor would never
    /// sleep.
    fn send(
        &mut self,
        remaining: &mut Remaining,
        length: usize,
        stack: &mut Stack,
        now: Instant,
    ) -> Result<Sent, TcpError> {
        loop {
            let rest = length.clamp(1, WRITE_MAX) - self.written;
            let wanted = remaining.next_length(rest, now);
            if wanted == 0 {
                return Ok(Sent::All);
            }
            if self.is_blocked && !stack.tcp_ready(self.id, now)?.writable {
                return Ok(Sent::Blocked);
            }
            let payload = &PAYLOAD[self.written..self.written + wanted];
            let taken = stack.tcp_write(self.id, payload, now)?;
            self.is_blocked = taken == 0;
            if self.is_blocked {
                return Ok(Sent::Blocked);
            }
            self.tally.moved(taken);
            remaining.subtract(taken);
            self.written = if taken < rest {
                self.written + taken
            } else {
                0
            };
        }
    }

    /// Reads and counts all that has arrived. The first bytes of the stream are copied to `head`.
    fn receive(
        &mut self,
        head: &mut Head,
        stack: &mut Stack,
        now: Instant,
    ) -> Result<Read, TcpError> {
        loop {
            let mut take = |piece: &[u8]| {
                head.add(piece);
                piece.len()
            };
            match stack.tcp_read_with(self.id, &mut take, now)? {
                Read::Data(bytes) => {
                    self.tally.moved(bytes);
                    self.last_arrival = now;
                }
                end @ (Read::Empty | Read::End) => return Ok(end),
            }
        }
    }

    /// Reads what the peer still sends, without counting it. Returns true at the peer's FIN.
    ///
    /// While payload is unacknowledged, the peer does not count as silent: the stack retransmits the
    /// payload, and ends the connection itself if no ACK arrives.
    fn drain(&mut self, stack: &mut Stack, now: Instant) -> Result<bool, Failure> {
        let sent = self.tally;
        let read = self.receive(&mut Head::default(), stack, now);
        self.tally = sent;
        let info = stack.tcp_info(self.id, now);
        if info.is_ok_and(|info| info.send_queue > 0) {
            self.last_arrival = now;
        }
        Ok(read.map_err(Failure::Connection)? == Read::End)
    }

    fn is_silent(&self, now: Instant) -> bool {
        now.since(self.last_arrival) >= SILENCE
    }

    /// Closes the connection, with a reset after a failure, and reports the test.
    fn end(
        &self,
        kind: TestKind,
        failure: Option<Failure>,
        stack: &mut Stack,
        now: Instant,
    ) -> Event {
        let limits = stack
            .tcp_info(self.id, now)
            .ok()
            .map(|info| Limits::from(&info));
        // The call fails if the peer's last ACK or reset has already ended the connection.
        let _ = match failure {
            None => stack.tcp_close(self.id, now),
            Some(_) => stack.tcp_abort(self.id, now),
        };
        Event::Ended(Report {
            kind,
            peer: self.peer,
            span: self.tally.whole(now.since(self.started).into()),
            at_peer: None,
            limits,
            failure,
        })
    }
}

/// The first bytes of a stream, which may be a client's header.
#[derive(Debug, Default)]
struct Head {
    bytes: Option<[u8; CLIENT_LEN]>,
    len: usize,
}

impl Head {
    fn add(&mut self, piece: &[u8]) {
        let bytes = self.bytes.get_or_insert([0; CLIENT_LEN]);
        let place = &mut bytes[self.len..];
        let len = piece.len().min(place.len());
        place[..len].copy_from_slice(&piece[..len]);
        self.len += len;
    }
}
