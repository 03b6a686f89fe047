//! Putting datagrams together from their fragments. RFC 791 §3.2, RFC 815.
//!
//! Rule: a fragment is written once, in its final place, and never over bytes
//! that are already there. One that disagrees with them ends the datagram
//! (RFC 5722 §4); one that repeats them is a duplicate and harmless.
//!
//! Bounded in datagrams, in bytes and in time; the oldest makes room for the
//! newest, because one that lacks a fragment for long will not be completed.
//! Nothing is answered here.

#[cfg(test)]
mod tests;

use alloc::{boxed::Box, vec};
use core::{net::Ipv4Addr, ops::Range};

use fullpipe_pool::{Duration, Holder, Instant, Pool, Ranges, Stream};
use fullpipe_wire::{Ecn, Ipv4Header, Protocol};

use crate::{
    config::IpConfig,
    counters::{Counters, Discard},
};

/// What fragments of one datagram have in common. RFC 791 §3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    src: Ipv4Addr,
    dst: Ipv4Addr,
    identification: u16,
    protocol: Protocol,
}

/// A datagram of which some fragments have arrived.
#[derive(Debug)]
struct Partial {
    key: Key,
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
    /// Which began earlier: 0 is the first of all.
    born: u64,
    expires: Instant,
}

/// A datagram put together.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// The header of its first fragment, with the lengths of the whole. When
    /// they would not fit, `total_len` is the largest there is.
    pub header: Ipv4Header,
    /// Its payload, readable until the next fragment arrives.
    pub payload: &'a [u8],
}

/// Datagrams being put together.
#[derive(Debug)]
pub struct Reassembler {
    slots: Box<[Option<Partial>]>,
    /// Slots in use.
    used: usize,
    begun: u64,
    most_bytes: u64,
    timeout: Duration,
    /// Where a completed datagram is read in one piece.
    whole: Box<[u8]>,
}

impl Reassembler {
    /// Allocates its table and the buffer for the largest datagram.
    pub fn new(config: &IpConfig) -> Self {
        let slots = config.reassembly_datagrams as usize;
        let largest = if slots == 0 {
            0
        } else {
            config.reassembly_largest as usize
        };
        Self {
            slots: (0..slots).map(|_| None).collect(),
            used: 0,
            begun: 0,
            most_bytes: config.reassembly_bytes.into(),
            timeout: config.reassembly_timeout,
            whole: vec![0; largest].into(),
        }
    }

