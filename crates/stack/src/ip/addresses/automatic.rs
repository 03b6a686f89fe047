//! The part of the table of addresses that exists only with autoconfiguration: tentative
//! addresses, and networks on the link that contain no address of this host.
//!
//! Rule: no list grows beyond its first capacity. `v6::autoconfiguration` decides about lifetimes.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr};

use super::tentative::{Origin, TentativeAddress};
use crate::ip::subnet::{Subnet, is_link_local};

/// Addresses and networks that routers announced, and tentative addresses.
#[derive(Clone, Debug, Default)]
pub(super) struct Automatic {
    /// This host configures its IPv6 addresses itself.
    pub(super) is_on: bool,
    pub(super) tentative: Vec<TentativeAddress>,
    /// Addresses that this host formed with prefixes that routers announced.
    pub(super) formed: Vec<IpAddr>,
    /// The addresses of `formed` that are temporary.
    pub(super) temporary: Vec<IpAddr>,
    pub(super) on_link: Vec<Subnet>,
    /// The default router that was chosen among the routers that announced themselves.
    pub(super) router: Option<Ipv6Addr>,
}

impl Automatic {
    /// Returns the heap memory in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.tentative.capacity() * size_of::<TentativeAddress>()
            + self.formed.capacity() * size_of::<IpAddr>()
            + self.temporary.capacity() * size_of::<IpAddr>()
            + self.on_link.capacity() * size_of::<Subnet>()
    }

    /// Returns true if `ip` was formed with a prefix of a router.
    pub(super) fn has(&self, ip: IpAddr) -> bool {
        self.formed.contains(&ip)
    }

    /// Returns the number of tentative addresses that the application added.
    pub(super) fn added(&self) -> usize {
        let added = |own: &&TentativeAddress| {
            own.origin == Origin::Added && !is_link_local(own.subnet.address)
        };
        self.tentative.iter().filter(added).count()
    }

    /// Returns true if this host configures its IPv6 addresses itself.
    pub(super) const fn is_used(&self) -> bool {
        self.is_on
    }

    /// Forgets that `ip` was formed with a prefix of a router.
    pub(super) fn forget(&mut self, ip: IpAddr) {
        self.formed.retain(|formed| *formed != ip);
        self.temporary.retain(|temporary| *temporary != ip);
    }

    /// Returns the announced default router that is used.
    pub(super) const fn router(&self) -> Option<Ipv6Addr> {
        self.router
    }

    /// Returns the networks on the link that contain no address of this host.
    pub(super) fn on_link(&self) -> impl Iterator<Item = &Subnet> {
        self.on_link.iter()
    }
}
