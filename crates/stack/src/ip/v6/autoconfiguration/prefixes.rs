//! Prefixes of the link, and the addresses formed with them. RFC 4861 §6.3.4, RFC 4862 §5.5.
//!
//! Rule: an advertisement never shortens the valid lifetime of an address to less than two hours
//! (RFC 4862 §5.5.3), so a forged advertisement cannot end connections. A full list takes no
//! further prefix. This file decides which addresses are formed; the table of addresses has them.

use alloc::vec::Vec;
use core::net::Ipv6Addr;

use fullpipe_pool::{Duration, Instant};
use fullpipe_wire::ndp::router::PrefixInformation;

use super::lifetime::end_of;
use crate::ip::{addresses::Addresses, subnet::Subnet};

/// Largest number of prefixes, and of addresses formed with them.
pub(super) const MOST: usize = 8;
/// Length, in bits, of the prefixes with which addresses are formed. RFC 4291 §2.5.1.
const FORMING_LEN: u8 = 64;
/// Valid lifetime to which an advertisement may shorten a longer one. RFC 4862 §5.5.3.
const TWO_HOURS: Duration = Duration::from_secs(7_200);

/// An address formed with a prefix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lease {
    /// The address; `None` after too many duplicates. This host then forms no address with the
    /// prefix until the lease ends.
    pub(super) ip: Option<Ipv6Addr>,
    pub(super) preferred_until: Instant,
    pub(super) valid_until: Instant,
    /// Number of addresses that this host formed with the prefix but could not use, because another
    /// host had them.
    pub(super) duplicates: u32,
}

#[derive(Clone, Copy, Debug)]
struct PrefixEntry {
    prefix: Ipv6Addr,
    len: u8,
    /// Addresses of the prefix are neighbours until this time.
    on_link_until: Option<Instant>,
    lease: Option<Lease>,
}

impl PrefixEntry {
    const fn network(&self) -> Subnet {
        Subnet {
            address: core::net::IpAddr::V6(self.prefix),
            prefix_len: self.len,
        }
    }
}

/// The consequence of a prefix that an advertisement contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrefixOutcome {
    /// The parent forms an address with this prefix, and passes the address to `formed`.
    Form(Ipv6Addr),
    /// The tables have the prefix already, or this host cannot use the prefix.
    Known,
    /// No room is left for the prefix.
    Full,
}

/// The prefixes that are known.
#[derive(Debug)]
pub(super) struct Prefixes(Vec<PrefixEntry>);

