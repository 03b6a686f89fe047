//! IPv4: addresses and fragmentation.
//!
//! Rule: this folder has the code for IPv4, and the folder `v6` has the code for IPv6. The
//! exceptions are `fragment` and `identification`, which serve both versions. Headers are not
//! parsed here: `ip::receiver` and `icmp::quoted` parse them.

pub(crate) mod fragment;
pub(crate) mod identification;
#[cfg(test)]
mod tests;

use core::net::Ipv4Addr;

/// Returns the network mask of a prefix.
pub(crate) const fn mask(prefix_len: u8) -> u32 {
    match prefix_len {
        0 => 0,
        1..=32 => u32::MAX << (32 - prefix_len),
        33.. => u32::MAX,
    }
}

/// An address of this host and its network, as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnNetwork {
    /// The address.
    pub(crate) address: u32,
    /// The bits that differ between hosts of the network.
    hosts: u32,
}

impl OwnNetwork {
    /// Returns the network of `address`/`prefix_len`.
    pub(crate) const fn new(address: Ipv4Addr, prefix_len: u8) -> Self {
        Self {
            address: address.to_bits(),
            hosts: !mask(prefix_len),
        }
    }

    /// Returns true if `ip` is the network's broadcast address. Networks of one or two addresses
    /// have none (RFC 3021).
    pub(crate) const fn has_broadcast(self, ip: u32) -> bool {
        ip == self.address | self.hosts && self.hosts > 1
    }

    /// Returns true if `ip` is the network's own address or its broadcast address. Networks of
    /// one or two addresses have neither (RFC 3021).
    pub(crate) const fn is_named_by(self, ip: u32) -> bool {
        let network = self.address & !self.hosts;
        (ip == network || ip == self.address | self.hosts) && self.hosts > 1
    }
}

/// Returns true if `ip` can be the address of one host, as seen in the network of
/// `own`/`prefix_len`: not 0/8, loopback, multicast or 240/4 (RFC 1122 §3.2.1.3, RFC 6890 §2.2.2),
/// and neither the network's own address nor its broadcast address. In a network of one or two
/// addresses, the first and the last address can also be a host's (RFC 3021).
pub(crate) const fn can_be_host(own: Ipv4Addr, prefix_len: u8, ip: Ipv4Addr) -> bool {
    is_unicast(ip) && !OwnNetwork::new(own, prefix_len).is_named_by(ip.to_bits())
}

/// Returns true if `ip` can be the address of one host in some network: not 0/8, loopback,
/// multicast or 240/4.
pub(crate) const fn is_unicast(ip: Ipv4Addr) -> bool {
    !matches!(ip.octets()[0], 0 | 127 | 224..)
}
