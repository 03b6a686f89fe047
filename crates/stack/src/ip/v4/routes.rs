//! Which neighbour a packet is handed to on its way.
//!
//! Rule: the longest matching prefix wins (RFC 1812 §5.2.4.3), and the network
//! we are in is a route like any other. The table does not know link addresses
//! and is not changed by what arrives: ICMP redirects are not believed.

use alloc::vec::Vec;
use core::{
    fmt,
    net::{IpAddr, Ipv4Addr},
};

use crate::ip::{audience::Audience, subnet::Subnet, v4};

/// Where a packet goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// To this neighbour: the destination itself, or a gateway.
    Neighbour(IpAddr),
    /// To every station of the link.
    Broadcast,
    /// To the stations that listen to this group.
    Multicast(IpAddr),
}

/// Why a route was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteError {
    /// The table has no entry left.
    Full,
    /// Network and gateway are not both of the interface's family.
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
    subnet: Subnet,
    /// Longest prefix first. Never grows beyond its first capacity.
    entries: Vec<RouteEntry>,
    most: usize,
}

impl Routes {
    /// A table that knows only the network of `subnet`, with room for `most`
    /// routes more.
    pub(crate) fn new(subnet: Subnet, most: u32) -> Self {
        let most = most as usize;
        Self {
            subnet,
            entries: Vec::with_capacity(most),
            most,
        }
    }

    /// Routes what no other route matches to `gateway`.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn set_default(&mut self, gateway: IpAddr) -> Result<(), RouteError> {
        self.add(
            Subnet {
                address: Ipv4Addr::UNSPECIFIED.into(),
                prefix_len: 0,
            },
            gateway,
        )
    }

    /// Routes the network of `to` to `gateway`; replaces the route to the same
    /// network, if there is one.
    ///
    /// # Errors
    /// The table is full, or the addresses are not IPv4.
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

    /// Where a packet to `dst` goes next. `None` when no route leads there, or
    /// when `dst` is this host: packets are not looped back.
    pub fn lookup(&self, dst: IpAddr) -> Option<Route> {
        match self.subnet.audience(dst) {
            Audience::Us => None,
            Audience::Broadcast => Some(Route::Broadcast),
            Audience::Multicast => Some(Route::Multicast(dst)),
            Audience::Other if dst.is_unspecified() || dst.is_loopback() => None,
            Audience::Other => self.neighbour(dst).map(Route::Neighbour),
        }
    }

    fn neighbour(&self, dst: IpAddr) -> Option<IpAddr> {
        let IpAddr::V4(ip) = dst else {
            return None;
        };
        let matched = self
            .entries
            .iter()
            .find(|entry| ip.to_bits() & v4::mask(entry.prefix_len) == entry.network.to_bits());
        match matched {
            Some(entry) if entry.prefix_len > self.subnet.prefix_len => Some(entry.gateway.into()),
            Some(_) | None if self.subnet.contains(dst) => Some(dst),
            Some(entry) => Some(entry.gateway.into()),
            None => None,
        }
    }
}
