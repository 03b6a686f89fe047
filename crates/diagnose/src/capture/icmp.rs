//! ICMP errors about segments of TCP connections. RFC 792, RFC 4443.
//!
//! Rule: only errors that say why a segment cannot reach its destination are read. Path MTU
//! messages, reassembly timeouts and all others give nothing. An ICMP error in a fragment other than the first, and one
//! that returns a fragment without the ports, also give nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{
    ip::extensions,
    link::Network,
    packet::Packet,
    segment::{End, FlowKey},
};

const TCP: u8 = 6;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
/// Length of the fixed part of an ICMP error.
const ERROR: u32 = 8;

/// Reason for which a router or a host returned a segment in an ICMP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unreachable {
    /// A router has no route to the network.
    Network,
    /// The last router got no answer from the host (ARP or neighbour discovery).
    Host,
    /// The host does not accept TCP.
    Protocol,
    /// The host has no program at the port, or a firewall says so.
    Port,
    /// A firewall or another rule forbids the packet.
    Prohibited,
    /// The packet passed as many routers as its time to live allows.
    TimeExceeded,
}

impl Unreachable {
    /// Name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Host => "host",
            Self::Protocol => "protocol",
            Self::Port => "port",
            Self::Prohibited => "prohibited",
            Self::TimeExceeded => "time_exceeded",
        }
    }

    /// The reason of an ICMP error with this type and code. RFC 792, RFC 1812 §5.2.7.1.
    const fn of_ipv4(kind: u8, code: u8) -> Option<Self> {
        match (kind, code) {
            (3, 0 | 5 | 6 | 11) => Some(Self::Network),
            (3, 1 | 7 | 8 | 12) => Some(Self::Host),
            (3, 2) => Some(Self::Protocol),
            (3, 3) => Some(Self::Port),
            (3, 9 | 10 | 13..=15) => Some(Self::Prohibited),
            (11, 0) => Some(Self::TimeExceeded),
            _ => None,
        }
    }

    /// The reason of an ICMPv6 error with this type and code. RFC 4443 §3.
    const fn of_ipv6(kind: u8, code: u8) -> Option<Self> {
        match (kind, code) {
            (1, 0 | 2) => Some(Self::Network),
            (1, 3) => Some(Self::Host),
            (1, 4) => Some(Self::Port),
            (1, 1 | 5 | 6) => Some(Self::Prohibited),
            (3, 0) => Some(Self::TimeExceeded),
            // The host does not recognise the next header after those that precede TCP.
            (4, 1) => Some(Self::Protocol),
            _ => None,
        }
    }
}

/// A segment that an ICMP error returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReturnedSegment {
    /// Time of the ICMP error, in nanoseconds since the Unix epoch.
    pub at_ns: i64,
    /// The end that sent the segment.
    pub from: End,
    /// The reason.
    pub reason: Unreachable,
}

/// Reads an ICMP error at `at_ns`. Returns the segment that it returns and its connection; `None`
/// for every other packet.
pub(super) fn error(
    network: Network,
    packet: Packet<'_>,
    at_ns: i64,
) -> Option<(FlowKey, ReturnedSegment)> {
    let ([source, destination], segment, reason) = match network {
        Network::Ipv4 => {
            let (_, error) = ipv4(packet, ICMP)?;
            let reason = Unreachable::of_ipv4(*error.bytes.first()?, *error.bytes.get(1)?)?;
            let (ends, segment) = ipv4(error.without(ERROR).ok()?, TCP)?;
            (ends, segment, reason)
        }
        Network::Ipv6 => {
            let (_, error) = ipv6(packet, ICMPV6)?;
            let reason = Unreachable::of_ipv6(*error.bytes.first()?, *error.bytes.get(1)?)?;
            let (ends, segment) = ipv6(error.without(ERROR).ok()?, TCP)?;
            (ends, segment, reason)
        }
    };
    // RFC 792 returns eight bytes of the segment, which include the ports.
    let [a, b, c, d] = *segment.bytes.first_chunk()?;
    let source = SocketAddr::new(source, u16::from_be_bytes([a, b]));
    let destination = SocketAddr::new(destination, u16::from_be_bytes([c, d]));
    let (key, from) = FlowKey::of(source, destination);
    Some((
        key,
        ReturnedSegment {
            at_ns,
            from,
            reason,
        },
    ))
}

/// Source and destination, and payload of an IPv4 packet with the protocol `wanted`; `None` for other
/// protocols and for a fragment other than the first. The end of the packet may be missing.
fn ipv4(packet: Packet<'_>, wanted: u8) -> Option<([IpAddr; 2], Packet<'_>)> {
    const OFFSET: u16 = 0x1fff;
    let header: &[u8; 20] = packet.bytes.first_chunk()?;
    let len = u32::from(header[0] & 0x0f) * 4;
    let offset = u16::from_be_bytes([header[6], header[7]]) & OFFSET;
    let address = |at: usize| {
        let four: [u8; 4] = *header[at..].first_chunk().expect("a header has 20 bytes");
        IpAddr::V4(Ipv4Addr::from(four))
    };
    let is_wanted = header[0] >> 4 == 4 && len >= 20 && header[9] == wanted && offset == 0;
    let payload = packet.without(len).ok().filter(|_| is_wanted)?;
    Some(([address(12), address(16)], payload))
}

/// Source and destination, and payload of an IPv6 packet with the upper layer `wanted`; `None` for
/// others and for a fragment other than the first. The end of the packet may be missing.
fn ipv6(packet: Packet<'_>, wanted: u8) -> Option<([IpAddr; 2], Packet<'_>)> {
    let header: &[u8; 40] = packet.bytes.first_chunk()?;
    let address = |at: usize| {
        let sixteen: [u8; 16] = *header[at..].first_chunk().expect("a header has 40 bytes");
        IpAddr::V6(Ipv6Addr::from(sixteen))
    };
    let rest = packet.without(40).ok().filter(|_| header[0] >> 4 == 6)?;
    let (payload, _) = extensions(header[6], rest, wanted).ok()?;
    Some(([address(8), address(24)], payload))
}

#[cfg(test)]
mod tests;
