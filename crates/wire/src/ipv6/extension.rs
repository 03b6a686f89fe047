//! Extension headers: a bounded walk to the protocol of a packet. RFC 8200 §4.
//!
//! The one rule: the walk reads at most [`MOST_HEADERS`] extension headers with at most
//! [`MOST_OPTIONS`] options each, so a packet costs a bounded number of steps (RFC 8504 §5.3).
//! Options are read only to find an unknown option that asks hosts to discard the packet. The walk
//! ends at a fragment header, unless this fragment is the whole packet (RFC 6946).

use super::Ipv6Header;
use crate::error::WireError;
use crate::ipv4::Protocol;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;
const ICMPV6: u8 = 58;
/// Type of a redirect, a message of ICMPv6.
const REDIRECT: u8 = 137;

const PAD_ONE: u8 = 0;
const PAD_N: u8 = 1;

/// Largest number of extension headers of a packet.
const MOST_HEADERS: usize = 8;
/// Largest number of options in one extension header, padding included.
const MOST_OPTIONS: usize = 16;

/// The field of a packet that its receiver cannot process. RFC 4443 §3.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParameterProblemCode {
    /// Code 0: a field has an impossible value.
    HeaderField,
    /// Code 1: the next header is unknown.
    NextHeader,
    /// Code 2: an option is unknown.
    Option,
    /// Code 3: the first fragment does not have all headers. RFC 7112.
    IncompleteChain,
    /// Anything else.
    Other(u8),
}

impl From<u8> for ParameterProblemCode {
    fn from(value: u8) -> Self {
        match value {
            0 => Self::HeaderField,
            1 => Self::NextHeader,
            2 => Self::Option,
            3 => Self::IncompleteChain,
            other => Self::Other(other),
        }
    }
}

impl From<ParameterProblemCode> for u8 {
    fn from(value: ParameterProblemCode) -> Self {
        match value {
            ParameterProblemCode::HeaderField => 0,
            ParameterProblemCode::NextHeader => 1,
            ParameterProblemCode::Option => 2,
            ParameterProblemCode::IncompleteChain => 3,
            ParameterProblemCode::Other(other) => other,
        }
    }
}

/// The reason why a chain of extension headers was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainError {
    /// A header reaches beyond the packet.
    Truncated,
    /// The packet has more extension headers or options than this host reads.
    TooLong,
    /// An option asks hosts that do not know it to discard the packet without a message.
    Discard,
    /// A field that must be reported to the sender.
    Problem {
        /// The kind of problem.
        code: ParameterProblemCode,
        /// Offset of the field in the packet, the IPv6 header included.
        pointer: u32,
        /// The problem is reported even if the packet was sent to a multicast group.
        even_to_group: bool,
    },
}

/// The fragment header. RFC 8200 §4.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentHeader {
    /// Number of the first header of the fragmentable part.
    pub next_header: u8,
    /// Offset of the fragment in the fragmentable part, in bytes; a multiple of 8.
    pub offset: u16,
    /// This is not the last fragment.
    pub more: bool,
    /// Identifies the packet that the fragment belongs to.
    pub identification: u32,
}

impl FragmentHeader {
    /// Number of the fragment header as a next header.
    pub const NEXT_HEADER: u8 = FRAGMENT;
    /// Bytes of the header.
    pub const LEN: usize = 8;

    fn parse(bytes: &[u8]) -> Option<Self> {
        let &[next_header, _, high, low, a, b, c, d] = bytes.first_chunk::<8>()?;
        let field = u16::from_be_bytes([high, low]);
        Some(Self {
            next_header,
            offset: field & !7,
            more: field & 1 != 0,
            identification: u32::from_be_bytes([a, b, c, d]),
        })
    }

    /// Writes the header to the start of `bytes`.
    ///
    /// # Panics
    /// If `bytes` is shorter than 8 bytes, or `offset` is not a multiple of 8.
    pub fn write(&self, bytes: &mut [u8]) {
        assert!(
            self.offset.is_multiple_of(8),
            "fragment offset {} is not a multiple of 8",
            self.offset
        );
        let [high, low] = (self.offset | u16::from(self.more)).to_be_bytes();
        let [a, b, c, d] = self.identification.to_be_bytes();
        bytes[..Self::LEN].copy_from_slice(&[self.next_header, 0, high, low, a, b, c, d]);
    }
}

