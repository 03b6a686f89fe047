//! The routing table: from a destination to the next hop.
//!
//! Rule: the longest matching prefix wins (RFC 1812 §5.2.4.3), and the local network is a
//! route like any other. The table also contains the addresses of this host, because a destination
//! is compared with them first. The table contains no MAC addresses, and no received packet changes it:
//! ICMP redirects are ignored.

use alloc::vec::Vec;
use core::{
    fmt,
    net::{IpAddr, Ipv4Addr},
};

use crate::ip::{addresses::Addresses, audience::Audience, subnet::Subnet, v4};

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
    /// The network or the gateway is not IPv4, although the interface has only IPv4.
    Family,
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the routing table is full (knob ip.routes)",
            Self::Family => "a route's network and gateway must be IPv4, as the interface is",
        })
    }
}

impl core::error::Error for RouteError {}

#[derive(Clone, Copy, Debug)]
struct RouteEntry {
    network: Ipv4Addr,
    prefix_len: u8,
    gateway: Ipv4Addr,
}

/// The routing table of a host with one interface.
#[derive(Clone, Debug)]
pub struct Routes {
    addresses: Addresses,
    /// The routes, longest prefix first. Never grows beyond its first capacity.
    entries: Vec<RouteEntry>,
    most: usize,
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
        }
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

    /// Sets the default route, for destinations that no other route matches.
    ///
    /// # Errors
    /// Returns the errors of [`add`](Self::add).
    pub fn set_default(&mut self, gateway: IpAddr) -> Result<(), RouteError> {
        self.add(
            Subnet {
                address: Ipv4Addr::UNSPECIFIED.into(),
                prefix_len: 0,
            },
            gateway,
        )
    }

    /// Routes the network of `to` through `gateway`, in place of an earlier route
    /// to the same network.
    ///
    /// # Errors
    /// Returns [`RouteError::Full`], or [`RouteError::Family`] for addresses that are not
    /// IPv4.
    pub fn add(&mut self, to: Subnet, gateway: IpAddr) -> Result<(), RouteError> {
        let prefix_len = to.prefix_len.min(32);
        let (IpAddr::V4(address), IpAddr::V4(gateway)) = (to.address, gateway) else {
            return Err(RouteError::Family);
        };
        let network = Ipv4Addr::from_bits(address.to_bits() & v4::mask(prefix_len));
        let entry = RouteEntry {
            network,
            prefix_len,
            gateway,
        };
        let same =
            |known: &&mut RouteEntry| (known.network, known.prefix_len) == (network, prefix_len);
        if let Some(known) = self.entries.iter_mut().find(same) {
            *known = entry;
            return Ok(());
        }
        if self.entries.len() == self.most {
            return Err(RouteError::Full);
        }
        let place = self
            .entries
            .partition_point(|known| known.prefix_len >= prefix_len);
        self.entries.insert(place, entry);
        Ok(())
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

    /// Returns the source address of packets to `dst`: the address of this host in the network of
    /// the next hop, otherwise its oldest address. `None` if this host has no address of the
    /// family of `dst`.
    #[inline]
    pub fn source(&self, dst: IpAddr) -> Option<IpAddr> {
        match self.addresses.as_slice() {
            [only] if only.address.is_ipv4() == dst.is_ipv4() => Some(only.address),
            _ => self
                .addresses
                .source_for(self.neighbour(dst).unwrap_or(dst)),
        }
    }

    fn neighbour(&self, dst: IpAddr) -> Option<IpAddr> {
        let IpAddr::V4(ip) = dst else {
            return None;
        };
        let network = self.addresses.network_of(dst);
        let is_local = |other| network.is_some_and(|network| network.prefix_len >= other);
        let matched = self
            .entries
            .iter()
            .find(|entry| ip.to_bits() & v4::mask(entry.prefix_len) == entry.network.to_bits());
        match matched {
            Some(entry) if !is_local(entry.prefix_len) => Some(entry.gateway.into()),
            Some(_) | None if network.is_some() => Some(dst),
            Some(_) | None => None,
        }
    }
}
