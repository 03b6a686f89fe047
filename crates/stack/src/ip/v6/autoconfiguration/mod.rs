//! IPv6 configured as on a host: addresses formed with the prefixes of routers, default routers,
//! duplicate address detection, temporary addresses, reports of groups. RFC 4861 §6.3, RFC 4862,
//! RFC 7217, RFC 8981, RFC 3810.
//!
//! Rule: autoconfiguration runs on an Ethernet interface with the knob `ip.autoconfiguration`.
//! Received messages and timers change state only; messages leave through `poll_message`. Each
//! table has a fixed size, and a full table keeps its entries. The stack, not this file, removes an
//! address, because the sockets of the address end with it. Redirects are ignored.

mod dns;
mod groups;
mod identifier;
mod lifetime;
mod messages;
mod prefixes;
mod routers;
mod solicitation;
mod temporary;

use alloc::boxed::Box;
use core::net::{IpAddr, Ipv6Addr};

use fullpipe_pool::{Count, Duration, Instant, Pool, Rng};
use fullpipe_wire::{
    MacAddress,
    mld::Query,
    ndp::{
        NeighbourMessage,
        router::{PrefixInformation, RouterAdvertisement, RouterOption},
    },
};

use self::{
    dns::DnsServerList,
    groups::GroupReports,
    identifier::{Identifiers, MOST_TRIES},
    lifetime::{NEVER, end_of},
    prefixes::{PrefixOutcome, Prefixes},
    routers::Routers,
    solicitation::Solicitation,
    temporary::Temporaries,
};
use crate::{
    config::IpConfig,
    counters::{Counters, Discard},
    device::{Capabilities, Medium},
    ip::{
        IpSender, Subnet,
        addresses::{
            AddressError, Addresses,
            tentative::{Origin, TentativeAddress},
        },
    },
    link::{Neighbours, ReceivedMessage},
    secret::Secret,
};
pub use routers::DefaultRouter;

/// Longest delay of the first message about an address. RFC 4862 §5.4.2
/// (MAX_RTR_SOLICITATION_DELAY).
const MOST_DELAY_MS: u64 = 1_000;
/// Smallest hop limit that is accepted from a router. If smaller ones were accepted, a forged
/// advertisement could end all connections to other networks.
const LEAST_HOP_LIMIT: u8 = 32;
/// Range in which an announced time between two neighbour solicitations is accepted, in
/// milliseconds.
const RETRANSMIT_MS: core::ops::RangeInclusive<u32> = 100..=60_000;
/// Range in which an announced reachable time is accepted, in milliseconds. RFC 4861 §6.2.1.
const REACHABLE_MS: core::ops::RangeInclusive<u32> = 1_000..=3_600_000;

/// The parts of the stack that autoconfiguration changes.
pub(crate) struct Surroundings<'a> {
    /// The addresses of the interface.
    pub(crate) addresses: &'a mut Addresses,
    pub(crate) neighbours: &'a mut Neighbours,
    pub(crate) sender: &'a mut IpSender,
    pub(crate) pool: &'a mut Pool,
    pub(crate) counters: &'a mut Counters,
    pub(crate) now: Instant,
}

/// The autoconfiguration of a host, if it has one.
#[derive(Debug)]
pub(crate) struct Autoconfiguration(Option<Box<State>>);

#[derive(Debug)]
struct State {
    identifiers: Identifiers,
    rng: Rng,
    /// The knob `ip.dad_probes`.
    probes: u32,
    /// Time between two solicitations for one address.
    retransmit: Duration,
    solicitation: Solicitation,
    routers: Routers,
    prefixes: Prefixes,
    temporaries: Temporaries,
    dns: DnsServerList,
    groups: GroupReports,
    /// Number of link-local addresses that this host formed but could not use, because another host
    /// had them.
    link_local_duplicates: u32,
    /// The last address that another host had.
    duplicate: Option<Ipv6Addr>,
    changes: u64,
    /// Time of the next change without a message.
    next_timer: Option<Instant>,
    /// Time of the next message.
    next_message: Option<Instant>,
}