/// The end of a walk over extension headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderChain {
    /// The first header that is no extension header; in a fragment, the first header of its
    /// fragmentable part.
    pub protocol: Protocol,
    /// Offset in the packet of the field that names `protocol`.
    pub named_at: usize,
    /// Offset of the payload of `protocol` in the packet; in a fragment, offset of its piece of
    /// the fragmentable part.
    pub payload_at: usize,
    /// The fragment header of a packet that is one of several fragments.
    pub fragment: Option<FragmentHeader>,
    /// True if the packet has a fragment header although it is whole (RFC 6946).
    pub is_only_fragment: bool,
}

/// Offset of the field that names the next header, in the IPv6 header.
const NEXT_HEADER_AT: usize = 6;

impl HeaderChain {
    /// Walks over the extension headers of `packet`, which begins with the IPv6 header and ends
    /// where that header claims. A chain that ends in no protocol (next header 59) is
    /// `Protocol::Other(59)`.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn of(packet: &[u8]) -> Result<Self, ChainError> {
        let first = *packet.get(NEXT_HEADER_AT).ok_or(ChainError::Truncated)?;
        Self::walk(packet, first, (NEXT_HEADER_AT, Ipv6Header::LEN))
    }

    /// Walks over the extension headers of the packet that an ICMPv6 error quotes. If the packet is
    /// a fragment, it must be the first one. Returns the protocol and the offset of its payload in
    /// `packet`.
    ///
    /// # Errors
    /// `Truncated` if the quotation ends before the protocol, or quotes a fragment other than the
    /// first.
    pub fn of_quoted(packet: &[u8]) -> Result<(Protocol, usize), WireError> {
        let chain = Self::of(packet).map_err(|_| WireError::Truncated)?;
        match chain.fragment {
            None => Ok((chain.protocol, chain.payload_at)),
            Some(fragment) if fragment.offset == 0 => {
                let rest = chain.in_first_fragment(packet);
                let rest = rest.map_err(|_| WireError::Truncated)?;
                Ok((rest.protocol, rest.payload_at))
            }
            Some(_) => Err(WireError::Truncated),
        }
    }

    /// Continues the walk in the fragmentable part of a first fragment, which must contain all
    /// headers (RFC 7112).
    ///
    /// # Errors
    /// [`ChainError`]. Another fragment header is refused with `TooLong`, unless its offset is 0
    /// and no fragment follows it (RFC 6946).
    pub fn in_first_fragment(&self, packet: &[u8]) -> Result<Self, ChainError> {
        let first = self.protocol.into();
        let rest = Self::walk(packet, first, (self.named_at, self.payload_at))?;
        match rest.fragment {
            None => Ok(rest),
            Some(_) => Err(ChainError::TooLong),
        }
    }

    /// Walks over the extension headers at the start of `payload`, the fragmentable part of a
    /// packet. `first` is the number of the first header in `payload`. Offsets are counted from the
    /// start of `payload`.
    ///
    /// # Errors
    /// [`ChainError`]. Another fragment header is refused with `TooLong`, unless its offset is 0
    /// and no fragment follows it (RFC 6946).
    pub fn of_fragmentable(first: u8, payload: &[u8]) -> Result<Self, ChainError> {
        let chain = Self::walk(payload, first, (0, 0))?;
        match chain.fragment {
            None => Ok(chain),
            Some(_) => Err(ChainError::TooLong),
        }
    }

    /// Returns true if a problem of `packet` may be reported. The packet must be neither an ICMPv6
    /// error nor a redirect (RFC 4443 §2.4), nor a fragment other than the first, and the walk over
    /// its headers must succeed.
    pub fn may_be_reported(packet: &[u8]) -> bool {
        let (mut next, mut at) = match packet.get(NEXT_HEADER_AT) {
            Some(first) => (*first, Ipv6Header::LEN),
            None => return false,
        };
        for _ in 0..=MOST_HEADERS {
            let end = match next {
                HOP_BY_HOP | DESTINATION | ROUTING => header_end(packet, at),
                FRAGMENT => match packet.get(at..).and_then(FragmentHeader::parse) {
                    Some(header) if header.offset == 0 => Ok(at + FragmentHeader::LEN),
                    Some(_) | None => return false,
                },
                ICMPV6 => {
                    let kind = packet.get(at).copied();
                    return kind.is_some_and(|kind| kind >= 128 && kind != REDIRECT);
                }
                _ => return true,
            };
            match end {
                Ok(end) => (next, at) = (packet[at], end),
                Err(_) => return false,
            }
        }
        false
    }

    fn walk(
        packet: &[u8],
        first: u8,
        (mut named_at, mut at): (usize, usize),
    ) -> Result<Self, ChainError> {
        let mut next = first;
        let mut is_only_fragment = false;
        for _ in 0..=MOST_HEADERS {
            let end = match next {
                // The hop-by-hop header may only be the first extension header. RFC 8200 §4.1.
                HOP_BY_HOP if named_at == NEXT_HEADER_AT => options_end(packet, at)?,
                HOP_BY_HOP => {
                    return Err(problem(ParameterProblemCode::NextHeader, named_at));
                }
                DESTINATION => options_end(packet, at)?,
                ROUTING => routing_end(packet, at)?,
                FRAGMENT => {
                    let rest = packet.get(at..).ok_or(ChainError::Truncated)?;
                    let header = FragmentHeader::parse(rest).ok_or(ChainError::Truncated)?;
                    let end = at + FragmentHeader::LEN;
                    if header.more || header.offset != 0 {
                        return Ok(Self {
                            protocol: header.next_header.into(),
                            named_at: at,
                            payload_at: end,
                            fragment: Some(header),
                            is_only_fragment,
                        });
                    }
                    is_only_fragment = true;
                    end
                }
                protocol => {
                    return Ok(Self {
                        protocol: protocol.into(),
                        named_at,
                        payload_at: at,
                        fragment: None,
                        is_only_fragment,
                    });
                }
            };
            (next, named_at, at) = (packet[at], at, end);
        }
        Err(ChainError::TooLong)
    }
}

