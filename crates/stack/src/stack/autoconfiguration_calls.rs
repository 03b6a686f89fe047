//! The calls of autoconfiguration: its results for the application, and its timers.
//!
//! Rule: the application polls `configuration_changes`, and reads the results again when the number
//! has changed. An address whose lifetime ends is removed as if the application had removed it, so
//! its sockets end.

use core::net::{IpAddr, Ipv6Addr};

use fullpipe_pool::Instant;

use super::{HostAddress, Stack};
use crate::{
    interface_id::InterfaceId,
    ip::{
        AddressError, Autoconfiguration, DefaultRouter, Subnet, Surroundings,
        addresses::tentative::Origin,
    },
    link::ReceivedMessage,
};

impl Stack {
    /// Returns the default routers that announced themselves on `interface`.
    /// [`Routes::router`](crate::Routes::router) returns the router in use.
    ///
    /// # Panics
    /// Panics if this stack has no such interface.
    pub fn default_routers(&self, interface: InterfaceId) -> &[DefaultRouter] {
        self.interfaces[interface.index()]
            .autoconfiguration
            .routers()
    }

    /// Returns the DNS servers that routers announced, for each interface oldest first. RFC 8106.
    pub fn dns_servers(&self) -> impl Iterator<Item = Ipv6Addr> {
        let interfaces = self.interfaces.iter();
        interfaces.flat_map(|of| of.autoconfiguration.dns_servers())
    }

    /// Returns the addresses that this host does not use yet, because another host may have them.
    pub fn tentative_addresses(&self) -> impl Iterator<Item = Subnet> {
        let tables = self.routes.tables();
        let tentative = tables.flat_map(|(_, addresses)| addresses.tentative());
        tentative.map(|own| own.subnet)
    }

    /// Returns the addresses of `interface` that this host does not use yet, because another host
    /// may have them.
    ///
    /// # Panics
    /// Panics if this stack has no such interface.
    pub fn tentative_addresses_on(
        &self,
        interface: InterfaceId,
    ) -> impl Iterator<Item = HostAddress> {
        let tentative = self.routes.addresses(interface).tentative().iter();
        tentative.map(move |own| HostAddress {
            address: own.subnet.address,
            prefix_len: own.subnet.prefix_len,
            interface,
            is_deprecated: false,
            is_temporary: own.origin == Origin::Temporary,
        })
    }

    /// Returns the last IPv6 address that another host was found to have, of the first interface
    /// that found one. This host does not use the address.
    pub fn duplicate_address(&self) -> Option<Ipv6Addr> {
        let mut interfaces = self.interfaces.iter();
        interfaces.find_map(|of| of.autoconfiguration.duplicate())
    }

    /// Returns the number of changes of addresses, routers and DNS servers by autoconfiguration. If
    /// the number has changed, the application should read the results again.
    pub fn configuration_changes(&self) -> u64 {
        let interfaces = self.interfaces.iter();
        interfaces.map(|of| of.autoconfiguration.changes()).sum()
    }

    /// Replaces the key from which this host's IPv6 addresses are formed (RFC 7217). By default the
    /// key follows from the secret given to [`new`](Self::new), so the addresses change at each
    /// start. If the application keeps a key, the addresses stay the same. Call this before the
    /// first [`on_timeouts`](Self::on_timeouts). Interfaces that are added later use the key too.
    pub fn set_identifier_key(&mut self, key: [u8; 16]) {
        self.identifier_key = Some(key);
        for (interface, of) in self.interface_ids().zip(&mut self.interfaces) {
            let addresses = self.routes.addresses_mut(interface);
            of.autoconfiguration.set_identifier_key(key, addresses);
        }
    }

    /// Borrows the autoconfiguration of `interface` and, separately, the parts of the stack that it
    /// changes.
    fn autoconfiguration_and_rest(
        &mut self,
        interface: InterfaceId,
        now: Instant,
    ) -> (&mut Autoconfiguration, Surroundings<'_>) {
        let of = &mut self.interfaces[interface.index()];
        let around = Surroundings {
            addresses: self.routes.addresses_mut(interface),
            neighbours: &mut of.neighbours,
            sender: &mut of.sender,
            pool: &mut self.pool,
            counters: &mut self.counters,
            now,
        };
        (&mut of.autoconfiguration, around)
    }

    /// Ends the timers of `interface` that are due.
    pub(super) fn configure(&mut self, interface: InterfaceId, now: Instant) {
        let of = &mut self.interfaces[interface.index()];
        let has_failed = of.neighbours.take_failure();
        if has_failed {
            let (own, mut around) = self.autoconfiguration_and_rest(interface, now);
            own.on_neighbour_failed(&mut around);
        }
        while self.interfaces[interface.index()]
            .autoconfiguration
            .is_due(now)
        {
            let (own, mut around) = self.autoconfiguration_and_rest(interface, now);
            if let Some(invalid) = own.on_timeout(&mut around) {
                // An error is impossible: the address is in the table.
                let _removed = self.remove_address(invalid.into(), now);
            }
        }
    }

    /// Passes a message between neighbours to the autoconfiguration of `interface`. Returns true if
    /// no other part of the stack must see the message.
    pub(crate) fn configures_with(
        &mut self,
        interface: InterfaceId,
        message: &ReceivedMessage,
        now: Instant,
    ) -> bool {
        let (own, mut around) = self.autoconfiguration_and_rest(interface, now);
        own.on_neighbour(message, &mut around)
    }

    /// Adds an IPv6 address to `interface` as a tentative one.
    pub(super) fn add_tentative(
        &mut self,
        interface: InterfaceId,
        subnet: Subnet,
    ) -> Result<(), AddressError> {
        let IpAddr::V6(ip) = subnet.address else {
            return Err(AddressError::Unusable("IPv4 has no tentative addresses"));
        };
        let addresses = self.routes.addresses_mut(interface);
        let of = &mut self.interfaces[interface.index()];
        of.autoconfiguration.add(subnet, ip, addresses)
    }

    /// Removes a tentative address. Returns false if `address` is not tentative.
    pub(super) fn remove_tentative(&mut self, address: IpAddr, now: Instant) -> bool {
        let IpAddr::V6(ip) = address else {
            return false;
        };
        for (interface, of) in self.interface_ids().zip(&mut self.interfaces) {
            let addresses = self.routes.addresses_mut(interface);
            if addresses.remove_tentative(ip).is_some() {
                of.autoconfiguration.on_removed(address, addresses, now);
                return true;
            }
        }
        false
    }
}
