//! Received ICMP errors of a build without the feature `icmp-errors`: each is discarded.
//!
//! Rule: it has the interface of the parser.

use fullpipe_wire::Icmpv4Message;

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
