//! IPv4: addresses, routes, fragmentation and reassembly.
//!
//! Rule: code here depends on the rules of IPv4; a later `v6` would be beside this folder.
//! Headers are not parsed here: `ip::receiver` and `icmp::quoted` parse them.

pub(crate) mod fragment;
pub(crate) mod identification;
pub(crate) mod reassembly;
pub(crate) mod routes;
#[cfg(test)]
mod tests;

use core::net::Ipv4Addr;

use super::audience::Audience;

/// Returns the network mask of a prefix.
pub(crate) const fn mask(prefix_len: u8) -> u32 {
    match prefix_len {
        0 => 0,
        1..=32 => u32::MAX << (32 - prefix_len),
        33.. => u32::MAX,
    }
}

/// Returns the audience of a packet to `dst`, as seen by `own`/`prefix_len`.
///
/// Networks of one or two addresses have no broadcast address (RFC 3021).
pub(crate) fn audience(own: Ipv4Addr, prefix_len: u8, dst: Ipv4Addr) -> Audience {
    if dst == own {
        return Audience::Us;
    }
    let hosts = !mask(prefix_len);
    let same_network = (own.to_bits() ^ dst.to_bits()) & !hosts == 0;
    let host = dst.to_bits() & hosts;
    if dst.is_multicast() {
        Audience::Multicast
    } else if dst.is_broadcast() || (same_network && prefix_len < 31 && host == hosts) {
        Audience::Broadcast
    } else {
        Audience::Other
    }
}

/// Returns true if `ip` can be the address of one host, as seen in the network of
/// `own`/`prefix_len`: not 0/8, loopback, multicast or 240/4 (RFC 1122 §3.2.1.3, RFC 6890 §2.2.2),
/// and neither the network's own address nor its broadcast address. In a network of one or two
/// addresses, the first and the last address can also be a host's (RFC 3021).
pub(crate) fn can_be_host(own: Ipv4Addr, prefix_len: u8, ip: Ipv4Addr) -> bool {
    is_unicast(ip) && !names_network(own, prefix_len, ip)
}

/// Returns true if `ip` can be the address of one host in some network: not 0/8, loopback,
/// multicast or 240/4.
pub(crate) const fn is_unicast(ip: Ipv4Addr) -> bool {
    !matches!(ip.octets()[0], 0 | 127 | 224..)
}

/// Returns true if `ip` is the address of the network of `own`/`prefix_len` or its broadcast
/// address. Networks of one or two addresses have neither (RFC 3021).
pub(crate) fn names_network(own: Ipv4Addr, prefix_len: u8, ip: Ipv4Addr) -> bool {
    let hosts = !mask(prefix_len);
    let same_network = (own.to_bits() ^ ip.to_bits()) & !hosts == 0;
    let host = ip.to_bits() & hosts;
    same_network && prefix_len < 31 && (host == 0 || host == hosts)
}
