//! The routing table: from a destination to an interface and a next hop.
//!
//! Rule: a packet leaves by the interface that has its source address, and an interface receives
//! only packets to its own addresses (the strong model of RFC 1122 §3.3.4.2). The table therefore
//! chooses an interface only where no source is given: the longest matching prefix wins (RFC 1812
//! §5.2.4.3), of equal prefixes the smallest metric. The network of an address is a route with the
//! metric 0 that wins over an equal one. The table also contains the addresses of this host, because a destination is compared
//! with them first. The table contains no MAC addresses, and no received packet changes it: ICMP
//! redirects of both families are ignored (RFC 4861 §8 leaves a host the choice).

use alloc::vec::Vec;
use core::{
    cmp::Reverse,
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use crate::{
    interface_id::InterfaceId,
    ip::{addresses::Addresses, audience::Audience, subnet::Subnet},
};

#[cfg(test)]
mod tests;

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
    /// This host does not have the interface.
    Interface,
    /// The source is not an address of the interface, or of another family than the network.
    Source,
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the routing table is full (knob ip.routes)",
            Self::Family => {
                "a route's network and gateway must be of one IP version that this build supports"
            }
            Self::Interface => "this host does not have the route's interface",
            Self::Source => {
                "a route's source must be an address of its interface, of the network's IP version"
            }
        })
    }
}

impl core::error::Error for RouteError {}

/// A route to a network. [`through`](Self::through) and [`on_link`](Self::on_link) return routes
/// of the first interface with the metric 0; change the other fields as needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteEntry {
    /// The network, with any address in it.
    pub to: Subnet,
    /// Next hop; `None` if the hosts of the network are neighbours.
    pub gateway: Option<IpAddr>,
    /// Interface by which packets leave.
    pub interface: InterfaceId,
    /// Cost of the route. Of routes with equal prefixes, the one with the smallest metric is used.
    pub metric: u32,
    /// Source address of sockets that choose none; `None` lets the stack choose an address of the
    /// interface. Ignored while the interface does not have the address.
    pub source: Option<IpAddr>,
}

impl RouteEntry {
    /// Returns a route to the network of `to` through `gateway`.
    pub const fn through(to: Subnet, gateway: IpAddr) -> Self {
        Self {
            gateway: Some(gateway),
            ..Self::on_link(to)
        }
    }

    /// Returns a route to the network of `to`, whose hosts are neighbours.
    pub const fn on_link(to: Subnet) -> Self {
        Self {
            to,
            gateway: None,
            interface: InterfaceId::FIRST,
            metric: 0,
            source: None,
        }
    }

    /// Returns a route for all destinations of the gateway's family.
    pub const fn default_through(gateway: IpAddr) -> Self {
        let address = match gateway {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let prefix_len = 0;
        Self::through(
            Subnet {
                address,
                prefix_len,
            },
            gateway,
        )
    }

    /// Returns true if the routes lead to the same network by the same interface, with the same
    /// metric. Only one of the two can be in a table.
    fn replaces(&self, other: &Self) -> bool {
        self.interface == other.interface
            && self.metric == other.metric
            && self.to.prefix_len == other.to.prefix_len
            && self.to.address.is_ipv4() == other.to.address.is_ipv4()
            && self.to.contains(other.to.address)
    }
}

/// The routing table of a host.
#[derive(Clone, Debug)]
pub struct Routes {
    /// The addresses of each interface.
    tables: Vec<Addresses>,
    /// The routes: longest prefix first, then smallest metric. Never grows beyond its first
    /// capacity.
    entries: Vec<RouteEntry>,
    most: usize,
}

impl Routes {
    /// Returns a table with the routes to the networks of `addresses`, which the first interface
    /// has, and room for `most` more routes.
    pub(crate) fn new(addresses: Addresses, most: u32) -> Self {
        let most = most as usize;
        Self {
            tables: alloc::vec![addresses],
            entries: Vec::with_capacity(most),
            most,
        }
    }

    /// Returns the interface of packets to this host itself.
    fn loopback(&self) -> Option<InterfaceId> {
        let mut tables = self.tables();
        let found = tables.find(|(_, addresses)| addresses.is_loopback());
        found.map(|(interface, _)| interface)
    }

