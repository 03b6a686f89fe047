//! The internet layer: IP packets received and sent, for every IP version.
//!
//! Rule: outside the folder `v4` (a later `v6` would be beside it) an address is an
//! `IpAddr`, and a match on the family has an arm for each family. Packet headers are parsed in
//! `receiver` and written in `sender`. No state of a connection is kept here.

pub(crate) mod addresses;
pub(crate) mod audience;
pub(crate) mod packet;
pub(crate) mod receiver;
pub(crate) mod send_queue;
pub(crate) mod sender;
pub(crate) mod subnet;
#[cfg(test)]
mod tests;
pub(crate) mod v4;

pub use addresses::AddressError;
pub(crate) use addresses::Addresses;
pub(crate) use audience::Audience;
#[cfg_attr(not(feature = "icmp-errors"), expect(unused_imports))]
pub(crate) use packet::IpHeader;
pub(crate) use packet::Packet;
pub(crate) use receiver::IpReceiver;
pub(crate) use send_queue::{DatagramHeader, SendQueue};
pub(crate) use sender::{BuiltPacket, IpSender, Outgoing};
pub use subnet::Subnet;
pub use v4::routes::{Route, RouteError, Routes};
