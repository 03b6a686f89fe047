//! Selection of the source address. RFC 6724 §5.
//!
//! Rule: two addresses are compared by the rules of the RFC in order, and the first rule that
//! prefers one of them decides. In order, the rules prefer an address that equals the destination,
//! the appropriate scope, an address that is not deprecated, the label of the destination, a
//! temporary address, and the longest prefix in common with the destination. The RFC's other rules
//! cannot decide, because the candidates are the addresses of one interface. Of equal addresses, the
//! oldest wins.

use core::net::{IpAddr, Ipv6Addr};

use super::common_prefix;
use crate::ip::subnet::Subnet;

/// Scopes of RFC 4291 §2.7, ordered from small to large.
const LINK: u8 = 0x2;
const SITE: u8 = 0x5;
const GLOBAL: u8 = 0xe;

/// Bits of an address in front of its interface identifier.
const PREFIX_LEN: u32 = 64;

/// Returns the scope of an address. Unique local addresses are global (RFC 4193 §3.3).
const fn scope(ip: Ipv6Addr) -> u8 {
    match ip.octets() {
        [0xff, flags_scope, ..] => flags_scope & 0xf,
        _ if ip.is_unicast_link_local() || ip.is_loopback() => LINK,
        [0xfe, second, ..] if second & 0xc0 == 0xc0 => SITE,
        _ => GLOBAL,
    }
}

/// Returns the label of an address for rule 6: the label of the longest prefix in the policy table
/// that contains the address. RFC 6724 §2.1.
pub(super) const fn label(ip: Ipv6Addr) -> u8 {
    match ip.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => 0,
        [0, 0, 0, 0, 0, 0xffff, ..] => 4,
        [0, 0, 0, 0, 0, 0, ..] => 3,
        [0x2001, 0, ..] => 5,
        [0x2002, ..] => 2,
        [0x3ffe, ..] => 12,
        [first, ..] if first & 0xffc0 == 0xfec0 => 11,
        [first, ..] if first & 0xfe00 == 0xfc00 => 13,
        _ => 1,
    }
}

/// The properties of an address that the rules compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    /// New connections should use another address.
    pub(crate) is_deprecated: bool,
    /// The address is a temporary one (RFC 8981).
    pub(crate) is_temporary: bool,
}

/// Returns true if `one` is a better source for `dst` than `other`.
fn is_better(
    one: &Subnet,
    other: &Subnet,
    traits: impl Fn(Ipv6Addr) -> Traits,
    dst: Ipv6Addr,
) -> bool {
    let (IpAddr::V6(a), IpAddr::V6(b)) = (one.address, other.address) else {
        return false;
    };
    if (a == dst) != (b == dst) {
        return a == dst;
    }
    let (of_a, of_b, wanted) = (scope(a), scope(b), scope(dst));
    if of_a != of_b {
        return match of_a < of_b {
            true => of_a >= wanted,
            false => of_b < wanted,
        };
    }
    let [traits_a, traits_b] = [a, b].map(traits);
    if traits_a.is_deprecated != traits_b.is_deprecated {
        return traits_b.is_deprecated;
    }
    let [same_a, same_b] = [a, b].map(|ip| label(ip) == label(dst));
    if same_a != same_b {
        return same_a;
    }
    if traits_a.is_temporary != traits_b.is_temporary {
        return traits_a.is_temporary;
    }
    // Compare at most 64 bits: an address with the prefix length 128 has a network prefix too, but
    // the length of that network prefix is not known. RFC 6724 §2.2.
    let shared = |ip, len: u8| common_prefix(ip, dst).min(PREFIX_LEN.min(len.into()));
    shared(a, one.prefix_len) > shared(b, other.prefix_len)
}

/// Returns the source address of packets to `dst`; `None` if this host has no IPv6 address.
pub(crate) fn for_destination(
    own: &[Subnet],
    traits: impl Fn(Ipv6Addr) -> Traits,
    dst: Ipv6Addr,
) -> Option<Ipv6Addr> {
    let mut best: Option<&Subnet> = None;
    for candidate in own.iter().filter(|own| own.address.is_ipv6()) {
        if best.is_none_or(|best| is_better(candidate, best, &traits, dst)) {
            best = Some(candidate);
        }
    }
    match best?.address {
        IpAddr::V6(ip) => Some(ip),
        IpAddr::V4(_) => None,
    }
}
