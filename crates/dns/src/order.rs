//! The order in which addresses of a destination are tried. RFC 6724 §6.
//!
//! Rule: two addresses are compared by the rules of the RFC in this order: usable, matching scope,
//! matching label, higher precedence, smaller scope, longest common prefix. The first rule that
//! prefers one address decides. If no rule does, the order of the server stays. The stack selects
//! the source addresses (RFC 6724 §5). The RFC's rules about mobile hosts, tunnels and deprecated
//! addresses are left out.

use std::{
    cmp::Reverse,
    net::{IpAddr, Ipv6Addr},
};

/// Prefix, its length, precedence and label. RFC 6724 §2.1, the longest prefix first.
const POLICY: [(Ipv6Addr, u32, u8, u8); 9] = [
    (Ipv6Addr::LOCALHOST, 128, 50, 0),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, 35, 4),
    (Ipv6Addr::UNSPECIFIED, 96, 1, 3),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, 5, 5),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, 30, 2),
    (Ipv6Addr::new(0x3ffe, 0, 0, 0, 0, 0, 0, 0), 16, 1, 12),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, 1, 11),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, 3, 13),
    (Ipv6Addr::UNSPECIFIED, 0, 40, 1),
];

/// Scopes of RFC 4291 §2.7.
const LINK: u8 = 0x2;
const SITE: u8 = 0x5;
const GLOBAL: u8 = 0xe;

/// Bits of an address in front of its interface identifier.
const PREFIX_LEN: u32 = 64;

/// Returns the address as an IPv6 address; an IPv4 address is mapped into ::ffff:0:0/96.
const fn as_v6(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}

fn common_prefix(one: Ipv6Addr, other: Ipv6Addr) -> u32 {
    (one.to_bits() ^ other.to_bits()).leading_zeros()
}

/// Returns the precedence and the label of an address.
fn policy(ip: IpAddr) -> (u8, u8) {
    let ip = as_v6(ip);
    let mut rows = POLICY.iter();
    let row = rows.find(|row| common_prefix(row.0, ip) >= row.1);
    row.map_or((40, 1), |row| (row.2, row.3))
}

fn scope(ip: IpAddr) -> u8 {
    match ip {
        IpAddr::V4(ip) if ip.is_link_local() || ip.is_loopback() => LINK,
        IpAddr::V4(_) => GLOBAL,
        IpAddr::V6(ip) => match ip.octets() {
            [0xff, flags_scope, ..] => flags_scope & 0xf,
            _ if ip.is_unicast_link_local() || ip.is_loopback() => LINK,
            [0xfe, second, ..] if second & 0xc0 == 0xc0 => SITE,
            _ => GLOBAL,
        },
    }
}

/// Sorts `addresses`, the best first. `source` returns the source address of packets to an address;
/// `None` if this host cannot send any.
pub fn by_preference(addresses: &mut [IpAddr], source: impl Fn(IpAddr) -> Option<IpAddr>) {
    addresses.sort_by_cached_key(|&destination| {
        let own = source(destination);
        let (precedence, label) = policy(destination);
        let matches_scope = own.is_some_and(|own| scope(own) == scope(destination));
        let matches_label = own.is_some_and(|own| policy(own).1 == label);
        let shared = match (destination, own) {
            (IpAddr::V6(destination), Some(IpAddr::V6(own))) => {
                common_prefix(destination, own).min(PREFIX_LEN)
            }
            // Do not compare prefixes of IPv4 addresses: they say nothing about distance. Keep the
            // order of the server, which rotates the addresses to share the load.
            _ => 0,
        };
        (
            own.is_none(),
            !matches_scope,
            !matches_label,
            Reverse(precedence),
            scope(destination),
            Reverse(shared),
        )
    });
}
