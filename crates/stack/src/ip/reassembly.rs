//! Reassembly of datagrams of both versions of IP. RFC 791 §3.2, RFC 815, RFC 8200 §4.5.
//!
//! Rule: a fragment is written once, in its final place, never over bytes received before. A
//! fragment that overlaps received bytes is ignored if it only repeats them; otherwise its datagram
//! is dropped (RFC 5722 §4).
//!
//! Reassembly is bounded in datagrams, in datagrams of one sender, in ranges, in bytes
//! and in time. A newer datagram replaces the oldest, because a datagram that has lacked
//! a fragment for long will not be completed. The work for a fragment does not depend on
//! the number of datagrams. No ICMP error is sent.

#[cfg(test)]
mod tests;

use alloc::{boxed::Box, vec};
use core::{net::IpAddr, ops::Range};

use fullpipe_pool::{Duration, Holder, Instant, Pool, Ranges, Stream};
use fullpipe_wire::{Ecn, Protocol};

use crate::{
    config::IpConfig,
    counters::{Counters, Discard},
    hash_index::HashIndex,
    ip::packet::{IpHeader, ReceivedFragment},
    queues::Queues,
    secret::{HashInput, Secret},
    slab::Slab,
    sources::SourceCounts,
};

/// Index of the only queue in `ages`.
const OLDEST: u32 = 0;

/// The header fields that fragments of one datagram share. RFC 791 §3.2, RFC 8200 §4.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FragmentKey {
    src: IpAddr,
    dst: IpAddr,
    identification: u32,
    /// `None` over IPv6, where only the first fragment names the protocol.
    protocol: Option<Protocol>,
}

/// A datagram of which some fragments have arrived.
#[derive(Debug)]
struct PartialDatagram {
    key: FragmentKey,
    /// Header of the fragment at offset 0; until this fragment arrives, the header of the fragment
    /// that arrived first.
    header: IpHeader,
    /// The payload, from offset 0 on.
    payload: Stream,
    arrived: Ranges,
    /// Length of the payload in bytes; `None` until the last fragment has arrived.
    total: Option<u64>,
    ecn: Ecn,
    /// A fragment was invalid. The datagram's memory is freed, but this entry remains, so that the
    /// datagram's other fragments are discarded.
    failed: bool,
    expires: Instant,
}

/// A reassembled datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reassembled<'a> {
    /// Header of the datagram's first fragment, with the length of the whole datagram. If the
    /// length does not fit the field, the header has the largest possible length.
    pub(crate) header: IpHeader,
    /// Payload, readable until the next fragment is processed.
    pub(crate) payload: &'a [u8],
}

/// The reassembly of a host's datagrams. Takes no memory if the knob `ip.reassembly_datagrams` is 0:
/// then every fragment is discarded.
#[derive(Debug)]
pub(crate) struct Reassembler(Option<Box<Datagrams>>);

impl Reassembler {
    /// Allocates the tables of reassembly and the buffer for the largest datagram.
    pub(crate) fn new(config: &IpConfig, secret: &Secret) -> Self {
        let is_on = config.reassembly_datagrams > 0;
        Self(is_on.then(|| Box::new(Datagrams::new(config, secret))))
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let tables = |datagrams: &Datagrams| size_of::<Datagrams>() + datagrams.heap_bytes();
        self.0.as_deref().map_or(0, tables)
    }

    /// Processes one fragment, and returns the datagram if it is complete.
    pub(crate) fn on_fragment(
        &mut self,
        fragment: &ReceivedFragment,
        payload: &[u8],
        pool: &mut Pool,
        now: Instant,
        counters: &mut Counters,
    ) -> Option<Reassembled<'_>> {
        counters.mib.ip_reasm_reqds += 1;
        let Some(datagrams) = &mut self.0 else {
            counters.discard(Discard::FragmentNoMemory);
            return None;
        };
        datagrams.on_fragment(fragment, payload, pool, now, counters)
    }

    /// Drops every datagram that has timed out.
    pub(crate) fn on_timeout(&mut self, pool: &mut Pool, now: Instant, counters: &mut Counters) {
        if let Some(datagrams) = &mut self.0 {
            datagrams.on_timeout(pool, now, counters);
        }
    }

    /// Returns the next time at which [`on_timeout`](Self::on_timeout) is due.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.0.as_ref()?.next_timeout()
    }

    /// Drops every datagram and frees all memory.
    #[cfg(test)]
    pub(crate) fn release(&mut self, pool: &mut Pool) {
        if let Some(datagrams) = &mut self.0 {
            datagrams.release(pool);
        }
    }
}