    /// Returns true if packets to `dst` stay on this host.
    fn is_local(&self, dst: IpAddr) -> bool {
        dst.is_loopback() || self.interface_of(dst).is_some()
    }

    /// Returns true if no further route can be added.
    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() == self.most
    }

    /// Adds an interface with `addresses`.
    pub(crate) fn add_interface(&mut self, addresses: Addresses) {
        self.tables.push(addresses);
    }

    /// Returns the default router of `interface` that was chosen among the routers that announced
    /// themselves. A default route that the application set takes precedence.
    #[cfg(feature = "slaac")]
    pub fn router(&self, interface: InterfaceId) -> Option<Ipv6Addr> {
        self.tables.get(interface.index())?.router()
    }

    /// Returns the networks of the link of `interface` that routers announced. Their hosts are
    /// neighbours, although this host may have no address in these networks.
    #[cfg(feature = "slaac")]
    pub fn announced_networks(&self, interface: InterfaceId) -> impl Iterator<Item = Subnet> {
        let table = self.tables.get(interface.index()).into_iter();
        table.flat_map(|table| table.announced_networks().copied())
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let tables: usize = self.tables.iter().map(Addresses::heap_bytes).sum();
        tables
            + self.tables.capacity() * size_of::<Addresses>()
            + self.entries.capacity() * size_of::<RouteEntry>()
    }

