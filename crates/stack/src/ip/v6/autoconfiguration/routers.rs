//! The list of default routers, and the choice among them. RFC 4861 §6.3.6, RFC 4191.
//!
//! Rule: a router that does not answer is chosen only if no router answers. Among routers that
//! answer, the highest preference wins; of equal preferences, the present router stays. A full list
//! takes no further router, so a flood of advertisements cannot replace the routers that are known.

#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use core::net::Ipv6Addr;

use fullpipe_pool::Instant;
use fullpipe_wire::ndp::router::RouterPreference;

/// Largest number of default routers. RFC 4861 §6.3.4 asks for at least two.
pub(super) const MOST: usize = 4;

/// A default router that announced itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultRouter {
    /// Link-local address of the router.
    pub address: Ipv6Addr,
    /// Preference of the router.
    pub preference: RouterPreference,
    /// End of its lifetime as a default router.
    pub until: Instant,
}

/// The default routers that are known.
#[derive(Debug)]
pub(super) struct Routers(Vec<DefaultRouter>);

impl Routers {
    /// Returns an empty list.
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(MOST))
    }

    pub(super) const fn heap_bytes() -> usize {
        MOST * size_of::<DefaultRouter>()
    }

    pub(super) fn as_slice(&self) -> &[DefaultRouter] {
        &self.0
    }

    /// Adds or changes a router, or removes it if its lifetime ends at `now`. Returns false if the
    /// list has no room for it.
    pub(super) fn learn(&mut self, router: DefaultRouter, now: Instant) -> bool {
        if router.until <= now {
            self.remove(router.address);
            return true;
        }
        let mut known = self.0.iter();
        match known.position(|known| known.address == router.address) {
            Some(place) => self.0[place] = router,
            None if self.0.len() == MOST => return false,
            None => self.0.push(router),
        }
        true
    }

    /// Removes a router.
    pub(super) fn remove(&mut self, address: Ipv6Addr) {
        self.0.retain(|known| known.address != address);
    }

    /// Removes the routers whose lifetime is over.
    pub(super) fn expire(&mut self, now: Instant) {
        self.0.retain(|known| known.until > now);
    }

    /// Returns the next end of a lifetime.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.0.iter().map(|known| known.until).min()
    }

    /// Returns the router to use from now on; `present` is the router used so far.
    pub(super) fn choose(
        &self,
        present: Option<Ipv6Addr>,
        has_failed: impl Fn(Ipv6Addr) -> bool,
    ) -> Option<Ipv6Addr> {
        let rank = |router: &&DefaultRouter| {
            let is_present = Some(router.address) == present;
            (!has_failed(router.address), router.preference, is_present)
        };
        // Reverse the order: among equal routers `max_by_key` returns the last one, but the oldest
        // is to be used.
        let best = self.0.iter().rev().max_by_key(rank);
        best.map(|router| router.address)
    }
}
