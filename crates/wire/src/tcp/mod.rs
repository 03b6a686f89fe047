//! The TCP header. RFC 9293 §3.1.
//!
//! The one rule: a header is a value, and parsing a written header gives the same
//! value, options included. Sequence numbers are plain `u32` here; `fullpipe-tcp`
//! orders them. Parsing does not check the checksum, because the checksum covers
//! addresses and a device may have verified it. [`verify_checksum`] checks it.

mod flags;
mod options;

pub use flags::TcpFlags;
pub use options::{SackBlock, SackBlocks, TcpOptions, Timestamps};

use core::net::IpAddr;

use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::checksum::Checksum;
use crate::error::WireError;
use crate::ipv4::Protocol;

/// Offset of the checksum field in the header, in bytes.
pub const CHECKSUM_OFFSET: usize = 16;
/// Offset of the sequence number in the header, in bytes.
pub const SEQUENCE_OFFSET: usize = 4;
/// Offset of the byte with the low eight flags, PSH among them.
pub const FLAGS_OFFSET: usize = 13;

/// The header of a TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpHeader {
    /// Port of the sender.
    pub src_port: u16,
    /// Port of the receiver.
    pub dst_port: u16,
    /// SEG.SEQ: sequence number of the first payload byte, or of SYN if that bit is
    /// set.
    pub seq: u32,
    /// SEG.ACK: the next byte that the sender expects; without ACK it has no
    /// meaning.
    pub ack: u32,
    /// The control bits.
    pub flags: TcpFlags,
    /// SEG.WND as sent, before scaling.
    pub window: u16,
    /// Urgent pointer; without URG it has no meaning.
    pub urgent: u16,
    /// The options that this crate reads.
    pub options: TcpOptions,
    /// Set by [`TcpHeader::parse`] if it skipped an option with an impossible
    /// length. The segment is still valid (RFC 9293 §3.1, MUST-7), and the caller
    /// counts [`WireError::BadOption`]. [`TcpHeader::write`] ignores this field.
    pub options_malformed: bool,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Layout {
    src_port: U16,
    dst_port: U16,
    seq: U32,
    ack: U32,
    offset_flags: U16,
    window: U16,
    checksum: U16,
    urgent: U16,
}

/// The part of a segment that an ICMP error must quote: its first eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotedTcp {
    /// Port of the sender of the quoted segment.
    pub src_port: u16,
    /// Port of the receiver of the quoted segment.
    pub dst_port: u16,
    /// SEG.SEQ of the quoted segment.
    pub seq: u32,
}

impl QuotedTcp {
    /// Reads the first eight bytes of a segment quoted in an ICMP error.
    ///
    /// # Errors
    /// Returns `Truncated` if fewer than eight bytes were quoted.
    pub fn parse(segment: &[u8]) -> Result<Self, WireError> {
        let start: &[u8; 8] = segment.first_chunk().ok_or(WireError::Truncated)?;
        let [a, b, c, d, seq @ ..] = *start;
        Ok(Self {
            src_port: u16::from_be_bytes([a, b]),
            dst_port: u16::from_be_bytes([c, d]),
            seq: u32::from_be_bytes(seq),
        })
    }
}

impl TcpHeader {
    /// Bytes of a header without options.
    pub const LEN: usize = size_of::<Layout>();
    /// Bytes of the longest header.
    pub const MAX_LEN: usize = Self::LEN + TcpOptions::MAX_LEN;

    /// Reads the header and its options; returns it with the payload.
    ///
    /// The four reserved bits are ignored.
    ///
    /// # Errors
    /// Returns `Truncated` below 20 bytes; `BadHeaderLength` when the data offset is below 20 bytes
    /// or beyond the segment.
    pub fn parse(segment: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (layout, after) = Layout::ref_from_prefix(segment).map_err(|_| WireError::Truncated)?;
        let offset_flags = layout.offset_flags.get();
        let (option_bytes, payload) = usize::from(offset_flags >> 12)
            .checked_mul(4)
            .and_then(|header_len| header_len.checked_sub(Self::LEN))
            .and_then(|options_len| after.split_at_checked(options_len))
            .ok_or(WireError::BadHeaderLength)?;
        let (options, problem) = TcpOptions::parse(option_bytes);
        let header = Self {
            src_port: layout.src_port.get(),
            dst_port: layout.dst_port.get(),
            seq: layout.seq.get(),
            ack: layout.ack.get(),
            flags: TcpFlags::from_bits(offset_flags),
            window: layout.window.get(),
            urgent: layout.urgent.get(),
            options,
            options_malformed: problem.is_err(),
        };
        Ok((header, payload))
    }

    /// Number of bytes that [`TcpHeader::write`] fills: 20 to 60, a multiple of 4.
    pub const fn header_len(&self) -> usize {
        Self::LEN + self.options.encoded_len()
    }

    /// Writes header and options with checksum 0 and returns their length.
    /// [`set_checksum`] then fills in the checksum.
    ///
    /// # Panics
    /// Panics if `segment` is shorter than [`TcpHeader::header_len`].
    pub fn write(&self, segment: &mut [u8]) -> usize {
        let header_len = self.header_len();
        let layout = Layout {
            src_port: U16::new(self.src_port),
            dst_port: U16::new(self.dst_port),
            seq: U32::new(self.seq),
            ack: U32::new(self.ack),
            offset_flags: U16::new(((header_len / 4) as u16) << 12 | self.flags.bits()),
            window: U16::new(self.window),
            checksum: U16::ZERO,
            urgent: U16::new(self.urgent),
        };
        let (fixed, options) = segment[..header_len].split_at_mut(Self::LEN);
        fixed.copy_from_slice(layout.as_bytes());
        self.options.write(options);
        header_len
    }
}

/// Fills in the checksum of a written header, given the sum of its payload.
///
/// `header` is exactly the header with its options.
///
/// # Panics
/// Panics if `header` is shorter than 18 bytes, where its checksum field ends.
pub fn set_checksum(header: &mut [u8], src: IpAddr, dst: IpAddr, payload: Checksum) {
    let field = CHECKSUM_OFFSET..CHECKSUM_OFFSET + 2;
    header[field.clone()].fill(0);
    let mut checksum = Checksum::of(header).then(payload);
    checksum.add_pseudo_header(src, dst, Protocol::Tcp.into(), checksum.len() as u32);
    header[field].copy_from_slice(&checksum.finish().to_be_bytes());
}

/// Clears the fields in which the headers of consecutive segments of a flow differ:
/// sequence number, PSH and checksum.
///
/// # Panics
/// Panics if `header` is shorter than 20 bytes.
pub fn clear_varying(header: &mut [u8]) {
    header[SEQUENCE_OFFSET..SEQUENCE_OFFSET + 4].fill(0);
    header[FLAGS_OFFSET] &= !(TcpFlags::PSH.bits() as u8);
    header[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 2].fill(0);
}

/// Checks the checksum of a whole segment, header and payload.
///
/// # Errors
/// Returns `Truncated` if `segment` is shorter than 20 bytes, and `BadChecksum` if the checksum is
/// wrong.
pub fn verify_checksum(segment: &[u8], src: IpAddr, dst: IpAddr) -> Result<(), WireError> {
    if segment.len() < TcpHeader::LEN {
        return Err(WireError::Truncated);
    }
    let mut checksum = Checksum::of(segment);
    checksum.add_pseudo_header(src, dst, Protocol::Tcp.into(), segment.len() as u32);
    if checksum.is_valid() {
        Ok(())
    } else {
        Err(WireError::BadChecksum)
    }
}

#[cfg(test)]
mod tests;
