//! An address and the length of its network's prefix.
//!
//! Rule: the family is matched here, and the arithmetic is in `v4` (and one day
//! `v6`). This file knows no routes.

use core::net::IpAddr;

use super::{audience::Audience, v4};

/// This host's address, and how much of it names the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// This host's address.
    pub address: IpAddr,
    /// Leading bits that all hosts of the network share.
    pub prefix_len: u8,
}

impl Subnet {
    /// Whether `ip` is in the same network.
    pub fn contains(&self, ip: IpAddr) -> bool {
        match (self.address, ip) {
            (IpAddr::V4(own), IpAddr::V4(ip)) => {
                let mask = v4::mask(self.prefix_len);
                own.to_bits() & mask == ip.to_bits() & mask
            }
            (IpAddr::V4(_), IpAddr::V6(_))
            | (IpAddr::V6(_), IpAddr::V4(_))
            | (IpAddr::V6(_), IpAddr::V6(_)) => false,
        }
    }

    /// Who a packet to `dst` is for.
    pub(crate) fn audience(&self, dst: IpAddr) -> Audience {
        match (self.address, dst) {
            (IpAddr::V4(own), IpAddr::V4(dst)) => v4::audience(own, self.prefix_len, dst),
            (IpAddr::V4(_), IpAddr::V6(_))
            | (IpAddr::V6(_), IpAddr::V4(_))
            | (IpAddr::V6(_), IpAddr::V6(_)) => Audience::Other,
        }
    }

    /// Whether a packet from `src` can have come from one other host.
    /// RFC 1122 §3.2.1.3.
    pub(crate) fn may_send_to_us(&self, src: IpAddr) -> bool {
        !src.is_unspecified() && !src.is_loopback() && self.audience(src) == Audience::Other
    }
}
