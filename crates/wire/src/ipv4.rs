//! The IPv4 header. RFC 791.
//!
//! The one rule: the returned payload is exactly as long as the header claims, so link
//! padding never reaches a protocol. Options are skipped, never kept and never written.
//! Routing, reassembly and the checks of addresses are left to upper layers.

use core::net::Ipv4Addr;

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::checksum::{Checksum, ChecksumPolicy};
use crate::error::WireError;

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET_MASK: u16 = 0x1fff;

/// The protocol of an IP packet's payload; IPv4 and IPv6 share its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// 1, ICMP for IPv4.
    Icmp,
    /// 6.
    Tcp,
    /// 17.
    Udp,
    /// 58, ICMP for IPv6.
    Icmpv6,
    /// Anything else.
    Other(u8),
}

impl Protocol {
    /// Returns the protocol with this number.
    pub const fn of(number: u8) -> Self {
        match number {
            1 => Self::Icmp,
            6 => Self::Tcp,
            17 => Self::Udp,
            58 => Self::Icmpv6,
            other => Self::Other(other),
        }
    }
}

impl From<u8> for Protocol {
    fn from(value: u8) -> Self {
        Self::of(value)
    }
}

impl From<Protocol> for u8 {
    fn from(value: Protocol) -> Self {
        match value {
            Protocol::Icmp => 1,
            Protocol::Tcp => 6,
            Protocol::Udp => 17,
            Protocol::Icmpv6 => 58,
            Protocol::Other(other) => other,
        }
    }
}

/// Explicit congestion notification, the low two bits of the traffic class.
/// RFC 3168 §5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not-ECT: the sender does not use ECN.
    #[default]
    NotEct = 0,
    /// ECT(1).
    Ect1 = 1,
    /// ECT(0).
    Ect0 = 2,
    /// CE: a router on the path is congested.
    Ce = 3,
}

impl Ecn {
    pub(crate) const fn from_low_bits(value: u8) -> Self {
        match value & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            3.. => Self::Ce,
        }
    }
}

const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;
const LOOSE_SOURCE_ROUTE: u8 = 131;
const STRICT_SOURCE_ROUTE: u8 = 137;

/// An IPv4 header without its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv4Header {
    /// Differentiated services code point, 0 to 63. RFC 2474.
    pub dscp: u8,
    /// Congestion notification.
    pub ecn: Ecn,
    /// Bytes of header and payload. [`Ipv4Header::write`] writes `payload_len() + 20`.
    pub total_len: u16,
    /// Identifies the datagram that a fragment belongs to.
    pub identification: u16,
    /// Routers must not fragment this packet.
    pub dont_fragment: bool,
    /// This is not the last fragment of its datagram.
    pub more_fragments: bool,
    /// Offset of the payload in the datagram, in bytes; a multiple of 8.
    pub fragment_offset: u16,
    /// Hops left.
    pub ttl: u8,
    /// Protocol of the payload.
    pub protocol: Protocol,
    /// Address of the sender.
    pub src: Ipv4Addr,
    /// Address of the receiver.
    pub dst: Ipv4Addr,
    /// Bytes of the parsed header, options included: 20 to 60. [`Ipv4Header::write`]
    /// writes 20.
    pub header_len: u8,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Layout {
    version_ihl: u8,
    traffic_class: u8,
    total_len: U16,
    identification: U16,
    flags_offset: U16,
    ttl: u8,
    protocol: u8,
    checksum: U16,
    src: [u8; 4],
    dst: [u8; 4],
}

impl Ipv4Header {
    /// Bytes of a header without options, the only kind written.
    pub const LEN: usize = size_of::<Layout>();
    /// The largest payload a header without options can announce.
    pub const MAX_PAYLOAD_LEN: usize = u16::MAX as usize - Self::LEN;

    /// Returns a header for a whole datagram that may be fragmented: TTL 64, DSCP and
    /// identification 0, and no ECN.
    ///
    /// # Panics
    /// Panics if `payload_len` is above [`Ipv4Header::MAX_PAYLOAD_LEN`].
    pub fn new(src: Ipv4Addr, dst: Ipv4Addr, protocol: Protocol, payload_len: usize) -> Self {
        assert!(
            payload_len <= Self::MAX_PAYLOAD_LEN,
            "{payload_len} bytes do not fit an IPv4 packet"
        );
        Self {
            dscp: 0,
            ecn: Ecn::NotEct,
            total_len: (Self::LEN + payload_len) as u16,
            identification: 0,
            dont_fragment: false,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol,
            src,
            dst,
            header_len: Self::LEN as u8,
        }
    }

    /// Reads the header; returns it with its payload, cut to `total_len`.
    ///
    /// # Errors
    /// Returns `Truncated`, `BadVersion`, `BadHeaderLength`, `BadChecksum` (unless `checksum` is
    /// [`ChecksumPolicy::Trust`]), `BadLength` when the lengths contradict each other or a fragment
    /// would end past 65,535 bytes.
    pub fn parse(packet: &[u8], checksum: ChecksumPolicy) -> Result<(Self, &[u8]), WireError> {
        let (header, options_end) = Self::parse_header(packet)?;
        // The checksum is checked before the total length, so that a bit flipped in the
        // length counts as a bad checksum.
        let is_valid = || match <&[u8; Self::LEN]>::try_from(options_end.header) {
            Ok(header) => Checksum::of_array(header).is_valid(),
            Err(_) => Checksum::of(options_end.header).is_valid(),
        };
        if checksum == ChecksumPolicy::Verify && !is_valid() {
            return Err(WireError::BadChecksum);
        }
        if header.total_len < u16::from(header.header_len) {
            return Err(WireError::BadLength);
        }
        let payload_len = header.payload_len();
        let payload = options_end
            .rest
            .get(..payload_len)
            .ok_or(WireError::Truncated)?;
        if usize::from(header.fragment_offset) + payload_len > usize::from(u16::MAX) {
            return Err(WireError::BadLength);
        }
        Ok((header, payload))
    }

