//! The rules that a filter consists of.
//!
//! Rule: a rule is evaluated for one direction of a connection.

use std::net::{IpAddr, SocketAddr};

/// A filter, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
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
pub(super) enum Which {
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

impl Rule {
    /// Returns true if the rule holds for a segment between these ends.
    pub(super) fn holds(&self, source: &SocketAddr, destination: &SocketAddr) -> bool {
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
