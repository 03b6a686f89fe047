//! The addresses of this host on one interface: the table from which every layer reads them.
//!
//! Rule: no layer keeps a copy of an address, so an address can be added and removed at any time.
//! The stack closes the sockets of a removed address. The routing table has the table of each
//! interface. This file depends on neither sockets nor routes.

#[cfg(feature = "slaac")]
mod automatic;
#[cfg(feature = "slaac")]
mod automatic_calls;
mod error;
#[cfg(feature = "slaac")]
pub(crate) mod tentative;

use alloc::vec::Vec;
use core::net::IpAddr;

use fullpipe_wire::MacAddress;

pub use error::AddressError;

use super::{
    StoredIp,
    audience::Audience,
    subnet::{Subnet, is_link_local},
    v4::{self, OwnNetwork},
    v6,
};

#[cfg(test)]
mod tests;

/// The addresses of this host on one interface, each with the prefix of its network.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    /// Each address and the length of its network's prefix, oldest first. Never grows beyond its
    /// first capacity.
    own: Vec<Subnet>,
    /// The IPv4 addresses of `own` in the same order, as numbers: each packet is compared with them.
    v4: Vec<OwnNetwork>,
    most: usize,
    /// This host accepts received packets to every IPv4 address that a host can have.
    accept_any: bool,
    /// This host accepts received packets to every IPv6 address that a host can have.
    accept_any_v6: bool,
    /// The stack, not the application, added the link-local address (`add_link_local`).
    link_local_came: bool,
    #[cfg(feature = "loopback")]
    is_loopback: bool,
    /// Addresses of `own` that new connections should not use. Never grows beyond its first
    /// capacity.
    deprecated: Vec<StoredIp>,
    #[cfg(feature = "slaac")]
    automatic: automatic::Automatic,
}

impl Addresses {
    /// Returns a table with the address `first` and room for `most` addresses (for one if `most` is
    /// 0), and for a link-local IPv6 address. With `accept_any`, this host also receives packets to
    /// every other address.
    pub(crate) fn new(first: Subnet, most: u32, accept_any: bool) -> Self {
        let most = most.max(1) as usize;
        let link_local = usize::from(cfg!(feature = "ipv6"));
        let mut table = Self {
            own: Vec::with_capacity(most + link_local),
            v4: Vec::with_capacity(most),
            most,
            accept_any,
            accept_any_v6: accept_any,
            link_local_came: false,
            #[cfg(feature = "loopback")]
            is_loopback: false,
            deprecated: Vec::with_capacity(most + link_local),
            #[cfg(feature = "slaac")]
            automatic: automatic::Automatic::default(),
        };
        table.push(first);
        table
    }

    /// Returns the table of the loopback interface. It accepts every packet, because only this host
    /// can have sent the packet.
    #[cfg(feature = "loopback")]
    pub(crate) fn loopback() -> Self {
        let first = Subnet {
            address: core::net::Ipv4Addr::LOCALHOST.into(),
            prefix_len: 8,
        };
        let mut table = Self::new(first, 1, false);
        table.is_loopback = true;
        if cfg!(feature = "ipv6") {
            table.push(Subnet {
                address: core::net::Ipv6Addr::LOCALHOST.into(),
                prefix_len: 128,
            });
        }
        table
    }

    /// Returns true if the table is that of the loopback interface.
    pub(crate) const fn is_loopback(&self) -> bool {
        #[cfg(feature = "loopback")]
        return self.is_loopback;
        #[cfg(not(feature = "loopback"))]
        false
    }

    /// From now on, accepts packets only to those IPv6 addresses that are in the table.
    pub(crate) const fn refuse_any_v6(&mut self) {
        self.accept_any_v6 = false;
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let own = self.own.capacity() * size_of::<Subnet>();
        #[cfg(feature = "slaac")]
        let own = own + self.automatic.heap_bytes();
        own + self.v4.capacity() * size_of::<OwnNetwork>()
            + self.deprecated.capacity() * size_of::<StoredIp>()
    }

    /// Returns the addresses, oldest first.
    pub(crate) fn as_slice(&self) -> &[Subnet] {
        &self.own
    }

    /// Adds an address. The caller has checked that a host can have it.
    pub(crate) fn add(&mut self, subnet: Subnet) -> Result<(), AddressError> {
        if self.contains(subnet.address) {
            return Err(AddressError::Exists);
        }
        if !is_link_local(subnet.address) && self.counted() >= self.most {
            return Err(AddressError::Full);
        }
        if self.own.len() == self.own.capacity() {
            return Err(AddressError::Full);
        }
        self.push(subnet);
        Ok(())
    }

