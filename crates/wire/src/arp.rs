//! ARP for IPv4 over Ethernet. RFC 826.
//!
//! The one rule: only requests and replies that map IPv4 addresses to Ethernet addresses
//! are read; every other packet is refused with a reason. The crate `fullpipe` keeps the
//! neighbour table and decides which requests it answers.

use core::net::Ipv4Addr;

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::error::WireError;
use crate::ethernet::{EtherType, MacAddress};

const HARDWARE_ETHERNET: u16 = 1;

/// The operation of an ARP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArpOperation {
    /// Asks for the address of `target_ip`; `target_mac` has no meaning.
    Request,
    /// States that `sender_ip` is at `sender_mac`.
    Reply,
}

/// One ARP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArpPacket {
    /// Request or reply.
    pub operation: ArpOperation,
    /// MAC address of the sender.
    pub sender_mac: MacAddress,
    /// IPv4 address of the sender; 0.0.0.0 in a probe (RFC 5227).
    pub sender_ip: Ipv4Addr,
    /// MAC address of the target; unspecified in a request.
    pub target_mac: MacAddress,
    /// IPv4 address of the target.
    pub target_ip: Ipv4Addr,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Layout {
    hardware: U16,
    protocol: U16,
    hardware_len: u8,
    protocol_len: u8,
    operation: U16,
    sender_mac: [u8; 6],
    sender_ip: [u8; 4],
    target_mac: [u8; 6],
    target_ip: [u8; 4],
}

impl ArpPacket {
    /// Bytes of the packet.
    pub const LEN: usize = size_of::<Layout>();

    /// Reads the first 28 bytes of `packet` and ignores the rest, which is padding.
    ///
    /// # Errors
    /// Returns `Truncated` below 28 bytes, `BadAddressFormat` for anything but Ethernet and IPv4,
    /// `BadOperation` for anything but request and reply.
    pub fn parse(packet: &[u8]) -> Result<Self, WireError> {
        let (layout, _padding) =
            Layout::ref_from_prefix(packet).map_err(|_| WireError::Truncated)?;
        let format = (
            layout.hardware.get(),
            layout.protocol.get(),
            layout.hardware_len,
            layout.protocol_len,
        );
        if format != (HARDWARE_ETHERNET, EtherType::Ipv4.into(), 6, 4) {
            return Err(WireError::BadAddressFormat);
        }
        let operation = match layout.operation.get() {
            1 => ArpOperation::Request,
            2 => ArpOperation::Reply,
            _ => return Err(WireError::BadOperation),
        };
        Ok(Self {
            operation,
            sender_mac: MacAddress(layout.sender_mac),
            sender_ip: layout.sender_ip.into(),
            target_mac: MacAddress(layout.target_mac),
            target_ip: layout.target_ip.into(),
        })
    }

    /// Writes the packet to the first 28 bytes of `packet`.
    ///
    /// # Panics
    /// Panics if `packet` is shorter than 28 bytes.
    pub fn write(&self, packet: &mut [u8]) {
        let layout = Layout {
            hardware: U16::new(HARDWARE_ETHERNET),
            protocol: U16::new(EtherType::Ipv4.into()),
            hardware_len: 6,
            protocol_len: 4,
            operation: U16::new(match self.operation {
                ArpOperation::Request => 1,
                ArpOperation::Reply => 2,
            }),
            sender_mac: self.sender_mac.0,
            sender_ip: self.sender_ip.octets(),
            target_mac: self.target_mac.0,
            target_ip: self.target_ip.octets(),
        };
        packet[..Self::LEN].copy_from_slice(layout.as_bytes());
    }
}

#[cfg(test)]
mod tests;
