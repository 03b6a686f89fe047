//! The internet layer: IP packets received and sent, for every IP version.
//!
//! Rule: outside the folders `v4` and `v6` an address is an `IpAddr`, and a match on the family has
//! an arm for each family. Packet headers are parsed in `receiver` and `v6::receiver`, and written
//! in `sender`. No state of a connection is kept here.

pub(crate) mod addresses;
pub(crate) mod audience;
#[cfg(not(feature = "slaac"))]
#[path = "v6/autoconfiguration_off.rs"]
pub(crate) mod autoconfiguration;
pub(crate) mod outgoing;
pub(crate) mod packet;
#[cfg(feature = "fragments")]
pub(crate) mod reassembly;
#[cfg(not(feature = "fragments"))]
#[path = "reassembly_off.rs"]
pub(crate) mod reassembly;
pub(crate) mod receiver;
pub(crate) mod routes;
pub(crate) mod send_queue;
pub(crate) mod sender;
pub(crate) mod stored;
pub(crate) mod subnet;
#[cfg(test)]
mod tests;
pub(crate) mod v4;
#[cfg(feature = "ipv6")]
pub(crate) mod v6;
#[cfg(not(feature = "ipv6"))]
#[path = "v6_off.rs"]
pub(crate) mod v6;

/// Bytes of the longest IP header that is sent.
pub(crate) const MOST_IP_HEADER: usize = if cfg!(feature = "ipv6") { 40 } else { 20 };

pub use addresses::AddressError;
pub(crate) use addresses::Addresses;
pub(crate) use audience::Audience;
#[cfg(not(feature = "slaac"))]
pub(crate) use autoconfiguration::Autoconfiguration;
pub(crate) use outgoing::Outgoing;
pub(crate) use packet::IpHeader;
pub(crate) use packet::Packet;
pub(crate) use receiver::IpReceiver;
pub use routes::{Route, RouteEntry, RouteError, Routes};
pub(crate) use send_queue::{DatagramHeader, SendQueue};
pub(crate) use sender::{BuiltPacket, IpSender};
pub(crate) use stored::{StoredEnd, StoredIp};
pub use subnet::Subnet;
#[cfg(feature = "slaac")]
pub use v6::autoconfiguration::DefaultRouter;
#[cfg(feature = "slaac")]
pub(crate) use v6::autoconfiguration::{Autoconfiguration, Surroundings};
