//! The calls of the table of addresses that exist only with autoconfiguration.
//!
//! Rule: no list grows beyond its first capacity. `v6::autoconfiguration` decides about lifetimes.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr};

use super::{
    Addresses,
    automatic::Automatic,
    error::AddressError,
    tentative::{Origin, TentativeAddress},
};
use crate::ip::subnet::{Subnet, is_link_local};

impl Addresses {
    /// Begins to configure IPv6 addresses, with room for `networks` networks of the link, for as many
    /// addresses that this host forms with their prefixes, and for `temporary` temporary ones.
    pub(crate) fn begin_automatic(&mut self, networks: usize, temporary: usize) {
        let formed = networks + temporary;
        self.own.reserve_exact(self.most + 1 + formed);
        self.deprecated.reserve_exact(self.most + 1 + formed);
        self.automatic = Automatic {
            is_on: true,
            tentative: Vec::with_capacity(self.most + 1 + formed),
            formed: Vec::with_capacity(formed),
            temporary: Vec::with_capacity(temporary),
            on_link: Vec::with_capacity(networks),
            router: None,
        };
    }

    /// Adds a tentative address. The caller has checked that a host can have it.
    pub(crate) fn add_tentative(
        &mut self,
        subnet: Subnet,
        ip: Ipv6Addr,
        origin: Origin,
    ) -> Result<(), AddressError> {
        if self.contains(subnet.address) || self.is_tentative(ip) {
            return Err(AddressError::Exists);
        }
        let is_counted = origin == Origin::Added && !is_link_local(subnet.address);
        let list = &self.automatic.tentative;
        let places = self.own.capacity() - self.own.len();
        if (is_counted && self.counted() >= self.most)
            || list.len() == list.capacity()
            || list.len() >= places
        {
            return Err(AddressError::Full);
        }
        self.automatic.tentative.push(TentativeAddress {
            subnet,
            ip,
            origin,
            sent: 0,
            due: None,
        });
        Ok(())
    }

    /// Moves the first address, which must be an IPv6 address, to the tentative addresses.
    pub(crate) fn make_first_tentative(&mut self) {
        if let Some(&Subnet {
            address: IpAddr::V6(ip),
            prefix_len,
        }) = self.own.first()
        {
            let subnet = self.own.remove(0);
            debug_assert_eq!(subnet.prefix_len, prefix_len);
            // An error is impossible: the place of the address is free.
            let _added = self.add_tentative(subnet, ip, Origin::Added);
        }
    }

    /// Returns the announced default router that is used.
    pub(crate) const fn router(&self) -> Option<Ipv6Addr> {
        self.automatic.router()
    }

    /// Sets the announced default router to use.
    pub(crate) const fn set_router(&mut self, router: Option<Ipv6Addr>) {
        self.automatic.router = router;
    }

    /// Returns the tentative addresses, oldest first.
    pub(crate) fn tentative(&self) -> &[TentativeAddress] {
        &self.automatic.tentative
    }

    /// Returns the tentative addresses, to change their timers.
    pub(crate) fn tentative_mut(&mut self) -> &mut [TentativeAddress] {
        &mut self.automatic.tentative
    }

    /// Returns true if `ip` is tentative.
    pub(crate) fn is_tentative(&self, ip: Ipv6Addr) -> bool {
        self.automatic.tentative.iter().any(|own| own.ip == ip)
    }

    /// Removes and returns a tentative address.
    pub(crate) fn remove_tentative(&mut self, ip: Ipv6Addr) -> Option<TentativeAddress> {
        let list = &mut self.automatic.tentative;
        let place = list.iter().position(|own| own.ip == ip)?;
        Some(list.remove(place))
    }

    /// Begins to use an address that was tentative.
    pub(crate) fn assign(&mut self, was: &TentativeAddress) {
        match was.origin {
            Origin::Added | Origin::LinkLocal => {}
            Origin::Prefix => self.automatic.formed.push(was.subnet.address),
            Origin::Temporary => {
                self.automatic.formed.push(was.subnet.address);
                self.automatic.temporary.push(was.subnet.address);
            }
        }
        self.push(was.subnet);
    }

    /// Returns true if `ip` was formed with a router's prefix and is not deprecated.
    pub(crate) fn is_formed_and_preferred(&self, ip: IpAddr) -> bool {
        self.automatic.has(ip) && !self.is_deprecated(ip)
    }

    /// Returns true if `ip` is a temporary address. RFC 8981.
    pub(crate) fn is_temporary(&self, ip: IpAddr) -> bool {
        self.automatic.temporary.contains(&ip)
    }

    /// Adds a network of the link, or removes it if `is_on_link` is false.
    pub(crate) fn set_on_link(&mut self, network: Subnet, is_on_link: bool) {
        let list = &mut self.automatic.on_link;
        let place = list.iter().position(|known| *known == network);
        match place {
            Some(place) if !is_on_link => _ = list.remove(place),
            None if is_on_link && list.len() < list.capacity() => list.push(network),
            Some(_) | None => {}
        }
    }

    /// Returns the networks of the link that routers announced.
    pub(crate) fn announced_networks(&self) -> impl Iterator<Item = &Subnet> {
        self.automatic.on_link()
    }

    /// Returns this host's link-local address, if it has one that is not tentative.
    pub(crate) fn link_local(&self) -> Option<Ipv6Addr> {
        self.own.iter().find_map(|own| match own.address {
            IpAddr::V6(ip) if ip.is_unicast_link_local() => Some(ip),
            IpAddr::V4(_) | IpAddr::V6(_) => None,
        })
    }

    /// Returns this host's IPv6 addresses; tentative addresses come last.
    pub(crate) fn all_v6(&self) -> impl Iterator<Item = Ipv6Addr> {
        let own = self.own.iter().filter_map(|own| match own.address {
            IpAddr::V6(ip) => Some(ip),
            IpAddr::V4(_) => None,
        });
        own.chain(self.automatic.tentative.iter().map(|own| own.ip))
    }
}
