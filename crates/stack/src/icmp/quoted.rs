//! Parses the packet that an ICMP error quotes.
//!
//! Rule: an off-path attacker may have written the quotation. The quotation therefore only selects
//! a socket or connection, which then checks the error.

#[cfg(test)]
mod tests;

use core::net::{IpAddr, SocketAddr};

use fullpipe_wire::{Icmpv4Message, Ipv4Header, Protocol, UnreachableCode};
#[cfg(feature = "ipv6")]
use fullpipe_wire::{
    Icmpv6Message, Ipv6Header, Unreachable6Code,
    ipv6::{HeaderChain, MIN_MTU, ParameterProblemCode},
};

use super::path_error::{IcmpEvent, PathError};
use crate::{
    counters::Discard,
    ip::{Addresses, Audience},
};

/// Parses the quotation in an error message.
///
/// # Errors
/// Returns the reason to discard the message: it is not an error; its quotation is too short, or
/// not the first fragment of a TCP or UDP packet; or another host sent the quoted packet.
pub(crate) fn parse(
    message: Icmpv4Message,
    quoted: &[u8],
    addresses: &Addresses,
    path_mtu_min: u16,
) -> Result<IcmpEvent, Discard> {
    let error = path_error(message, path_mtu_min).ok_or(Discard::IcmpUnwanted)?;
    let (header, rest) =
        Ipv4Header::parse_quoted(quoted).map_err(|_| Discard::IcmpQuoteMalformed)?;
    if addresses.audience_of_input(header.src.into()) != Audience::Us {
        return Err(Discard::IcmpQuoteNotOurs);
    }
    let ends = (header.src.into(), header.dst.into());
    let event = event(error, header.protocol, ends, rest)?;
    // Only the first fragment has the ports.
    match header.fragment_offset {
        0 => Ok(event),
        _ => Err(Discard::IcmpQuoteMalformed),
    }
}

/// Returns the event of an error about a packet of `protocol` from `src` to `dst`. The packet's
/// payload begins with `rest`.
fn event(
    error: PathError,
    protocol: Protocol,
    (src, dst): (IpAddr, IpAddr),
    rest: &[u8],
) -> Result<IcmpEvent, Discard> {
    match protocol {
        Protocol::Tcp | Protocol::Udp => {}
        // No socket waits for errors about other protocols. Too big IPv6 echo replies are handled
        // before.
        Protocol::Icmp | Protocol::Icmpv6 | Protocol::Other(_) => {
            return Err(Discard::IcmpUnwanted);
        }
    }
    // The ports are the first fields of TCP and UDP.
    let Some(&[a, b, c, d, e, f, g, h]) = rest.first_chunk::<8>() else {
        return Err(Discard::IcmpQuoteMalformed);
    };
    Ok(IcmpEvent {
        error,
        protocol,
        local: SocketAddr::new(src, u16::from_be_bytes([a, b])),
        remote: SocketAddr::new(dst, u16::from_be_bytes([c, d])),
        seq: u32::from_be_bytes([e, f, g, h]),
    })
}

/// Parses the quotation in an ICMPv6 error message, with the checks of [`parse`]. A reported path
/// MTU from 1280 up to `path_mtu_min` counts as `path_mtu_min`; a report of less than 1280 is
/// ignored. An echo reply that is too big causes an event, because its path MTU concerns the next.
///
/// # Errors
/// Returns the errors of [`parse`].
#[cfg(feature = "ipv6")]
pub(crate) fn parse_v6(
    message: Icmpv6Message,
    quoted: &[u8],
    addresses: &Addresses,
    path_mtu_min: u16,
) -> Result<IcmpEvent, Discard> {
    let error = path_error_v6(message, path_mtu_min).ok_or(Discard::IcmpUnwanted)?;
    let (header, _) = Ipv6Header::parse_quoted(quoted).map_err(|_| Discard::IcmpQuoteMalformed)?;
    if addresses.audience_of_input(header.src.into()) != Audience::Us {
        return Err(Discard::IcmpQuoteNotOurs);
    }
    let (protocol, at) = HeaderChain::of_quoted(quoted).map_err(|_| Discard::IcmpQuoteMalformed)?;
    let ends = (header.src.into(), header.dst.into());
    let rest = &quoted[at..];
    let is_too_big = matches!(error, PathError::FragmentationNeeded { .. });
    let is_echo_reply = protocol == Protocol::Icmpv6 && rest.first() == Some(&ECHO_REPLY_V6);
    if cfg!(feature = "path-mtu") && is_too_big && is_echo_reply {
        return Ok(IcmpEvent {
            error,
            protocol,
            local: SocketAddr::new(ends.0, 0),
            remote: SocketAddr::new(ends.1, 0),
            seq: 0,
        });
    }
    event(error, protocol, ends, rest)
}

/// Type of an ICMPv6 echo reply. RFC 4443 §4.2.
#[cfg(feature = "ipv6")]
const ECHO_REPLY_V6: u8 = 129;

#[cfg(feature = "ipv6")]
fn path_error_v6(message: Icmpv6Message, path_mtu_min: u16) -> Option<PathError> {
    let unreachable = |hard| Some(PathError::Unreachable { hard });
    match message {
        // Ignore the error: each IPv6 link carries packets of 1280 bytes (RFC 8201 §4).
        Icmpv6Message::PacketTooBig { mtu } if mtu < MIN_MTU as u32 => None,
        Icmpv6Message::PacketTooBig { mtu } => Some(PathError::FragmentationNeeded {
            mtu: (mtu.min(u16::MAX.into()) as u16).max(path_mtu_min),
            fragment: false,
        }),
        Icmpv6Message::Unreachable { code } => unreachable(code == Unreachable6Code::Port),
        // The destination does not know the protocol of the packet.
        Icmpv6Message::ParameterProblem { code, .. } => {
            unreachable(code == ParameterProblemCode::NextHeader)
        }
        Icmpv6Message::TimeExceeded { .. } => Some(PathError::TimeExceeded),
        Icmpv6Message::EchoRequest { .. }
        | Icmpv6Message::EchoReply { .. }
        | Icmpv6Message::Other { .. } => None,
    }
}

/// Smallest MTU of an IPv4 link. RFC 791 §3.2.
const LEAST_MTU: u16 = 68;

fn path_error(message: Icmpv4Message, path_mtu_min: u16) -> Option<PathError> {
    match message {
        Icmpv4Message::Unreachable { code, next_hop_mtu } => Some(match code {
            // Ignore the error: no IPv4 link has an MTU below 68 (RFC 791 §3.2).
            UnreachableCode::FragmentationNeeded if (1..LEAST_MTU).contains(&next_hop_mtu) => {
                return None;
            }
            UnreachableCode::FragmentationNeeded => {
                // Routers older than RFC 1191 report an MTU of 0; use `path_mtu_min` then.
                PathError::FragmentationNeeded {
                    mtu: next_hop_mtu.max(path_mtu_min),
                    fragment: (LEAST_MTU..path_mtu_min).contains(&next_hop_mtu),
                }
            }
            UnreachableCode::Protocol | UnreachableCode::Port => {
                PathError::Unreachable { hard: true }
            }
            UnreachableCode::Network
            | UnreachableCode::Host
            | UnreachableCode::SourceRouteFailed
            | UnreachableCode::Other(_) => PathError::Unreachable { hard: false },
        }),
        Icmpv4Message::TimeExceeded { .. } => Some(PathError::TimeExceeded),
        Icmpv4Message::EchoRequest { .. }
        | Icmpv4Message::EchoReply { .. }
        | Icmpv4Message::Other { .. } => None,
    }
}
