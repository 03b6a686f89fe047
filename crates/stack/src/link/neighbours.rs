//! The neighbour cache: from IP addresses to MAC addresses, filled by ARP and neighbour discovery.
//! RFC 826, RFC 1122 §2.3.2, RFC 4861 §7.
//!
//! Rule: an entry is awaited while a connection or a datagram waits for its MAC address. An entry
//! that a connection awaits stays until the neighbour answers or the resolution fails. At most half
//! of the entries are awaited at a time; at that limit, further connections wait until another
//! resolution ends, and further datagrams are dropped. An unsolicited packet may refresh an entry.
//! An unsolicited packet may also replace an entry that is unused, failed or awaited only by
//! datagrams. An answer that this host sends to an unknown host adds no entry. Requests leave at a
//! bounded rate. Packets for an unresolved neighbour wait in a short queue, which drops the oldest
//! if it is full. Frames leave through `poll_packet` only.

mod arp;
mod eviction;
mod listing;
#[cfg(feature = "ipv6")]
mod nd;
#[cfg(not(feature = "ipv6"))]
#[path = "neighbours/nd_off.rs"]
mod nd;
mod pending_packets;
#[cfg(test)]
mod tests;

use alloc::{boxed::Box, collections::VecDeque, vec};
use core::net::IpAddr;

use fullpipe_pool::{Duration, Instant, Pool, Rng};
use fullpipe_wire::{ArpOperation, EthernetHeader, MacAddress};
pub use listing::Reachability;
#[cfg(feature = "ipv6")]
pub(crate) use nd::ReceivedMessage;
use pending_packets::PendingPackets;

use crate::{
    config::ArpConfig,
    counters::{Counters, Discard},
    ip::{Addresses, Audience, StoredIp},
    queues::Queues,
    rate_limit::RateLimit,
    slab::Slab,
};

/// Queue of entries whose request is due and that are in use or awaited by a connection.
const ASKING_FIRST: u32 = 0;
/// Queue of entries whose request is due and that are awaited only by datagrams.
const ASKING: u32 = 1;
/// Queue of resolved entries with waiting packets.
const RELEASED: u32 = 2;
/// The only queue of `settled`.
const SETTLED: u32 = 0;
/// The end of a chain of entries.
const NONE: u32 = u32::MAX;

/// The sender that looks a neighbour up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// A connection that waits for the outcome, or a connection in TIME-WAIT.
    Connection,
    /// A datagram. A connection's lookup may evict the datagram's entry, because unknown hosts can
    /// make an application send datagrams to any address.
    Datagram,
}

/// The outcome of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// The neighbour has this MAC address.
    Known(MacAddress),
    /// A request is due or was sent for the entry with this number.
    /// [Hold](Neighbours::hold) the packet, or wait until the entry is
    /// [settled](Neighbours::take_settled).
    Pending(u32),
    /// The neighbour did not reply, and `arp.failed_time` has not passed since.
    Unreachable,
    /// The neighbour is unknown, and the limit of awaited entries is reached. Wait for
    /// [room](Neighbours::room), or drop the packet.
    Full,
}

#[derive(Clone, Copy, Debug)]
enum NeighbourState {
    /// Not resolved; `due` is the time of the next request, or of the failure.
    Incomplete { sent: u32, due: Instant },
    /// Resolved, and not probed before `until`.
    Reachable { mac: MacAddress, until: Instant },
    /// Resolved, and probed because the last reply is old; the address stays in use.
    Refreshing {
        mac: MacAddress,
        sent: u32,
        due: Instant,
    },
    /// No reply came; no request is sent before `until`.
    Failed { until: Instant },
}

#[derive(Debug)]
struct NeighbourEntry {
    ip: StoredIp,
    state: NeighbourState,
    /// Looked up since the clock hand (`Neighbours::hand`) last passed the entry.
    used: bool,
    /// `Connection` if a connection waited during the entry's last resolution.
    asker: Asker,
    /// A resolved entry counts as awaited until this time, because none of the senders that waited
    /// for the entry has used it yet.
    awaited_until: Option<Instant>,
    /// The next entry of the same bucket.
    next: u32,
}

impl NeighbourEntry {
    /// Returns the sender that awaits the entry, if any.
    const fn awaited_by(&self) -> Option<Asker> {
        let is_awaited =
            matches!(self.state, NeighbourState::Incomplete { .. }) || self.awaited_until.is_some();
        if is_awaited { Some(self.asker) } else { None }
    }
}

