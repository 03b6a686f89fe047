//! Temporary addresses: random identifiers that change each day, so that the connections of a host
//! cannot be followed by its address. RFC 8981.
//!
//! Rule: a temporary address depends on the address formed with the same prefix: its lifetimes never
//! exceed those of the prefix, and it ends with it. Its own bounds count from the time of its
//! formation, whatever routers announce. A full list forms no further address. The table of
//! addresses has the addresses; this file decides about their times.

use alloc::vec::Vec;
use core::net::Ipv6Addr;

use fullpipe_pool::{Duration, Instant, Rng};

use super::{
    identifier::is_reserved,
    prefixes::{Lease, Prefixes},
};
use crate::ip::addresses::Addresses;

/// Largest number of temporary addresses. With four prefixes, each has room for [`MOST_EACH`].
pub(super) const MOST: usize = 16;
/// Largest number of temporary addresses of one prefix: the present one and those that are
/// deprecated. An address lives for [`VALID`], and has a successor after 60 % of [`PREFERRED`] or
/// later.
const MOST_EACH: usize = 4;
/// Largest number of identifiers that are tried for one address, after duplicates. RFC 8981 §3.8
/// (TEMP_IDGEN_RETRIES).
const MOST_TRIES: u32 = 3;
/// Longest valid lifetime. RFC 8981 §3.8 (TEMP_VALID_LIFETIME).
const VALID: Duration = Duration::from_secs(2 * 86_400);
/// Longest preferred lifetime. RFC 8981 §3.8 (TEMP_PREFERRED_LIFETIME).
const PREFERRED: Duration = Duration::from_secs(86_400);
/// Largest random part by which the preferred lifetime is shorter, so that the addresses of several
/// hosts or prefixes do not change together: 40 % of it. RFC 8981 §3.8 (MAX_DESYNC_FACTOR).
const DESYNC_MS: u64 = PREFERRED.as_millis() * 4 / 10;
/// Time before the end of the preferred lifetime at which the next address is formed. RFC 8981 §3.8
/// (REGEN_ADVANCE) asks for two seconds, and the time of duplicate address detection.
const ADVANCE: Duration = Duration::from_secs(30);

/// A temporary address.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The prefix, with host bits of 0.
    prefix: Ipv6Addr,
    /// The address; `None` after too many duplicates.
    ip: Option<Ipv6Addr>,
    /// Bounds that follow from the time of formation.
    preferred_until: Instant,
    valid_until: Instant,
    /// The next address of the prefix was formed, or could not be formed.
    is_succeeded: bool,
    duplicates: u32,
}

impl Entry {
    /// Returns the ends of the preferred and the valid lifetime. The address formed with the same
    /// prefix has `lease`.
    fn ends(&self, lease: Option<&Lease>) -> (Instant, Instant) {
        match lease {
            None => (Instant::ZERO, Instant::ZERO),
            Some(lease) => (
                self.preferred_until.min(lease.preferred_until),
                self.valid_until.min(lease.valid_until),
            ),
        }
    }

    /// Returns the time at which the next address of the prefix is formed. The bound of the entry
    /// alone decides: if a router shortens the preferred lifetime for a while, the address is
    /// deprecated for this time, and has no successor.
    fn succession(&self) -> Instant {
        self.preferred_until - ADVANCE
    }
}

/// The temporary addresses of an interface.
#[derive(Debug)]
pub(super) struct Temporaries {
    entries: Vec<Entry>,
    is_on: bool,
}

impl Temporaries {
    /// Returns an empty list, which stays empty unless `is_on`.
    pub(super) fn new(is_on: bool) -> Self {
        let most = if is_on { MOST } else { 0 };
        Self {
            entries: Vec::with_capacity(most),
            is_on,
        }
    }