impl Autoconfiguration {
    /// Returns the autoconfiguration of an interface, if the knob asks for it and the device can
    /// carry IPv6. The first address and the link-local address become tentative.
    pub(crate) fn new(
        config: &IpConfig,
        capabilities: &Capabilities,
        mac: MacAddress,
        secret: &Secret,
        addresses: &mut Addresses,
    ) -> Self {
        let is_possible = capabilities.medium == Medium::Ethernet && capabilities.mtu >= 1280;
        if !config.autoconfiguration || !is_possible {
            return Self(None);
        }
        let temporary = if config.temporary_addresses {
            temporary::MOST
        } else {
            0
        };
        addresses.begin_automatic(prefixes::MOST, temporary);
        let mut state = Box::new(State {
            identifiers: Identifiers {
                secret: secret.derive(b"interface identifiers"),
                mac,
            },
            rng: Rng::seeded(secret.prf(b"autoconfiguration")),
            probes: config.dad_probes,
            retransmit: Duration::from_secs(1),
            solicitation: Solicitation::new(),
            routers: Routers::new(),
            prefixes: Prefixes::new(),
            temporaries: Temporaries::new(config.temporary_addresses),
            dns: DnsServerList::new(),
            groups: GroupReports::new(),
            link_local_duplicates: 0,
            duplicate: None,
            changes: 0,
            next_timer: None,
            next_message: None,
        });
        addresses.make_first_tentative();
        state.form_link_local(addresses);
        state.plan(addresses);
        Self(Some(state))
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        match &self.0 {
            Some(state) => {
                size_of::<State>()
                    + state.temporaries.heap_bytes()
                    + Routers::heap_bytes()
                    + Prefixes::heap_bytes()
                    + DnsServerList::heap_bytes()
                    + GroupReports::heap_bytes()
            }
            None => 0,
        }
    }

    /// Returns true if this host configures its IPv6 addresses itself.
    pub(crate) const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Replaces the key from which addresses are formed from now on. With the same key, the
    /// addresses are the same after each start. The tentative link-local address is formed again.
    pub(crate) fn set_identifier_key(&mut self, key: [u8; 16], addresses: &mut Addresses) {
        let Some(state) = &mut self.0 else {
            return;
        };
        state.identifiers.secret = Secret(key);
        let tentative = addresses.tentative().iter();
        let mut link_local = tentative.filter(|own| own.origin == Origin::LinkLocal);
        if let Some(ip) = link_local.next().map(|own| own.ip) {
            addresses.remove_tentative(ip);
            state.form_link_local(addresses);
            state.plan(addresses);
        }
    }

    /// Adds an address that the application wants, first as a tentative one.
    pub(crate) fn add(
        &mut self,
        subnet: Subnet,
        ip: Ipv6Addr,
        addresses: &mut Addresses,
    ) -> Result<(), AddressError> {
        addresses.add_tentative(subnet, ip, Origin::Added)?;
        if let Some(state) = &mut self.0 {
            state.plan(addresses);
        }
        Ok(())
    }

    /// Notes that the application has removed the address `ip`.
    pub(crate) fn on_removed(&mut self, ip: IpAddr, addresses: &Addresses, now: Instant) {
        if let (Some(state), IpAddr::V6(ip)) = (&mut self.0, ip) {
            state.prefixes.forget_address(ip);
            state.temporaries.forget_address(ip);
            state.groups.on_leave(ip, addresses, now);
            state.changes += 1;
            state.plan(addresses);
        }
    }

    /// Returns the next time at which a timer ends or a message is due. If `device_full`, messages
    /// are not due.
    pub(crate) fn next_timeout(&self, device_full: bool) -> Option<Instant> {
        let state = self.0.as_ref()?;
        let message = state.next_message.filter(|_| !device_full);
        state.next_timer.into_iter().chain(message).min()
    }