    /// Takes one fragment. Returns the datagram if it was the last one missing.
    pub fn on_fragment(
        &mut self,
        header: &Ipv4Header,
        payload: &[u8],
        pool: &mut Pool,
        now: Instant,
        counters: &mut Counters,
    ) -> Option<Datagram<'_>> {
        counters.mib.ip_reasm_reqds += 1;
        let added = self
            .check_alone(header, payload)
            .and_then(|()| self.place(header, pool, now, counters))
            .and_then(|slot| self.add(slot, header, payload, pool, counters));
        match added {
            Ok(slot) => {
                let complete = self.slots[slot].take_if(|partial| partial.is_complete(pool))?;
                self.used -= 1;
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
    ) -> Result<usize, Discard> {
        let key = Key {
            src: header.src,
            dst: header.dst,
            identification: header.identification,
            protocol: header.protocol,
        };
        let mut free = None;
        for (slot, partial) in self.slots.iter().enumerate() {
            match partial {
                Some(known) if known.key == key && known.given_up => {
                    return Err(Discard::FragmentOfGivenUp);
                }
                Some(known) if known.key == key => return Ok(slot),
                Some(_) => {}
                None => free = free.or(Some(slot)),
            }
        }
        let slot = match free.or_else(|| self.evict(None, pool, counters)) {
            Some(slot) => slot,
            None => return Err(Discard::FragmentNoMemory),
        };
        self.used += 1;
        self.begun += 1;
        self.slots[slot] = Some(Partial {
            key,
            header: *header,
            text: Stream::new(Holder::Fragment),
            arrived: Ranges::new(),
            total: None,
            ecn: header.ecn,
            given_up: false,
            born: self.begun,
            expires: now + self.timeout,
        });
        Ok(slot)
    }

    /// Adds a fragment to its datagram, or gives the datagram up.
    fn add(
        &mut self,
        slot: usize,
        header: &Ipv4Header,
        payload: &[u8],
        pool: &mut Pool,
        counters: &mut Counters,
    ) -> Result<usize, Discard> {
        let start = u64::from(header.fragment_offset);
        let range = start..start + payload.len() as u64;
        let has_room = self.make_room(slot, range.end, pool, counters);
        let partial = self.slots[slot]
            .as_mut()
            .expect("room is not made at its own cost");
        let outcome = if has_room {
            partial.insert(header, range, payload, pool)
        } else {
            Err(Discard::FragmentNoMemory)
        };
        if outcome.is_err() {
            partial.release(pool);
            partial.given_up = true;
        }
        outcome.map(|()| slot)
    }

    /// Backs the bytes below `end` of the datagram in `slot` with memory, at
    /// the cost of older datagrams if need be.
    fn make_room(
        &mut self,
        slot: usize,
        end: u64,
        pool: &mut Pool,
        counters: &mut Counters,
    ) -> bool {
        loop {
            let others = self.bytes_beside(slot);
            let partial = self.slots[slot].as_mut().expect("the caller found it");
            let own = end.max(partial.bytes());
            if others + own <= self.most_bytes && partial.text.reserve(pool, end) >= end {
                return true;
            }
            if self.evict(Some(slot), pool, counters).is_none() {
                return false;
            }
        }
    }

    /// Bytes held or promised for all datagrams but the one in `slot`.
    fn bytes_beside(&self, slot: usize) -> u64 {
        let others = self
            .slots
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != slot);
        others
            .filter_map(|(_, partial)| partial.as_ref())
            .map(Partial::bytes)
            .sum()
    }

    /// Forgets the oldest datagram other than `spared`; returns its slot.
    fn evict(
        &mut self,
        spared: Option<usize>,
        pool: &mut Pool,
        counters: &mut Counters,
    ) -> Option<usize> {
        let candidates = self
            .slots
            .iter()
            .enumerate()
            .filter(|(slot, _)| Some(*slot) != spared);
        let (slot, _) = candidates
            .filter_map(|(slot, partial)| Some((slot, partial.as_ref()?.born)))
            .min_by_key(|(_, born)| *born)?;
        self.forget(slot, Discard::FragmentEvicted, pool, counters);
        Some(slot)
    }

    /// Empties a slot; counts `reason` unless the datagram was given up before.
    fn forget(&mut self, slot: usize, reason: Discard, pool: &mut Pool, counters: &mut Counters) {
        let Some(mut partial) = self.slots[slot].take() else {
            return;
        };
        self.used -= 1;
        partial.release(pool);
        if !partial.given_up {
            counters.discard(reason);
        }
    }

    /// Reads a completed datagram in one piece and returns its memory.
    fn hand_up(&mut self, mut partial: Partial, pool: &mut Pool) -> Datagram<'_> {
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
        Datagram {
            header,
            payload: &self.whole[..len],
        }
    }

    /// Gives up every datagram whose time is over.
    pub fn on_timeout(&mut self, pool: &mut Pool, now: Instant, counters: &mut Counters) {
        for slot in 0..self.slots.len() {
            if self.slots[slot]
                .as_ref()
                .is_some_and(|partial| partial.expires <= now)
            {
                self.forget(slot, Discard::FragmentTimeout, pool, counters);
            }
        }
    }

    /// When [`on_timeout`](Self::on_timeout) next has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        if self.used == 0 {
            return None;
        }
        self.slots
            .iter()
            .flatten()
            .map(|partial| partial.expires)
            .min()
    }

    /// Forgets everything and returns all memory.
    pub fn release(&mut self, pool: &mut Pool) {
        for mut partial in self.slots.iter_mut().filter_map(Option::take) {
            partial.release(pool);
        }
        self.used = 0;
    }
}

impl Partial {
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