    /// Reads the header of a packet that an ICMP error quotes. The error has only the start of the
    /// packet, which may have been changed in transit (RFC 1812 §4.3.2.3). For this reason, neither
    /// the checksum nor `total_len` is checked.
    ///
    /// # Errors
    /// Returns `Truncated`, `BadVersion`, `BadHeaderLength`.
    pub fn parse_quoted(packet: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (header, split) = Self::parse_header(packet)?;
        let quoted_len = split.rest.len().min(header.payload_len());
        Ok((header, &split.rest[..quoted_len]))
    }

    /// Returns true if `options`, the header's bytes beyond the first 20, hold a loose
    /// or strict source route.
    ///
    /// # Errors
    /// Returns `BadOption` if an option's length is below its minimum or reaches beyond the header.
    /// RFC 791 §3.1.
    pub fn has_source_route(options: &[u8]) -> Result<bool, WireError> {
        let (mut found, mut rest) = (false, options);
        while let [kind, behind @ ..] = rest {
            rest = match *kind {
                END_OF_OPTIONS => return Ok(found),
                NO_OPERATION => behind,
                kind => {
                    let is_route = matches!(kind, LOOSE_SOURCE_ROUTE | STRICT_SOURCE_ROUTE);
                    let least = if is_route { 3 } else { 2 };
                    let len = usize::from(*behind.first().ok_or(WireError::BadOption)?);
                    found |= is_route;
                    rest.get(len..)
                        .filter(|_| len >= least)
                        .ok_or(WireError::BadOption)?
                }
            };
        }
        Ok(found)
    }

    fn parse_header(packet: &[u8]) -> Result<(Self, HeaderSplit<'_>), WireError> {
        let (layout, _) = Layout::ref_from_prefix(packet).map_err(|_| WireError::Truncated)?;
        if layout.version_ihl >> 4 != 4 {
            return Err(WireError::BadVersion);
        }
        let header_len = (layout.version_ihl & 0x0f) * 4;
        if usize::from(header_len) < Self::LEN {
            return Err(WireError::BadHeaderLength);
        }
        let (header_bytes, rest) = packet
            .split_at_checked(header_len.into())
            .ok_or(WireError::Truncated)?;
        let flags_offset = layout.flags_offset.get();
        let header = Self {
            dscp: layout.traffic_class >> 2,
            ecn: Ecn::from_low_bits(layout.traffic_class),
            total_len: layout.total_len.get(),
            identification: layout.identification.get(),
            dont_fragment: flags_offset & DONT_FRAGMENT != 0,
            more_fragments: flags_offset & MORE_FRAGMENTS != 0,
            fragment_offset: (flags_offset & OFFSET_MASK) * 8,
            ttl: layout.ttl,
            protocol: layout.protocol.into(),
            src: layout.src.into(),
            dst: layout.dst.into(),
            header_len,
        };
        Ok((
            header,
            HeaderSplit {
                header: header_bytes,
                rest,
            },
        ))
    }

    /// Bytes after the header and its options.
    pub const fn payload_len(&self) -> usize {
        self.total_len.saturating_sub(self.header_len as u16) as usize
    }

    /// Returns true if the packet is a fragment of a datagram.
    pub const fn is_fragment(&self) -> bool {
        self.more_fragments || self.fragment_offset != 0
    }

    /// Writes the 20-byte header, checksum included, to the start of `packet`.
    ///
    /// # Panics
    /// Panics if `packet` is shorter than 20 bytes, `dscp` is above 63, or `fragment_offset` is not
    /// a multiple of 8.
    pub fn write(&self, packet: &mut [u8]) {
        assert!(self.dscp < 64, "DSCP {} has more than six bits", self.dscp);
        assert!(
            self.fragment_offset.is_multiple_of(8),
            "fragment offset {} is not a multiple of 8",
            self.fragment_offset
        );
        let flags = if self.dont_fragment { DONT_FRAGMENT } else { 0 }
            | if self.more_fragments {
                MORE_FRAGMENTS
            } else {
                0
            };
        let mut layout = Layout {
            version_ihl: 4 << 4 | (Self::LEN / 4) as u8,
            traffic_class: self.dscp << 2 | self.ecn as u8,
            total_len: U16::new((Self::LEN + self.payload_len()) as u16),
            identification: U16::new(self.identification),
            flags_offset: U16::new(flags | (self.fragment_offset / 8)),
            ttl: self.ttl,
            protocol: self.protocol.into(),
            checksum: U16::ZERO,
            src: self.src.octets(),
            dst: self.dst.octets(),
        };
        let bytes: &[u8; Self::LEN] = zerocopy::transmute_ref!(&layout);
        layout.checksum = U16::new(Checksum::of_array(bytes).finish());
        packet[..Self::LEN].copy_from_slice(layout.as_bytes());
    }
}

/// A packet, cut at the end of its options.
struct HeaderSplit<'a> {
    header: &'a [u8],
    rest: &'a [u8],
}

#[cfg(test)]
mod tests;
