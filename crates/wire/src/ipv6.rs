//! The IPv6 header and its extension headers. RFC 8200.
//!
//! The one rule: the returned payload is exactly as long as the header claims, so link
//! padding never reaches a protocol. Jumbograms are refused. Extension headers are read in
//! `extension`, with limits, and only the fragment header is written. Routing, reassembly and the
//! checks of addresses are left to upper layers.

use core::net::Ipv6Addr;

use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::error::WireError;
use crate::ipv4::{Ecn, Protocol};

mod extension;

pub use extension::{ChainError, FragmentHeader, HeaderChain, ParameterProblemCode};

/// Smallest MTU of an IPv6 link in bytes. RFC 8200 §5.
pub const MIN_MTU: usize = 1280;

/// An IPv6 header without extension headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6Header {
    /// Differentiated services code point, 0 to 63. RFC 2474.
    pub dscp: u8,
    /// Congestion notification.
    pub ecn: Ecn,
    /// Label that packets of one flow share, 20 bits. RFC 6437.
    pub flow_label: u32,
    /// Bytes after this header, extension headers included.
    pub payload_len: u16,
    /// Number of the next header: an extension header or a protocol.
    pub next_header: u8,
    /// Hops left.
    pub hop_limit: u8,
    /// Address of the sender.
    pub src: Ipv6Addr,
    /// Address of the receiver.
    pub dst: Ipv6Addr,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Layout {
    version_class_label: U32,
    payload_len: U16,
    next_header: u8,
    hop_limit: u8,
    src: [u8; 16],
    dst: [u8; 16],
}

impl Ipv6Header {
    /// Bytes of the header.
    pub const LEN: usize = size_of::<Layout>();
    /// The largest payload that a header can announce.
    pub const MAX_PAYLOAD_LEN: usize = u16::MAX as usize;

    /// Returns a header with hop limit 64, DSCP and flow label 0, and no ECN.
    ///
    /// # Panics
    /// If `payload_len` is above [`Ipv6Header::MAX_PAYLOAD_LEN`].
    pub fn new(src: Ipv6Addr, dst: Ipv6Addr, protocol: Protocol, payload_len: usize) -> Self {
        assert!(
            payload_len <= Self::MAX_PAYLOAD_LEN,
            "{payload_len} bytes do not fit an IPv6 packet"
        );
        Self {
            dscp: 0,
            ecn: Ecn::NotEct,
            flow_label: 0,
            payload_len: payload_len as u16,
            next_header: protocol.into(),
            hop_limit: 64,
            src,
            dst,
        }
    }

    /// Reads the header; returns it with its payload, cut to `payload_len`.
    ///
    /// # Errors
    /// `Truncated`, `BadVersion`.
    pub fn parse(packet: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (header, rest) = Self::parse_header(packet)?;
        let payload = rest.get(..header.payload_len.into());
        Ok((header, payload.ok_or(WireError::Truncated)?))
    }

    /// Reads the header of a packet that an ICMPv6 error quotes. The error has only the start of
    /// the packet, so the payload may be shorter than `payload_len`.
    ///
    /// # Errors
    /// `Truncated`, `BadVersion`.
    pub fn parse_quoted(packet: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (header, rest) = Self::parse_header(packet)?;
        let quoted_len = rest.len().min(header.payload_len.into());
        Ok((header, &rest[..quoted_len]))
    }

    /// Returns the protocol that `next_header` names. If `next_header` names an extension header,
    /// returns its number as [`Protocol::Other`].
    pub const fn protocol(&self) -> Protocol {
        Protocol::of(self.next_header)
    }

    fn parse_header(packet: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (layout, rest) = Layout::ref_from_prefix(packet).map_err(|_| WireError::Truncated)?;
        let word = layout.version_class_label.get();
        if word >> 28 != 6 {
            return Err(WireError::BadVersion);
        }
        let class = (word >> 20) as u8;
        let header = Self {
            dscp: class >> 2,
            ecn: Ecn::from_low_bits(class),
            flow_label: word & 0x000f_ffff,
            payload_len: layout.payload_len.get(),
            next_header: layout.next_header,
            hop_limit: layout.hop_limit,
            src: layout.src.into(),
            dst: layout.dst.into(),
        };
        Ok((header, rest))
    }

    /// Writes the 40-byte header to the start of `packet`.
    ///
    /// # Panics
    /// If `packet` is shorter than 40 bytes, `dscp` is above 63, or `flow_label` has more than 20
    /// bits.
    pub fn write(&self, packet: &mut [u8]) {
        assert!(self.dscp < 64, "DSCP {} has more than six bits", self.dscp);
        assert!(
            self.flow_label < 1 << 20,
            "flow label {} has more than 20 bits",
            self.flow_label
        );
        let class = self.dscp << 2 | self.ecn as u8;
        let layout = Layout {
            version_class_label: U32::new(6 << 28 | u32::from(class) << 20 | self.flow_label),
            payload_len: U16::new(self.payload_len),
            next_header: self.next_header,
            hop_limit: self.hop_limit,
            src: self.src.octets(),
            dst: self.dst.octets(),
        };
        packet[..Self::LEN].copy_from_slice(layout.as_bytes());
    }
}

/// Returns the solicited-node multicast group of `address`. RFC 4291 §2.7.1.
pub fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = address.octets();
    let low = u16::from_be_bytes([b, c]);
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), low)
}

#[cfg(test)]
mod tests;
