//! Room in the neighbour cache: the limit of awaited entries, and the choice of the entry to
//! evict.
//!
//! Rule: an entry that a connection awaits is never evicted. An entry that only datagrams await is
//! evicted for connections and, while it is unresolved, for the sender of an unsolicited ARP
//! packet. An entry that nobody awaits is evicted for any lookup and, if it is unused or failed,
//! for the sender of an unsolicited ARP packet. Lookups are in `neighbours.rs`.

use fullpipe_pool::Pool;

use super::{Asker, Awaited, NeighbourState, Neighbours};
use crate::counters::Counters;

/// Number of entries that are examined to find room for the sender of an unsolicited ARP
/// packet.
const STRANGER_TRIES: u32 = 8;

impl Neighbours {
    /// Returns the largest number of entries that may be awaited at the same time: half of all
    /// entries, but at least one. Lookups in progress therefore never fill a cache that has two or
    /// more entries.
    pub(super) fn most_awaited(&self) -> u32 {
        (self.entries.capacity() / 2).max(1)
    }

    /// Returns true if `asker` may await one more entry. Datagrams may use at most half
    /// of the entries that may be awaited.
    pub(super) fn may_await(&self, asker: Asker) -> bool {
        let Awaited {
            connections,
            datagrams,
        } = self.awaited;
        let most = self.most_awaited();
        match asker {
            Asker::Connection => connections + datagrams < most,
            Asker::Datagram => connections + datagrams < most && datagrams < most.div_ceil(2),
        }
    }

    /// Makes room for a new entry that `asker` will await; returns false if no entry can be
    /// evicted.
    pub(super) fn make_room(
        &mut self,
        asker: Asker,
        pool: &mut Pool,
        counters: &mut Counters,
    ) -> bool {
        if !self.may_await(asker) {
            return self.evict_datagrams(asker, pool, counters);
        }
        if self.entries.is_full() {
            self.evict_idle(pool, counters);
        }
        true
    }

    /// Makes room for a connection by evicting an entry that only datagrams await. Returns false
    /// if there is no such entry, or if `asker` is a datagram.
    pub(super) fn evict_datagrams(
        &mut self,
        asker: Asker,
        pool: &mut Pool,
        counters: &mut Counters,
    ) -> bool {
        if asker == Asker::Datagram || self.awaited.datagrams == 0 {
            return false;
        }
        loop {
            let index = self.advance_hand();
            let entry = self.entries.at(index);
            if entry.is_some_and(|entry| entry.awaited_by() == Some(Asker::Datagram)) {
                self.remove(index, pool, counters);
                return true;
            }
        }
    }

    /// Evicts an entry that nobody awaits. Such an entry exists, because at most half of the
    /// entries are awaited. A resolved entry is spared once if it was used since the clock hand
    /// last passed.
    fn evict_idle(&mut self, pool: &mut Pool, counters: &mut Counters) {
        for _ in 0..2 * self.entries.capacity() {
            let index = self.advance_hand();
            let entry = &mut self.entries[index];
            let is_resolved = !matches!(entry.state, NeighbourState::Failed { .. });
            let spared =
                entry.awaited_by().is_some() || (is_resolved && core::mem::take(&mut entry.used));
            if !spared {
                return self.remove(index, pool, counters);
            }
        }
        unreachable!("an entry is spared once, and not all are awaited");
    }

    /// Evicts an entry for the sender of an unsolicited ARP packet: one that nobody awaits and
    /// that is unused or failed, or one that is unresolved and awaited only by datagrams. Returns
    /// false if none of the examined entries can be evicted.
    pub(super) fn evict_unused(&mut self, pool: &mut Pool, counters: &mut Counters) -> bool {
        for _ in 0..STRANGER_TRIES.min(self.entries.capacity()) {
            let index = self.advance_hand();
            let entry = &self.entries[index];
            let is_free = match (entry.state, entry.awaited_by()) {
                (NeighbourState::Incomplete { .. }, Some(Asker::Datagram))
                | (NeighbourState::Failed { .. }, None) => true,
                (_, Some(_)) => false,
                (_, None) => !entry.used,
            };
            if is_free {
                self.remove(index, pool, counters);
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
