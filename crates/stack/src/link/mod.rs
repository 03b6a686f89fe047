//! The link layer: Ethernet headers and the neighbour cache.
//!
//! Rule: only this folder and `device` handle link headers.

pub(crate) mod framing;
pub(crate) mod neighbours;
#[cfg(test)]
mod tests;

pub(crate) use framing::{Inbound, LinkLayer, multicast_station};
pub(crate) use neighbours::{Asker, Neighbours, Resolution};
