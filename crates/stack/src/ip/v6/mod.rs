//! IPv6: addresses, input, and the headers of sent packets.
//!
//! Rule: this folder has the code that applies to IPv6 only. A build without the feature `ipv6` has
//! `v6_off.rs` in its place. Neighbour discovery is in `link::neighbours`, ICMPv6 in `icmp::v6`.

#[cfg(feature = "slaac")]
pub(crate) mod autoconfiguration;
pub(crate) mod flow_label;
pub(crate) mod output;
#[cfg(feature = "path-mtu")]
pub(crate) mod path_mtu;
pub(crate) mod receiver;
pub(crate) mod source;
#[cfg(test)]
mod tests;

use core::net::Ipv6Addr;

use fullpipe_wire::MacAddress;

/// The group of all nodes of a link. RFC 4291 §2.7.1.
pub(crate) const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// Returns true if the first `prefix_len` bits of `one` and `other` are equal.
pub(crate) const fn share_prefix(one: Ipv6Addr, other: Ipv6Addr, prefix_len: u8) -> bool {
    common_prefix(one, other) >= prefix_len as u32
}

/// Returns the number of leading bits that `one` and `other` share.
pub(crate) const fn common_prefix(one: Ipv6Addr, other: Ipv6Addr) -> u32 {
    (one.to_bits() ^ other.to_bits()).leading_zeros()
}

/// Returns true if `ip` can be the address of one host on a link: it is not unspecified, loopback,
/// a group, or an IPv4 address in the form of an IPv6 address.
pub(crate) const fn is_unicast(ip: Ipv6Addr) -> bool {
    let is_mapped = ip.to_bits() >> 32 == 0xffff;
    !(ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || is_mapped)
}

/// Returns the link-local address of a station, whose last 64 bits follow from `mac`. RFC 4291,
/// appendix A.
pub(crate) const fn link_local(mac: MacAddress) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac.0;
    let identifier = [a ^ 2, b, c, 0xff, 0xfe, d, e, f];
    Ipv6Addr::from_bits(0xfe80 << 112 | u64::from_be_bytes(identifier) as u128)
}
