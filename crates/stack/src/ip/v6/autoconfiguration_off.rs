//! Stand-in for autoconfiguration in builds without the feature `slaac`.
//!
//! Rule: this file has the functions of the folder `autoconfiguration` that other files call.

use core::net::IpAddr;

use fullpipe_pool::Instant;

use crate::ip::Addresses;

/// The state of autoconfiguration, which is empty.
#[derive(Debug)]
pub(crate) struct Autoconfiguration;

impl Autoconfiguration {
    /// Returns 0.
    pub(crate) const fn heap_bytes(&self) -> usize {
        0
    }

    /// Returns false.
    pub(crate) const fn is_on(&self) -> bool {
        false
    }

    /// Does nothing.
    pub(crate) const fn on_removed(&mut self, _ip: IpAddr, _addresses: &Addresses, _now: Instant) {}

    /// Returns `None`.
    pub(crate) const fn next_timeout(&self, _device_full: bool) -> Option<Instant> {
        None
    }

    /// Returns false.
    pub(crate) const fn wants_output(&self, _now: Instant) -> bool {
        false
    }
}
