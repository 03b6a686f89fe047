//! Putting datagrams together from their fragments. RFC 791 §3.2, RFC 815.
//!
//! Rule: a fragment is written once, in its final place, and never over bytes
//! that are already there. One that disagrees with them ends the datagram
//! (RFC 5722 §4); one that repeats them is a duplicate and harmless.
//!
//! Bounded in datagrams, also of one sender, in pieces, in bytes and in time;
//! the oldest makes room for the newest, because one that lacks a fragment for
//! long will not be completed. A fragment costs the same however many datagrams
//! there are. Nothing is answered here.

#[cfg(test)]
mod tests;

use alloc::{boxed::Box, vec};
use core::{
    net::{IpAddr, Ipv4Addr},
    ops::Range,
};

use fullpipe_pool::{Duration, Holder, Instant, Pool, Ranges, Stream};
use fullpipe_wire::{Ecn, Ipv4Header, Protocol};

use crate::{
    config::IpConfig,
    counters::{Counters, Discard},
    hash_index::HashIndex,
    queues::Queues,
    secret::{HashInput, Secret},
    slab::Slab,
    sources::SourceCounts,
};

/// The one queue of ages.
const OLDEST: u32 = 0;

/// What fragments of one datagram have in common. RFC 791 §3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FragmentKey {
    src: Ipv4Addr,
    dst: Ipv4Addr,
    identification: u16,
    protocol: Protocol,
}

/// A datagram of which some fragments have arrived.
#[derive(Debug)]
struct PartialDatagram {
    key: FragmentKey,
    /// The header of the first fragment to arrive; of the one at offset 0, as
    /// soon as that is there.
    header: Ipv4Header,
    /// The payload, from offset 0 on.
    text: Stream,
    arrived: Ranges,
    /// Bytes of payload, once the last fragment has arrived.
    total: Option<u64>,
    ecn: Ecn,
    /// Fragments disagreed: it holds no memory, and is remembered only so that
    /// the rest of it is thrown away too.
    given_up: bool,
    expires: Instant,
}

/// A datagram put together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reassembled<'a> {
    /// The header of its first fragment, with the lengths of the whole. When
    /// they would not fit, `total_len` is the largest there is.
    pub(crate) header: Ipv4Header,
    /// Its payload, readable until the next fragment arrives.
    pub(crate) payload: &'a [u8],
}

/// Datagrams being put together.
#[derive(Debug)]
pub(crate) struct Reassembler {
    slots: Slab<PartialDatagram>,
    by_key: HashIndex,
    /// All datagrams, the oldest first.
    ages: Queues,
    /// The same for each sender.
    ages_of_source: Queues,
    sources: SourceCounts,
    /// Bytes held or promised for all of them.
    bytes: u64,
    most_bytes: u64,
    most_pieces: u32,
    timeout: Duration,
    /// Where a completed datagram is read in one piece.
    whole: Box<[u8]>,
}

