//! Filters in tcpdump's words (pcap-filter): `host 10.0.0.1 and (port 80 or 443)`.
//!
//! Rule: a filter chooses connections and not segments, because an analysis needs both directions.
//! A connection is chosen if tcpdump would choose a segment of either direction. As in tcpdump,
//! `and` and `or` have the same precedence and associate to the left, and `not` binds more tightly.
//! A value without a keyword repeats the keywords of the value before it.

mod parse;

use std::{
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

use super::segment::FlowKey;

pub use parse::FilterError;

/// A filter that chooses connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowFilter(Rule);

/// A filter, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    /// The name of a protocol. `tcp` is always true and `udp` is always false, because every
    /// connection is TCP.
    Constant(bool),
    /// True: the addresses are IPv6; false: they are IPv4.
    IsIpv6(bool),
    /// An address within a network. A host is a network with one address.
    Net(Which, IpAddr, u8),
    /// A port within a range: the first and the last port.
    Ports(Which, u16, u16),
    Not(Box<Rule>),
    Both(Box<Rule>, Box<Rule>),
    Either(Box<Rule>, Box<Rule>),
}

/// Selects the addresses or ports of a segment that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Source,
    Destination,
    Any,
    Each,
}

impl Which {
    fn holds(self, source: bool, destination: bool) -> bool {
        match self {
            Self::Source => source,
            Self::Destination => destination,
            Self::Any => source || destination,
            Self::Each => source && destination,
        }
    }
}

impl FlowFilter {
    /// Returns true if the filter chooses the connection.
    pub fn chooses(&self, key: &FlowKey) -> bool {
        self.0.holds(&key.a, &key.b) || self.0.holds(&key.b, &key.a)
    }
}

impl FromStr for FlowFilter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        parse::rule(text).map(Self)
    }
}

impl Rule {
    fn holds(&self, source: &SocketAddr, destination: &SocketAddr) -> bool {
        match self {
            Self::Constant(value) => *value,
            Self::IsIpv6(wanted) => source.is_ipv6() == *wanted,
            Self::Net(which, net, bits) => {
                let is_in = |address: &SocketAddr| is_within(address.ip(), *net, *bits);
                which.holds(is_in(source), is_in(destination))
            }
            Self::Ports(which, first, last) => {
                let is_in = |address: &SocketAddr| (*first..=*last).contains(&address.port());
                which.holds(is_in(source), is_in(destination))
            }
            Self::Not(rule) => !rule.holds(source, destination),
            Self::Both(one, other) => {
                one.holds(source, destination) && other.holds(source, destination)
            }
            Self::Either(one, other) => {
                one.holds(source, destination) || other.holds(source, destination)
            }
        }
    }
}

/// Returns true if the first `bits` bits of the addresses agree.
fn is_within(address: IpAddr, net: IpAddr, bits: u8) -> bool {
    match (address, net) {
        (IpAddr::V4(address), IpAddr::V4(net)) => {
            let differing = address.to_bits() ^ net.to_bits();
            differing.leading_zeros() >= bits.into()
        }
        (IpAddr::V6(address), IpAddr::V6(net)) => {
            let differing = address.to_bits() ^ net.to_bits();
            differing.leading_zeros() >= bits.into()
        }
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
    }
}

#[cfg(test)]
mod tests;
