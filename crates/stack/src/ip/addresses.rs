//! The addresses of this host: the one table from which every layer reads them.
//!
//! Rule: no layer copies an address when the stack is made, so an address can be added and removed
//! at any time. The stack ends the sockets of a removed address; this file knows no sockets and no
//! routes.

use alloc::vec::Vec;
use core::{fmt, net::IpAddr};

use super::{audience::Audience, subnet::Subnet, v4};

#[cfg(test)]
mod tests;

/// The reason that an address was not added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// The table is full (knob `ip.addresses`).
    Full,
    /// This host already has the address.
    Exists,
    /// This host does not have the address.
    NotOurs,
    /// No host can have the address, for this reason.
    Unusable(&'static str),
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the table of addresses is full (knob ip.addresses)",
            Self::Exists => "this host already has the address",
            Self::NotOurs => "this host does not have the address",
            Self::Unusable(why) => why,
        })
    }
}

impl core::error::Error for AddressError {}

/// The addresses of this host, each with the prefix of its network.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    /// Oldest first. Never grows beyond its first capacity.
    own: Vec<Subnet>,
    most: usize,
}

impl Addresses {
    /// Returns a table with `first` and room for `most` addresses, at least one.
    pub(crate) fn new(first: Subnet, most: u32) -> Self {
        let most = most.max(1) as usize;
        let mut own = Vec::with_capacity(most);
        own.push(first);
        Self { own, most }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.own.capacity() * size_of::<Subnet>()
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
        if self.own.len() == self.most {
            return Err(AddressError::Full);
        }
        self.own.push(subnet);
        Ok(())
    }

    /// Removes an address.
    pub(crate) fn remove(&mut self, ip: IpAddr) -> Result<(), AddressError> {
        let place = self.own.iter().position(|own| own.address == ip);
        let place = place.ok_or(AddressError::NotOurs)?;
        self.own.remove(place);
        Ok(())
    }

    /// Returns true if `ip` is an address of this host.
    pub(crate) fn contains(&self, ip: IpAddr) -> bool {
        self.own.iter().any(|own| own.address == ip)
    }

    /// Returns the audience of a packet to `dst`. A broadcast address of any of this host's
    /// networks is a broadcast.
    pub(crate) fn audience(&self, dst: IpAddr) -> Audience {
        let mut audience = match dst {
            IpAddr::V4(dst) if dst.is_multicast() => Audience::Multicast,
            IpAddr::V4(dst) if dst.is_broadcast() => Audience::Broadcast,
            IpAddr::V4(_) | IpAddr::V6(_) => Audience::Other,
        };
        for own in &self.own {
            match own.audience(dst) {
                Audience::Us => return Audience::Us,
                Audience::Broadcast => audience = Audience::Broadcast,
                Audience::Multicast | Audience::Other => {}
            }
        }
        audience
    }

    /// Returns true if `ip` can be the address of one host: it is neither the address nor the
    /// broadcast address of any of this host's networks.
    pub(crate) fn can_be_host(&self, ip: IpAddr) -> bool {
        let is_unicast = match ip {
            IpAddr::V4(ip) => v4::is_unicast(ip),
            IpAddr::V6(_) => false,
        };
        is_unicast && !self.own.iter().any(|own| own.is_named_by(ip))
    }

    /// Returns true if `src` can be the address of one other host. RFC 1122 §3.2.1.3.
    pub(crate) fn may_send_to_us(&self, src: IpAddr) -> bool {
        self.can_be_host(src) && !self.contains(src)
    }

    /// Returns the network of this host with the longest prefix that contains `ip`, the oldest of
    /// several. Packets to `ip` need no gateway.
    pub(crate) fn network_of(&self, ip: IpAddr) -> Option<&Subnet> {
        let mut longest: Option<&Subnet> = None;
        for own in self.own.iter().filter(|own| own.contains(ip)) {
            if longest.is_none_or(|longest| own.prefix_len > longest.prefix_len) {
                longest = Some(own);
            }
        }
        longest
    }

    /// Returns the source address of packets whose next hop is `hop`: the address in the hop's own
    /// network, otherwise the oldest address of the same family. `None` if there is none.
    pub(crate) fn source_for(&self, hop: IpAddr) -> Option<IpAddr> {
        let same_family = |own: &&Subnet| own.address.is_ipv4() == hop.is_ipv4();
        let own = match self.own.as_slice() {
            [only] => Some(only).filter(same_family),
            own => self
                .network_of(hop)
                .or_else(|| own.iter().find(same_family)),
        };
        own.map(|own| own.address)
    }
}