impl Reassembler {
    /// Allocates its tables and the buffer for the largest datagram.
    pub(crate) fn new(config: &IpConfig, secret: &Secret) -> Self {
        let slots = config.reassembly_datagrams;
        let largest = if slots == 0 {
            0
        } else {
            config.reassembly_largest as usize
        };
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
            whole: vec![0; largest].into(),
        }
    }

    /// Takes one fragment. Returns the datagram if it was the last one missing.
    pub(crate) fn on_fragment(
        &mut self,
        header: &Ipv4Header,
        payload: &[u8],
        pool: &mut Pool,
        now: Instant,
        counters: &mut Counters,
    ) -> Option<Reassembled<'_>> {
        counters.mib.ip_reasm_reqds += 1;
        let added = self
            .check_alone(header, payload)
            .and_then(|()| self.place(header, pool, now, counters))
            .and_then(|slot| self.add(slot, header, payload, pool, counters));
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

    /// Checks what can be known of a fragment by itself.
    fn check_alone(&self, header: &Ipv4Header, payload: &[u8]) -> Result<(), Discard> {
        if payload.is_empty() || (header.more_fragments && !payload.len().is_multiple_of(8)) {
            return Err(Discard::FragmentMisaligned);
        }
        if usize::from(header.fragment_offset) + payload.len() > self.whole.len() {
            return Err(Discard::FragmentTooLong);
        }
        Ok(())
    }

    /// Finds the slot of the fragment's datagram, or begins the datagram.
    fn place(
        &mut self,
        header: &Ipv4Header,
        pool: &mut Pool,
        now: Instant,
        counters: &mut Counters,
    ) -> Result<u32, Discard> {
        let key = FragmentKey {
            src: header.src,
            dst: header.dst,
            identification: header.identification,
            protocol: header.protocol,
        };
        let hash = key.hash(&self.by_key);
        let known = self.by_key.find(hash, |slot| self.slots[slot].key == key);
        if let Some(slot) = known {
            if self.slots[slot].given_up {
                return Err(Discard::FragmentOfGivenUp);
            }
            return Ok(slot);
        }
        let ip = IpAddr::V4(key.src);
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
            text: Stream::new(Holder::Fragment),
            arrived: Ranges::new(),
            total: None,
            ecn: header.ecn,
            given_up: false,
            expires: now + self.timeout,
        };
        let Ok(slot) = self.slots.insert(partial) else {
            unreachable!("there is a free slot");
        };
        self.by_key.insert(hash, slot.index);
        self.ages.join(OLDEST, slot.index);
        self.ages_of_source.join(source, slot.index);
        Ok(slot.index)
    }

    /// Adds a fragment to its datagram, or gives the datagram up.
    fn add(
        &mut self,
        slot: u32,
        header: &Ipv4Header,
        payload: &[u8],
        pool: &mut Pool,
        counters: &mut Counters,
    ) -> Result<u32, Discard> {
        let start = u64::from(header.fragment_offset);
        let range = start..start + payload.len() as u64;
        let has_room = self.make_room(slot, range.end, pool, counters);
        let most_pieces = self.most_pieces;
        let outcome = self.change(slot, |partial| {
            let outcome = if has_room {
                partial.insert(header, range, payload, most_pieces, pool)
            } else {
                Err(Discard::FragmentNoMemory)
            };
            if outcome.is_err() {
                partial.release(pool);
                partial.given_up = true;
            }
            outcome
        });
        outcome.map(|()| slot)
    }

    /// Changes a datagram, and keeps the account of bytes.
    fn change<R>(&mut self, slot: u32, change: impl FnOnce(&mut PartialDatagram) -> R) -> R {
        let partial = &mut self.slots[slot];
        let before = partial.bytes();
        let result = change(partial);
        self.bytes = self.bytes - before + partial.bytes();
        result
    }

    /// Backs the bytes below `end` of the datagram in `slot` with memory, at
    /// the cost of older datagrams if need be.
    fn make_room(&mut self, slot: u32, end: u64, pool: &mut Pool, counters: &mut Counters) -> bool {
        loop {
            let own = self.slots[slot].bytes();
            let wanted = self.bytes - own + own.max(end);
            if wanted <= self.most_bytes {
                let backed = self.change(slot, |partial| partial.text.reserve(pool, end));
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

    /// Takes a datagram out of its slot.
    fn remove(&mut self, slot: u32) -> PartialDatagram {
        let partial = self.slots.remove(slot);
        self.by_key.remove(partial.key.hash(&self.by_key), slot);
        self.ages.leave(slot);
        self.ages_of_source.leave(slot);
        self.sources.remove(IpAddr::V4(partial.key.src));
        self.bytes -= partial.bytes();
        partial
    }

    /// Empties a slot, if there is one; counts `reason` unless the datagram was
    /// given up before.
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
        if !partial.given_up {
            counters.discard(reason);
        }
    }

    /// Reads a completed datagram in one piece and returns its memory.
    fn hand_up(&mut self, mut partial: PartialDatagram, pool: &mut Pool) -> Reassembled<'_> {
        let len = partial.text.read_at(pool, 0, &mut self.whole);
        partial.release(pool);
        let total_len = u16::from(partial.header.header_len).saturating_add(len as u16);
        let header = Ipv4Header {
            total_len,
            more_fragments: false,
            fragment_offset: 0,
            ecn: partial.ecn,
            ..partial.header
        };
        Reassembled {
            header,
            payload: &self.whole[..len],
        }
    }

    /// Gives up every datagram whose time is over. All wait equally long, so
    /// the oldest is first.
    pub(crate) fn on_timeout(&mut self, pool: &mut Pool, now: Instant, counters: &mut Counters) {
        while let Some(oldest) = self.ages.first(OLDEST) {
            if self.slots[oldest].expires > now {
                return;
            }
            self.forget(Some(oldest), Discard::FragmentTimeout, pool, counters);
        }
    }

    /// When [`on_timeout`](Self::on_timeout) next has something to do.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let oldest = self.ages.first(OLDEST)?;
        Some(self.slots[oldest].expires)
    }

    /// Forgets everything and returns all memory.
    #[cfg(test)]
    pub(crate) fn release(&mut self, pool: &mut Pool) {
        while let Some(oldest) = self.ages.first(OLDEST) {
            self.remove(oldest).release(pool);
        }
    }
}

