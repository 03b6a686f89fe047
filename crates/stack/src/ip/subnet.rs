//! An address and the length of its network's prefix.
//!
//! Rule: this file only distinguishes address families; `v4` and `v6` have the arithmetic. Routes
//! are elsewhere.

use core::net::IpAddr;

use super::{v4, v6};

/// An address and the length of its network's prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// Address of this host, or of any host in the network.
    pub address: IpAddr,
    /// Length of the prefix that all hosts of the network share, in bits.
    pub prefix_len: u8,
}

impl Subnet {
    /// Returns true if `ip` is in the network.
    pub fn contains(&self, ip: IpAddr) -> bool {
        match (self.address, ip) {
            (IpAddr::V4(own), IpAddr::V4(ip)) => {
                let mask = v4::mask(self.prefix_len);
                own.to_bits() & mask == ip.to_bits() & mask
            }
            (IpAddr::V6(own), IpAddr::V6(ip)) => v6::share_prefix(own, ip, self.prefix_len),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }

    /// Returns true if `ip` can be the address of one host.
    pub(crate) fn can_be_host(&self, ip: IpAddr) -> bool {
        match (self.address, ip) {
            (IpAddr::V4(own), IpAddr::V4(ip)) => v4::can_be_host(own, self.prefix_len, ip),
            (IpAddr::V6(_), IpAddr::V6(ip)) => v6::is_unicast(ip),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// Returns true for IPv6 addresses that are valid on one link only.
pub(crate) const fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(_) => false,
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}