impl Prefixes {
    /// Returns an empty list.
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(MOST))
    }

    pub(super) const fn heap_bytes() -> usize {
        MOST * size_of::<PrefixEntry>()
    }

    /// Processes a prefix of an advertisement.
    pub(super) fn learn(
        &mut self,
        info: &PrefixInformation,
        addresses: &mut Addresses,
        now: Instant,
    ) -> PrefixOutcome {
        let &PrefixInformation {
            prefix,
            prefix_len: len,
            ..
        } = info;
        // Ignore the prefix of length 0: the whole address space is not on one link.
        if len == 0 || prefix.is_unicast_link_local() || prefix.is_multicast() {
            return PrefixOutcome::Known;
        }
        let mut entries = self.0.iter();
        let known = entries.position(|known| known.prefix == prefix && known.len == len);
        let forms = info.autonomous && len == FORMING_LEN && info.preferred_s <= info.valid_s;
        let Some(place) = known.or_else(|| self.add(info, forms)) else {
            let is_new = info.valid_s > 0 && (info.on_link || forms);
            return match is_new {
                true => PrefixOutcome::Full,
                false => PrefixOutcome::Known,
            };
        };
        let entry = &mut self.0[place];
        if info.on_link {
            let is_on_link = info.valid_s > 0;
            entry.on_link_until = is_on_link.then(|| end_of(info.valid_s, now));
            addresses.set_on_link(entry.network(), is_on_link);
        }
        let outcome = match (forms, &mut entry.lease) {
            (false, _) => PrefixOutcome::Known,
            (true, Some(lease)) => {
                lease.renew(info, now);
                if let Some(ip) = lease.ip {
                    addresses.set_deprecated(ip.into(), lease.preferred_until <= now);
                }
                PrefixOutcome::Known
            }
            (true, None) if info.valid_s > 0 => PrefixOutcome::Form(prefix),
            (true, None) => PrefixOutcome::Known,
        };
        self.forget_empty(matches!(outcome, PrefixOutcome::Form(_)));
        outcome
    }

    /// Adds an entry for a prefix, if it is of use and there is room.
    fn add(&mut self, info: &PrefixInformation, forms: bool) -> Option<usize> {
        let is_new = info.valid_s > 0 && (info.on_link || forms);
        if !is_new || self.0.len() == MOST {
            return None;
        }
        self.0.push(PrefixEntry {
            prefix: info.prefix,
            len: info.prefix_len,
            on_link_until: None,
            lease: None,
        });
        Some(self.0.len() - 1)
    }

    /// Removes the entries without a lease and without a network. If `but_last`, does nothing yet:
    /// the last entry may be new and without a lease. It gets its lease in
    /// [`formed`](Self::formed), which then calls this method again.
    fn forget_empty(&mut self, but_last: bool) {
        if !but_last {
            self.0
                .retain(|entry| entry.on_link_until.is_some() || entry.lease.is_some());
        }
    }

    /// Notes the address formed with a prefix of an advertisement; `None` if none could be formed.
    pub(super) fn formed(&mut self, ip: Option<Ipv6Addr>, info: &PrefixInformation, now: Instant) {
        let mut entries = self.0.iter_mut();
        if let Some(entry) =
            entries.find(|known| known.prefix == info.prefix && known.len == info.prefix_len)
        {
            entry.lease = ip.map(|ip| Lease {
                ip: Some(ip),
                preferred_until: end_of(info.preferred_s, now),
                valid_until: end_of(info.valid_s, now),
                duplicates: 0,
            });
        }
        self.forget_empty(false);
    }

    /// Returns the leases, each with its prefix.
    pub(super) fn leases(&self) -> impl Iterator<Item = (Ipv6Addr, &Lease)> {
        let entries = self.0.iter();
        entries.filter_map(|entry| Some((entry.prefix, entry.lease.as_ref()?)))
    }

    /// Returns the lease of the address that is formed with `prefix`.
    pub(super) fn lease_of(&self, prefix: Ipv6Addr) -> Option<&Lease> {
        let mut leases = self.leases();
        leases.find(|(of, _)| *of == prefix).map(|(_, lease)| lease)
    }

    /// Returns the lease of a formed address.
    pub(super) fn lease_mut(&mut self, ip: Ipv6Addr) -> Option<&mut Lease> {
        let mut leases = self.0.iter_mut().filter_map(|entry| entry.lease.as_mut());
        leases.find(|lease| lease.ip == Some(ip))
    }

    /// Forgets a formed address, which the application has removed.
    pub(super) fn forget_address(&mut self, ip: Ipv6Addr) {
        for entry in &mut self.0 {
            if entry.lease.is_some_and(|lease| lease.ip == Some(ip)) {
                entry.lease = None;
            }
        }
        self.forget_empty(false);
    }

    /// Deprecates the addresses whose preferred lifetime is over, and removes the networks of the
    /// link whose lifetime is over. Returns true if an address or a network changes.
    pub(super) fn expire(&mut self, addresses: &mut Addresses, now: Instant) -> bool {
        let mut has_changed = false;
        for entry in &mut self.0 {
            if entry.on_link_until.is_some_and(|until| until <= now) {
                entry.on_link_until = None;
                addresses.set_on_link(entry.network(), false);
                has_changed = true;
            }
            if let Some(lease) = entry.lease
                && lease.preferred_until <= now
                && let Some(ip) = lease.ip
            {
                has_changed |= addresses.set_deprecated(ip.into(), true);
            }
        }
        self.forget_empty(false);
        has_changed
    }

    /// Removes a lease whose valid lifetime is over. Returns its address, if it has one.
    pub(super) fn take_invalid(&mut self, now: Instant) -> Option<Ipv6Addr> {
        let is_over =
            |entry: &&mut PrefixEntry| entry.lease.is_some_and(|lease| lease.valid_until <= now);
        let lease = self.0.iter_mut().find(is_over)?.lease.take();
        self.forget_empty(false);
        lease.and_then(|lease| lease.ip)
    }

    /// Returns the next end of a lifetime.
    pub(super) fn next_timeout(&self, addresses: &Addresses) -> Option<Instant> {
        let of_entry = |entry: &PrefixEntry| {
            let of_address = entry.lease.map(|lease| {
                // The end of the preferred lifetime changes only an address that is formed and in
                // use. For any other address, the time would stay due for ever.
                let is_preferred = lease
                    .ip
                    .is_some_and(|ip| addresses.is_formed_and_preferred(ip.into()));
                match is_preferred {
                    true => lease.preferred_until.min(lease.valid_until),
                    false => lease.valid_until,
                }
            });
            entry.on_link_until.into_iter().chain(of_address).min()
        };
        self.0.iter().filter_map(of_entry).min()
    }
}

impl Lease {
    /// Takes the lifetimes of an advertisement, with the two-hour rule. RFC 4862 §5.5.3 e.
    fn renew(&mut self, info: &PrefixInformation, now: Instant) {
        let valid_until = end_of(info.valid_s, now);
        let floor = now + TWO_HOURS;
        if valid_until > floor || valid_until > self.valid_until {
            self.valid_until = valid_until;
        } else if self.valid_until > floor {
            self.valid_until = floor;
        }
        self.preferred_until = end_of(info.preferred_s, now).min(self.valid_until);
    }
}
