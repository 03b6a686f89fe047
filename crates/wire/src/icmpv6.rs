//! ICMP messages for IPv6. RFC 4443.
//!
//! The one rule: every message is eight bytes of header and a payload, and its checksum covers the
//! addresses of its packet. The payload is echo data, the start of the packet that caused an error,
//! or the rest of a message of neighbour discovery, which `ndp` reads. The caller decides whether
//! to act on a message and whether to answer it.

use core::net::{IpAddr, Ipv6Addr};

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, IntoBytes};

use crate::checksum::{Checksum, ChecksumPolicy};
use crate::error::WireError;
use crate::icmpv4::{Layout, TimeExceededCode};
use crate::ipv4::Protocol;
use crate::ipv6::ParameterProblemCode;

const UNREACHABLE: u8 = 1;
const PACKET_TOO_BIG: u8 = 2;
const TIME_EXCEEDED: u8 = 3;
const PARAMETER_PROBLEM: u8 = 4;
const ECHO_REQUEST: u8 = 128;
const ECHO_REPLY: u8 = 129;

/// The reason why a destination could not be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unreachable6Code {
    /// Code 0.
    NoRoute,
    /// Code 1: forbidden by an administrator.
    Prohibited,
    /// Code 2: the source address is not valid in the network of the destination.
    BeyondScope,
    /// Code 3: the host does not answer.
    Address,
    /// Code 4.
    Port,
    /// Anything else, such as the policies of codes 5 and 6.
    Other(u8),
}

impl From<u8> for Unreachable6Code {
    fn from(value: u8) -> Self {
        match value {
            0 => Self::NoRoute,
            1 => Self::Prohibited,
            2 => Self::BeyondScope,
            3 => Self::Address,
            4 => Self::Port,
            other => Self::Other(other),
        }
    }
}

impl From<Unreachable6Code> for u8 {
    fn from(value: Unreachable6Code) -> Self {
        match value {
            Unreachable6Code::NoRoute => 0,
            Unreachable6Code::Prohibited => 1,
            Unreachable6Code::BeyondScope => 2,
            Unreachable6Code::Address => 3,
            Unreachable6Code::Port => 4,
            Unreachable6Code::Other(other) => other,
        }
    }
}

/// The header of an ICMPv6 message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icmpv6Message {
    /// A packet was not delivered; the payload quotes it.
    Unreachable {
        /// The reason.
        code: Unreachable6Code,
    },
    /// A packet was too long for a link; the payload quotes it.
    PacketTooBig {
        /// MTU of that link in bytes.
        mtu: u32,
    },
    /// A packet exceeded its hop limit or the reassembly time; the payload quotes it.
    TimeExceeded {
        /// The limit that the packet exceeded.
        code: TimeExceededCode,
    },
    /// A packet could not be processed; the payload quotes it.
    ParameterProblem {
        /// The kind of problem.
        code: ParameterProblemCode,
        /// Offset of the field in the packet.
        pointer: u32,
    },
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
    /// A message of any other type, such as neighbour discovery.
    Other {
        /// The ICMPv6 type.
        kind: u8,
        /// The ICMPv6 code.
        code: u8,
        /// The second half of the header, whose meaning the type decides.
        rest: [u8; 4],
    },
}

impl Icmpv6Message {
    /// Bytes of the header of every message.
    pub const LEN: usize = size_of::<Layout>();

    /// Reads a message that fills `packet` and that was sent from `src` to `dst`; returns it with
    /// its payload.
    ///
    /// # Errors
    /// `Truncated` below eight bytes; `BadChecksum` for a wrong checksum, unless `checksum` is
    /// [`ChecksumPolicy::Trust`].
    pub fn parse(
        packet: &[u8],
        (src, dst): (Ipv6Addr, Ipv6Addr),
        checksum: ChecksumPolicy,
    ) -> Result<(Self, &[u8]), WireError> {
        let (layout, payload) =
            Layout::ref_from_prefix(packet).map_err(|_| WireError::Truncated)?;
        if checksum == ChecksumPolicy::Verify {
            let mut sum = Checksum::of(packet);
            add_pseudo_header(&mut sum, src, dst, packet.len());
            if !sum.is_valid() {
                return Err(WireError::BadChecksum);
            }
        }
        let rest = layout.rest;
        let [a, b, c, d] = rest;
        let (ident, seq) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let word = u32::from_be_bytes(rest);
        let message = match layout.kind {
            UNREACHABLE => Self::Unreachable {
                code: layout.code.into(),
            },
            PACKET_TOO_BIG => Self::PacketTooBig { mtu: word },
            TIME_EXCEEDED => Self::TimeExceeded {
                code: layout.code.into(),
            },
            PARAMETER_PROBLEM => Self::ParameterProblem {
                code: layout.code.into(),
                pointer: word,
            },
            ECHO_REQUEST => Self::EchoRequest { ident, seq },
            ECHO_REPLY => Self::EchoReply { ident, seq },
            kind => Self::Other {
                kind,
                code: layout.code,
                rest,
            },
        };
        Ok((message, payload))
    }

    /// Returns true if a message of type `kind` reports an error. RFC 4443 §2.1.
    pub const fn is_error(kind: u8) -> bool {
        kind < 128
    }

    /// Writes the eight-byte header to the start of `header`, for a packet from `src` to `dst`.
    /// The argument `payload` is the sum of the payload, because the checksum covers both header
    /// and payload.
    ///
    /// # Panics
    /// If `header` is shorter than eight bytes.
    pub fn write(&self, header: &mut [u8], (src, dst): (Ipv6Addr, Ipv6Addr), payload: Checksum) {
        let pair = |ident: u16, seq: u16| (u32::from(ident) << 16 | u32::from(seq)).to_be_bytes();
        let (kind, code, rest) = match *self {
            Self::Unreachable { code } => (UNREACHABLE, code.into(), [0; 4]),
            Self::PacketTooBig { mtu } => (PACKET_TOO_BIG, 0, mtu.to_be_bytes()),
            Self::TimeExceeded { code } => (TIME_EXCEEDED, code.into(), [0; 4]),
            Self::ParameterProblem { code, pointer } => {
                (PARAMETER_PROBLEM, code.into(), pointer.to_be_bytes())
            }
            Self::EchoRequest { ident, seq } => (ECHO_REQUEST, 0, pair(ident, seq)),
            Self::EchoReply { ident, seq } => (ECHO_REPLY, 0, pair(ident, seq)),
            Self::Other { kind, code, rest } => (kind, code, rest),
        };
        let mut layout = Layout {
            kind,
            code,
            checksum: U16::ZERO,
            rest,
        };
        let mut sum = Checksum::of(layout.as_bytes()).then(payload);
        let len = sum.len();
        add_pseudo_header(&mut sum, src, dst, len);
        layout.checksum = U16::new(sum.finish());
        header[..Self::LEN].copy_from_slice(layout.as_bytes());
    }
}

fn add_pseudo_header(sum: &mut Checksum, src: Ipv6Addr, dst: Ipv6Addr, len: usize) {
    let (src, dst) = (IpAddr::V6(src), IpAddr::V6(dst));
    sum.add_pseudo_header(src, dst, Protocol::Icmpv6.into(), len as u32);
}

#[cfg(test)]
mod tests;