    pub(super) const fn heap_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }

    /// Forms an address for each prefix that has none which is still preferred for a while. Calls
    /// `add` with each new address, which returns false if the table of addresses has no room.
    pub(super) fn form(
        &mut self,
        prefixes: &Prefixes,
        rng: &mut Rng,
        now: Instant,
        mut add: impl FnMut(Ipv6Addr) -> bool,
    ) {
        if !self.is_on {
            return;
        }
        for (prefix, lease) in prefixes.leases() {
            let is_of_prefix = |entry: &&mut Entry| entry.prefix == prefix;
            let count = self.entries.iter_mut().filter(is_of_prefix).count();
            let mut of_prefix = self.entries.iter_mut().filter(is_of_prefix);
            let present = of_prefix.find(|entry| !entry.is_succeeded);
            let is_due = present.is_none_or(|entry| {
                entry.is_succeeded = entry.succession() <= now;
                entry.is_succeeded
            });
            let is_lasting = lease.preferred_until > now + ADVANCE;
            let is_full = count >= MOST_EACH || self.entries.len() == MOST;
            if !is_due || !is_lasting || lease.ip.is_none() || is_full {
                continue;
            }
            let ip = random_address(prefix, rng);
            if add(ip) {
                let desync = Duration::from_millis(rng.between(0, DESYNC_MS));
                self.entries.push(Entry {
                    prefix,
                    ip: Some(ip),
                    preferred_until: now + (PREFERRED - desync),
                    valid_until: now + VALID,
                    is_succeeded: false,
                    duplicates: 0,
                });
            }
        }
    }

    /// Deprecates the addresses whose preferred lifetime is over, and lets the others be preferred.
    /// Returns true if an address changes.
    pub(super) fn expire(
        &self,
        prefixes: &Prefixes,
        addresses: &mut Addresses,
        now: Instant,
    ) -> bool {
        let mut has_changed = false;
        for entry in &self.entries {
            let (preferred_until, _) = entry.ends(prefixes.lease_of(entry.prefix));
            if let Some(ip) = entry.ip {
                has_changed |= addresses.set_deprecated(ip.into(), preferred_until <= now);
            }
        }
        has_changed
    }

    /// Removes an entry whose valid lifetime is over. Returns its address, if it has one.
    pub(super) fn take_invalid(&mut self, prefixes: &Prefixes, now: Instant) -> Option<Ipv6Addr> {
        let is_over = |entry: &Entry| entry.ends(prefixes.lease_of(entry.prefix)).1 <= now;
        let place = self.entries.iter().position(is_over)?;
        self.entries.remove(place).ip
    }

    /// Takes another random address in place of `ip`, which another host has, but none after too many
    /// duplicates. Calls `add` with the new address, as [`form`](Self::form) does.
    pub(super) fn on_duplicate(
        &mut self,
        ip: Ipv6Addr,
        rng: &mut Rng,
        add: impl FnOnce(Ipv6Addr) -> bool,
    ) {
        let mut entries = self.entries.iter_mut();
        if let Some(entry) = entries.find(|entry| entry.ip == Some(ip)) {
            entry.duplicates += 1;
            entry.ip = None;
            if entry.duplicates < MOST_TRIES {
                let next = random_address(entry.prefix, rng);
                entry.ip = add(next).then_some(next);
            }
        }
    }

    /// Forgets an address, which the application has removed.
    pub(super) fn forget_address(&mut self, ip: Ipv6Addr) {
        self.entries.retain(|entry| entry.ip != Some(ip));
    }

    /// Returns the next time at which an address is deprecated, removed or succeeded.
    pub(super) fn next_timeout(
        &self,
        prefixes: &Prefixes,
        addresses: &Addresses,
    ) -> Option<Instant> {
        let of_entry = |entry: &Entry| {
            let lease = prefixes.lease_of(entry.prefix);
            let (preferred_until, valid_until) = entry.ends(lease);
            // The other times change nothing, and would stay due for ever.
            let is_preferred = entry
                .ip
                .is_some_and(|ip| addresses.is_formed_and_preferred(ip.into()));
            let deprecation = is_preferred.then_some(preferred_until);
            let succession = (!entry.is_succeeded).then(|| entry.succession());
            [Some(valid_until), deprecation, succession]
                .into_iter()
                .flatten()
                .min()
        };
        self.entries.iter().filter_map(of_entry).min()
    }
}

/// Returns an address with the first 64 bits of `prefix` and a random identifier. RFC 8981 §3.3.1.
fn random_address(prefix: Ipv6Addr, rng: &mut Rng) -> Ipv6Addr {
    loop {
        let identifier = rng.next_u64();
        if !is_reserved(identifier) {
            return Ipv6Addr::from_bits(prefix.to_bits() >> 64 << 64 | u128::from(identifier));
        }
    }
}
