//! Stand-in for neighbour discovery in builds without the feature `ipv6`: no message is sent.
//!
//! Rule: this file has the functions of `nd.rs` that write messages.

use core::net::Ipv6Addr;

use fullpipe_wire::MacAddress;

use super::Neighbours;

impl Neighbours {
    /// Returns 0.
    pub(super) const fn write_solicitation(
        &self,
        _frame: &mut [u8],
        _station: Option<MacAddress>,
        _source: Ipv6Addr,
        _target: Ipv6Addr,
    ) -> usize {
        0
    }

    /// Returns 0.
    pub(super) const fn write_advertisement(
        &self,
        _frame: &mut [u8],
        _to: (MacAddress, Ipv6Addr),
        _ours: Ipv6Addr,
    ) -> usize {
        0
    }
}