/// Counts of awaited entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Awaited {
    connections: u32,
    datagrams: u32,
}

impl Awaited {
    const fn count_mut(&mut self, asker: Asker) -> &mut u32 {
        match asker {
            Asker::Connection => &mut self.connections,
            Asker::Datagram => &mut self.datagrams,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NeighbourReply {
    mac: MacAddress,
    /// The host that asked; unspecified if it has no address yet.
    ip: StoredIp,
    /// The address of this host whose MAC address the reply gives.
    ours: StoredIp,
}

/// The neighbour cache of one link.
#[derive(Debug)]
pub(crate) struct Neighbours {
    mac: MacAddress,
    entries: Slab<NeighbourEntry>,
    /// Waiting packets of each slot of `entries`.
    waiting: Box<[PendingPackets]>,
    /// First entry of each bucket. The number of buckets is a power of two.
    buckets: Box<[u32]>,
    secret: u64,
    /// Position of the clock hand that searches for an entry to evict.
    hand: u32,
    queues: Queues,
    /// Entries that were resolved, failed or removed, and whose waiting connections were not woken
    /// yet.
    settled: Queues,
    awaited: Awaited,
    replies: VecDeque<NeighbourReply>,
    limit: RateLimit,
    /// Lower bound of all `due` times; exact after each `on_timeout`.
    deadline: Option<Instant>,
    config: ArpConfig,
    /// Time between two requests for an IPv6 neighbour; a router may change it.
    #[cfg(feature = "ipv6")]
    v6_request_interval: Duration,
    /// Time until an IPv6 neighbour is probed again; a router may change it.
    #[cfg(feature = "ipv6")]
    v6_reachable_time: Duration,
    /// A neighbour failed, and the default router has not been chosen anew since.
    #[cfg(feature = "slaac")]
    failure: bool,
}

impl Neighbours {
    /// Allocates an empty cache for a host whose MAC address is `mac`.
    pub(crate) fn new(mac: MacAddress, config: &ArpConfig, mut rng: Rng) -> Self {
        let buckets = (config.entries as usize).next_power_of_two();
        let wait_queue = || PendingPackets::new(config.queue_packets);
        Self {
            mac,
            entries: Slab::new(config.entries),
            waiting: (0..config.entries).map(|_| wait_queue()).collect(),
            buckets: vec![NONE; buckets].into(),
            secret: rng.next_u64() | 1,
            hand: 0,
            queues: Queues::new(3, config.entries),
            settled: Queues::new(1, config.entries),
            awaited: Awaited::default(),
            replies: VecDeque::with_capacity(config.replies as usize),
            limit: RateLimit::new(
                config.requests_per_second,
                config.requests_per_second.div_ceil(10),
            ),
            deadline: None,
            config: config.clone(),
            #[cfg(feature = "ipv6")]
            v6_request_interval: config.request_interval,
            #[cfg(feature = "ipv6")]
            v6_reachable_time: config.reachable_time,
            #[cfg(feature = "slaac")]
            failure: false,
        }
    }

    /// Returns the time between two requests for `ip`.
    const fn request_interval(&self, ip: IpAddr) -> Duration {
        match ip {
            #[cfg(feature = "ipv6")]
            IpAddr::V6(_) => self.v6_request_interval,
            _ => self.config.request_interval,
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let waiting: usize = self.waiting.iter().map(PendingPackets::heap_bytes).sum();
        self.entries.heap_bytes()
            + size_of_val(&*self.waiting)
            + waiting
            + size_of_val(&*self.buckets)
            + self.queues.heap_bytes()
            + self.settled.heap_bytes()
            + self.replies.capacity() * size_of::<NeighbourReply>()
    }

    /// Looks up the neighbour `ip` for `asker`. If the neighbour is unknown and the cache has
    /// room, adds an entry and makes a request due.
    pub(crate) fn resolve(
        &mut self,
        ip: IpAddr,
        asker: Asker,
        now: Instant,
        pool: &mut Pool,
        counters: &mut Counters,
    ) -> Resolution {
        let Some(index) = self.find(ip) else {
            if !self.make_room(asker, pool, counters) {
                return Resolution::Full;
            }
            let index = self.insert(ip, NeighbourState::Incomplete { sent: 0, due: now }, asker);
            self.ask_soon(index);
            return Resolution::Pending(index);
        };
        match self.entries[index].state {
            NeighbourState::Incomplete { .. } => {
                self.raise(index, asker);
                Resolution::Pending(index)
            }
            NeighbourState::Reachable { .. } | NeighbourState::Refreshing { .. } => {
                let mac = self.refresh(index, now).expect("it is resolved");
                self.change(index, |entry| {
                    entry.used = true;
                    entry.awaited_until = None;
                });
                Resolution::Known(mac)
            }
            NeighbourState::Failed { until } if now < until => Resolution::Unreachable,
            NeighbourState::Failed { .. } => {
                if !self.may_await(asker) && !self.evict_datagrams(asker, pool, counters) {
                    return Resolution::Full;
                }
                self.change(index, |entry| {
                    entry.state = NeighbourState::Incomplete { sent: 0, due: now };
                    entry.asker = asker;
                });
                self.ask_soon(index);
                Resolution::Pending(index)
            }
        }
    }

    /// Returns the MAC address of the neighbour `ip` if it is known; never adds an entry. Used
    /// for answers, whose receivers may be unknown hosts.
    pub(crate) fn known(&mut self, ip: IpAddr, now: Instant) -> Option<MacAddress> {
        let index = self.find(ip)?;
        self.refresh(index, now)
    }

    /// Returns the MAC address of entry `index` if it is resolved, and makes a
    /// probe due if the last reply is old.
    fn refresh(&mut self, index: u32, now: Instant) -> Option<MacAddress> {
        let entry = &mut self.entries[index];
        let (mac, ask) = match entry.state {
            NeighbourState::Reachable { mac, until } if now >= until => {
                entry.state = NeighbourState::Refreshing {
                    mac,
                    sent: 0,
                    due: now,
                };
                (mac, true)
            }
            NeighbourState::Reachable { mac, .. } => (mac, false),
            NeighbourState::Refreshing { mac, sent, .. } => (mac, sent == 0),
            NeighbourState::Incomplete { .. } | NeighbourState::Failed { .. } => return None,
        };
        if ask {
            self.ask_soon(index);
        }
        Some(mac)
    }

    /// Makes a request for entry `index` due, unless it is queued already.
    fn ask_soon(&mut self, index: u32) {
        if self.queues.queue_of(index).is_none() {
            let queue = match self.entries[index].awaited_by() {
                Some(Asker::Datagram) => ASKING,
                Some(Asker::Connection) | None => ASKING_FIRST,
            };
            self.queues.join(queue, index);
        }
    }

    /// Notes that `asker` also awaits entry `index`.
    fn raise(&mut self, index: u32, asker: Asker) {
        if asker == Asker::Connection {
            self.change(index, |entry| entry.asker = asker);
            if self.queues.queue_of(index) == Some(ASKING) {
                self.queues.join(ASKING_FIRST, index);
            }
        }
    }

    /// Changes entry `index` and adjusts the counts of awaited entries.
    fn change(&mut self, index: u32, change: impl FnOnce(&mut NeighbourEntry)) {
        let entry = &mut self.entries[index];
        let before = entry.awaited_by();
        change(entry);
        let after = entry.awaited_by();
        if before == after {
            return;
        }
        if let Some(asker) = before {
            *self.awaited.count_mut(asker) -= 1;
        }
        if let Some(asker) = after {
            *self.awaited.count_mut(asker) += 1;
        }
    }

    /// Returns how many more entries connections may await now.
    pub(crate) fn room(&self) -> u32 {
        let most = self.most_awaited();
        most - self.awaited.connections.min(most)
    }

    /// Removes and returns the oldest settled entry: one that was resolved, failed or
    /// removed since connections began to wait for it.
    pub(crate) fn take_settled(&mut self) -> Option<u32> {
        self.settled.take(SETTLED)
    }

    /// Returns true if `take_settled` has an entry.
    pub(crate) fn has_settled(&self) -> bool {
        !self.settled.is_empty(SETTLED)
    }

    /// Notes that connections through the neighbour `ip` time out. The next lookup probes the
    /// neighbour, whose address stays in use meanwhile. RFC 9293 §3.8.3, RFC 1122 §3.3.1.4.
    pub(crate) fn on_negative_advice(&mut self, ip: IpAddr, now: Instant) {
        if let Some(index) = self.find(ip)
            && let NeighbourState::Reachable { until, .. } = &mut self.entries[index].state
        {
            *until = now.min(*until);
        }
    }

    /// Keeps an IP packet until the neighbour `ip` has replied, after
    /// [`resolve`](Self::resolve) returned [`Resolution::Pending`].
    pub(crate) fn hold(
        &mut self,
        ip: IpAddr,
        packet: &[u8],
        pool: &mut Pool,
        counters: &mut Counters,
    ) {
        match self.find(ip) {
            Some(index) => self.waiting[index as usize].push(packet, pool, counters),
            None => counters.discard(Discard::ArpUnresolved),
        }
    }

    /// Stores a neighbour's MAC address, which needs no probe before `until`. Only a packet addressed
    /// to this host adds an entry. Returns true if the neighbour is in the cache.
    fn learn(
        &mut self,
        (ip, mac): (IpAddr, MacAddress),
        for_us: bool,
        until: Instant,
        now: Instant,
        pool: &mut Pool,
        counters: &mut Counters,
    ) -> bool {
        let state = NeighbourState::Reachable { mac, until };
        if let Some(index) = self.find(ip) {
            let entry = &self.entries[index];
            let is_answer = matches!(entry.state, NeighbourState::Incomplete { .. });
            let awaited_until = match is_answer {
                true => Some(now + self.config.request_interval),
                false => entry.awaited_until,
            };
            self.change(index, |entry| {
                entry.state = state;
                entry.awaited_until = awaited_until;
            });
            self.queues.leave(index);
            if !self.waiting[index as usize].is_empty() {
                self.queues.join(RELEASED, index);
            }
            if is_answer {
                self.settled.join(SETTLED, index);
                self.note_deadline(now + self.config.request_interval);
            }
            return true;
        }
        if !for_us {
            return false;
        }
        if self.entries.is_full() && !self.evict_unused(pool, counters) {
            counters.discard(Discard::ArpTableFull);
            return false;
        }
        self.insert(ip, state, Asker::Datagram);
        true
    }

    fn note_deadline(&mut self, at: Instant) {
        self.deadline = Some(self.deadline.map_or(at, |deadline| deadline.min(at)));
    }

    fn queue_reply(&mut self, reply: NeighbourReply) -> Result<(), Discard> {
        if self.replies.contains(&reply) {
            return Ok(());
        }
        // Drop the oldest reply, because its receiver will repeat the request soonest.
        let is_full = self.replies.len() >= self.config.replies as usize;
        if is_full {
            self.replies.pop_front();
        }
        self.replies.push_back(reply);
        if is_full {
            return Err(Discard::ArpReplyQueueFull);
        }
        Ok(())
    }

    /// Drops the replies that answer for `ip`, which was removed from this host.
    pub(crate) fn forget_address(&mut self, ip: IpAddr) {
        self.replies.retain(|reply| reply.ours.get() != ip);
    }

    /// Returns true if `poll_packet` has a frame.
    pub(crate) fn wants_output(&self, now: Instant) -> bool {
        !self.is_quiet()
            && (!self.replies.is_empty()
                || !self.queues.is_empty(RELEASED)
                || (self.first_to_ask().is_some() && now >= self.limit.next_allowed()))
    }

    /// Writes the next frame, link header included, to the start of `frame`, which has
    /// room for a link header and the device's MTU. Call this before other output in a
    /// turn, so that waiting packets leave before later ones to the same neighbour.
    pub(crate) fn poll_packet(
        &mut self,
        addresses: &Addresses,
        now: Instant,
        pool: &mut Pool,
        frame: &mut [u8],
        counters: &mut Counters,
    ) -> Option<usize> {
        if let Some(reply) = self.replies.pop_front() {
            return Some(self.write_reply(&reply, frame, counters));
        }
        if let Some(index) = self.queues.first(RELEASED) {
            return Some(self.release_packet(index, pool, frame));
        }
        let index = self.first_to_ask()?;
        if !self.limit.allow(now) {
            return None;
        }
        self.queues.leave(index);
        self.ask(addresses, index, now, frame, counters)
    }

    /// Returns true if no frame waits to be sent, now or when the rate limit allows it.
    fn is_quiet(&self) -> bool {
        self.replies.is_empty() && self.queues.are_empty()
    }

    /// Returns the entry for which the next request is due.
    fn first_to_ask(&self) -> Option<u32> {
        let first = self.queues.first(ASKING_FIRST);
        first.or_else(|| self.queues.first(ASKING))
    }

    fn write_reply(
        &self,
        reply: &NeighbourReply,
        frame: &mut [u8],
        counters: &mut Counters,
    ) -> usize {
        match (reply.ours.get(), reply.ip.get()) {
            (IpAddr::V4(ours), IpAddr::V4(ip)) => {
                counters.mib.arp_out_replies += 1;
                let to = (reply.mac, ip);
                self.write_arp(frame, ArpOperation::Reply, reply.mac, ours, to)
            }
            (IpAddr::V6(ours), IpAddr::V6(ip)) => {
                counters.mib.icmp_out_msgs += 1;
                self.write_advertisement(frame, (reply.mac, ip), ours)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => {
                unreachable!("a reply answers a packet of its family")
            }
        }
    }

    /// Writes the next request for an entry. The first probe of a resolved entry is unicast. All
    /// other requests are broadcast (IPv6: sent to a group), because the neighbour may have a new
    /// MAC address.
    fn ask(
        &mut self,
        addresses: &Addresses,
        index: u32,
        now: Instant,
        frame: &mut [u8],
        counters: &mut Counters,
    ) -> Option<usize> {
        let next_due = now + self.request_interval(self.entries[index].ip.get());
        let entry = &mut self.entries[index];
        let station = match &mut entry.state {
            NeighbourState::Incomplete { sent, due } => {
                (*sent, *due) = (*sent + 1, next_due);
                None
            }
            NeighbourState::Refreshing { mac, sent, due } => {
                let station = (*sent == 0).then_some(*mac);
                (*sent, *due) = (*sent + 1, next_due);
                station
            }
            NeighbourState::Reachable { .. } | NeighbourState::Failed { .. } => {
                unreachable!("an entry that is not asked for is not in the queue")
            }
        };
        let target = entry.ip.get();
        let source = addresses.source_for(target, target);
        self.note_deadline(next_due);
        // A request has an address of this host as its source. If there is none, send no request.
        match (source?, target) {
            (IpAddr::V4(source), IpAddr::V4(target)) => {
                counters.mib.arp_out_requests += 1;
                let station = station.unwrap_or(MacAddress::BROADCAST);
                let to = (MacAddress::UNSPECIFIED, target);
                Some(self.write_arp(frame, ArpOperation::Request, station, source, to))
            }
            (IpAddr::V6(source), IpAddr::V6(target)) => {
                counters.mib.icmp_out_msgs += 1;
                Some(self.write_solicitation(frame, station, source, target))
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => None,
        }
    }

    /// Writes the oldest waiting packet of a resolved entry.
    fn release_packet(&mut self, index: u32, pool: &mut Pool, frame: &mut [u8]) -> usize {
        let entry = &self.entries[index];
        let (NeighbourState::Reachable { mac, .. } | NeighbourState::Refreshing { mac, .. }) =
            entry.state
        else {
            unreachable!("a reply releases packets");
        };
        let ether_type = super::framing::ether_type_for(entry.ip.get());
        let (header, body) = frame.split_at_mut(EthernetHeader::LEN);
        EthernetHeader {
            dst: mac,
            src: self.mac,
            ether_type,
        }
        .write(header);
        let waiting = &mut self.waiting[index as usize];
        let len = waiting.pop(body, pool);
        if waiting.is_empty() {
            self.queues.leave(index);
            self.change(index, |entry| entry.awaited_until = None);
        }
        EthernetHeader::LEN + len
    }

    /// Repeats requests without a reply, and considers a neighbour unreachable after
    /// `arp.requests` requests.
    pub(crate) fn on_timeout(&mut self, now: Instant, pool: &mut Pool, counters: &mut Counters) {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.deadline = None;
        for index in 0..self.entries.capacity() {
            let Some(entry) = self.entries.at(index) else {
                continue;
            };
            let (state, awaited_until) = (entry.state, entry.awaited_until);
            match awaited_until {
                Some(until) if now < until => {
                    self.note_deadline(until);
                    continue;
                }
                Some(_) => self.change(index, |entry| entry.awaited_until = None),
                None => {}
            }
            let (NeighbourState::Incomplete { sent, due }
            | NeighbourState::Refreshing { sent, due, .. }) = state
            else {
                continue;
            };
            if self.queues.queue_of(index).is_some() {
                continue;
            }
            if now < due {
                self.note_deadline(due);
            } else if sent < self.config.requests {
                self.ask_soon(index);
            } else {
                self.fail(index, now, pool, counters);
            }
        }
    }

    /// Notes that the neighbour of entry `index` did not reply.
    fn fail(&mut self, index: u32, now: Instant, pool: &mut Pool, counters: &mut Counters) {
        let until = now + self.config.failed_time;
        self.change(index, |entry| {
            entry.state = NeighbourState::Failed { until };
            entry.awaited_until = None;
        });
        self.waiting[index as usize].clear(pool, counters);
        self.settled.join(SETTLED, index);
        #[cfg(feature = "slaac")]
        {
            self.failure = true;
        }
    }

    /// Returns the next time at which the cache has a frame to send or a timer to run.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        if self.is_quiet() {
            return self.deadline;
        }
        if !self.replies.is_empty() || !self.queues.is_empty(RELEASED) {
            return Some(Instant::ZERO);
        }
        let ask = self.first_to_ask().map(|_| self.limit.next_allowed());
        match (self.deadline, ask) {
            (Some(deadline), Some(ask)) => Some(deadline.min(ask)),
            (deadline, ask) => deadline.or(ask),
        }
    }

    /// Returns the next time at which a reply of a neighbour is overdue. The stack uses this
    /// deadline in place of [`next_timeout`](Self::next_timeout) while the device is full.
    pub(crate) const fn next_deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Removes every entry and frees all memory.
    #[cfg(test)]
    pub(crate) fn release(&mut self, pool: &mut Pool, counters: &mut Counters) {
        for index in 0..self.entries.capacity() {
            if self.entries.at(index).is_some() {
                self.remove(index, pool, counters);
            }
        }
        self.replies.clear();
        self.deadline = None;
    }

    fn bucket(&self, ip: IpAddr) -> usize {
        let bits = match ip {
            IpAddr::V4(ip) => u64::from(ip.to_bits()),
            IpAddr::V6(ip) => (ip.to_bits() ^ (ip.to_bits() >> 64)) as u64,
        };
        let mixed = (bits ^ self.secret.rotate_left(32)).wrapping_mul(self.secret);
        (mixed >> 32) as usize & (self.buckets.len() - 1)
    }

    fn find(&self, ip: IpAddr) -> Option<u32> {
        let mut index = self.buckets[self.bucket(ip)];
        while index != NONE {
            let entry = &self.entries[index];
            if entry.ip.get() == ip {
                return Some(index);
            }
            index = entry.next;
        }
        None
    }

    /// Adds an entry; the caller has made room.
    fn insert(&mut self, ip: IpAddr, state: NeighbourState, asker: Asker) -> u32 {
        let bucket = self.bucket(ip);
        let entry = NeighbourEntry {
            ip: StoredIp::new(ip),
            state,
            used: matches!(state, NeighbourState::Incomplete { .. }),
            asker,
            awaited_until: None,
            next: self.buckets[bucket],
        };
        if let Some(asker) = entry.awaited_by() {
            *self.awaited.count_mut(asker) += 1;
        }
        let key = self.entries.insert(entry).expect("room was made");
        self.buckets[bucket] = key.index;
        key.index
    }

    fn remove(&mut self, index: u32, pool: &mut Pool, counters: &mut Counters) {
        self.waiting[index as usize].clear(pool, counters);
        self.queues.leave(index);
        let removed = self.entries.remove(index);
        if let Some(asker) = removed.awaited_by() {
            *self.awaited.count_mut(asker) -= 1;
            self.settled.join(SETTLED, index);
        }
        let bucket = self.bucket(removed.ip.get());
        let mut at = self.buckets[bucket];
        if at == index {
            self.buckets[bucket] = removed.next;
            return;
        }
        while self.entries[at].next != index {
            at = self.entries[at].next;
        }
        self.entries[at].next = removed.next;
    }
}

/// Checks that `sender` is another host of a network of this host.
fn check_sender(addresses: &Addresses, sender: IpAddr) -> Result<(), Discard> {
    match addresses.audience(sender) {
        Audience::Us => Err(Discard::ArpConflict),
        Audience::Broadcast | Audience::Multicast => Err(Discard::ArpBadSender),
        Audience::Other if !addresses.can_be_host(sender) => Err(Discard::ArpBadSender),
        Audience::Other if addresses.network_of(sender).is_none() => Err(Discard::ArpOffLink),
        Audience::Other => Ok(()),
    }
}
