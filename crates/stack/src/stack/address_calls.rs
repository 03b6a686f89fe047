//! Addresses that come and go at run time.
//!
//! Rule: the removal of an address takes effect at once: the address's sockets end with an error that
//! names the removal, and nothing more is sent from the address, not even a reset. The table of
//! addresses is in `ip::addresses`.

use core::net::IpAddr;

use fullpipe_pool::Instant;

use super::{Interface, Stack};
use crate::{
    device::Medium,
    error::ConfigError,
    ip::{AddressError, Subnet},
};

impl Stack {
    /// Returns this host's addresses with the prefixes of their networks, oldest first.
    pub fn addresses(&self) -> &[Subnet] {
        self.routes.addresses().as_slice()
    }

    /// Adds an address with the prefix of its network (knob `ip.addresses`). The host receives
    /// packets to it, answers ARP requests or neighbour solicitations for it, and can send from it.
    /// Packets to the hosts of its network need no gateway. The first IPv6 address of an Ethernet
    /// interface also adds the link-local address, which the knob does not count. With
    /// `ip.autoconfiguration`, an IPv6 address is tentative at first: the host uses it only when it
    /// is clear that no other host has it.
    ///
    /// # Errors
    /// Returns [`AddressError::Full`], [`Exists`](AddressError::Exists), or
    /// [`Unusable`](AddressError::Unusable) with the reason.
    pub fn add_address(&mut self, subnet: Subnet) -> Result<(), AddressError> {
        let mtu = self.interface.capabilities.mtu;
        super::check_mtu(subnet.address, mtu).map_err(AddressError::Unusable)?;
        match Interface::check_address(subnet.address, subnet.prefix_len) {
            #[cfg(feature = "slaac")]
            Ok(()) if self.autoconfiguration.is_on() && subnet.address.is_ipv6() => {
                self.add_tentative(subnet)
            }
            Ok(()) => {
                self.routes.addresses_mut().add(subnet)?;
                if subnet.address.is_ipv6() && self.link.medium == Medium::Ethernet {
                    self.routes.addresses_mut().add_link_local(self.link.mac);
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
    /// still be read. The link-local address that came with the first IPv6 address is removed
    /// together with the last other IPv6 address, unless `ip.autoconfiguration` is on. The cost
    /// grows with the sizes of the tables.
    ///
    /// # Errors
    /// Returns [`AddressError::NotOurs`].
    pub fn remove_address(&mut self, address: IpAddr, now: Instant) -> Result<(), AddressError> {
        #[cfg(feature = "slaac")]
        if self.remove_tentative(address, now) {
            return Ok(());
        }
        self.routes.addresses_mut().remove(address)?;
        self.end_sockets_of(address, now);
        if cfg!(feature = "ipv6")
            && !self.autoconfiguration.is_on()
            && let Some(left) = self.routes.addresses_mut().remove_lone_link_local()
        {
            self.end_sockets_of(left, now);
        }
        let addresses = self.routes.addresses();
        self.autoconfiguration.on_removed(address, addresses, now);
        Ok(())
    }

    fn end_sockets_of(&mut self, address: IpAddr, now: Instant) {
        let (tcp, mut host) = self.tcp_and_host(now);
        tcp.forget_address(address, &mut host);
        let events = &mut self.events;
        let ended = |id: crate::udp::UdpId| events.udp(id.index());
        self.udp.forget_address(address, &mut self.pool, ended);
        self.neighbours.forget_address(address);
    }
}
