//! The UDP header. RFC 768.
//!
//! The one rule: the length field decides where the datagram ends, never the packet
//! around it. Parsing does not check the checksum, because the checksum covers
//! addresses and a device may have verified it. [`verify_checksum`] checks it.

use core::net::IpAddr;

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::checksum::Checksum;
use crate::error::WireError;
use crate::ipv4::Protocol;

/// Offset of the checksum field in the header, in bytes.
pub const CHECKSUM_OFFSET: usize = 6;

/// The header of a UDP datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpHeader {
    /// Port of the sender; 0 when no answer is expected.
    pub src_port: u16,
    /// Port of the receiver.
    pub dst_port: u16,
    /// Bytes of header and payload, at least 8.
    pub len: u16,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Layout {
    src_port: U16,
    dst_port: U16,
    len: U16,
    checksum: U16,
}

impl UdpHeader {
    /// Bytes of the header.
    pub const LEN: usize = size_of::<Layout>();

    /// Reads the header; returns it with its payload, cut to `len`.
    ///
    /// # Errors
    /// Returns `Truncated` if there are fewer than eight bytes; `BadLength` if the length field is
    /// less than eight, or larger than the packet.
    pub fn parse(datagram: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (layout, _) = Layout::ref_from_prefix(datagram).map_err(|_| WireError::Truncated)?;
        let len = layout.len.get();
        let payload = datagram
            .get(Self::LEN..len.into())
            .ok_or(WireError::BadLength)?;
        let header = Self {
            src_port: layout.src_port.get(),
            dst_port: layout.dst_port.get(),
            len,
        };
        Ok((header, payload))
    }

    /// Reads a header quoted in an ICMP error, where the payload is cut short.
    ///
    /// # Errors
    /// Returns `Truncated` below eight bytes, which every error must quote.
    pub fn parse_quoted(datagram: &[u8]) -> Result<Self, WireError> {
        let (layout, _) = Layout::ref_from_prefix(datagram).map_err(|_| WireError::Truncated)?;
        Ok(Self {
            src_port: layout.src_port.get(),
            dst_port: layout.dst_port.get(),
            len: layout.len.get(),
        })
    }

    /// Writes the header with checksum 0, which over IPv4 means that there is no
    /// checksum.
    ///
    /// # Panics
    /// Panics if `datagram` is shorter than eight bytes.
    pub fn write(&self, datagram: &mut [u8]) {
        let layout = Layout {
            src_port: U16::new(self.src_port),
            dst_port: U16::new(self.dst_port),
            len: U16::new(self.len),
            checksum: U16::ZERO,
        };
        datagram[..Self::LEN].copy_from_slice(layout.as_bytes());
    }
}

/// Fills in the checksum of a written header, given the sum of its payload. A
/// checksum of 0 is written as 0xffff, because 0 means that there is no checksum.
///
/// # Panics
/// Panics if `header` is shorter than eight bytes.
pub fn set_checksum(header: &mut [u8], src: IpAddr, dst: IpAddr, payload: Checksum) {
    let header = &mut header[..UdpHeader::LEN];
    header[CHECKSUM_OFFSET..].fill(0);
    let mut checksum = Checksum::of(header).then(payload);
    checksum.add_pseudo_header(src, dst, Protocol::Udp.into(), checksum.len() as u32);
    let value = match checksum.finish() {
        0 => 0xffff,
        sum => sum,
    };
    header[CHECKSUM_OFFSET..].copy_from_slice(&u16::to_be_bytes(value));
}

/// Checks the checksum of the datagram that starts at `datagram` and ends where its
/// length field says. A missing checksum is valid over IPv4 and invalid over IPv6
/// (RFC 8200 §8.1).
///
/// # Errors
/// Returns the errors of [`UdpHeader::parse`], and `BadChecksum`.
pub fn verify_checksum(datagram: &[u8], src: IpAddr, dst: IpAddr) -> Result<(), WireError> {
    let (header, _) = UdpHeader::parse(datagram)?;
    let datagram = &datagram[..header.len.into()];
    let absent = datagram[CHECKSUM_OFFSET..UdpHeader::LEN] == [0, 0];
    if absent {
        return if dst.is_ipv4() {
            Ok(())
        } else {
            Err(WireError::BadChecksum)
        };
    }
    let mut checksum = Checksum::of(datagram);
    checksum.add_pseudo_header(src, dst, Protocol::Udp.into(), header.len.into());
    if checksum.is_valid() {
        Ok(())
    } else {
        Err(WireError::BadChecksum)
    }
}

#[cfg(test)]
mod tests;