    /// Returns the number of addresses that the knob `ip.addresses` counts.
    fn counted(&self) -> usize {
        let counted = self.own.iter().filter(|own| !is_link_local(own.address));
        #[cfg(feature = "slaac")]
        let counted = counted.filter(|own| !self.automatic.has(own.address));
        let counted = counted.count();
        #[cfg(feature = "slaac")]
        let counted = counted + self.automatic.added();
        counted
    }

    /// Adds the link-local address of a station, unless the table has a link-local address.
    pub(crate) fn add_link_local(&mut self, mac: MacAddress) {
        if !self.own.iter().any(|own| is_link_local(own.address)) {
            let address = v6::link_local(mac).into();
            // An error is impossible: there is room for one link-local address.
            let _added = self.add(Subnet {
                address,
                prefix_len: 64,
            });
            self.link_local_came = true;
        }
    }

    /// Removes and returns the link-local address that the stack itself added, if no other IPv6
    /// address is left.
    pub(crate) fn remove_lone_link_local(&mut self) -> Option<IpAddr> {
        let mut of_v6 = self.own.iter().filter(|own| own.address.is_ipv6());
        let (Some(only), None) = (of_v6.next(), of_v6.next()) else {
            return None;
        };
        let only = only.address;
        if !self.link_local_came || !is_link_local(only) {
            return None;
        }
        self.remove(only).ok().map(|()| only)
    }

    /// Returns true if this host receives IPv6 packets.
    #[cfg(feature = "ipv6")]
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn speaks_v6(&self) -> bool {
        #[cfg(feature = "slaac")]
        if self.automatic.is_used() {
            return true;
        }
        self.own.len() > self.v4.len() || self.accept_any_v6
    }

    /// Removes an address.
    pub(crate) fn remove(&mut self, ip: IpAddr) -> Result<(), AddressError> {
        let place = self.own.iter().position(|own| own.address == ip);
        let place = place.ok_or(AddressError::NotOurs)?;
        self.own.remove(place);
        self.link_local_came &= !is_link_local(ip);
        self.deprecated.retain(|old| old.get() != ip);
        self.v4.clear();
        self.v4.extend(self.own.iter().filter_map(v4_network));
        #[cfg(feature = "slaac")]
        self.automatic.forget(ip);
        Ok(())
    }

    fn push(&mut self, subnet: Subnet) {
        self.own.push(subnet);
        self.v4.extend(v4_network(&subnet));
    }

