//! Questions and answers of the resolver.
//!
//! Rule: an answer has addresses of the family that was asked for, and no others.

use std::net::IpAddr;

use fullpipe::Instant;

/// A family of addresses: the type of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// IPv6: AAAA records.
    V6,
    /// IPv4: A records.
    V4,
}

impl Family {
    /// Returns the family of `address`.
    pub const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V6(_) => Self::V6,
            IpAddr::V4(_) => Self::V4,
        }
    }
}

/// Addresses of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The addresses, in the order of the server; at least one.
    pub addresses: Vec<IpAddr>,
    /// Time until which the addresses may be used for new connections.
    pub valid_until: Instant,
}
