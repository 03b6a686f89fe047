//! Ethernet II framing: two addresses and the type of the payload.
//!
//! The one rule: the header is 14 bytes and has no length field, so the returned payload
//! may end in padding, which the protocol above cuts off. 802.1Q tags, 802.3 length
//! framing and the frame check sequence are not handled.

use core::fmt;
use core::str::FromStr;

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::error::WireError;

/// A 48-bit Ethernet address. The octets are in the order in which they are sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct MacAddress(
    /// The six octets. The first one contains the group bit.
    pub [u8; 6],
);

impl MacAddress {
    /// Every station on the link.
    pub const BROADCAST: Self = Self([0xff; 6]);
    /// No station: the target address in a request for an unknown address. RFC 826.
    pub const UNSPECIFIED: Self = Self([0; 6]);

    /// Returns true for the broadcast address.
    pub fn is_broadcast(self) -> bool {
        self == Self::BROADCAST
    }

    /// Returns true if the group bit is set, as in the broadcast address.
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// Returns true if the address can belong to one station.
    pub fn is_unicast(self) -> bool {
        !self.is_multicast() && self != Self::UNSPECIFIED
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error for a text that is not six pairs of hexadecimal digits separated by
/// colons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseMacAddressError;

impl fmt::Display for ParseMacAddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a MAC address is six pairs of hexadecimal digits, as in 02:00:00:00:00:01")
    }
}

impl core::error::Error for ParseMacAddressError {}

impl FromStr for MacAddress {
    type Err = ParseMacAddressError;

    /// Reads `02:00:00:00:00:01`; exactly two digits per octet.
    fn from_str(text: &str) -> Result<Self, ParseMacAddressError> {
        let mut octets = [0; 6];
        let mut pairs = text.split(':');
        for octet in &mut octets {
            let pair = pairs.next().ok_or(ParseMacAddressError)?;
            if pair.len() != 2 || !pair.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(ParseMacAddressError);
            }
            *octet = u8::from_str_radix(pair, 16).map_err(|_| ParseMacAddressError)?;
        }
        match pairs.next() {
            None => Ok(Self(octets)),
            Some(_) => Err(ParseMacAddressError),
        }
    }
}

/// The protocol of the frame's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EtherType {
    /// 0x0800.
    Ipv4,
    /// 0x0806.
    Arp,
    /// 0x86dd.
    Ipv6,
    /// Anything else, lengths of 802.3 frames (≤ 1500) included.
    Other(u16),
}

impl From<u16> for EtherType {
    fn from(value: u16) -> Self {
        match value {
            0x0800 => Self::Ipv4,
            0x0806 => Self::Arp,
            0x86dd => Self::Ipv6,
            other => Self::Other(other),
        }
    }
}

impl From<EtherType> for u16 {
    fn from(value: EtherType) -> Self {
        match value {
            EtherType::Ipv4 => 0x0800,
            EtherType::Arp => 0x0806,
            EtherType::Ipv6 => 0x86dd,
            EtherType::Other(other) => other,
        }
    }
}

/// The header of an Ethernet II frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EthernetHeader {
    /// Address of the receiving station.
    pub dst: MacAddress,
    /// Address of the sending station.
    pub src: MacAddress,
    /// Protocol of the payload.
    pub ether_type: EtherType,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Layout {
    dst: [u8; 6],
    src: [u8; 6],
    ether_type: U16,
}

impl EthernetHeader {
    /// Bytes of the header.
    pub const LEN: usize = size_of::<Layout>();

    /// Reads the header; returns it with the payload, padding included.
    ///
    /// # Errors
    /// Returns `Truncated` below 14 bytes.
    pub fn parse(frame: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (layout, payload) = Layout::ref_from_prefix(frame).map_err(|_| WireError::Truncated)?;
        let header = Self {
            dst: MacAddress(layout.dst),
            src: MacAddress(layout.src),
            ether_type: layout.ether_type.get().into(),
        };
        Ok((header, payload))
    }

    /// Writes the header to the first 14 bytes of `frame`.
    ///
    /// # Panics
    /// Panics if `frame` is shorter than 14 bytes.
    pub fn write(&self, frame: &mut [u8]) {
        let layout = Layout {
            dst: self.dst.0,
            src: self.src.0,
            ether_type: U16::new(self.ether_type.into()),
        };
        frame[..Self::LEN].copy_from_slice(layout.as_bytes());
    }
}

#[cfg(test)]
mod tests;
