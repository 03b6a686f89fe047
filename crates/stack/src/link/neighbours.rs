//! The neighbour cache: from IP addresses to station addresses, filled by ARP.
//! RFC 826, RFC 1122 §2.3.2.
//!
//! Rule: an unasked packet may refresh an entry or replace an unused one, never
//! one in use. Requests leave at a bounded rate. Packets for an unresolved
//! neighbour wait in a short queue, which drops the oldest if it is full. Frames
//! leave through `poll_packet` only.

mod pending_packets;
#[cfg(test)]
mod tests;

use alloc::{boxed::Box, collections::VecDeque, vec};
use core::net::{IpAddr, Ipv4Addr};

use fullpipe_pool::{Instant, Pool, Rng};
use fullpipe_wire::{ArpOperation, ArpPacket, EtherType, EthernetHeader, MacAddress};
use pending_packets::PendingPackets;

use crate::{
    config::ArpConfig,
    counters::{Counters, Discard},
    ip::{Audience, Subnet},
    queues::Queues,
    rate_limit::RateLimit,
    slab::Slab,
};

/// Entries for which a request is due.
const ASKING: u32 = 0;
/// Resolved entries with waiting packets.
const RELEASED: u32 = 1;
/// The end of a chain of entries.
const NONE: u32 = u32::MAX;
/// Entries examined to find one that an unasked sender may replace.
const STRANGER_TRIES: u32 = 8;

/// The outcome of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// The neighbour has this station address.
    Known(MacAddress),
    /// A request is due or was sent: [hold](Neighbours::hold) the packet.
    Pending,
    /// The neighbour did not reply, less than `arp.failed_time` ago.
    Unreachable,
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
    ip: IpAddr,
    state: NeighbourState,
    /// Looked up since the clock hand last passed.
    used: bool,
    /// The next entry of the same bucket.
    next: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ArpReply {
    mac: MacAddress,
    ip: Ipv4Addr,
}

/// The neighbour cache of one link.
#[derive(Debug)]
pub(crate) struct Neighbours {
    mac: MacAddress,
    subnet: Subnet,
    entries: Slab<NeighbourEntry>,
    /// Waiting packets of each slot of `entries`.
    waiting: Box<[PendingPackets]>,
    /// First entry of each bucket; their number is a power of two.
    buckets: Box<[u32]>,
    secret: u64,
    /// Position of the clock hand that searches for an entry to evict.
    hand: u32,
    queues: Queues,
    replies: VecDeque<ArpReply>,
    limit: RateLimit,
    /// Lower bound of all `due` times; exact after each `on_timeout`.
    deadline: Option<Instant>,
    config: ArpConfig,
}

impl Neighbours {
    /// Allocates an empty cache for a host whose station address is `mac`.
    pub(crate) fn new(mac: MacAddress, subnet: Subnet, config: &ArpConfig, mut rng: Rng) -> Self {
        let buckets = (config.entries as usize).next_power_of_two();
        let wait_queue = || PendingPackets::new(config.queue_packets);
        Self {
            mac,
            subnet,
            entries: Slab::new(config.entries),
            waiting: (0..config.entries).map(|_| wait_queue()).collect(),
            buckets: vec![NONE; buckets].into(),
            secret: rng.next_u64() | 1,
            hand: 0,
            queues: Queues::new(2, config.entries),
            replies: VecDeque::with_capacity(config.replies as usize),
            limit: RateLimit::new(
                config.requests_per_second,
                config.requests_per_second.div_ceil(10),
            ),
            deadline: None,
            config: config.clone(),
        }
    }

