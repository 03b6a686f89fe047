//! ICMP messages for IPv4. RFC 792, RFC 1191.
//!
//! The one rule: every message is eight bytes of header and a payload. The payload is
//! echo data, or the start of the packet that caused an error. The caller decides
//! whether to act on an error and whether to answer an echo request.

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::checksum::{Checksum, ChecksumPolicy};
use crate::error::WireError;

const ECHO_REPLY: u8 = 0;
const UNREACHABLE: u8 = 3;
const ECHO_REQUEST: u8 = 8;
const TIME_EXCEEDED: u8 = 11;

/// The reason why a destination could not be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnreachableCode {
    /// Code 0.
    Network,
    /// Code 1.
    Host,
    /// Code 2.
    Protocol,
    /// Code 3.
    Port,
    /// Code 4: too long for the next hop, and fragmentation is forbidden. RFC 1191.
    FragmentationNeeded,
    /// Code 5.
    SourceRouteFailed,
    /// Anything else, the administrative codes of RFC 1812 §5.2.7.1 included.
    Other(u8),
}

impl From<u8> for UnreachableCode {
    fn from(value: u8) -> Self {
        match value {
            0 => Self::Network,
            1 => Self::Host,
            2 => Self::Protocol,
            3 => Self::Port,
            4 => Self::FragmentationNeeded,
            5 => Self::SourceRouteFailed,
            other => Self::Other(other),
        }
    }
}

impl From<UnreachableCode> for u8 {
    fn from(value: UnreachableCode) -> Self {
        match value {
            UnreachableCode::Network => 0,
            UnreachableCode::Host => 1,
            UnreachableCode::Protocol => 2,
            UnreachableCode::Port => 3,
            UnreachableCode::FragmentationNeeded => 4,
            UnreachableCode::SourceRouteFailed => 5,
            UnreachableCode::Other(other) => other,
        }
    }
}

/// The limit that a packet exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeExceededCode {
    /// Code 0: the TTL, in transit.
    Ttl,
    /// Code 1: the time to reassemble a datagram.
    Reassembly,
    /// Anything else.
    Other(u8),
}

impl From<u8> for TimeExceededCode {
    fn from(value: u8) -> Self {
        match value {
            0 => Self::Ttl,
            1 => Self::Reassembly,
            other => Self::Other(other),
        }
    }
}

impl From<TimeExceededCode> for u8 {
    fn from(value: TimeExceededCode) -> Self {
        match value {
            TimeExceededCode::Ttl => 0,
            TimeExceededCode::Reassembly => 1,
            TimeExceededCode::Other(other) => other,
        }
    }
}

/// The header of an ICMP message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icmpv4Message {
    /// Asks the receiver to return its payload.
    EchoRequest {
        /// Identifies the asking program.
        ident: u16,
        /// Identifies the request.
        seq: u16,
    },
    /// Returns the payload.
    EchoReply {
        /// The `ident` of the request.
        ident: u16,
        /// The `seq` of the request.
        seq: u16,
    },
    /// A packet was not delivered; the payload quotes it.
    Unreachable {
        /// The reason.
        code: UnreachableCode,
        /// Largest packet that the next hop takes, in bytes. 0 if the router does not
        /// give the size (RFC 1191 §5), and with every code except
        /// `FragmentationNeeded`.
        next_hop_mtu: u16,
    },
    /// A packet exceeded its TTL or the reassembly time; the payload quotes it.
    TimeExceeded {
        /// The limit that the packet exceeded.
        code: TimeExceededCode,
    },
    /// A message of any other type.
    Other {
        /// The ICMP type.
        kind: u8,
        /// The ICMP code.
        code: u8,
        /// The second half of the header, whose meaning the type decides.
        rest: [u8; 4],
    },
}

/// The header of every message of ICMPv4 and ICMPv6.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Layout {
    pub(crate) kind: u8,
    pub(crate) code: u8,
    pub(crate) checksum: U16,
    pub(crate) rest: [u8; 4],
}

impl Icmpv4Message {
    /// Bytes of the header of every message.
    pub const LEN: usize = size_of::<Layout>();

    /// Reads a message that fills `packet`; returns it with its payload.
    ///
    /// The code of an echo message is ignored, as on other hosts.
    ///
    /// # Errors
    /// Returns `Truncated` below eight bytes; `BadChecksum` for a wrong checksum, unless `checksum`
    /// is [`ChecksumPolicy::Trust`].
    pub fn parse(packet: &[u8], checksum: ChecksumPolicy) -> Result<(Self, &[u8]), WireError> {
        let (layout, payload) =
            Layout::ref_from_prefix(packet).map_err(|_| WireError::Truncated)?;
        if checksum == ChecksumPolicy::Verify && !Checksum::of(packet).is_valid() {
            return Err(WireError::BadChecksum);
        }
        let [a, b, c, d] = layout.rest;
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let message = match layout.kind {
            ECHO_REPLY => Self::EchoReply {
                ident: high,
                seq: low,
            },
            ECHO_REQUEST => Self::EchoRequest {
                ident: high,
                seq: low,
            },
            UNREACHABLE => {
                let code = layout.code.into();
                let next_hop_mtu = if code == UnreachableCode::FragmentationNeeded {
                    low
                } else {
                    0
                };
                Self::Unreachable { code, next_hop_mtu }
            }
            TIME_EXCEEDED => Self::TimeExceeded {
                code: layout.code.into(),
            },
            kind => Self::Other {
                kind,
                code: layout.code,
                rest: layout.rest,
            },
        };
        Ok((message, payload))
    }

    /// Writes the eight-byte header to the start of `header`. The argument `payload` is the sum
    /// of the payload, because the checksum covers both header and payload.
    ///
    /// # Panics
    /// Panics if `header` is shorter than eight bytes.
    pub fn write(&self, header: &mut [u8], payload: Checksum) {
        let (kind, code, high, low) = match *self {
            Self::EchoRequest { ident, seq } => (ECHO_REQUEST, 0, ident, seq),
            Self::EchoReply { ident, seq } => (ECHO_REPLY, 0, ident, seq),
            Self::Unreachable { code, next_hop_mtu } => (UNREACHABLE, code.into(), 0, next_hop_mtu),
            Self::TimeExceeded { code } => (TIME_EXCEEDED, code.into(), 0, 0),
            Self::Other {
                kind,
                code,
                rest: [a, b, c, d],
            } => (
                kind,
                code,
                u16::from_be_bytes([a, b]),
                u16::from_be_bytes([c, d]),
            ),
        };
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        let mut layout = Layout {
            kind,
            code,
            checksum: U16::ZERO,
            rest: [a, b, c, d],
        };
        layout.checksum = U16::new(Checksum::of(layout.as_bytes()).then(payload).finish());
        header[..Self::LEN].copy_from_slice(layout.as_bytes());
    }
}

#[cfg(test)]
mod tests;
