//! Addresses and ports of a connection, and the payload that its true ends (those that follow the
//! protocol) send.
//!
//! The one rule: payload is a function of the connection and the sequence number, so that it can be
//! checked without being stored.

use core::net::Ipv4Addr;

/// Addresses and ports of a connection, as the stack sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuple {
    /// Address of the peer.
    pub peer: Ipv4Addr,
    /// Port of the peer.
    pub peer_port: u16,
    /// Port of the stack.
    pub port: u16,
}

/// Returns the byte with sequence number `seq` of a true stream. The two directions of a connection
/// have different bytes.
pub fn byte_of(tuple: Tuple, initial: u32, seq: u32, from_peer: bool) -> u8 {
    let ports = u32::from(tuple.peer_port) << 16 | u32::from(tuple.port);
    let salt = initial ^ ports ^ u32::from(tuple.peer) ^ u32::from(from_peer) << 31;
    let mixed = (seq ^ salt.wrapping_mul(0x9e37_79b1)).wrapping_mul(0x85eb_ca6b);
    ((mixed ^ mixed >> 15).wrapping_mul(0xc2b2_ae35) >> 24) as u8
}