    /// Returns true if `ip` is an address of this host.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn contains(&self, ip: IpAddr) -> bool {
        match ip {
            IpAddr::V4(ip) => self.v4.iter().any(|own| own.address == ip.to_bits()),
            IpAddr::V6(_) => cfg!(feature = "ipv6") && self.own.iter().any(|own| own.address == ip),
        }
    }

    /// Returns the audience of a packet to `dst`. The broadcast address of any of this host's networks
    /// counts as a broadcast address.
    #[cfg_attr(target_pointer_width = "64", inline)]
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub(crate) fn audience(&self, dst: IpAddr) -> Audience {
        let IpAddr::V4(dst) = dst else {
            return self.audience_v6(dst);
        };
        let bits = dst.to_bits();
        if self.v4.iter().any(|own| own.address == bits) {
            Audience::Us
        } else if dst.is_multicast() {
            Audience::Multicast
        } else if dst.is_broadcast() || self.v4.iter().any(|own| own.has_broadcast(bits)) {
            Audience::Broadcast
        } else {
            Audience::Other
        }
    }

    /// Returns the audience of a packet to the IPv6 address `dst`.
    fn audience_v6(&self, dst: IpAddr) -> Audience {
        if self.contains(dst) {
            Audience::Us
        } else if dst.is_multicast() {
            Audience::Multicast
        } else {
            Audience::Other
        }
    }

    /// Returns the audience of a received packet to `dst`. With `accept_any`, the audience is
    /// [`Audience::Us`] for every address that a host can have.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn audience_of_input(&self, dst: IpAddr) -> Audience {
        match self.audience(dst) {
            Audience::Other if self.is_loopback() || self.accepts(dst) => Audience::Us,
            audience => audience,
        }
    }

    /// Returns true if a socket may be bound to `ip`.
    pub(crate) fn can_bind(&self, ip: IpAddr) -> bool {
        self.contains(ip) || self.accepts(ip) || (self.is_loopback() && ip.is_loopback())
    }

    /// Returns true if this host accepts packets to `ip` because of `accept_any`.
    fn accepts(&self, ip: IpAddr) -> bool {
        let any = match ip {
            IpAddr::V4(_) => self.accept_any,
            IpAddr::V6(_) => self.accept_any_v6,
        };
        any && self.can_be_host(ip)
    }

    /// Returns true if `ip` can be the address of one host: it is neither the network address nor
    /// the broadcast address of any of this host's networks.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn can_be_host(&self, ip: IpAddr) -> bool {
        match ip {
            IpAddr::V4(ip) => {
                let bits = ip.to_bits();
                v4::is_unicast(ip) && !self.v4.iter().any(|own| own.is_named_by(bits))
            }
            IpAddr::V6(ip) => v6::is_unicast(ip),
        }
    }

    /// Returns true if `src` can be the address of one other host. RFC 1122 §3.2.1.3.
    #[cfg_attr(target_pointer_width = "64", inline(always))]
    pub(crate) fn may_send_to_us(&self, src: IpAddr) -> bool {
        match src {
            _ if self.is_loopback() => true,
            IpAddr::V4(ip) => {
                let bits = ip.to_bits();
                let is_refused = |own: &OwnNetwork| own.address == bits || own.is_named_by(bits);
                v4::is_unicast(ip) && !self.v4.iter().any(is_refused)
            }
            IpAddr::V6(ip) => v6::is_unicast(ip) && !self.contains(src),
        }
    }

    /// Returns the network of this host that contains `ip`; packets to `ip` then need no gateway.
    /// If several networks contain `ip`, the longest prefix wins; of equal prefixes, the oldest.
    pub(crate) fn network_of(&self, ip: IpAddr) -> Option<&Subnet> {
        let mut longest: Option<&Subnet> = None;
        let networks = self.own.iter();
        #[cfg(feature = "slaac")]
        let networks = networks.chain(self.automatic.on_link());
        for own in networks.filter(|own| own.contains(ip)) {
            if longest.is_none_or(|longest| own.prefix_len > longest.prefix_len) {
                longest = Some(own);
            }
        }
        longest
    }

    /// Returns the next hop to a destination that no route matches: for IPv6, the announced default
    /// router, if there is one.
    pub(crate) fn announced(&self, dst: IpAddr) -> Option<IpAddr> {
        match dst {
            #[cfg(feature = "slaac")]
            IpAddr::V6(_) => self.automatic.router().map(IpAddr::V6),
            _ => None,
        }
    }

    /// Returns true if new connections should not use `ip`. RFC 4862 §5.5.4.
    pub(crate) fn is_deprecated(&self, ip: IpAddr) -> bool {
        self.deprecated.iter().any(|old| old.get() == ip)
    }

    /// Deprecates an address of this host, or makes it preferred again. Returns true if its state
    /// changes.
    pub(crate) fn set_deprecated(&mut self, ip: IpAddr, is_deprecated: bool) -> bool {
        if self.is_deprecated(ip) == is_deprecated || !self.contains(ip) {
            return false;
        }
        match is_deprecated {
            true => self.deprecated.push(ip.into()),
            false => self.deprecated.retain(|old| old.get() != ip),
        }
        true
    }

    /// Returns the source address of packets to `dst` through the next hop `hop`. IPv4: an address
    /// that is not deprecated, if possible in the network of `hop`, the oldest of equals. IPv6: the address that RFC
    /// 6724 §5 prefers. `None` if this host has no address of the family of `dst`.
    pub(crate) fn source_for(&self, dst: IpAddr, hop: IpAddr) -> Option<IpAddr> {
        if let IpAddr::V6(dst) = dst {
            let traits = |ip: core::net::Ipv6Addr| v6::source::Traits {
                is_deprecated: self.is_deprecated(ip.into()),
                #[cfg(feature = "slaac")]
                is_temporary: self.is_temporary(ip.into()),
                #[cfg(not(feature = "slaac"))]
                is_temporary: false,
            };
            return v6::source::for_destination(&self.own, traits, dst).map(IpAddr::V6);
        }
        let longest = self.network_of(hop).map(|network| network.prefix_len);
        let is_near = |own: &Subnet| longest == Some(own.prefix_len) && own.contains(hop);
        let rank = |own: &&Subnet| (self.is_deprecated(own.address), !is_near(own));
        let of_family = self.own.iter().filter(|own| own.address.is_ipv4());
        of_family.min_by_key(rank).map(|own| own.address)
    }
}

/// Returns an IPv4 network as numbers; `None` for another family.
fn v4_network(subnet: &Subnet) -> Option<OwnNetwork> {
    match subnet.address {
        IpAddr::V4(address) => Some(OwnNetwork::new(address, subnet.prefix_len)),
        IpAddr::V6(_) => None,
    }
}