const fn problem(code: ParameterProblemCode, pointer: usize) -> ChainError {
    ChainError::Problem {
        code,
        pointer: pointer as u32,
        even_to_group: false,
    }
}

/// Returns the end of the extension header at `at`, whose second byte gives the header's length.
fn header_end(packet: &[u8], at: usize) -> Result<usize, ChainError> {
    let units = *packet.get(at + 1).ok_or(ChainError::Truncated)?;
    let end = at + 8 + 8 * usize::from(units);
    match end <= packet.len() {
        true => Ok(end),
        false => Err(ChainError::Truncated),
    }
}

/// Returns the end of a routing header. No routing type is processed, so a header with segments
/// left is a problem. RFC 8200 §4.4, RFC 5095.
fn routing_end(packet: &[u8], at: usize) -> Result<usize, ChainError> {
    let end = header_end(packet, at)?;
    match packet[at + 3] {
        0 => Ok(end),
        _ => Err(problem(ParameterProblemCode::HeaderField, at + 2)),
    }
}

/// Returns the end of a header of options, after a look at each option. RFC 8200 §4.2.
fn options_end(packet: &[u8], at: usize) -> Result<usize, ChainError> {
    let end = header_end(packet, at)?;
    let mut option = at + 2;
    for _ in 0..MOST_OPTIONS {
        let Some(&kind) = packet[..end].get(option) else {
            return Ok(end);
        };
        if kind == PAD_ONE {
            option += 1;
            continue;
        }
        let len = *packet[..end]
            .get(option + 1)
            .ok_or_else(|| problem(ParameterProblemCode::HeaderField, option))?;
        let after = option + 2 + usize::from(len);
        if after > end {
            return Err(problem(ParameterProblemCode::HeaderField, option + 1));
        }
        if kind != PAD_N {
            unknown_option(kind, option)?;
        }
        option = after;
    }
    match option >= end {
        true => Ok(end),
        false => Err(ChainError::TooLong),
    }
}

/// Returns the treatment that the two highest bits of an unknown option's type ask for. RFC 8200
/// §4.2.
const fn unknown_option(kind: u8, at: usize) -> Result<(), ChainError> {
    match kind >> 6 {
        0 => Ok(()),
        1 => Err(ChainError::Discard),
        action => Err(ChainError::Problem {
            code: ParameterProblemCode::Option,
            pointer: at as u32,
            even_to_group: action == 2,
        }),
    }
}
