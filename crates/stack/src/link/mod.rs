//! The link layer: Ethernet headers and the neighbour cache.
//!
//! Rule: only this folder and `device` handle link headers.

pub(crate) mod framing;
pub(crate) mod neighbours;
#[cfg(test)]
mod tests;

#[cfg(feature = "slaac")]
pub(crate) use framing::write_v6_headers;
pub(crate) use framing::{Inbound, IpVersion, LinkLayer, multicast_station};
#[cfg(feature = "ipv6")]
pub(crate) use neighbours::ReceivedMessage;
pub(crate) use neighbours::{Asker, Neighbours, Resolution};
