//! The hosts that a packet is addressed to.
//!
//! Rule: an address is classified once, by [`Addresses::audience`](super::Addresses), and the
//! layers match on the result.

/// The hosts that a packet is addressed to, as seen from this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// This host.
    Us,
    /// Every host of the network.
    Broadcast,
    /// A group of hosts.
    Multicast,
    /// Some other host.
    Other,
}
