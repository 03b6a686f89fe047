//! The capture of a run, as seen from three places.
//!
//! The simulator captures at both hosts. For a capture in the middle of the path, each time in one
//! host's capture is moved by the propagation delay from that host to the middle. A frame from the
//! host passes the middle later than it left the host, and a frame to the host passes the middle
//! before it arrives.
//!
//! Rule: this file reads only the captured frames, and no other result of the run.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
};

use fullpipe_diagnose::capture::{FlowKey, Segment};
use fullpipe_wire::{
    ChecksumPolicy, EtherType, EthernetHeader, Ipv4Header, Ipv6Header, Protocol, TcpHeader,
};

/// The place of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum View {
    /// At the host that sends the payload.
    Sender,
    /// On the path.
    Middle,
    /// At the host that receives the payload.
    Receiver,
}

impl View {
    /// Every place.
    pub const ALL: [Self; 3] = [Self::Sender, Self::Middle, Self::Receiver];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Middle => "middle",
            Self::Receiver => "receiver",
        }
    }
}

/// A writer into shared memory.
#[derive(Clone, Debug, Default)]
pub struct Captured(Arc<Mutex<Vec<u8>>>);

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.0.lock().expect("no writer panicked");
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A segment at a host: the host's interface, true if the host sent the segment, and the segment.
type AtHost = (usize, bool, Segment);

impl Captured {
    /// The segments at both hosts.
    fn segments(&self) -> Vec<AtHost> {
        let bytes = self.0.lock().expect("no writer panicked");
        let mut rest = &bytes[..];
        let mut all = Vec::new();
        while let Some((kind, block, next)) = block(rest) {
            if kind == 6 {
                all.extend(packet(block));
            }
            rest = next;
        }
        all
    }

    /// The segments of the run as seen from `view`. Hosts are numbered by their interface; the
    /// sender of the payload is host 0. For a view from the middle, `host` is the nearer host, and
    /// `shift_ns` is the propagation delay from that host.
    pub fn seen_from(&self, view: View, host: usize, shift_ns: i64) -> Vec<Segment> {
        let (host, shift_ns) = match view {
            View::Sender => (0, 0),
            View::Receiver => (1, 0),
            View::Middle => (host, shift_ns),
        };
        let at_host = self.segments().into_iter().filter(|one| one.0 == host);
        let mut seen: Vec<Segment> = at_host
            .map(|(_, left, segment)| {
                let shift_ns = if left { shift_ns } else { -shift_ns };
                let at_ns = segment.at_ns + shift_ns;
                Segment { at_ns, ..segment }
            })
            .collect();
        seen.sort_by_key(|segment| segment.at_ns);
        seen
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

/// Splits off the next block of a pcapng file: its kind, its body, and the bytes after it.
fn block(bytes: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let (kind, len) = (u32_at(bytes, 0)?, u32_at(bytes, 4)? as usize);
    let body = bytes.get(8..len.checked_sub(4)?)?;
    Some((kind, body, bytes.get(len..)?))
}

/// The segment of an enhanced packet block.
fn packet(body: &[u8]) -> Option<AtHost> {
    let interface = u32_at(body, 0)? as usize;
    let at_ns = i64::from(u32_at(body, 4)?) << 32 | i64::from(u32_at(body, 8)?);
    let len = u32_at(body, 12)? as usize;
    let frame = body.get(20..20 + len)?;
    let options = body.get(20 + len.next_multiple_of(4)..)?;
    let left = u32_at(options, 4)? & 3 == 2;
    let (ethernet, packet) = EthernetHeader::parse(frame).ok()?;
    let ([source, destination], body) = match ethernet.ether_type {
        EtherType::Ipv4 => ipv4(packet),
        EtherType::Ipv6 => ipv6(packet),
        _ => None,
    }?;
    let (tcp, payload) = TcpHeader::parse(body).ok()?;
    let source = SocketAddr::new(source, tcp.src_port);
    let destination = SocketAddr::new(destination, tcp.dst_port);
    let (_, from) = FlowKey::of(source, destination);
    let segment = Segment {
        at_ns,
        from,
        seq: tcp.seq,
        ack: tcp.ack,
        flags: tcp.flags,
        window: tcp.window,
        payload: payload.len() as u32,
        options: tcp.options,
        frame_len: len as u32,
        ..Segment::EMPTY
    };
    Some((interface, left, segment))
}

/// Source, destination and segment of an IPv4 packet with a whole TCP segment.
fn ipv4(packet: &[u8]) -> Option<([IpAddr; 2], &[u8])> {
    let (ip, body) = Ipv4Header::parse(packet, ChecksumPolicy::Trust).ok()?;
    let is_whole = ip.protocol == Protocol::Tcp && !ip.is_fragment();
    is_whole.then(|| ([ip.src.into(), ip.dst.into()], body))
}

/// Source, destination and segment of an IPv6 packet without extension headers.
fn ipv6(packet: &[u8]) -> Option<([IpAddr; 2], &[u8])> {
    let (ip, body) = Ipv6Header::parse(packet).ok()?;
    (ip.protocol() == Protocol::Tcp).then(|| ([ip.src.into(), ip.dst.into()], body))
}