impl FragmentKey {
    fn hash(&self, table: &HashIndex) -> u32 {
        let mut bytes = HashInput::new();
        bytes.push_ip(IpAddr::V4(self.src));
        bytes.push_ip(IpAddr::V4(self.dst));
        bytes.push(&self.identification.to_be_bytes());
        bytes.push(&[self.protocol.into()]);
        table.hash(bytes.as_slice())
    }
}

impl PartialDatagram {
    /// Bytes of memory held or promised, holes included.
    fn bytes(&self) -> u64 {
        self.text.reserved_end() - self.text.start()
    }

    /// Puts a fragment in its place, for which memory is there.
    fn insert(
        &mut self,
        header: &Ipv4Header,
        range: Range<u64>,
        payload: &[u8],
        most_pieces: u32,
        pool: &mut Pool,
    ) -> Result<(), Discard> {
        self.check_end(range.end, header.more_fragments, pool)?;
        self.ecn = merged(self.ecn, header.ecn).ok_or(Discard::FragmentMixedEcn)?;
        if self.repeats(&range, payload, pool) {
            return Ok(());
        }
        if header.fragment_offset == 0 {
            self.header = *header;
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
        let written = self.text.write_at(pool, range.start, payload);
        written.map_err(|_no_block| Discard::FragmentNoMemory)
    }

    /// Checks a fragment that ends at `end` against what is known of the
    /// datagram's length.
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

    /// Whether the same bytes are already there.
    fn repeats(&self, range: &Range<u64>, payload: &[u8], pool: &Pool) -> bool {
        if !self.arrived.covers(pool, range.clone()) {
            return false;
        }
        let mut rest = payload;
        self.text.slices(pool, range.clone()).all(|slice| {
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
        self.text.release(pool);
        self.arrived.clear(pool);
    }
}

/// The congestion mark of a whole, from those of two parts. A mark on one and
/// no taking part on the other cannot both be meant. RFC 3168 §5.3.
const fn merged(one: Ecn, other: Ecn) -> Option<Ecn> {
    match (one, other) {
        (Ecn::Ce, Ecn::NotEct) | (Ecn::NotEct, Ecn::Ce) => None,
        (Ecn::Ce, _) | (_, Ecn::Ce) => Some(Ecn::Ce),
        (Ecn::NotEct, _) | (_, Ecn::NotEct) => Some(Ecn::NotEct),
        (Ecn::Ect0 | Ecn::Ect1, Ecn::Ect0 | Ecn::Ect1) => Some(one),
    }
}
