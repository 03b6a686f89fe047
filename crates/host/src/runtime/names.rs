//! Names of a runtime: the servers, and lookups.
//!
//! Rule: these calls wait for an outcome; the driver's thread asks the servers.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use super::Runtime;
use crate::name_race::NameRace;

impl Runtime {
    /// Returns the DNS servers in the order in which they are asked: those given to the builder, or
    /// otherwise those of the DHCP lease and of router advertisements.
    pub fn dns_servers(&self) -> Vec<SocketAddr> {
        self.driver().call_names(|core, _| core.dns_servers())
    }

    /// Returns the addresses of `name`, the best first (RFC 6724), and blocks until they are known.
    /// The host asks for IPv4 addresses only if it has an IPv4 address, and for IPv6 addresses only
    /// if it has an IPv6 address.
    ///
    /// # Errors
    /// Returns `InvalidInput` if `name` is no host name; `NotFound` if the name has no address;
    /// `TimedOut` if no DNS server answers.
    pub fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        match name.parse() {
            Ok(address) => Ok(vec![address]),
            Err(_) => NameRace::lookup(self.driver(), name)?.block_for_addresses(),
        }
    }
}
