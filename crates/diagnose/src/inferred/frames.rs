//! Frames as the captures at the two ends of a path show them.
//!
//! Rule: a frame is recognised at the other end by its first bytes, without the fields that routers
//! change. Of each frame, only these bytes, the time, the length and a few header values are kept.

use fullpipe_wire::{
    ChecksumPolicy, EtherType, EthernetHeader, Icmpv4Message, Ipv4Header, Protocol, TcpFlags,
    TcpHeader, UnreachableCode, tcp, udp,
};

/// Number of words of 8 bytes by which a frame is recognised.
pub(crate) const WORDS: usize = 8;
/// Offset of the byte with the ECN bits in an IPv4 header; routers change it.
const ECN: usize = 1;
/// Offset of the time to live in an IPv4 header; routers change it.
const TIME_TO_LIVE: usize = 8;
/// Offset of the checksum in an IPv4 header; routers change it.
const HEADER_CHECKSUM: usize = 10;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// A TCP segment or a UDP datagram with payload.
    Payload,
    /// A TCP segment that only acknowledges.
    PureAck,
    /// An ICMP message that reports that a packet was too big. RFC 1191 §4.
    PacketTooBig,
    /// Any other frame.
    Other,
}

/// A frame that an end sent or received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenFrame {
    /// Time at which the frame passed the end, in nanoseconds.
    pub at_ns: u64,
    /// Length of the frame in bytes, link header included.
    pub len: u32,
    /// Kind of the frame. For a damaged frame, the kind follows from the headers that can be read.
    pub kind: FrameKind,
    /// Acknowledgment number; 0 if the frame has none.
    pub ack: u32,
    /// True if the frame is marked with CE. RFC 3168 §5.
    pub is_marked: bool,
    /// True if the frame's headers contradict themselves, or if a checksum is wrong.
    pub is_damaged: bool,
    /// The first bytes of the frame, by which it is recognised.
    words: [u64; WORDS],
}

impl SeenFrame {
    /// Reads an Ethernet frame that passed an end at `at_ns`.
    pub fn ethernet(at_ns: u64, frame: &[u8]) -> Self {
        let mut seen = Self {
            at_ns,
            len: u32::try_from(frame.len()).unwrap_or(u32::MAX),
            kind: FrameKind::Other,
            ack: 0,
            is_marked: false,
            is_damaged: false,
            words: words(frame),
        };
        if let Ok((header, packet)) = EthernetHeader::parse(frame)
            && header.ether_type == EtherType::Ipv4
        {
            seen.is_marked = packet.get(ECN).is_some_and(|byte| byte & 0b11 == 0b11);
            seen.is_damaged = seen.read(packet).is_none();
        }
        seen
    }

    /// Reads the headers of `packet`; `None` if it is damaged.
    fn read(&mut self, packet: &[u8]) -> Option<()> {
        let (ip, body) = Ipv4Header::parse(packet, ChecksumPolicy::Verify).ok()?;
        if ip.is_fragment() {
            self.kind = FrameKind::Payload;
            return Some(());
        }
        let (src, dst) = (ip.src.into(), ip.dst.into());
        match ip.protocol {
            Protocol::Tcp => {
                let (header, payload) = TcpHeader::parse(body).ok()?;
                let [acknowledges, syn, fin, reset] =
                    [TcpFlags::ACK, TcpFlags::SYN, TcpFlags::FIN, TcpFlags::RST]
                        .map(|flag| header.flags.contains(flag));
                self.ack = header.ack;
                self.kind = match (payload.is_empty(), syn || fin || reset) {
                    (false, _) => FrameKind::Payload,
                    (true, false) if acknowledges => FrameKind::PureAck,
                    (true, _) => FrameKind::Other,
                };
                tcp::verify_checksum(body, src, dst).ok()
            }
            Protocol::Udp => {
                self.kind = FrameKind::Payload;
                udp::verify_checksum(body, src, dst).ok()
            }
            Protocol::Icmp => {
                let (message, _) = Icmpv4Message::parse(body, ChecksumPolicy::Verify).ok()?;
                if let Icmpv4Message::Unreachable {
                    code: UnreachableCode::FragmentationNeeded,
                    ..
                } = message
                {
                    self.kind = FrameKind::PacketTooBig;
                }
                Some(())
            }
            _ => Some(()),
        }
    }

    /// Makes a frame that is recognised by the given `words` instead of its first bytes.
    pub(crate) const fn recognised(at_ns: u64, kind: FrameKind, words: [u64; WORDS]) -> Self {
        Self {
            at_ns,
            len: 0,
            kind,
            ack: 0,
            is_marked: false,
            is_damaged: false,
            words,
        }
    }

    /// The value by which the same frame is found at the other end.
    pub(crate) const fn key(&self) -> ([u64; WORDS], u32) {
        (self.words, self.len)
    }

    /// Number of bytes in which `other` differs, if it may be the same frame, damaged in one word of
    /// 8 bytes; otherwise `None`.
    pub(super) fn damaged_bytes(&self, other: &Self) -> Option<u32> {
        if self.len != other.len {
            return None;
        }
        let pairs = self.words.iter().zip(&other.words);
        let mut different = pairs
            .map(|(own, other)| own ^ other)
            .filter(|bits| *bits != 0);
        let damaged = different.next().unwrap_or_default();
        let bytes = damaged
            .to_be_bytes()
            .iter()
            .filter(|byte| **byte != 0)
            .count();
        different.next().is_none().then_some(bytes as u32)
    }
}

/// The first bytes after the link header, without the fields that routers change.
fn words(frame: &[u8]) -> [u64; WORDS] {
    let mut bytes = [0; WORDS * 8];
    let packet = frame.get(EthernetHeader::LEN..).unwrap_or_default();
    let len = packet.len().min(bytes.len());
    bytes[..len].copy_from_slice(&packet[..len]);
    let is_ipv4 = frame.get(12..14) == Some(&[0x08, 0x00]);
    if is_ipv4 {
        bytes[ECN] &= !0b11;
        bytes[TIME_TO_LIVE] = 0;
        bytes[HEADER_CHECKSUM..HEADER_CHECKSUM + 2].fill(0);
    }
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = bytes
            .iter()
            .fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
    words
}

/// The frames of one end, in the order of time.
#[derive(Clone, Debug, Default)]
pub struct EndFrames {
    /// Frames that the end sent.
    pub sent: Vec<SeenFrame>,
    /// Frames that the end received.
    pub received: Vec<SeenFrame>,
}