    /// Looks up the neighbour `ip`, and makes a request due if it is unknown.
    pub(crate) fn resolve(
        &mut self,
        ip: IpAddr,
        now: Instant,
        pool: &mut Pool,
        counters: &mut Counters,
    ) -> Resolution {
        let index = match self.find(ip) {
            Some(index) => index,
            None => {
                if self.entries.is_full() {
                    self.evict_for_us(pool, counters);
                }
                self.insert(ip, NeighbourState::Incomplete { sent: 0, due: now })
            }
        };
        let entry = &mut self.entries[index];
        entry.used = true;
        let (resolution, ask) = match entry.state {
            NeighbourState::Incomplete { sent, .. } => (Resolution::Pending, sent == 0),
            NeighbourState::Reachable { mac, until } if now >= until => {
                entry.state = NeighbourState::Refreshing {
                    mac,
                    sent: 0,
                    due: now,
                };
                (Resolution::Known(mac), true)
            }
            NeighbourState::Reachable { mac, .. } => (Resolution::Known(mac), false),
            NeighbourState::Refreshing { mac, sent, .. } => (Resolution::Known(mac), sent == 0),
            NeighbourState::Failed { until } if now >= until => {
                entry.state = NeighbourState::Incomplete { sent: 0, due: now };
                (Resolution::Pending, true)
            }
            NeighbourState::Failed { .. } => (Resolution::Unreachable, false),
        };
        if ask && self.queues.queue_of(index).is_none() {
            self.queues.join(ASKING, index);
        }
        resolution
    }

    /// Notes that connections through the neighbour `ip` time out: its next lookup probes
    /// it, and its address stays in use meanwhile. RFC 9293 §3.8.3, RFC 1122 §3.3.1.4.
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

    /// Processes an ARP packet, which need not be well-formed.
    pub(crate) fn on_packet(&mut self, packet: &[u8], now: Instant, counters: &mut Counters) {
        let outcome = ArpPacket::parse(packet)
            .map_err(|_| Discard::ArpMalformed)
            .and_then(|packet| self.on_arp(&packet, now, counters));
        if let Err(reason) = outcome {
            counters.discard(reason);
        }
    }

    fn on_arp(
        &mut self,
        packet: &ArpPacket,
        now: Instant,
        counters: &mut Counters,
    ) -> Result<(), Discard> {
        let &ArpPacket {
            operation,
            sender_mac,
            sender_ip,
            target_ip,
            ..
        } = packet;
        if !sender_mac.is_unicast() || sender_mac == self.mac {
            return Err(Discard::ArpBadSender);
        }
        let for_us = self.subnet.audience(target_ip.into()) == Audience::Us;
        match operation {
            ArpOperation::Request if for_us => counters.mib.arp_in_requests += 1,
            ArpOperation::Request => {}
            ArpOperation::Reply => counters.mib.arp_in_replies += 1,
        }
        // An ARP probe (RFC 5227) is answered to defend this host's address; it contains
        // no sender address to learn.
        let known = if sender_ip.is_unspecified() {
            for_us
        } else {
            let sender = IpAddr::V4(sender_ip);
            self.check_sender(sender)?;
            self.learn(sender, sender_mac, for_us, now)?
        };
        match operation {
            ArpOperation::Request if for_us => self.queue_reply(ArpReply {
                mac: sender_mac,
                ip: sender_ip,
            }),
            ArpOperation::Request | ArpOperation::Reply if known => Ok(()),
            ArpOperation::Request | ArpOperation::Reply => Err(Discard::ArpNotForUs),
        }
    }

    fn check_sender(&self, sender: IpAddr) -> Result<(), Discard> {
        match self.subnet.audience(sender) {
            Audience::Us => Err(Discard::ArpConflict),
            Audience::Broadcast | Audience::Multicast => Err(Discard::ArpBadSender),
            Audience::Other if sender.is_loopback() => Err(Discard::ArpBadSender),
            Audience::Other if !self.subnet.contains(sender) => Err(Discard::ArpOffLink),
            Audience::Other => Ok(()),
        }
    }

    /// Stores a neighbour's link address. Only a packet addressed to this host adds an
    /// entry. Returns whether the neighbour is in the cache.
    fn learn(
        &mut self,
        ip: IpAddr,
        mac: MacAddress,
        for_us: bool,
        now: Instant,
    ) -> Result<bool, Discard> {
        let state = NeighbourState::Reachable {
            mac,
            until: now + self.config.reachable_time,
        };
        if let Some(index) = self.find(ip) {
            self.entries[index].state = state;
            self.queues.leave(index);
            if !self.waiting[index as usize].is_empty() {
                self.queues.join(RELEASED, index);
            }
            return Ok(true);
        }
        if !for_us {
            return Ok(false);
        }
        if self.entries.is_full() && !self.evict_unused() {
            return Err(Discard::ArpTableFull);
        }
        self.insert(ip, state);
        Ok(true)
    }

