//! The smallest possible cost of a case: only the work that every stack must do.
//!
//! Rule: a write copies payload into frames and computes their checksums; a read verifies a frame
//! and copies its payload to the application. Every second segment is answered by an ACK, which
//! opens the sender's window. There is no protocol and no buffer. The only header field is the
//! number of acknowledged bytes. Connections exist without a handshake.

use std::time::Duration;

use fullpipe_wire::Checksum;

use crate::{
    link::Link,
    stack::{End, MTU, Read, Setup, Stack},
};

/// Bytes in place of the headers of a segment.
const HEADERS: usize = 40;
/// Bytes in place of the headers of a datagram.
const DATAGRAM_HEADERS: usize = 28;

/// Payload of a full segment, in bytes.
const SEGMENT: usize = MTU - HEADERS;

/// One host, which has one connection.
#[derive(Default)]
struct Host {
    in_flight: usize,
    /// Bytes and segments received since the last ACK.
    owed: (usize, u32),
}

impl Host {
    /// Handles the ACKs that have arrived.
    fn take_acks(&mut self, incoming: &mut Link) {
        while let Some(frame) = incoming.oldest()
            && frame.len() == HEADERS
        {
            self.on_ack(frame);
            incoming.receive();
        }
    }

    /// Handles the ACK in the first four bytes of a frame: the number of acknowledged bytes.
    fn on_ack(&mut self, frame: &[u8]) {
        assert!(Checksum::of(frame).is_valid(), "a frame has changed");
        let acknowledged = frame[..4].try_into().expect("4 bytes");
        self.in_flight -= u32::from_be_bytes(acknowledged) as usize;
    }

    /// Sends as much of `payload` as the link and a window of `buffer` bytes allow.
    fn write(&mut self, outgoing: &mut Link, buffer: usize, payload: &[u8]) -> usize {
        let mut written = 0;
        loop {
            let window = buffer - self.in_flight;
            let len = (payload.len() - written).min(SEGMENT).min(window);
            let segment = &payload[written..written + len];
            if len == 0 || !send::<HEADERS>(outgoing, self.owed.0, segment) {
                return written;
            }
            self.owed = (0, 0);
            self.in_flight += len;
            written += len;
        }
    }

    /// Reads one segment.
    fn read(&mut self, incoming: &mut Link, outgoing: &mut Link, out: &mut [u8]) -> Read {
        self.take_acks(incoming);
        let Some(frame) = incoming.receive() else {
            return Read::Empty;
        };
        self.on_ack(frame);
        let payload = &frame[HEADERS..];
        out[..payload.len()].copy_from_slice(payload);
        self.owed = (self.owed.0 + payload.len(), self.owed.1 + 1);
        if self.owed.1 == 2 {
            let (acknowledged, _) = std::mem::take(&mut self.owed);
            assert!(send::<HEADERS>(outgoing, acknowledged, &[]), "a full link");
        }
        Read::Data(payload.len())
    }
}

/// Writes a frame with `N` bytes of headers that acknowledges `acknowledged` bytes. Returns false
/// if the link is full.
fn send<const N: usize>(outgoing: &mut Link, acknowledged: usize, payload: &[u8]) -> bool {
    let len = N + payload.len();
    let Some(frame) = outgoing.lend(len) else {
        return false;
    };
    let mut headers = [0; N];
    headers[..4].copy_from_slice(&(acknowledged as u32).to_be_bytes());
    let mut sum = Checksum::of(&headers);
    sum.copy(&mut frame[N..], payload);
    headers[N - 2..].copy_from_slice(&sum.finish().to_be_bytes());
    frame[..N].copy_from_slice(&headers);
    outgoing.send(len);
    true
}

/// Two hosts without a protocol.
pub struct Null {
    client: Host,
    server: Host,
    to_server: Link,
    to_client: Link,
    buffer: usize,
    accepted: bool,
}

impl Null {
    /// Returns a host, with the queue of frames that it receives and the queue of frames that it
    /// sends.
    fn host(&mut self, end: End) -> (&mut Host, &mut Link, &mut Link) {
        let (to_server, to_client) = (&mut self.to_server, &mut self.to_client);
        match end {
            End::Client => (&mut self.client, to_client, to_server),
            End::Server => (&mut self.server, to_server, to_client),
        }
    }
}

impl Stack for Null {
    type Stream = ();

    fn new(setup: Setup) -> Self {
        Self {
            client: Host::default(),
            server: Host::default(),
            to_server: Link::new(),
            to_client: Link::new(),
            buffer: setup.buffer,
            accepted: false,
        }
    }

    fn connect(&mut self) {}

    fn accept(&mut self) -> Option<()> {
        (!std::mem::replace(&mut self.accepted, true)).then_some(())
    }

    fn write(&mut self, end: End, (): (), payload: &[u8]) -> usize {
        let buffer = self.buffer;
        let (host, incoming, outgoing) = self.host(end);
        host.take_acks(incoming);
        host.write(outgoing, buffer, payload)
    }

    fn read(&mut self, end: End, (): (), out: &mut [u8]) -> Read {
        let (host, incoming, outgoing) = self.host(end);
        host.read(incoming, outgoing, out)
    }

    fn close(&mut self, _: End, (): ()) {}

    fn send_datagram(&mut self, payload: &[u8]) -> bool {
        send::<DATAGRAM_HEADERS>(&mut self.to_server, 0, payload)
    }

    fn receive_datagram(&mut self, out: &mut [u8]) -> Option<usize> {
        let frame = self.to_server.receive()?;
        assert!(Checksum::of(frame).is_valid(), "a frame has changed");
        let payload = &frame[DATAGRAM_HEADERS..];
        out[..payload.len()].copy_from_slice(payload);
        Some(payload.len())
    }

    fn turn(&mut self, _: End, _: Duration) -> bool {
        true
    }

    fn next_timeout(&mut self) -> Option<Duration> {
        None
    }
}
