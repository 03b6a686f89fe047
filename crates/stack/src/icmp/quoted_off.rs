//! Stand-in for the parser of quoted packets in builds without the feature `icmp-errors`.
//!
//! Rule: this file has the interface of `quoted.rs`, and discards every received ICMP error.

use fullpipe_wire::Icmpv4Message;
#[cfg(feature = "ipv6")]
use fullpipe_wire::Icmpv6Message;

use super::path_error::IcmpEvent;
use crate::{counters::Discard, ip::Addresses};

/// Returns the reason to discard the message.
///
/// # Errors
/// Always fails.
pub(crate) const fn parse(
    _message: Icmpv4Message,
    _quoted: &[u8],
    _addresses: &Addresses,
    _path_mtu_min: u16,
) -> Result<IcmpEvent, Discard> {
    Err(Discard::IcmpUnwanted)
}

/// Returns the reason to discard the message.
///
/// # Errors
/// Always fails.
#[cfg(feature = "ipv6")]
pub(crate) const fn parse_v6(
    _message: Icmpv6Message,
    _quoted: &[u8],
    _addresses: &Addresses,
    _path_mtu_min: u16,
) -> Result<IcmpEvent, Discard> {
    Err(Discard::IcmpUnwanted)
}