    /// Returns the addresses of `interface`.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn addresses(&self, interface: InterfaceId) -> &Addresses {
        &self.tables[interface.index()]
    }

    /// Returns the addresses of `interface`, to change them.
    pub(crate) fn addresses_mut(&mut self, interface: InterfaceId) -> &mut Addresses {
        &mut self.tables[interface.index()]
    }

    /// Returns the interfaces with their addresses.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (InterfaceId, &Addresses)> {
        let numbers = (0..=u8::MAX).map(InterfaceId);
        numbers.zip(&self.tables)
    }

    /// Returns the interface that has the address `ip`.
    pub(crate) fn interface_of(&self, ip: IpAddr) -> Option<InterfaceId> {
        let mut tables = self.tables();
        tables
            .find(|(_, addresses)| addresses.contains(ip))
            .map(|(interface, _)| interface)
    }

    /// Returns true if a socket may be bound to `ip`.
    pub(crate) fn can_bind(&self, ip: IpAddr) -> bool {
        self.tables.iter().any(|addresses| addresses.can_bind(ip))
    }

    /// Returns the routes that were added: longest prefix first, then smallest metric.
    pub fn entries(&self) -> &[RouteEntry] {
        &self.entries
    }

    /// Sets the default route of the gateway's family through the first interface, for
    /// destinations that no other route matches.
    ///
    /// # Errors
    /// Returns the errors of [`add`](Self::add).
    pub fn set_default(&mut self, gateway: IpAddr) -> Result<(), RouteError> {
        self.add(RouteEntry::default_through(gateway))
    }

    /// Adds a route, in place of an earlier one to the same network by the same interface with the
    /// same metric.
    ///
    /// # Errors
    /// Returns [`RouteError::Full`], [`Family`](RouteError::Family) for addresses of two families,
    /// [`Interface`](RouteError::Interface) or [`Source`](RouteError::Source).
    pub fn add(&mut self, route: RouteEntry) -> Result<(), RouteError> {
        let address = route.to.address;
        let most_bits = match address {
            IpAddr::V4(_) => 32,
            IpAddr::V6(_) if cfg!(feature = "ipv6") => 128,
            IpAddr::V6(_) => return Err(RouteError::Family),
        };
        let is_other = |ip: Option<IpAddr>| ip.is_some_and(|ip| ip.is_ipv4() != address.is_ipv4());
        if is_other(route.gateway) {
            return Err(RouteError::Family);
        }
        let addresses = self.tables.get(route.interface.index());
        let addresses = addresses.ok_or(RouteError::Interface)?;
        let is_foreign = |source| !addresses.contains(source);
        if is_other(route.source) || route.source.is_some_and(is_foreign) {
            return Err(RouteError::Source);
        }
        let prefix_len = route.to.prefix_len.min(most_bits);
        let to = Subnet {
            address,
            prefix_len,
        };
        let route = RouteEntry { to, ..route };
        if let Some(known) = self.entries.iter_mut().find(|known| route.replaces(known)) {
            *known = route;
            return Ok(());
        }
        if self.is_full() {
            return Err(RouteError::Full);
        }
        let rank = |entry: &RouteEntry| (Reverse(entry.to.prefix_len), entry.metric);
        let place = self
            .entries
            .partition_point(|known| rank(known) <= rank(&route));
        self.entries.insert(place, route);
        Ok(())
    }

    /// Removes the route to the network of `route` by its interface with its metric. Returns false
    /// if there is none.
    pub fn remove(&mut self, route: &RouteEntry) -> bool {
        let place = self.entries.iter().position(|known| route.replaces(known));
        place.map(|place| self.entries.remove(place)).is_some()
    }

    /// Returns the interface and the next hop of a packet to `dst` whose source is not chosen yet;
    /// `None` if no route leads to `dst`, or if `dst` is this host and has no loopback interface
    /// (knob `ip.loopback`).
    pub fn lookup(&self, dst: IpAddr) -> Option<(InterfaceId, Route)> {
        let interface = self.interface_to(dst);
        let route = self.lookup_on(interface, dst)?;
        Some((interface, route))
    }

    /// Returns the next hop of a packet to `dst` that leaves by `interface`; `None` as for
    /// [`lookup`](Self::lookup).
    pub(crate) fn lookup_on(&self, interface: InterfaceId, dst: IpAddr) -> Option<Route> {
        let addresses = self.addresses(interface);
        if addresses.is_loopback() {
            return self.is_local(dst).then_some(Route::Neighbour(dst));
        }
        match addresses.audience(dst) {
            Audience::Us => None,
            Audience::Broadcast => Some(Route::Broadcast),
            Audience::Multicast => Some(Route::Multicast(dst)),
            Audience::Other if !addresses.can_be_host(dst) => None,
            Audience::Other => self.neighbour(interface, dst).map(Route::Neighbour),
        }
    }

    /// Returns the source address of packets to `dst`: the source of the route, if it has one.
    /// Otherwise an address of the route's interface. IPv4: the address in the network of the next
    /// hop, otherwise the oldest one that is not deprecated. IPv6: the address that RFC 6724 §5
    /// prefers. `None` if the interface has no address of the family of `dst`.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub fn source(&self, dst: IpAddr) -> Option<IpAddr> {
        self.source_on(self.interface_to(dst), dst)
    }

    /// Returns the source address of packets to `dst` that leave by `interface`.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn source_on(&self, interface: InterfaceId, dst: IpAddr) -> Option<IpAddr> {
        // Most hosts have one interface with one address.
        if let [table] = self.tables.as_slice()
            && let [only] = table.as_slice()
            && only.address.is_ipv4() == dst.is_ipv4()
        {
            return Some(only.address);
        }
        self.choose_source(interface, dst)
    }

    fn choose_source(&self, interface: InterfaceId, dst: IpAddr) -> Option<IpAddr> {
        let addresses = self.addresses(interface);
        if addresses.is_loopback() && self.interface_of(dst).is_some() {
            return Some(dst);
        }
        match addresses.as_slice() {
            [only] if only.address.is_ipv4() == dst.is_ipv4() => Some(only.address),
            _ => {
                let entry = self.entry(interface, dst);
                let source = entry.and_then(|entry| entry.source);
                let own = source.filter(|source| addresses.contains(*source));
                own.or_else(|| {
                    let hop = self.neighbour(interface, dst).unwrap_or(dst);
                    addresses.source_for(dst, hop)
                })
            }
        }
    }

    /// Returns true if a packet from `src` may arrive by `interface`: `src` can be the address of one
    /// other host. No other host has an address of this host, except an address that is valid on one
    /// link only. RFC 1122 §3.2.1.3.
    #[cfg_attr(target_pointer_width = "64", inline(always))]
    pub(crate) fn may_send_to_us(&self, interface: InterfaceId, src: IpAddr) -> bool {
        let addresses = self.addresses(interface);
        // Most hosts have one interface.
        addresses.may_send_to_us(src) && (self.tables.len() == 1 || !self.is_own(interface, src))
    }

    /// Returns true if `src` is an address of this host, and `interface` receives from others.
    #[inline(never)] // not cold: a host with several interfaces calls it for each packet
    fn is_own(&self, interface: InterfaceId, src: IpAddr) -> bool {
        let is_of_link = match src {
            IpAddr::V4(ip) => ip.is_link_local(),
            IpAddr::V6(ip) => ip.is_unicast_link_local(),
        };
        let is_wire = !self.addresses(interface).is_loopback();
        is_wire && !is_of_link && self.interface_of(src).is_some()
    }

    /// Returns the interface of packets from `src`, which is given, to `dst`.
    pub(crate) fn interface_between(&self, src: IpAddr, dst: IpAddr) -> InterfaceId {
        match self.tables.len() {
            1 => InterfaceId::FIRST,
            _ if self.loopback().is_some() && self.is_local(dst) => self.interface_to(dst),
            // A host that accepts packets to any address can send from an address that it does not
            // have (knob `ip.accept_any`).
            _ => {
                let owner = self.interface_of(src);
                owner.unwrap_or_else(|| self.interface_to(dst))
            }
        }
    }

    /// Returns the interface of packets to `dst` whose source is not chosen yet.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn interface_to(&self, dst: IpAddr) -> InterfaceId {
        match self.tables.len() {
            1 => InterfaceId::FIRST,
            _ => self.choose_interface(dst),
        }
    }

    /// Returns the interface with the best route to `dst`, the oldest of equals.
    #[inline(never)] // not cold: a host with several interfaces calls it for each datagram
    fn choose_interface(&self, dst: IpAddr) -> InterfaceId {
        let loopback = self.loopback();
        if let Some(loopback) = loopback.filter(|_| self.is_local(dst)) {
            return loopback;
        }
        let mut best = (InterfaceId::FIRST, None);
        for (interface, _) in self.tables() {
            if Some(interface) == loopback {
                continue;
            }
            let rank = self.rank(interface, dst);
            if rank > best.1 {
                best = (interface, rank);
            }
        }
        best.0
    }

    /// Returns the rank of the route to `dst` by `interface`, which is higher for better routes:
    /// length of the prefix, metric, and true for the network of an address. `None` if there is no
    /// route.
    fn rank(&self, interface: InterfaceId, dst: IpAddr) -> Option<(u8, Reverse<u32>, bool)> {
        let addresses = self.addresses(interface);
        let network = addresses.network_of(dst);
        let network = network.map(|network| (network.prefix_len, Reverse(0), true));
        let entry = self.entry(interface, dst);
        let entry = entry.map(|entry| (entry.to.prefix_len, Reverse(entry.metric), false));
        let last = (0, Reverse(u32::MAX), false);
        let announced = addresses.announced(dst).map(|_| last);
        // A group is reached by every interface with an address of its family.
        let is_group = addresses.audience(dst) != Audience::Other;
        let has_family = |own: &Subnet| own.address.is_ipv4() == dst.is_ipv4();
        let group = (is_group && addresses.as_slice().iter().any(has_family)).then_some(last);
        network.max(entry).max(announced).max(group)
    }

    /// Returns the best route to `dst` by `interface` that was added.
    fn entry(&self, interface: InterfaceId, dst: IpAddr) -> Option<&RouteEntry> {
        let mut entries = self.entries.iter();
        entries.find(|entry| entry.interface == interface && entry.to.contains(dst))
    }

    fn neighbour(&self, interface: InterfaceId, dst: IpAddr) -> Option<IpAddr> {
        let addresses = self.addresses(interface);
        let network = addresses.network_of(dst);
        let is_nearer = |other| network.is_some_and(|network| network.prefix_len >= other);
        match self.entry(interface, dst) {
            Some(entry) if !is_nearer(entry.to.prefix_len) => Some(entry.gateway.unwrap_or(dst)),
            Some(_) | None if network.is_some() => Some(dst),
            Some(_) | None => addresses.announced(dst),
        }
    }
}