    /// Returns true if a timer has ended.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        let state = self.0.as_ref();
        state.is_some_and(|state| state.next_timer.is_some_and(|at| at <= now))
    }

    /// Returns true if a message is due.
    pub(crate) fn wants_output(&self, now: Instant) -> bool {
        let state = self.0.as_ref();
        state.is_some_and(|state| state.next_message.is_some_and(|at| at <= now))
    }

    /// Ends the timers that are due. Returns an address whose lifetime is over, or `None`. The
    /// caller removes the address and calls this method again.
    pub(crate) fn on_timeout(&mut self, around: &mut Surroundings<'_>) -> Option<Ipv6Addr> {
        let state = self.0.as_mut()?;
        let now = around.now;
        state.advance_tentative(&mut *around.addresses, now);
        let known = (state.routers.as_slice().len(), state.dns.len());
        state.routers.expire(now);
        state.dns.expire(now);
        let addresses = &mut *around.addresses;
        let has_changed = state.prefixes.expire(addresses, now);
        state.form_temporary(addresses, now);
        let has_changed = state.temporaries.expire(&state.prefixes, addresses, now) || has_changed;
        let is_known = known == (state.routers.as_slice().len(), state.dns.len());
        state.changes += u64::from(has_changed || !is_known);
        let invalid = state.prefixes.take_invalid(now);
        let temporaries = &mut state.temporaries;
        let invalid = invalid.or_else(|| temporaries.take_invalid(&state.prefixes, now));
        state.choose_router(around);
        let addresses = &mut *around.addresses;
        let in_use = invalid.filter(|ip| {
            let was_tentative = addresses.remove_tentative(*ip).is_some();
            !was_tentative && addresses.contains((*ip).into())
        });
        state.plan(addresses);
        in_use
    }

    /// Processes the advertisement that the router `src` sent from `station`.
    pub(crate) fn on_advertisement(
        &mut self,
        advertisement: &RouterAdvertisement<'_>,
        (src, station): (Ipv6Addr, MacAddress),
        around: &mut Surroundings<'_>,
    ) {
        // Ignore other sources: a router is known by one link-local address (RFC 4861 §6.1.2).
        let Some(state) = self.0.as_mut().filter(|_| src.is_unicast_link_local()) else {
            let reason = match self.0 {
                Some(_) => Discard::NdInvalid,
                None => Discard::IcmpUnwanted,
            };
            return around.counters.discard(reason);
        };
        state.take_header(advertisement, src, around);
        state.changes += 1;
        for option in advertisement.options() {
            let has_room = state.take_option(option, (src, station), around);
            if !has_room {
                around.counters.discard(Discard::RaTableFull);
            }
        }
        state.form_temporary(around.addresses, around.now);
        state
            .temporaries
            .expire(&state.prefixes, around.addresses, around.now);
        state.choose_router(around);
        state.plan(around.addresses);
    }

    /// Processes a message between neighbours that concerns a tentative address or a router. Returns
    /// true if the neighbour cache must not see it.
    pub(crate) fn on_neighbour(
        &mut self,
        received: &ReceivedMessage,
        around: &mut Surroundings<'_>,
    ) -> bool {
        let Some(state) = &mut self.0 else {
            return false;
        };
        let addresses = &mut *around.addresses;
        match received.message {
            NeighbourMessage::Solicitation { target, source_mac } => {
                if !addresses.is_tentative(target) {
                    return false;
                }
                // A solicitation from the unspecified address shows that another host checks the
                // same address, which is then a duplicate. A solicitation from any other address
                // asks for the MAC address, and gets no answer. RFC 4862 §5.4.3.
                if received.src.is_unspecified() && source_mac.is_none() {
                    state.on_duplicate(target, addresses, around.counters);
                }
                state.plan(addresses);
                true
            }
            NeighbourMessage::Advertisement { target, router, .. } => {
                if addresses.is_tentative(target) {
                    state.on_duplicate(target, addresses, around.counters);
                    state.plan(addresses);
                    return true;
                }
                // A router that became a host no longer forwards packets. RFC 4861 §7.2.5.
                if !router && around.addresses.router() == Some(target) {
                    state.routers.remove(target);
                    state.changes += 1;
                    state.choose_router(around);
                    state.plan(around.addresses);
                }
                false
            }
        }
    }

    /// Processes a query for this host's multicast groups, which `src` sent.
    pub(crate) fn on_query(
        &mut self,
        query: &Query,
        src: Ipv6Addr,
        addresses: &Addresses,
        (now, counters): (Instant, &mut Counters),
    ) {
        match &mut self.0 {
            Some(state) if src.is_unicast_link_local() => {
                let State { groups, rng, .. } = &mut **state;
                groups.on_query(query, addresses, rng, now);
                state.plan(addresses);
            }
            Some(_) | None => counters.discard(Discard::IcmpUnwanted),
        }
    }

    /// Chooses a router again, because a neighbour does not answer.
    pub(crate) fn on_neighbour_failed(&mut self, around: &mut Surroundings<'_>) {
        if let Some(state) = &mut self.0 {
            state.choose_router(around);
        }
    }

    /// Writes the message that is due, link header included, to the start of `frame`. Returns its
    /// length.
    pub(crate) fn poll_message(
        &mut self,
        addresses: &mut Addresses,
        now: Instant,
        frame: &mut [u8],
        counters: &mut Counters,
    ) -> Option<usize> {
        let state = self.0.as_mut()?;
        let len = state.write_due(addresses, now, frame);
        counters.mib.icmp_out_msgs += Count::from(len.is_some());
        state.plan(addresses);
        len
    }

    /// Returns the default routers that are known.
    pub(crate) fn routers(&self) -> &[DefaultRouter] {
        let state = self.0.as_ref();
        state.map_or(&[], |state| state.routers.as_slice())
    }

    /// Returns the DNS servers that are known.
    pub(crate) fn dns_servers(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.0.iter().flat_map(|state| state.dns.iter())
    }

    /// Returns the last address that another host had.
    pub(crate) fn duplicate(&self) -> Option<Ipv6Addr> {
        self.0.as_ref()?.duplicate
    }

    /// Returns the number of changes so far.
    pub(crate) fn changes(&self) -> u64 {
        self.0.as_ref().map_or(0, |state| state.changes)
    }
}

