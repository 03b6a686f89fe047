//! The routing table: from a destination to the next hop.
//!
//! Rule: the longest matching prefix wins (RFC 1812 §5.2.4.3), and the local network is a
//! route like any other. The table also contains the addresses of this host, because a destination
//! is compared with them first. The table contains no MAC addresses, and no received packet changes
//! it: ICMP redirects of both families are ignored (RFC 4861 §8 leaves a host the choice).

use alloc::vec::Vec;
use core::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use crate::ip::{addresses::Addresses, audience::Audience, subnet::Subnet};

/// The next hop of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// This neighbour: the destination itself or a gateway.
    Neighbour(IpAddr),
    /// Every station of the link.
    Broadcast,
    /// The stations that listen to this group.
    Multicast(IpAddr),
}

/// The reason that a route was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteError {
    /// The table is full (knob `ip.routes`).
    Full,
    /// The network and the gateway are of different families, or of a family that this build does
    /// not support.
    Family,
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the routing table is full (knob ip.routes)",
            Self::Family => {
                "a route's network and gateway must be of one IP version that this build supports"
            }
        })
    }
}

impl core::error::Error for RouteError {}

#[derive(Clone, Copy, Debug)]
struct RouteEntry {
    network: Subnet,
    gateway: IpAddr,
}

/// The routing table of a host with one interface.
#[derive(Clone, Debug)]
pub struct Routes {
    addresses: Addresses,
    /// The routes, longest prefix first. Never grows beyond its first capacity.
    entries: Vec<RouteEntry>,
    most: usize,
    /// The default router that was chosen among the routers that announced themselves.
    #[cfg(feature = "slaac")]
    router: Option<Ipv6Addr>,
}

impl Routes {
    /// Returns a table with the routes to the networks of `addresses` and room for `most` more
    /// routes.
    pub(crate) fn new(addresses: Addresses, most: u32) -> Self {
        let most = most as usize;
        Self {
            addresses,
            entries: Vec::with_capacity(most),
            most,
            #[cfg(feature = "slaac")]
            router: None,
        }
    }

    /// Returns the default router that was chosen among the routers that announced themselves. A
    /// default route that the application set takes precedence.
    #[cfg(feature = "slaac")]
    pub const fn router(&self) -> Option<Ipv6Addr> {
        self.router
    }

    /// Sets the default router that announced itself.
    #[cfg(feature = "slaac")]
    pub(crate) const fn set_router(&mut self, router: Option<Ipv6Addr>) {
        self.router = router;
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.addresses.heap_bytes() + self.entries.capacity() * size_of::<RouteEntry>()
    }

    /// Returns the addresses of this host.
    pub(crate) const fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Returns the addresses of this host, to change them.
    pub(crate) const fn addresses_mut(&mut self) -> &mut Addresses {
        &mut self.addresses
    }

    /// Sets the default route of the gateway's family, for destinations that no other route
    /// matches.
    ///
    /// # Errors
    /// Returns the errors of [`add`](Self::add).
    pub fn set_default(&mut self, gateway: IpAddr) -> Result<(), RouteError> {
        let address = match gateway {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let prefix_len = 0;
        self.add(
            Subnet {
                address,
                prefix_len,
            },
            gateway,
        )
    }

    /// Routes the network of `to` through `gateway`, in place of an earlier route
    /// to the same network.
    ///
    /// # Errors
    /// Returns [`RouteError::Full`], or [`RouteError::Family`] for addresses of two families.
    pub fn add(&mut self, to: Subnet, gateway: IpAddr) -> Result<(), RouteError> {
        let most_bits = match (to.address, gateway) {
            (IpAddr::V4(_), IpAddr::V4(_)) => 32,
            (IpAddr::V6(_), IpAddr::V6(_)) if cfg!(feature = "ipv6") => 128,
            _ => return Err(RouteError::Family),
        };
        let prefix_len = to.prefix_len.min(most_bits);
        let network = Subnet { prefix_len, ..to };
        let entry = RouteEntry { network, gateway };
        let same = |known: &&mut RouteEntry| {
            let known = known.network;
            known.prefix_len == prefix_len
                && known.address.is_ipv4() == to.address.is_ipv4()
                && known.contains(to.address)
        };
        if let Some(known) = self.entries.iter_mut().find(same) {
            *known = entry;
            return Ok(());
        }
        if self.entries.len() == self.most {
            return Err(RouteError::Full);
        }
        let place = self
            .entries
            .partition_point(|known| known.network.prefix_len >= prefix_len);
        self.entries.insert(place, entry);
        Ok(())
    }

    /// Removes the route to the network of `to`. Returns false if there is none.
    pub fn remove(&mut self, to: Subnet) -> bool {
        let is_same = |known: &RouteEntry| {
            known.network.prefix_len == to.prefix_len
                && known.network.address.is_ipv4() == to.address.is_ipv4()
                && known.network.contains(to.address)
        };
        let place = self.entries.iter().position(is_same);
        place.map(|place| self.entries.remove(place)).is_some()
    }

    /// Returns the next hop of a packet to `dst`; `None` if no route leads to `dst`, or if `dst`
    /// is this host, because packets are not looped back.
    pub fn lookup(&self, dst: IpAddr) -> Option<Route> {
        match self.addresses.audience(dst) {
            Audience::Us => None,
            Audience::Broadcast => Some(Route::Broadcast),
            Audience::Multicast => Some(Route::Multicast(dst)),
            Audience::Other if !self.addresses.can_be_host(dst) => None,
            Audience::Other => self.neighbour(dst).map(Route::Neighbour),
        }
    }

    /// Returns the source address of packets to `dst`. IPv4: this host's address in the network of
    /// the next hop, otherwise its oldest address. IPv6: the address that RFC 6724 §5 prefers.
    /// `None` if this host has no address of the family of `dst`.
    #[inline]
    pub fn source(&self, dst: IpAddr) -> Option<IpAddr> {
        match self.addresses.as_slice() {
            [only] if only.address.is_ipv4() == dst.is_ipv4() => Some(only.address),
            _ => self
                .addresses
                .source_for(dst, self.neighbour(dst).unwrap_or(dst)),
        }
    }

    fn neighbour(&self, dst: IpAddr) -> Option<IpAddr> {
        let network = self.addresses.network_of(dst);
        let is_local = |other| network.is_some_and(|network| network.prefix_len >= other);
        let matched = self
            .entries
            .iter()
            .find(|entry| entry.network.contains(dst));
        match matched {
            Some(entry) if !is_local(entry.network.prefix_len) => Some(entry.gateway),
            Some(_) | None if network.is_some() => Some(dst),
            Some(_) | None => self.announced(dst),
        }
    }

    /// Returns the next hop to a destination that no route matches: for IPv6, the announced default
    /// router, if there is one.
    #[cfg(feature = "slaac")]
    fn announced(&self, dst: IpAddr) -> Option<IpAddr> {
        match dst {
            IpAddr::V4(_) => None,
            IpAddr::V6(_) => self.router.map(IpAddr::V6),
        }
    }

    /// Returns `None`.
    #[cfg(not(feature = "slaac"))]
    const fn announced(&self, _dst: IpAddr) -> Option<IpAddr> {
        None
    }
}
