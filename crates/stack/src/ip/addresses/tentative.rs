//! Tentative addresses: this host checks that no other host has them before it uses them. RFC 4862
//! §5.4.
//!
//! Rule: a tentative address is not in use: packets to it are refused, and it is never a source.
//! Only packets to the address's solicited-node group are received. `v6::autoconfiguration` decides
//! if the address is used.

use core::net::Ipv6Addr;

use fullpipe_pool::Instant;

use crate::ip::subnet::Subnet;

/// The reason that this host wants an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The application added the address.
    Added,
    /// The address is the link-local address.
    LinkLocal,
    /// The address was formed with a prefix of a router.
    Prefix,
    /// The address was formed with a prefix of a router and a random identifier. RFC 8981.
    Temporary,
}

/// A tentative address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TentativeAddress {
    /// The address, with the prefix of its network.
    pub(crate) subnet: Subnet,
    /// The address of `subnet`, as an IPv6 address.
    pub(crate) ip: Ipv6Addr,
    pub(crate) origin: Origin,
    /// Solicitations sent.
    pub(crate) sent: u32,
    /// Time of the next solicitation or, after the last one, of the first use; `None` until the
    /// timers run for the first time.
    pub(crate) due: Option<Instant>,
}
