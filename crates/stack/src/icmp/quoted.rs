//! Reading the packet that an ICMP error quotes.
//!
//! Rule: a quotation is whatever a stranger wrote. All that is concluded from
//! it is which socket it claims to be about; nothing in it is believed here.

#[cfg(test)]
mod tests;

use core::net::SocketAddr;

use fullpipe_wire::{Icmpv4Message, Ipv4Header, Protocol, UnreachableCode};

use super::path_error::{IcmpEvent, PathError};
use crate::{
    counters::Discard,
    ip::{Audience, Subnet},
};

/// Reads the quotation in an error message.
///
/// # Errors
/// The message is no error, the quotation is too short or no first fragment of
/// a packet with ports, or its source is not our address.
pub(crate) fn parse(
    message: Icmpv4Message,
    quoted: &[u8],
    subnet: &Subnet,
    path_mtu_min: u16,
) -> Result<IcmpEvent, Discard> {
    let error = path_error(message, path_mtu_min).ok_or(Discard::IcmpUnwanted)?;
    let (header, rest) =
        Ipv4Header::parse_quoted(quoted).map_err(|_| Discard::IcmpQuoteMalformed)?;
    if subnet.audience(header.src.into()) != Audience::Us {
        return Err(Discard::IcmpQuoteNotOurs);
    }
    match header.protocol {
        Protocol::Tcp | Protocol::Udp => {}
        // We send echo replies, about which nobody waits to hear.
        Protocol::Icmp | Protocol::Other(_) => return Err(Discard::IcmpUnwanted),
    }
    // Ports are only in the first fragment; both protocols begin with them.
    let Some(&[a, b, c, d, e, f, g, h]) = rest.first_chunk::<8>() else {
        return Err(Discard::IcmpQuoteMalformed);
    };
    if header.fragment_offset != 0 {
        return Err(Discard::IcmpQuoteMalformed);
    }
    Ok(IcmpEvent {
        error,
        protocol: header.protocol,
        local: SocketAddr::new(header.src.into(), u16::from_be_bytes([a, b])),
        remote: SocketAddr::new(header.dst.into(), u16::from_be_bytes([c, d])),
        seq: u32::from_be_bytes([e, f, g, h]),
    })
}

fn path_error(message: Icmpv4Message, path_mtu_min: u16) -> Option<PathError> {
    match message {
        Icmpv4Message::Unreachable { code, next_hop_mtu } => Some(match code {
            UnreachableCode::FragmentationNeeded => {
                // 0 is what routers older than RFC 1191 say: nothing is known
                // but that it was too long.
                PathError::FragmentationNeeded {
                    mtu: next_hop_mtu.max(path_mtu_min),
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
