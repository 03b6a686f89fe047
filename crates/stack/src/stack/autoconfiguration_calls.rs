//! The calls of autoconfiguration: its results for the application, and its timers.
//!
//! Rule: the application polls `configuration_changes`, and reads the results again when the number
//! has changed. An address whose lifetime ends is removed as if the application had removed it, so
//! its sockets end.

use core::net::{IpAddr, Ipv6Addr};

use fullpipe_pool::Instant;

use super::Stack;
use crate::{
    ip::{AddressError, Autoconfiguration, DefaultRouter, Subnet, Surroundings},
    link::ReceivedMessage,
};

impl Stack {
    /// Returns the default routers that announced themselves. [`Routes::router`](crate::Routes::router)
    /// returns the router in use.
    pub fn default_routers(&self) -> &[DefaultRouter] {
        self.autoconfiguration.routers()
    }

    /// Returns the DNS servers that routers announced, oldest first. RFC 8106.
    pub fn dns_servers(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.autoconfiguration.dns_servers()
    }

    /// Returns the addresses that this host does not use yet, because another host may have them.
    pub fn tentative_addresses(&self) -> impl Iterator<Item = Subnet> {
        let tentative = self.routes.addresses().tentative().iter();
        tentative.map(|own| own.subnet)
    }

    /// Returns the last IPv6 address that another host was found to have. This host does not use
    /// it.
    pub fn duplicate_address(&self) -> Option<Ipv6Addr> {
        self.autoconfiguration.duplicate()
    }

    /// Returns true if the preferred lifetime of `address` is over. New connections then use
    /// another address, if there is one. RFC 4862 §5.5.4.
    pub fn is_deprecated(&self, address: IpAddr) -> bool {
        self.routes.addresses().is_deprecated(address)
    }

    /// Returns the number of changes of addresses, routers and DNS servers by autoconfiguration. If
    /// the number has changed, the application should read the results again.
    pub fn configuration_changes(&self) -> u64 {
        self.autoconfiguration.changes()
    }

    /// Replaces the key from which this host's IPv6 addresses are formed (RFC 7217). By default the
    /// key follows from the secret given to [`new`](Self::new), so the addresses change at each
    /// start. If the application keeps a key, the addresses stay the same. Call this before the
    /// first [`on_timeouts`](Self::on_timeouts).
    pub fn set_identifier_key(&mut self, key: [u8; 16]) {
        let addresses = self.routes.addresses_mut();
        self.autoconfiguration.set_identifier_key(key, addresses);
    }

    /// Borrows autoconfiguration and, separately, the parts of the stack that it changes.
    fn autoconfiguration_and_rest(
        &mut self,
        now: Instant,
    ) -> (&mut Autoconfiguration, Surroundings<'_>) {
        let around = Surroundings {
            routes: &mut self.routes,
            neighbours: &mut self.neighbours,
            sender: &mut self.sender,
            pool: &mut self.pool,
            counters: &mut self.counters,
            now,
        };
        (&mut self.autoconfiguration, around)
    }

    /// Ends the timers that are due.
    pub(super) fn configure(&mut self, now: Instant) {
        let has_failed = self.neighbours.take_failure();
        let (own, mut around) = self.autoconfiguration_and_rest(now);
        if has_failed {
            own.on_neighbour_failed(&mut around);
        }
        while self.autoconfiguration.is_due(now) {
            let (own, mut around) = self.autoconfiguration_and_rest(now);
            if let Some(invalid) = own.on_timeout(&mut around) {
                // An error is impossible: the address is in the table.
                let _removed = self.remove_address(invalid.into(), now);
            }
        }
    }

    /// Passes a message between neighbours to autoconfiguration. Returns true if no other part of
    /// the stack must see the message.
    pub(crate) fn configures_with(&mut self, message: &ReceivedMessage, now: Instant) -> bool {
        let (own, mut around) = self.autoconfiguration_and_rest(now);
        own.on_neighbour(message, &mut around)
    }

    /// Adds an IPv6 address as a tentative one.
    pub(super) fn add_tentative(&mut self, subnet: Subnet) -> Result<(), AddressError> {
        let IpAddr::V6(ip) = subnet.address else {
            return Err(AddressError::Unusable("IPv4 has no tentative addresses"));
        };
        let addresses = self.routes.addresses_mut();
        self.autoconfiguration.add(subnet, ip, addresses)
    }

    /// Removes a tentative address. Returns false if `address` is not tentative.
    pub(super) fn remove_tentative(&mut self, address: IpAddr, now: Instant) -> bool {
        let IpAddr::V6(ip) = address else {
            return false;
        };
        let was_tentative = self.routes.addresses_mut().remove_tentative(ip).is_some();
        if was_tentative {
            let addresses = self.routes.addresses();
            self.autoconfiguration.on_removed(address, addresses, now);
        }
        was_tentative
    }
}