/// The datagrams of which fragments have arrived.
#[derive(Debug)]
struct Datagrams {
    slots: Slab<PartialDatagram>,
    by_key: HashIndex,
    /// All datagrams, oldest first.
    ages: Queues,
    /// Datagrams of each sender, oldest first.
    ages_of_source: Queues,
    sources: SourceCounts,
    /// Bytes of memory taken or reserved for all datagrams.
    bytes: u64,
    most_bytes: u64,
    most_pieces: u32,
    timeout: Duration,
    /// Buffer into which a complete datagram is copied.
    whole: Box<[u8]>,
}

impl Datagrams {
    /// Allocates the tables of reassembly and the buffer for the largest datagram.
    fn new(config: &IpConfig, secret: &Secret) -> Self {
        let slots = config.reassembly_datagrams;
        Self {
            slots: Slab::new(slots),
            by_key: HashIndex::new(slots, secret.derive(b"fragments")),
            ages: Queues::new(1, slots),
            ages_of_source: Queues::new(slots, slots),
            sources: SourceCounts::new(
                slots,
                config.reassembly_per_source,
                secret.derive(b"fragment sources"),
            ),
            bytes: 0,
            most_bytes: config.reassembly_bytes.into(),
            most_pieces: config.reassembly_pieces,
            timeout: config.reassembly_timeout,
            whole: vec![0; config.reassembly_largest as usize].into(),
        }
    }

    /// Returns the heap memory in bytes.
    fn heap_bytes(&self) -> usize {
        self.slots.heap_bytes()
            + self.by_key.heap_bytes()
            + self.ages.heap_bytes()
            + self.ages_of_source.heap_bytes()
            + self.sources.heap_bytes()
            + size_of_val(&*self.whole)
    }

