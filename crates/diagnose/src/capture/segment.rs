//! One TCP segment as a capture shows it, and the connection to which it belongs.
//!
//! Rule: a segment is a value of fixed size that owns no memory. Its numbers are copied from the
//! headers: sequence numbers wrap and windows are not scaled.

use std::{
    fmt,
    hash::{Hash, Hasher},
    net::{IpAddr, SocketAddr},
};

use fullpipe_wire::{Ecn, TcpFlags, TcpOptions};

/// One of the two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// The end with the lower address and port: [`FlowKey::a`].
    A,
    /// The end with the higher address and port: [`FlowKey::b`].
    B,
}

impl End {
    /// Both ends, in order.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// The other end.
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// 0 for [`A`](Self::A), 1 for [`B`](Self::B): the index into a pair.
    pub const fn index(self) -> usize {
        match self {
            Self::A => 0,
            Self::B => 1,
        }
    }
}

/// The addresses and ports of a connection. The key is the same for both directions.
///
/// IPv4 addresses come before IPv6 addresses; within a family, addresses are ordered by value. Flow
/// label and scope of an IPv6 address are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowKey {
    /// The lower address and port.
    pub a: SocketAddr,
    /// The higher address and port. It equals `a` only if a socket is connected to itself.
    pub b: SocketAddr,
}

impl FlowKey {
    /// Returns the connection of a segment from `source` to `destination`, and the end that
    /// sent the segment.
    pub fn of(source: SocketAddr, destination: SocketAddr) -> (Self, End) {
        if source <= destination {
            let (a, b) = (source, destination);
            (Self { a, b }, End::A)
        } else {
            let (a, b) = (destination, source);
            (Self { a, b }, End::B)
        }
    }

    /// Address and port of `end`.
    pub const fn address(&self, end: End) -> SocketAddr {
        match end {
            End::A => self.a,
            End::B => self.b,
        }
    }
}

/// Hashes a word for each IPv4 end, and two words and the port for each IPv6 end; the derived
/// implementation takes five steps for each. Different keys hash different words: a word that joined
/// port and IPv6 address would let a capture have many connections with one hash.
impl Hash for FlowKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for end in [self.a, self.b] {
            match end.ip() {
                IpAddr::V4(ip) => {
                    state.write_u64(u64::from(ip.to_bits()) << 16 | u64::from(end.port()));
                }
                IpAddr::V6(ip) => {
                    let bits = ip.to_bits();
                    state.write_u64(bits as u64);
                    state.write_u64((bits >> 64) as u64);
                    state.write_u16(end.port());
                }
            }
        }
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} - {}", self.a, self.b)
    }
}

/// Relation of a frame to the host that captured it. Only Linux cooked captures and pcapng files
/// with packet flags record it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passage {
    /// The capturing host sent the frame.
    Sent,
    /// The capturing host received the frame.
    Received,
    /// The frame was neither from nor to the capturing host.
    Overheard,
}

/// A TCP segment as a capture shows it. RFC 9293 §3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Time of the capture, in nanoseconds since the Unix epoch. A time that would be earlier than
    /// the previous segment's is changed, so that times never decrease.
    pub at_ns: i64,
    /// The end that sent the segment.
    pub from: End,
    /// SEG.SEQ: sequence number of the first payload byte, or of SYN.
    pub seq: u32,
    /// SEG.ACK; has no meaning without the ACK flag.
    pub ack: u32,
    /// Control bits.
    pub flags: TcpFlags,
    /// SEG.WND as sent, before scaling.
    pub window: u16,
    /// Urgent pointer; has no meaning without the URG flag.
    pub urgent: u16,
    /// Payload in bytes, computed from the lengths in the IP and TCP headers and independent of the
    /// snap length. The payload exceeds the MSS if the capture has segments before segmentation
    /// offload splits them.
    pub payload: u32,
    /// Options. If the capture cut them, some are missing: see [`options_cut`](Self::options_cut).
    pub options: TcpOptions,
    /// True if the options are incomplete: the captured bytes end inside them, or an option has an
    /// impossible length. The segment may have had options that are missing here.
    pub options_cut: bool,
    /// True if the IP packet was fragmented and this is its first fragment. `payload` then counts
    /// only the bytes of this fragment. Later fragments have no TCP header and give no segment.
    pub is_fragment: bool,
    /// ECN codepoint of the IP header. RFC 3168 §5.
    pub ecn: Ecn,
    /// Time to live, or the hop limit of IPv6.
    pub ttl: u8,
    /// Identification of the IPv4 header; `None` for IPv6, which has none.
    pub ip_id: Option<u16>,
    /// Length of the frame in bytes before it was cut to the snap length, link header included.
    pub frame_len: u32,
    /// Relation of the frame to the capturing host; `None` if the capture does not record it.
    pub passage: Option<Passage>,
}

impl Segment {
    /// A segment without payload, flags or options, from [`End::A`], at time 0.
    pub const EMPTY: Self = Self {
        at_ns: 0,
        from: End::A,
        seq: 0,
        ack: 0,
        flags: TcpFlags::NONE,
        window: 0,
        urgent: 0,
        payload: 0,
        options: TcpOptions::NONE,
        options_cut: false,
        is_fragment: false,
        ecn: Ecn::NotEct,
        ttl: 0,
        ip_id: None,
        frame_len: 0,
        passage: None,
    };

    /// SEG.LEN: payload bytes, plus one for SYN and one for FIN.
    pub const fn sequence_len(&self) -> u32 {
        let syn = self.flags.contains(TcpFlags::SYN) as u32;
        let fin = self.flags.contains(TcpFlags::FIN) as u32;
        self.payload.wrapping_add(syn + fin)
    }

    /// Sequence number just past the segment.
    pub const fn end_seq(&self) -> u32 {
        self.seq.wrapping_add(self.sequence_len())
    }

    /// Returns the acknowledgment number if the segment has one.
    pub const fn acknowledges(&self) -> Option<u32> {
        if self.flags.contains(TcpFlags::ACK) {
            Some(self.ack)
        } else {
            None
        }
    }
}

/// An analysis is created at the first segment of a connection. It takes every segment of the
/// connection in the order of the capture: both directions together, and without duplicated frames.
/// It returns its outcome when the connection or the capture ends, and keeps its memory until then.
pub trait Analysis {
    /// Result for a connection.
    type Outcome;

    /// Takes the next segment.
    fn on_segment(&mut self, segment: &Segment);

    /// Returns the result. `end_ns` is the time of the last frame that was read, of any connection.
    fn conclude(self, end_ns: i64) -> Self::Outcome;
}
