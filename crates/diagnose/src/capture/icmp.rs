//! ICMP errors about segments of TCP connections. RFC 792, RFC 4443.
//!
//! Rule: only errors that say why a segment cannot reach its destination are read. Path MTU
//! messages and all others give nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{link::Network, packet::Packet, segment::FlowKey};

const TCP: u8 = 6;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
/// Length of the fixed part of an ICMP error.
const ERROR: usize = 8;

/// Reason for which a router or a host returned a segment in an ICMP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unreachable {
    /// A router has no route to the network.
    Network,
    /// The last router got no answer from the host (ARP or neighbour discovery).
    Host,
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
            Self::Port => "port",
            Self::Prohibited => "prohibited",
            Self::TimeExceeded => "time_exceeded",
        }
    }

    const fn of_ipv4(kind: u8, code: u8) -> Option<Self> {
        match (kind, code) {
            (3, 0 | 5 | 6 | 11) => Some(Self::Network),
            (3, 1 | 7 | 8 | 12) => Some(Self::Host),
            (3, 2 | 3) => Some(Self::Port),
            (3, 9 | 10 | 13..=15) => Some(Self::Prohibited),
            (11, 0) => Some(Self::TimeExceeded),
            _ => None,
        }
    }

    const fn of_ipv6(kind: u8, code: u8) -> Option<Self> {
        match (kind, code) {
            (1, 0 | 2) => Some(Self::Network),
            (1, 3) => Some(Self::Host),
            (1, 4) => Some(Self::Port),
            (1, 1 | 5 | 6) => Some(Self::Prohibited),
            (3, 0) => Some(Self::TimeExceeded),
            _ => None,
        }
    }
}

/// Reads an ICMP error. Returns the connection of the segment that it returns, and the reason;
/// `None` for every other packet. IPv6 extension headers are not skipped.
pub(super) fn error(network: Network, packet: Packet<'_>) -> Option<(FlowKey, Unreachable)> {
    match network {
        Network::Ipv4 => {
            let (protocol, _, rest) = ipv4(packet.bytes)?;
            let reason = Unreachable::of_ipv4(*rest.first()?, *rest.get(1)?);
            let reason = reason.filter(|_| protocol == ICMP)?;
            let (protocol, ends, segment) = ipv4(rest.get(ERROR..)?)?;
            Some((key(protocol, ends, segment)?, reason))
        }
        Network::Ipv6 => {
            let (protocol, _, rest) = ipv6(packet.bytes)?;
            let reason = Unreachable::of_ipv6(*rest.first()?, *rest.get(1)?);
            let reason = reason.filter(|_| protocol == ICMPV6)?;
            let (protocol, ends, segment) = ipv6(rest.get(ERROR..)?)?;
            Some((key(protocol, ends, segment)?, reason))
        }
    }
}

/// The connection of a segment between `ends`, of which at least the ports are there.
fn key(protocol: u8, ends: [IpAddr; 2], segment: &[u8]) -> Option<FlowKey> {
    let [a, b, c, d] = *segment.first_chunk()?;
    let ports = [[a, b], [c, d]].map(u16::from_be_bytes);
    let address = |end: usize| SocketAddr::new(ends[end], ports[end]);
    (protocol == TCP).then(|| FlowKey::of(address(0), address(1)).0)
}

/// Protocol, source and destination, and payload of an IPv4 packet.
fn ipv4(bytes: &[u8]) -> Option<(u8, [IpAddr; 2], &[u8])> {
    let header: &[u8; 20] = bytes.first_chunk()?;
    let len = usize::from(header[0] & 0x0f) * 4;
    let address = |at: usize| {
        let four: [u8; 4] = *header[at..].first_chunk().expect("a header has 20 bytes");
        IpAddr::V4(Ipv4Addr::from(four))
    };
    let ends = [address(12), address(16)];
    (header[0] >> 4 == 4 && len >= header.len()).then_some((header[9], ends, bytes.get(len..)?))
}

/// Next header, source and destination, and payload of an IPv6 packet.
fn ipv6(bytes: &[u8]) -> Option<(u8, [IpAddr; 2], &[u8])> {
    let (header, rest) = bytes.split_first_chunk::<40>()?;
    let address = |at: usize| {
        let sixteen: [u8; 16] = *header[at..].first_chunk().expect("a header has 40 bytes");
        IpAddr::V6(Ipv6Addr::from(sixteen))
    };
    (header[0] >> 4 == 6).then_some((header[6], [address(8), address(24)], rest))
}