    /// Processes one fragment, and returns the datagram if it is complete.
    fn on_fragment(
        &mut self,
        fragment: &ReceivedFragment,
        payload: &[u8],
        pool: &mut Pool,
        now: Instant,
        counters: &mut Counters,
    ) -> Option<Reassembled<'_>> {
        let added = self
            .check_alone(fragment, payload)
            .and_then(|()| self.place(fragment, pool, now, counters))
            .and_then(|slot| self.add(slot, fragment, payload, pool, counters));
        match added {
            Ok(slot) => {
                if !self.slots[slot].is_complete(pool) {
                    return None;
                }
                let complete = self.remove(slot);
                counters.mib.ip_reasm_oks += 1;
                Some(self.hand_up(complete, pool))
            }
            Err(reason) => {
                counters.discard(reason);
                None
            }
        }
    }

    /// Checks the length and offset of a fragment without regard to other fragments.
    fn check_alone(&self, fragment: &ReceivedFragment, payload: &[u8]) -> Result<(), Discard> {
        if payload.is_empty() || (fragment.more && !payload.len().is_multiple_of(8)) {
            return Err(Discard::FragmentMisaligned);
        }
        if usize::from(fragment.offset) + payload.len() > self.whole.len() {
            return Err(Discard::FragmentTooLong);
        }
        Ok(())
    }

    /// Returns the slot of the fragment's datagram, or takes a slot for it.
    fn place(
        &mut self,
        fragment: &ReceivedFragment,
        pool: &mut Pool,
        now: Instant,
        counters: &mut Counters,
    ) -> Result<u32, Discard> {
        let header = &fragment.header;
        let key = FragmentKey {
            src: header.src(),
            dst: header.dst(),
            identification: fragment.identification,
            protocol: header.src().is_ipv4().then(|| header.protocol()),
        };
        let hash = key.hash(&self.by_key);
        let known = self.by_key.find(hash, |slot| self.slots[slot].key == key);
        if let Some(slot) = known {
            if self.slots[slot].failed {
                return Err(Discard::FragmentOfGivenUp);
            }
            return Ok(slot);
        }
        let ip = key.src;
        if let Some(source) = self.sources.full(ip) {
            let own = self.ages_of_source.first(source);
            self.forget(own, Discard::FragmentEvicted, pool, counters);
        } else if self.slots.is_full() {
            let oldest = self.ages.first(OLDEST);
            self.forget(oldest, Discard::FragmentEvicted, pool, counters);
        }
        if self.slots.is_full() {
            return Err(Discard::FragmentNoMemory);
        }
        let source = self.sources.add(ip);
        let partial = PartialDatagram {
            key,
            header: *header,
            payload: Stream::new(Holder::Fragment),
            arrived: Ranges::new(),
            total: None,
            ecn: header.ecn(),
            failed: false,
            expires: now + self.timeout,
        };
        let Some(slot) = self.slots.insert(partial) else {
            unreachable!("there is a free slot");
        };
        self.by_key.insert(hash, slot.index);
        self.ages.join(OLDEST, slot.index);
        self.ages_of_source.join(source, slot.index);
        Ok(slot.index)
    }

    /// Adds a fragment to its datagram, or marks the datagram as failed.
    fn add(
        &mut self,
        slot: u32,
        fragment: &ReceivedFragment,
        payload: &[u8],
        pool: &mut Pool,
        counters: &mut Counters,
    ) -> Result<u32, Discard> {
        let start = u64::from(fragment.offset);
        let range = start..start + payload.len() as u64;
        let has_room = self.make_room(slot, range.end, pool, counters);
        let most_pieces = self.most_pieces;
        let outcome = self.change(slot, |partial| {
            let outcome = if has_room {
                partial.insert(fragment, range, payload, most_pieces, pool)
            } else {
                Err(Discard::FragmentNoMemory)
            };
            if outcome.is_err() {
                partial.release(pool);
                partial.failed = true;
            }
            outcome
        });
        outcome.map(|()| slot)
    }

    /// Changes a datagram, and updates the count of bytes.
    fn change<R>(&mut self, slot: u32, change: impl FnOnce(&mut PartialDatagram) -> R) -> R {
        let partial = &mut self.slots[slot];
        let before = partial.bytes();
        let result = change(partial);
        self.bytes = self.bytes - before + partial.bytes();
        result
    }

    /// Reserves memory for the bytes below `end` of the datagram in `slot`. If memory is short,
    /// drops the oldest other datagrams.
    fn make_room(&mut self, slot: u32, end: u64, pool: &mut Pool, counters: &mut Counters) -> bool {
        loop {
            let own = self.slots[slot].bytes();
            let wanted = self.bytes - own + own.max(end);
            if wanted <= self.most_bytes {
                let backed = self.change(slot, |partial| partial.payload.reserve(pool, end));
                if backed >= end {
                    return true;
                }
            }
            let oldest = self.ages.first(OLDEST);
            let other = oldest.and_then(|first| match first == slot {
                true => self.ages.after(first),
                false => Some(first),
            });
            if other.is_none() {
                return false;
            }
            self.forget(other, Discard::FragmentEvicted, pool, counters);
        }
    }

    /// Removes a datagram from its slot.
    fn remove(&mut self, slot: u32) -> PartialDatagram {
        let partial = self.slots.remove(slot);
        self.by_key.remove(partial.key.hash(&self.by_key), slot);
        self.ages.leave(slot);
        self.ages_of_source.leave(slot);
        self.sources.remove(partial.key.src);
        self.bytes -= partial.bytes();
        partial
    }

    /// Drops the datagram in `slot`, if any, and counts `reason` unless the datagram
    /// had failed before.
    fn forget(
        &mut self,
        slot: Option<u32>,
        reason: Discard,
        pool: &mut Pool,
        counters: &mut Counters,
    ) {
        let Some(slot) = slot else {
            return;
        };
        let mut partial = self.remove(slot);
        partial.release(pool);
        if !partial.failed {
            counters.discard(reason);
        }
    }

    /// Copies a complete datagram to the buffer and frees its memory.
    fn hand_up(&mut self, mut partial: PartialDatagram, pool: &mut Pool) -> Reassembled<'_> {
        let len = partial.payload.read_at(pool, 0, &mut self.whole);
        partial.release(pool);
        Reassembled {
            header: partial.header.of_whole(len as u16, partial.ecn),
            payload: &self.whole[..len],
        }
    }

    /// Drops every datagram that has timed out. All datagrams have the same timeout, so the oldest
    /// expires first.
    fn on_timeout(&mut self, pool: &mut Pool, now: Instant, counters: &mut Counters) {
        while let Some(oldest) = self.ages.first(OLDEST) {
            if self.slots[oldest].expires > now {
                return;
            }
            self.forget(Some(oldest), Discard::FragmentTimeout, pool, counters);
        }
    }

    /// Returns the next time at which [`on_timeout`](Self::on_timeout) is due.
    fn next_timeout(&self) -> Option<Instant> {
        let oldest = self.ages.first(OLDEST)?;
        Some(self.slots[oldest].expires)
    }

    /// Drops every datagram and frees all memory.
    #[cfg(test)]
    fn release(&mut self, pool: &mut Pool) {
        while let Some(oldest) = self.ages.first(OLDEST) {
            self.remove(oldest).release(pool);
        }
    }
}

