//! The limit of the harness: what every stack has to do, and nothing else.
//!
//! Rule: payload is copied to the send buffer, copied and summed into a frame, verified,
//! copied to the receive buffer and copied to the application. Two segments are answered
//! by one ACK, which moves the sender's window. A datagram is copied and summed into its
//! frame, verified, and copied to the application. There is no protocol: no header is
//! written or read, and connections exist without a handshake.

use std::time::Duration;

use fullpipe_wire::Checksum;

use crate::{
    link::Link,
    stack::{End, MTU, Read, Stack},
};

/// Bytes of each frame that stand for the headers, in a segment and in a datagram.
const HEADERS: usize = 40;
const DATAGRAM_HEADERS: usize = 28;

/// Payload bytes of a full segment.
const SEGMENT: usize = MTU - HEADERS;

/// A ring of bytes.
struct Ring {
    bytes: Box<[u8]>,
    start: usize,
    len: usize,
}

impl Ring {
    fn new(bytes: usize) -> Self {
        Self {
            bytes: vec![0; bytes].into(),
            start: 0,
            len: 0,
        }
    }

    fn room(&self) -> usize {
        self.bytes.len() - self.len
    }

    /// Copies as much of `payload` as there is room for.
    fn write(&mut self, payload: &[u8]) -> usize {
        let size = self.bytes.len();
        let count = payload.len().min(self.room());
        let at = (self.start + self.len) % size;
        let first = count.min(size - at);
        self.bytes[at..at + first].copy_from_slice(&payload[..first]);
        self.bytes[..count - first].copy_from_slice(&payload[first..count]);
        self.len += count;
        count
    }

    /// The bytes from `offset` on, at most `len`, as far as they are in one piece.
    fn at(&self, offset: usize, len: usize) -> &[u8] {
        let at = (self.start + offset) % self.bytes.len();
        let len = len.min(self.len - offset).min(self.bytes.len() - at);
        &self.bytes[at..at + len]
    }

    fn advance(&mut self, count: usize) {
        self.start = (self.start + count) % self.bytes.len();
        self.len -= count;
    }
}

/// One host: one connection.
struct Host {
    send: Ring,
    /// Bytes of `send` that are in flight.
    in_flight: usize,
    receive: Ring,
    /// Bytes received since the last ACK, and segments.
    owed: (usize, u32),
}

impl Host {
    fn new(buffer: usize) -> Self {
        Self {
            send: Ring::new(buffer),
            in_flight: 0,
            receive: Ring::new(buffer),
            owed: (0, 0),
        }
    }

    /// Handles every frame of `incoming`, then sends. Returns the number of frames.
    ///
    /// A frame of headers alone is an ACK, with the number of bytes in its first four.
    fn turn(&mut self, incoming: &mut Link, outgoing: &mut Link) -> usize {
        let mut frames = 0;
        while let Some(frame) = incoming.receive() {
            frames += 1;
            assert!(Checksum::of(frame).is_valid(), "a frame has changed");
            let (headers, payload) = frame.split_at(HEADERS);
            let acknowledged = u32::from_be_bytes(headers[..4].try_into().expect("4 bytes"));
            self.send.advance(acknowledged as usize);
            self.in_flight -= acknowledged as usize;
            if payload.is_empty() {
                continue;
            }
            let count = self.receive.write(payload);
            assert_eq!(count, payload.len(), "the sender keeps to the window");
            self.owed = (self.owed.0 + count, self.owed.1 + 1);
            if self.owed.1 == 2 {
                self.acknowledge(outgoing);
                frames += 1;
            }
        }
        frames + self.transmit(outgoing)
    }

    fn acknowledge(&mut self, outgoing: &mut Link) {
        let owed = std::mem::take(&mut self.owed);
        send::<HEADERS>(outgoing, owed.0, &[]);
    }

    /// Sends what is not in flight; the send buffer is the window.
    fn transmit(&mut self, outgoing: &mut Link) -> usize {
        let mut frames = 0;
        loop {
            let payload = self.send.at(self.in_flight, SEGMENT);
            if payload.is_empty() || !send::<HEADERS>(outgoing, self.owed.0, payload) {
                return frames;
            }
            self.in_flight += payload.len();
            self.owed = (0, 0);
            frames += 1;
        }
    }
}

/// Writes a frame with `N` bytes of headers that acknowledges `acknowledged` bytes. Returns
/// false if the link is full.
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
    hosts: [Host; 2],
    to_server: Link,
    to_client: Link,
    accepted: bool,
    /// Frames are datagrams.
    datagrams: bool,
}

impl Stack for Null {
    type Stream = ();

    fn new(buffer: usize) -> Self {
        Self {
            hosts: [Host::new(buffer), Host::new(buffer)],
            to_server: Link::new(),
            to_client: Link::new(),
            accepted: false,
            datagrams: false,
        }
    }

    fn connect(&mut self) {}

    fn accept(&mut self) -> Option<()> {
        (!std::mem::replace(&mut self.accepted, true)).then_some(())
    }

    fn write(&mut self, end: End, (): (), payload: &[u8]) -> usize {
        self.hosts[end as usize].send.write(payload)
    }

    fn read(&mut self, end: End, (): (), out: &mut [u8]) -> Read {
        let ring = &mut self.hosts[end as usize].receive;
        let received = ring.at(0, out.len());
        let count = received.len();
        out[..count].copy_from_slice(received);
        ring.advance(count);
        match count {
            0 => Read::Empty,
            1.. => Read::Data(count),
        }
    }

    fn close(&mut self, _: End, (): ()) {}

    fn send_datagram(&mut self, payload: &[u8]) -> bool {
        self.datagrams = true;
        send::<DATAGRAM_HEADERS>(&mut self.to_server, 0, payload)
    }

    fn receive_datagram(&mut self, out: &mut [u8]) -> Option<usize> {
        let frame = self.to_server.receive()?;
        assert!(Checksum::of(frame).is_valid(), "a frame has changed");
        let payload = &frame[DATAGRAM_HEADERS..];
        out[..payload.len()].copy_from_slice(payload);
        Some(payload.len())
    }

    fn turn(&mut self, end: End, _: Duration) -> bool {
        if self.datagrams {
            return true;
        }
        let (to_server, to_client) = (&mut self.to_server, &mut self.to_client);
        let (incoming, outgoing) = match end {
            End::Client => (to_client, to_server),
            End::Server => (to_server, to_client),
        };
        self.hosts[end as usize].turn(incoming, outgoing) > 0
    }

    fn next_timeout(&mut self) -> Option<Duration> {
        None
    }
}