    fn queue_reply(&mut self, reply: ArpReply) -> Result<(), Discard> {
        if self.replies.contains(&reply) {
            return Ok(());
        }
        if self.replies.len() >= self.config.replies as usize {
            return Err(Discard::ArpReplyQueueFull);
        }
        self.replies.push_back(reply);
        Ok(())
    }

    /// Returns whether `poll_packet` has a frame.
    pub(crate) fn wants_output(&self, now: Instant) -> bool {
        !self.replies.is_empty()
            || !self.queues.is_empty(RELEASED)
            || (!self.queues.is_empty(ASKING) && now >= self.limit.next_allowed())
    }

    /// Writes the next frame, link header included, to the start of `frame`, which has
    /// room for a link header and the device's MTU. Call it before other output in a
    /// turn, so that waiting packets leave before later ones to the same neighbour.
    pub(crate) fn poll_packet(
        &mut self,
        now: Instant,
        pool: &mut Pool,
        frame: &mut [u8],
        counters: &mut Counters,
    ) -> Option<usize> {
        if let Some(reply) = self.replies.pop_front() {
            counters.mib.arp_out_replies += 1;
            return self.write_arp(frame, ArpOperation::Reply, reply.mac, reply.mac, reply.ip);
        }
        if let Some(index) = self.queues.first(RELEASED) {
            return Some(self.release_packet(index, pool, frame));
        }
        let index = self.queues.first(ASKING)?;
        if !self.limit.allow(now) {
            return None;
        }
        self.queues.leave(index);
        self.ask(index, now, frame, counters)
    }

    /// Writes the next request for an entry. The first probe of a resolved entry is
    /// unicast; the others are broadcast, because the address may have moved.
    fn ask(
        &mut self,
        index: u32,
        now: Instant,
        frame: &mut [u8],
        counters: &mut Counters,
    ) -> Option<usize> {
        let next_due = now + self.config.request_interval;
        let entry = &mut self.entries[index];
        let station = match &mut entry.state {
            NeighbourState::Incomplete { sent, due } => {
                (*sent, *due) = (*sent + 1, next_due);
                MacAddress::BROADCAST
            }
            NeighbourState::Refreshing { mac, sent, due } => {
                let station = if *sent == 0 {
                    *mac
                } else {
                    MacAddress::BROADCAST
                };
                (*sent, *due) = (*sent + 1, next_due);
                station
            }
            NeighbourState::Reachable { .. } | NeighbourState::Failed { .. } => {
                unreachable!("an entry that is not asked for is not in the queue")
            }
        };
        let IpAddr::V4(target) = entry.ip else {
            unreachable!("no route leads to an address of this family");
        };
        self.deadline = Some(
            self.deadline
                .map_or(next_due, |deadline| deadline.min(next_due)),
        );
        counters.mib.arp_out_requests += 1;
        self.write_arp(
            frame,
            ArpOperation::Request,
            station,
            MacAddress::UNSPECIFIED,
            target,
        )
    }

    fn write_arp(
        &self,
        frame: &mut [u8],
        operation: ArpOperation,
        station: MacAddress,
        target_mac: MacAddress,
        target_ip: Ipv4Addr,
    ) -> Option<usize> {
        let IpAddr::V4(sender_ip) = self.subnet.address else {
            return None;
        };
        let (header, body) = frame.split_at_mut(EthernetHeader::LEN);
        EthernetHeader {
            dst: station,
            src: self.mac,
            ether_type: EtherType::Arp,
        }
        .write(header);
        ArpPacket {
            operation,
            sender_mac: self.mac,
            sender_ip,
            target_mac,
            target_ip,
        }
        .write(body);
        Some(EthernetHeader::LEN + ArpPacket::LEN)
    }

