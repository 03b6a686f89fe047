//! The capture of a run, as seen from any place of the path.
//!
//! The frames are recorded where they leave a host and where they arrive at one. A tap on the path
//! sees a frame between these two moments: some time after the frame left, if the path's faults are
//! behind the tap, or some time before the frame arrives, if the faults are before the tap. The two
//! directions of a path have separate faults, so a tap may be before the faults of one direction
//! and behind those of the other.
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

/// The moment at which a tap sees the frames of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// This many nanoseconds after a frame left its host. The tap also sees frames that are lost.
    AfterLeaving(i64),
    /// This many nanoseconds before a frame arrives. The tap does not see lost frames.
    BeforeArriving(i64),
}

/// A tap: the passage of the frames of the payload's sender, and of the frames of its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapPlace(pub [Passage; 2]);

impl TapPlace {
    /// The interface of the host that sends the payload.
    pub const SENDER: Self = Self::near(0, 0);
    /// The interface of the host that receives the payload.
    pub const RECEIVER: Self = Self::near(1, 0);
    /// The link, as `fullpipe lab run --pcap` captures it: each frame when it is put on the link.
    pub const LINK: Self = Self([Passage::AfterLeaving(0); 2]);

    /// A tap `away_ns` nanoseconds of propagation away from a host (0 sends the payload, 1 receives
    /// it), with all faults of the path between the tap and the other host.
    pub const fn near(host: usize, away_ns: i64) -> Self {
        let (own, other) = (
            Passage::AfterLeaving(away_ns),
            Passage::BeforeArriving(away_ns),
        );
        Self(if host == 0 {
            [own, other]
        } else {
            [other, own]
        })
    }

    /// Time at which the tap sees a frame that left its host (`left`) or arrived at `at_ns`. `from`
    /// is the host that sent the frame. `None` if the tap sees the frame's other passage.
    const fn sees(self, from: usize, left: bool, at_ns: i64) -> Option<i64> {
        match (self.0[from], left) {
            (Passage::AfterLeaving(ns), true) => Some(at_ns + ns),
            (Passage::BeforeArriving(ns), false) => Some(at_ns - ns),
            _ => None,
        }
    }
}

/// A writer into shared memory.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// True if the directions in the file are those of the link: a frame that a host sends arrives
    /// at the link.
    is_by_link: bool,
}

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.bytes.lock().expect("no writer panicked");
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
    /// A capture of the two ends of a link that runs in real time.
    pub fn by_link() -> Self {
        Self {
            is_by_link: true,
            ..Self::default()
        }
    }

    /// The capture file with the frames at the interface of one host (0 sends the payload, 1
    /// receives it).
    pub fn at_host(&self, host: usize) -> Vec<u8> {
        let bytes = self.bytes.lock().expect("no writer panicked");
        let (mut rest, mut file) = (&bytes[..], Vec::new());
        while let Some((kind, body, next)) = block(rest) {
            let is_elsewhere = kind == 6 && u32_at(body, 0) != Some(host as u32);
            if !is_elsewhere {
                file.extend_from_slice(&rest[..rest.len() - next.len()]);
            }
            rest = next;
        }
        file
    }

    /// The segments at both hosts.
    fn segments(&self) -> Vec<AtHost> {
        let bytes = self.bytes.lock().expect("no writer panicked");
        let mut rest = &bytes[..];
        let mut all = Vec::new();
        while let Some((kind, block, next)) = block(rest) {
            if kind == 6 {
                all.extend(packet(block, self.is_by_link));
            }
            rest = next;
        }
        all
    }

    /// The segments of the run as `tap` sees them, in the order of time. Hosts are numbered by
    /// their interface; the sender of the payload is host 0.
    pub fn seen_at(&self, tap: TapPlace) -> Vec<Segment> {
        let all = self.segments().into_iter();
        let mut seen: Vec<Segment> = all
            .filter_map(|(host, left, segment)| {
                let from = if left { host } else { 1 - host };
                let at_ns = tap.sees(from, left, segment.at_ns)?;
                Some(Segment { at_ns, ..segment })
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

/// The segment of an enhanced packet block, whose direction is that of the link if `is_by_link`.
fn packet(body: &[u8], is_by_link: bool) -> Option<AtHost> {
    let interface = u32_at(body, 0)? as usize;
    let at_ns = i64::from(u32_at(body, 4)?) << 32 | i64::from(u32_at(body, 8)?);
    let len = u32_at(body, 12)? as usize;
    let frame = body.get(20..20 + len)?;
    let options = body.get(20 + len.next_multiple_of(4)..)?;
    let is_outbound = u32_at(options, 4)? & 3 == 2;
    let left = is_outbound != is_by_link;
    let (ethernet, packet) = EthernetHeader::parse(frame).ok()?;
    let ([source, destination], body) = match ethernet.ether_type {
        EtherType::Ipv4 => ipv4(packet),
        EtherType::Ipv6 => ipv6(packet),
        EtherType::Arp | EtherType::Other(_) => None,
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

#[cfg(test)]
mod tests;