impl FragmentKey {
    fn hash(&self, table: &HashIndex) -> u32 {
        let mut bytes = HashInput::new();
        bytes.push_ip(self.src);
        bytes.push_ip(self.dst);
        bytes.push(&self.identification.to_be_bytes());
        bytes.push(&[self.protocol.map_or(0, u8::from)]);
        table.hash(bytes.as_slice())
    }
}

impl PartialDatagram {
    /// Returns the bytes of memory taken or reserved, holes included.
    fn bytes(&self) -> u64 {
        self.payload.reserved_end() - self.payload.start()
    }

    /// Writes a fragment to its place, for which memory is already reserved.
    fn insert(
        &mut self,
        fragment: &ReceivedFragment,
        range: Range<u64>,
        payload: &[u8],
        most_pieces: u32,
        pool: &mut Pool,
    ) -> Result<(), Discard> {
        self.check_end(range.end, fragment.more, pool)?;
        self.ecn = merged(self.ecn, fragment.header.ecn()).ok_or(Discard::FragmentMixedEcn)?;
        if self.repeats(&range, payload, pool) {
            return Ok(());
        }
        if fragment.offset == 0 {
            self.header = fragment.header;
        }
        let inserted = self
            .arrived
            .insert(pool, range.clone())
            .map_err(|_full| Discard::FragmentNoMemory)?;
        if inserted.overlap.is_some() {
            return Err(Discard::FragmentOverlap);
        }
        if self.arrived.count() > most_pieces {
            return Err(Discard::FragmentTooManyPieces);
        }
        let written = self.payload.write_at(pool, range.start, payload);
        written.map_err(|_no_block| Discard::FragmentNoMemory)
    }

    /// Checks a fragment that ends at `end` against the length of the datagram, as far as the
    /// length is known.
    fn check_end(&mut self, end: u64, more: bool, pool: &Pool) -> Result<(), Discard> {
        let highest = self.arrived.last(pool).map_or(0, |last| last.end);
        let agrees = match (self.total, more) {
            (None, true) => true,
            (None, false) => highest <= end,
            (Some(total), true) => end < total,
            (Some(total), false) => end == total,
        };
        if !agrees {
            return Err(Discard::FragmentBadEnd);
        }
        if !more {
            self.total = Some(end);
        }
        Ok(())
    }

    /// Returns true if all bytes of `range` were received before and are equal to `payload`.
    fn repeats(&self, range: &Range<u64>, payload: &[u8], pool: &Pool) -> bool {
        if !self.arrived.covers(pool, range.clone()) {
            return false;
        }
        let mut rest = payload;
        self.payload.slices(pool, range.clone()).all(|slice| {
            let (now, later) = rest.split_at(slice.len());
            rest = later;
            now == slice
        })
    }

    fn is_complete(&self, pool: &Pool) -> bool {
        self.total
            .is_some_and(|total| self.arrived.first(pool) == Some(0..total))
    }

    fn release(&mut self, pool: &mut Pool) {
        self.payload.release(pool);
        self.arrived.clear(pool);
    }
}

/// Returns the ECN codepoint of a datagram from the codepoints of two of its fragments; `None` if
/// one fragment has CE and the other Not-ECT. RFC 3168 §5.3.
const fn merged(one: Ecn, other: Ecn) -> Option<Ecn> {
    match (one, other) {
        (Ecn::Ce, Ecn::NotEct) | (Ecn::NotEct, Ecn::Ce) => None,
        (Ecn::Ce, _) | (_, Ecn::Ce) => Some(Ecn::Ce),
        (Ecn::NotEct, _) | (_, Ecn::NotEct) => Some(Ecn::NotEct),
        (Ecn::Ect0 | Ecn::Ect1, Ecn::Ect0 | Ecn::Ect1) => Some(one),
    }
}