    /// Writes the oldest waiting packet of a resolved entry.
    fn release_packet(&mut self, index: u32, pool: &mut Pool, frame: &mut [u8]) -> usize {
        let entry = &self.entries[index];
        let (NeighbourState::Reachable { mac, .. } | NeighbourState::Refreshing { mac, .. }) =
            entry.state
        else {
            unreachable!("a reply releases packets");
        };
        let ether_type = super::framing::ether_type_for(entry.ip);
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
        }
        EthernetHeader::LEN + len
    }

    /// Repeats requests without a reply, and considers a neighbour unreachable after
    /// `arp.requests` of them.
    pub(crate) fn on_timeout(&mut self, now: Instant, pool: &mut Pool, counters: &mut Counters) {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        let mut next: Option<Instant> = None;
        for index in 0..self.entries.capacity() {
            let Some(entry) = self.entries.at_mut(index) else {
                continue;
            };
            let (NeighbourState::Incomplete { sent, due }
            | NeighbourState::Refreshing { sent, due, .. }) = entry.state
            else {
                continue;
            };
            if self.queues.queue_of(index).is_some() {
                continue;
            }
            if now < due {
                next = Some(next.map_or(due, |next| next.min(due)));
            } else if sent < self.config.requests {
                self.queues.join(ASKING, index);
            } else {
                entry.state = NeighbourState::Failed {
                    until: now + self.config.failed_time,
                };
                self.waiting[index as usize].clear(pool, counters);
            }
        }
        self.deadline = next;
    }

    /// Returns the next time at which there is work.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        if !self.replies.is_empty() || !self.queues.is_empty(RELEASED) {
            return Some(Instant::ZERO);
        }
        let ask = (!self.queues.is_empty(ASKING)).then(|| self.limit.next_allowed());
        match (self.deadline, ask) {
            (Some(deadline), Some(ask)) => Some(deadline.min(ask)),
            (deadline, ask) => deadline.or(ask),
        }
    }

    /// Returns the next deadline of a reply. Replaces
    /// [`next_timeout`](Self::next_timeout) while the device is full.
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
            if entry.ip == ip {
                return Some(index);
            }
            index = entry.next;
        }
        None
    }

    /// Adds an entry; the caller has made room.
    fn insert(&mut self, ip: IpAddr, state: NeighbourState) -> u32 {
        let bucket = self.bucket(ip);
        let entry = NeighbourEntry {
            ip,
            state,
            used: false,
            next: self.buckets[bucket],
        };
        let key = self.entries.insert(entry).expect("room was made");
        self.buckets[bucket] = key.index;
        key.index
    }

    fn remove(&mut self, index: u32, pool: &mut Pool, counters: &mut Counters) {
        self.waiting[index as usize].clear(pool, counters);
        self.unlink(index);
    }

    /// Removes an entry without waiting packets.
    fn unlink(&mut self, index: u32) {
        self.queues.leave(index);
        let removed = self.entries.remove(index);
        let bucket = self.bucket(removed.ip);
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

    /// Evicts an entry for an address that this host looks up.
    ///
    /// Unresolved entries take at most half of the cache; beyond that one of them is
    /// evicted, so that a peer that makes this host look up unused addresses does not
    /// evict resolved neighbours. Otherwise the resolved entry is evicted that was not
    /// used for about the longest time.
    fn evict_for_us(&mut self, pool: &mut Pool, counters: &mut Counters) {
        let capacity = self.entries.capacity();
        let waits =
            |entry: &NeighbourEntry| matches!(entry.state, NeighbourState::Incomplete { .. });
        let waiting = self
            .entries
            .iter()
            .filter(|(_, entry)| waits(entry))
            .count();
        let crowded = 2 * waiting >= capacity as usize;
        for _ in 0..2 * capacity {
            let index = self.advance_hand();
            let entry = &mut self.entries[index];
            let spared = waits(entry) != crowded || (!crowded && core::mem::take(&mut entry.used));
            if !spared {
                return self.remove(index, pool, counters);
            }
        }
        unreachable!("an entry is spared once, and one half is not empty");
    }

    /// Evicts an entry that was never used, for an unasked sender.
    fn evict_unused(&mut self) -> bool {
        for _ in 0..STRANGER_TRIES.min(self.entries.capacity()) {
            let index = self.advance_hand();
            let entry = &self.entries[index];
            let waits = matches!(entry.state, NeighbourState::Incomplete { .. });
            if !waits && !entry.used && self.waiting[index as usize].is_empty() {
                self.unlink(index);
                return true;
            }
        }
        false
    }

    fn advance_hand(&mut self) -> u32 {
        let index = self.hand;
        self.hand = (index + 1) % self.entries.capacity();
        index
    }
}