impl State {
    /// Forms the temporary addresses that are due.
    fn form_temporary(&mut self, addresses: &mut Addresses, now: Instant) {
        let add = |ip| add_temporary(addresses, ip);
        self.temporaries
            .form(&self.prefixes, &mut self.rng, now, add);
    }

    /// Forms the link-local address. After too many duplicates, this host has none.
    fn form_link_local(&mut self, addresses: &mut Addresses) {
        if self.link_local_duplicates >= MOST_TRIES {
            return;
        }
        let prefix = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0);
        let ip = self.identifiers.address(prefix, self.link_local_duplicates);
        // An error means that the application has added the same address.
        let _added = addresses.add_tentative(host_address(ip, 64), ip, Origin::LinkLocal);
    }

    /// Sets the times of the next timer and of the next message.
    fn plan(&mut self, addresses: &Addresses) {
        let (mut timers, mut messages) = (None, self.groups.due());
        let note = |list: &mut Option<Instant>, at: Option<Instant>| {
            let at = at.filter(|at| *at != NEVER);
            *list = list.iter().copied().chain(at).min();
        };
        for own in addresses.tentative() {
            match own.due {
                None => note(&mut timers, Some(Instant::ZERO)),
                Some(due) if own.sent >= self.probes => note(&mut timers, Some(due)),
                Some(due) => note(&mut messages, Some(due)),
            }
        }
        note(&mut messages, self.solicitation.due());
        note(&mut timers, self.routers.next_timeout());
        note(&mut timers, self.dns.next_timeout());
        note(&mut timers, self.prefixes.next_timeout(addresses));
        let temporary = self.temporaries.next_timeout(&self.prefixes, addresses);
        note(&mut timers, temporary);
        (self.next_timer, self.next_message) = (timers, messages);
    }

    /// Begins to solicit new tentative addresses, and to use those that no other host has.
    fn advance_tentative(&mut self, addresses: &mut Addresses, now: Instant) {
        let Self {
            rng,
            groups,
            probes,
            ..
        } = self;
        for own in addresses.tentative_mut() {
            if own.due.is_none() {
                let delay_ms = match *probes {
                    0 => 0,
                    _ => rng.between(0, MOST_DELAY_MS),
                };
                let at = now + Duration::from_millis(delay_ms);
                own.due = Some(at);
                groups.on_join(own.ip, at);
            }
        }
        let is_free = |own: &&TentativeAddress| {
            own.sent >= self.probes && own.due.is_some_and(|due| due <= now)
        };
        while let Some(own) = addresses.tentative().iter().find(is_free).copied() {
            addresses.remove_tentative(own.ip);
            addresses.assign(&own);
            if own.ip.is_unicast_link_local() {
                self.solicitation.begin(now);
            }
            self.changes += 1;
        }
    }

    /// Drops the tentative address `ip`, which another host has. If this host formed the address,
    /// forms another one. RFC 4862 §5.4.5, RFC 7217 §6.
    fn on_duplicate(&mut self, ip: Ipv6Addr, addresses: &mut Addresses, counters: &mut Counters) {
        let Some(was) = addresses.remove_tentative(ip) else {
            return;
        };
        counters.discard(Discard::NdDuplicate);
        self.duplicate = Some(ip);
        self.changes += 1;
        match was.origin {
            Origin::Added => {}
            Origin::LinkLocal => {
                self.link_local_duplicates += 1;
                self.form_link_local(addresses);
            }
            Origin::Temporary => {
                let add = |next| add_temporary(addresses, next);
                self.temporaries.on_duplicate(ip, &mut self.rng, add);
            }
            Origin::Prefix => {
                if let Some(lease) = self.prefixes.lease_mut(ip) {
                    lease.duplicates += 1;
                    lease.ip = None;
                    if lease.duplicates < MOST_TRIES {
                        let next = self.identifiers.address(ip, lease.duplicates);
                        let subnet = host_address(next, 128);
                        // The application may have added the same address. This call then fails,
                        // and the lease gets no address.
                        let added = addresses.add_tentative(subnet, next, Origin::Prefix);
                        lease.ip = added.is_ok().then_some(next);
                    }
                }
            }
        }
    }

    /// Takes the fields of an advertisement's header: hop limit, reachable time, time between
    /// solicitations, router lifetime. RFC 4861 §6.3.4.
    fn take_header(
        &mut self,
        advertisement: &RouterAdvertisement<'_>,
        src: Ipv6Addr,
        around: &mut Surroundings<'_>,
    ) {
        let now = around.now;
        let &RouterAdvertisement {
            hop_limit,
            preference,
            lifetime_s,
            reachable_ms,
            retransmit_ms,
            ..
        } = advertisement;
        if hop_limit >= LEAST_HOP_LIMIT {
            around.sender.set_v6_hop_limit(hop_limit);
        }
        if RETRANSMIT_MS.contains(&retransmit_ms) {
            self.retransmit = Duration::from_millis(retransmit_ms.into());
            around.neighbours.set_v6_request_interval(self.retransmit);
        }
        if REACHABLE_MS.contains(&reachable_ms) {
            // The reachable time is random: 50 % to 150 % of the announced time. RFC 4861 §6.3.2.
            let percent = self.rng.between(50, 150);
            let time = Duration::from_micros(u64::from(reachable_ms) * 10 * percent);
            around.neighbours.set_v6_reachable_time(time);
        }
        let router = DefaultRouter {
            address: src,
            preference,
            until: end_of(lifetime_s.into(), now),
        };
        if lifetime_s > 0 {
            self.solicitation.on_router();
        }
        if !self.routers.learn(router, now) {
            around.counters.discard(Discard::RaTableFull);
        }
    }

    /// Takes an option of an advertisement. Returns false if a table has no room for it.
    fn take_option(
        &mut self,
        option: RouterOption<'_>,
        (src, station): (Ipv6Addr, MacAddress),
        around: &mut Surroundings<'_>,
    ) -> bool {
        let now = around.now;
        match option {
            RouterOption::SourceMac(mac) => {
                debug_assert!(
                    station.is_unicast(),
                    "the link layer has judged {station:?}"
                );
                let (pool, counters) = (&mut *around.pool, &mut *around.counters);
                around
                    .neighbours
                    .learn_router((src, mac), now, pool, counters);
                true
            }
            RouterOption::Mtu(mtu) => {
                around.sender.set_v6_mtu(mtu);
                true
            }
            RouterOption::Prefix(info) => self.take_prefix(&info, around),
            RouterOption::DnsServers {
                lifetime_s,
                servers,
            } => {
                let until = end_of(lifetime_s, now);
                let mut has_room = true;
                for server in servers.filter(|ip| super::is_unicast(*ip)) {
                    has_room &= self.dns.learn(server, until, now);
                }
                has_room
            }
        }
    }

    fn take_prefix(&mut self, info: &PrefixInformation, around: &mut Surroundings<'_>) -> bool {
        let (addresses, now) = (&mut *around.addresses, around.now);
        match self.prefixes.learn(info, addresses, now) {
            PrefixOutcome::Known => true,
            PrefixOutcome::Full => false,
            PrefixOutcome::Form(prefix) => {
                let ip = self.identifiers.address(prefix, 0);
                let added = addresses.add_tentative(host_address(ip, 128), ip, Origin::Prefix);
                self.prefixes.formed(added.ok().map(|()| ip), info, now);
                added.is_ok()
            }
        }
    }

    /// Chooses the default router.
    fn choose_router(&mut self, around: &mut Surroundings<'_>) {
        let present = around.addresses.router();
        let neighbours = &around.neighbours;
        let next = self
            .routers
            .choose(present, |ip| neighbours.has_failed(ip.into()));
        if next != present {
            around.addresses.set_router(next);
            self.changes += 1;
        }
    }
}

/// Adds a temporary address as a tentative one. Returns false if there is no room.
fn add_temporary(addresses: &mut Addresses, ip: Ipv6Addr) -> bool {
    let added = addresses.add_tentative(host_address(ip, 128), ip, Origin::Temporary);
    added.is_ok()
}

/// Returns a subnet with the address `ip`.
const fn host_address(ip: Ipv6Addr, prefix_len: u8) -> Subnet {
    Subnet {
        address: IpAddr::V6(ip),
        prefix_len,
    }
}
