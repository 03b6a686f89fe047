//! Addresses that come and go at run time.
//!
//! Rule: the removal of an address takes effect at once: the address's sockets end with an error that
//! names the removal, and nothing more is sent from the address, not even a reset. The table of
//! addresses is in `ip::addresses`.

use core::net::IpAddr;

use fullpipe_pool::Instant;
use fullpipe_wire::MacAddress;

use super::Stack;
use crate::{
    device::Medium,
    error::ConfigError,
    interface::{Interface, check_mtu},
    interface_id::InterfaceId,
    ip::{AddressError, Subnet},
    link::Reachability,
};

/// An address of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostAddress {
    /// The address.
    pub address: IpAddr,
    /// Length of the prefix of its network, in bits.
    pub prefix_len: u8,
    /// The interface that has the address.
    pub interface: InterfaceId,
    /// New connections use another address, if there is one. RFC 4862 §5.5.4.
    pub is_deprecated: bool,
    /// The stack formed the address with a random identifier and gives it up within two days. RFC
    /// 8981.
    pub is_temporary: bool,
}

/// A neighbour of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostNeighbour {
    /// The address of the neighbour.
    pub address: IpAddr,
    /// Its MAC address, if it is known.
    pub mac: Option<MacAddress>,
    /// The interface of the link.
    pub interface: InterfaceId,
    /// The state of the entry.
    pub state: Reachability,
}

impl Stack {
    /// Returns the entries of the neighbour caches, in no particular order.
    pub fn neighbours(&self) -> impl Iterator<Item = HostNeighbour> {
        let interfaces = self.interface_ids().zip(&self.interfaces);
        interfaces.flat_map(|(interface, of)| {
            let neighbours = of.neighbours.list();
            neighbours.map(move |(address, mac, state)| HostNeighbour {
                address,
                mac,
                interface,
                state,
            })
        })
    }

    /// Returns this host's addresses, those of one interface after those of another, oldest first.
    pub fn addresses(&self) -> impl Iterator<Item = HostAddress> {
        let tables = self.routes.tables();
        tables.flat_map(|(interface, addresses)| {
            addresses.as_slice().iter().map(move |own| HostAddress {
                address: own.address,
                prefix_len: own.prefix_len,
                interface,
                is_deprecated: addresses.is_deprecated(own.address),
                #[cfg(feature = "slaac")]
                is_temporary: addresses.is_temporary(own.address),
                #[cfg(not(feature = "slaac"))]
                is_temporary: false,
            })
        })
    }

    /// Adds an address to `interface`, with the prefix of its network (knob `ip.addresses`, for
    /// each interface). The interface receives packets to it, answers ARP requests or neighbour
    /// solicitations for it, and the host can send from it by this interface. Packets to the hosts
    /// of its network need no gateway. The first IPv6 address of an Ethernet interface also adds
    /// the link-local address, which the knob does not count. With `ip.autoconfiguration`, an IPv6
    /// address is tentative at first: the host uses it only when it is clear that no other host has
    /// it.
    ///
    /// # Errors
    /// Returns [`AddressError::Full`], [`Exists`](AddressError::Exists) if any interface has the
    /// address, or [`Unusable`](AddressError::Unusable) with the reason.
    ///
    /// # Panics
    /// Panics if this stack has no such interface.
    pub fn add_address(
        &mut self,
        interface: InterfaceId,
        subnet: Subnet,
    ) -> Result<(), AddressError> {
        let of = &self.interfaces[interface.index()];
        let mtu = of.settings.capabilities.mtu;
        check_mtu(subnet.address, mtu).map_err(AddressError::Unusable)?;
        if self.routes.interface_of(subnet.address).is_some() {
            return Err(AddressError::Exists);
        }
        match Interface::check_address(subnet.address, subnet.prefix_len) {
            #[cfg(feature = "slaac")]
            Ok(()) if of.autoconfiguration.is_on() && subnet.address.is_ipv6() => {
                self.add_tentative(interface, subnet)
            }
            Ok(()) => {
                let addresses = self.routes.addresses_mut(interface);
                addresses.add(subnet)?;
                if subnet.address.is_ipv6() && of.link.medium == Medium::Ethernet {
                    addresses.add_link_local(of.link.mac);
                }
                Ok(())
            }
            Err(ConfigError::Interface(why)) => Err(AddressError::Unusable(why)),
            Err(ConfigError::Knob(_)) => unreachable!("an address is no knob"),
        }
    }

    /// Removes an address. Its sockets end: connections with
    /// [`CloseReason::AddressRemoved`](crate::CloseReason::AddressRemoved), listeners with
    /// [`TcpError::AddressRemoved`](crate::TcpError::AddressRemoved), UDP sockets with
    /// [`UdpError::AddressRemoved`](crate::UdpError::AddressRemoved). The peers get no reset.
    /// Sockets at the unspecified address stay open. Payload and datagrams that were received can
    /// still be read. The link-local address that came with the first IPv6 address of an interface
    /// is removed together with the last other IPv6 address, unless `ip.autoconfiguration` is on.
    /// The cost grows with the sizes of the tables.
    ///
    /// # Errors
    /// Returns [`AddressError::NotOurs`].
    pub fn remove_address(&mut self, address: IpAddr, now: Instant) -> Result<(), AddressError> {
        #[cfg(feature = "slaac")]
        if self.remove_tentative(address, now) {
            return Ok(());
        }
        let interface = self.routes.interface_of(address);
        let interface = interface.ok_or(AddressError::NotOurs)?;
        self.routes.addresses_mut(interface).remove(address)?;
        self.end_sockets_of(interface, address, now);
        let of = &mut self.interfaces[interface.index()];
        if cfg!(feature = "ipv6")
            && !of.autoconfiguration.is_on()
            && let Some(left) = self
                .routes
                .addresses_mut(interface)
                .remove_lone_link_local()
        {
            self.end_sockets_of(interface, left, now);
        }
        let addresses = self.routes.addresses(interface);
        let of = &mut self.interfaces[interface.index()];
        of.autoconfiguration.on_removed(address, addresses, now);
        Ok(())
    }

    /// Deprecates an address, or makes it preferred again. From a deprecated address the stack opens
    /// no connection and sends no datagram of an unbound socket while another address can be used.
    /// Its sockets stay open, and a socket may still be bound to it. RFC 4862 §5.5.4. With
    /// `ip.autoconfiguration`, the advertisements of routers also change this state of the addresses
    /// formed with their prefixes.
    ///
    /// # Errors
    /// Returns [`AddressError::NotOurs`].
    pub fn set_deprecated(
        &mut self,
        address: IpAddr,
        is_deprecated: bool,
    ) -> Result<(), AddressError> {
        let interface = self.routes.interface_of(address);
        let interface = interface.ok_or(AddressError::NotOurs)?;
        let addresses = self.routes.addresses_mut(interface);
        addresses.set_deprecated(address, is_deprecated);
        Ok(())
    }

    fn end_sockets_of(&mut self, interface: InterfaceId, address: IpAddr, now: Instant) {
        let (tcp, mut host) = self.tcp_and_host(now);
        tcp.forget_address(address, &mut host);
        let events = &mut self.events;
        let ended = |id: crate::udp::UdpId| events.udp(id.index());
        self.udp.forget_address(address, &mut self.pool, ended);
        let of = &mut self.interfaces[interface.index()];
        of.neighbours.forget_address(address);
    }
}
