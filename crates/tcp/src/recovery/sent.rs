//! The scoreboard: the ranges that were sent and are not acknowledged. RFC 6675, RFC 8985.
//!
//! Rule: the ranges of a connection are in order, adjacent, and cover exactly
//! `snd_una..snd_nxt`. Each is in flight, SACKed, or lost and not yet retransmitted; the
//! bytes of each status are running sums. The nodes come from one arena that all connections
//! of a host share. When few nodes are free, segments are merged into runs, which only loses
//! precision. This file keeps no payload and decides nothing.
//!
//! A peer may send any packets, so the work that each packet causes must be bounded. A range is
//! found by its sequence number in a tree. The ranges of one status form a list, so that only
//! ranges that change are visited.

mod arena;
mod range;
mod status_list;

pub use arena::SentArena;
pub use range::{Sent, SentStatus};

use core::ops::Range;

use fullpipe_pool::{
    Instant,
    record::{Record, RecordReader, RecordWriter},
    splay::{NONE, SplayNodes},
};

use crate::{SeqNum, congestion::Snapshot};
use arena::SMALL_SEGMENT;
use status_list::StatusList;

/// Number of runs into which a connection divides its outstanding bytes while nodes are
/// scarce.
const RUNS: u32 = 64;
/// Divisor of the age of the oldest segment in flight; the quotient is the longest time
/// between two segments of a run.
const GAPS: u32 = 256;

/// The scoreboard of one connection. [`clear`](Self::clear) must be called before a scoreboard is
/// dropped.
#[derive(Debug, PartialEq, Eq)]
pub struct Scoreboard {
    head: u32,
    tail: u32,
    /// Root of the tree.
    top: u32,
    in_flight: u32,
    sacked: u32,
    lost: u32,
    /// Bytes in flight that were retransmitted.
    retransmitted: u32,
    /// Nodes split off because of the peer's SACK blocks.
    cut: u32,
    /// Number of ranges.
    count: u32,
    /// The ranges of each status.
    lists: [StatusList; 3],
}

/// The record of an empty scoreboard, which takes no bit. A scoreboard with ranges has no record.
impl Record for Scoreboard {
    fn pack(&self, _: &mut RecordWriter<'_>) {
        debug_assert!(
            *self == Self::new(),
            "a scoreboard with ranges has no record"
        );
    }

    fn unpack(_: &mut RecordReader<'_>) -> Self {
        Self::new()
    }
}

impl Scoreboard {
    /// Creates an empty scoreboard.
    pub const fn new() -> Self {
        Self {
            head: NONE,
            tail: NONE,
            top: NONE,
            in_flight: 0,
            sacked: 0,
            lost: 0,
            retransmitted: 0,
            cut: 0,
            count: 0,
            lists: [StatusList::EMPTY; 3],
        }
    }

    /// Returns true if no range is outstanding.
    pub const fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Returns the sequence numbers in flight: the pipe of RFC 6675.
    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Returns the sequence numbers that are SACKed.
    pub const fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Returns the sequence numbers that are lost and not yet retransmitted.
    pub const fn lost(&self) -> u32 {
        self.lost
    }

    /// Returns the ranges, lowest sequence number first.
    pub fn iter<'a>(&self, arena: &'a SentArena) -> impl Iterator<Item = &'a Sent> {
        self.iter_from(self.head, arena)
    }

    fn iter_from<'a>(&self, index: u32, arena: &'a SentArena) -> impl Iterator<Item = &'a Sent> {
        let mut next = index;
        core::iter::from_fn(move || {
            let sent = (next != NONE).then(|| arena.get(next))?;
            next = sent.next;
            Some(sent)
        })
    }

    /// Returns the range with the highest sequence numbers.
    pub fn last<'a>(&self, arena: &'a SentArena) -> Option<&'a Sent> {
        (self.tail != NONE).then(|| arena.get(self.tail))
    }

    /// Adds `range`, which begins where the last one ended and leaves for the
    /// first time.
    pub fn on_sent(
        &mut self,
        range: Range<SeqNum>,
        now: Instant,
        snapshot: Snapshot,
        arena: &mut SentArena,
    ) {
        let node = Sent::new(range, now, snapshot);
        if self.tail != NONE {
            let tail = arena.get_mut(self.tail);
            debug_assert_eq!(tail.end, node.start, "a gap between the ranges sent");
            let alike = tail.status == SentStatus::InFlight && tail.retransmissions == 0;
            if alike && tail.sent_at == now {
                tail.end = node.end;
                tail.snapshot = snapshot;
                self.in_flight += node.len();
                return;
            }
            let is_small = tail.status == SentStatus::InFlight && tail.len() < SMALL_SEGMENT;
            let is_cut_up = is_small && arena.is_cut_up(self.count, self.outstanding());
            if is_cut_up || (alike && arena.is_scarce() && self.is_short_run(now, arena)) {
                arena.count_merge(is_cut_up);
                return self.extend_tail(&node, arena);
            }
        }
        match arena.allocate(node, self.tail == NONE) {
            Some(index) => {
                self.link_after(self.tail, index, arena);
                self.top = arena.insert_last(self.top, index);
                self.add(&node, node.len());
                self.list(SentStatus::InFlight).insert(index, arena);
            }
            // Without a free node, the last range grows, and its earlier send time is lost.
            None => self.extend_tail(&node, arena),
        }
    }

    /// Merges `node`, which leaves now, with the last range. The merged range counts as sent
    /// now.
    fn extend_tail(&mut self, node: &Sent, arena: &mut SentArena) {
        self.change(self.tail, arena, &|tail| {
            tail.hides_loss |= tail.status == SentStatus::Lost;
            tail.status = SentStatus::InFlight;
            tail.end = node.end;
            tail.sent_at = node.sent_at;
            tail.snapshot = node.snapshot;
        });
    }

    /// Returns true if the last range is shorter than a 64th of the outstanding bytes, and
    /// left so shortly before `now` that the next segment may be merged with it.
    fn is_short_run(&self, now: Instant, arena: &SentArena) -> bool {
        let tail = arena.visited(self.tail);
        let first = self.lists[SentStatus::InFlight as usize].first;
        let age = now.since(arena.visited(first).sent_at);
        tail.len() < self.outstanding() / RUNS && now.since(tail.sent_at) * GAPS < age
    }

    /// Returns the sequence numbers that the ranges cover.
    const fn outstanding(&self) -> u32 {
        self.in_flight + self.sacked + self.lost
    }

    /// Removes everything before `ack`. Calls `delivered` for each range that was not SACKed
    /// before, lowest first. If `ack` ends inside a range that hides a loss (a lost part that got
    /// no node of its own), the rest of that range is lost again; otherwise only the next timeout
    /// would repair it.
    pub fn on_ack(&mut self, ack: SeqNum, arena: &mut SentArena, delivered: &mut dyn FnMut(&Sent)) {
        while self.head != NONE {
            let node = *arena.get(self.head);
            if node.start.at_or_after(ack) {
                break;
            }
            let arrived = Sent {
                end: node.end.earliest(ack),
                ..node
            };
            self.subtract(&node, arrived.len());
            if node.status != SentStatus::Sacked {
                delivered(&arrived);
            }
            if node.end.after(ack) {
                arena.get_mut(self.head).start = ack;
                if node.hides_loss {
                    self.set_status(self.head, SentStatus::Lost, arena);
                }
                break;
            }
            self.unlink(self.head, arena);
        }
    }

    /// Marks `block` as SACKed. Calls `delivered` for each part that was not
    /// SACKed before, lowest first. Returns false if no node was free for a split.
    ///
    /// The walk begins at the start of the block. Each marked range is merged with its SACKed
    /// neighbours, so that later walks pass one range.
    pub fn on_sack(
        &mut self,
        block: Range<SeqNum>,
        arena: &mut SentArena,
        delivered: &mut dyn FnMut(&Sent),
    ) -> bool {
        let mut index = self.find(block.start, arena);
        while index != NONE {
            let node = *arena.get(index);
            if node.start.at_or_after(block.end) {
                break;
            }
            if node.end.at_or_before(block.start) || node.status == SentStatus::Sacked {
                index = node.next;
                continue;
            }
            // Without a node for the split the block is ignored, which is safe: a later
            // ACK repeats it.
            if node.start.before(block.start) {
                if !self.split(index, block.start, arena) {
                    return false;
                }
                index = arena.visited(index).next;
                continue;
            }
            if node.end.after(block.end) && !self.split(index, block.end, arena) {
                return false;
            }
            delivered(arena.visited(index));
            self.set_status(index, SentStatus::Sacked, arena);
            index = self.merge_sacked(index, arena);
            index = arena.visited(index).next;
        }
        true
    }

    /// Returns the last range that begins at or before `start`, or the first
    /// one if all begin later.
    fn find(&mut self, start: SeqNum, arena: &mut SentArena) -> u32 {
        if self.top == NONE {
            return NONE;
        }
        self.top = arena.splay(self.top, start);
        let found = arena.visited(self.top);
        if found.start.after(start) && found.previous != NONE {
            return found.previous;
        }
        self.top
    }

    /// Merges a SACKed range with its SACKed neighbours. Returns the node of the merged range.
    fn merge_sacked(&mut self, index: u32, arena: &mut SentArena) -> u32 {
        let Sent { previous, next, .. } = *arena.visited(index);
        if next != NONE && arena.get(next).status == SentStatus::Sacked {
            arena.get_mut(index).end = arena.visited(next).end;
            self.unlink(next, arena);
        }
        if previous != NONE && arena.get(previous).status == SentStatus::Sacked {
            arena.get_mut(previous).end = arena.visited(index).end;
            self.unlink(index, arena);
            return previous;
        }
        index
    }

    /// Marks ranges in flight as lost, in the order in which they left, until `is_lost`
    /// returns false, because a range that left later cannot be lost either. Returns the
    /// bytes newly lost.
    pub fn mark_lost(
        &mut self,
        arena: &mut SentArena,
        is_lost: &mut dyn FnMut(&Sent) -> bool,
    ) -> u32 {
        let before = self.lost;
        loop {
            let oldest = self.list(SentStatus::InFlight).first;
            if oldest == NONE || !is_lost(arena.get(oldest)) {
                return self.lost - before;
            }
            self.set_status(oldest, SentStatus::Lost, arena);
        }
    }

    /// Returns the send time of the last range in flight for which `is_suspect` returns true;
    /// `None` if there is none. Such ranges are the first in the list of ranges in flight, and left
    /// no later than `latest`. Returns `latest` if only a walk along the list could find the last
    /// of them.
    pub fn last_suspect(
        &self,
        latest: Instant,
        is_suspect: &dyn Fn(&Sent) -> bool,
        arena: &SentArena,
    ) -> Option<Instant> {
        let StatusList { first, last, .. } = self.lists[SentStatus::InFlight as usize];
        let suspect = |index: u32| {
            let sent = (index != NONE).then(|| arena.visited(index))?;
            is_suspect(sent).then_some(sent)
        };
        let oldest = suspect(first)?;
        if let Some(newest) = suspect(last) {
            return Some(newest.sent_at);
        }
        let is_alone = suspect(oldest.newer).is_none();
        Some(if is_alone { oldest.sent_at } else { latest })
    }

    /// Marks all ranges in flight as lost; with `renege` also all SACKed ranges, because the
    /// peer has discarded them.
    pub fn mark_all_lost(&mut self, renege: bool, arena: &mut SentArena) {
        self.all_become(SentStatus::InFlight, SentStatus::Lost, arena);
        if renege {
            self.all_become(SentStatus::Sacked, SentStatus::Lost, arena);
        }
    }

    /// Marks all lost ranges as in flight, for an undo.
    pub fn unmark_lost(&mut self, arena: &mut SentArena) {
        self.all_become(SentStatus::Lost, SentStatus::InFlight, arena);
    }

    /// Marks all SACKed ranges as in flight. A peer without SACK was only assumed to have received
    /// these ranges.
    pub fn forget_sacked(&mut self, arena: &mut SentArena) {
        self.all_become(SentStatus::Sacked, SentStatus::InFlight, arena);
    }

    fn all_become(&mut self, was: SentStatus, status: SentStatus, arena: &mut SentArena) {
        loop {
            let last = self.list(was).last;
            if last == NONE {
                return;
            }
            self.set_status(last, status, arena);
        }
    }

    /// Marks the lowest `bytes` as lost if they are in flight.
    pub fn mark_head_lost(&mut self, bytes: u32, arena: &mut SentArena) {
        if self.head == NONE || arena.get(self.head).status != SentStatus::InFlight {
            return;
        }
        self.split_longer(self.head, bytes, arena);
        self.set_status(self.head, SentStatus::Lost, arena);
    }

    /// Marks one segment in flight as SACKed: the first `bytes` of the range that left first,
    /// not counting the lowest segment of the board. Calls `delivered` with this segment. Does
    /// nothing if no node is free for a split.
    pub fn sack_oldest_beyond_head(
        &mut self,
        bytes: u32,
        arena: &mut SentArena,
        delivered: &mut dyn FnMut(&Sent),
    ) {
        let mut index = self.list(SentStatus::InFlight).first;
        if index != NONE && index == self.head {
            if !self.split_longer(index, bytes, arena) {
                return;
            }
            index = arena.get(index).newer;
        }
        if index == NONE || !self.split_longer(index, bytes, arena) {
            return;
        }
        delivered(arena.get(index));
        self.set_status(index, SentStatus::Sacked, arena);
        self.merge_sacked(index, arena);
    }

    /// Splits a range after `bytes` if it is longer. Returns false if no node is free.
    fn split_longer(&mut self, index: u32, bytes: u32, arena: &mut SentArena) -> bool {
        let Sent { start, end, .. } = *arena.get(index);
        start.room_to(end) <= bytes || self.split(index, start + bytes, arena)
    }

    /// Returns true if the lowest range is SACKed. The peer does not acknowledge this range
    /// cumulatively although it could, so the peer has discarded the range. RFC 2018 §8.
    pub fn head_is_sacked(&self, arena: &SentArena) -> bool {
        self.head != NONE && arena.get(self.head).status == SentStatus::Sacked
    }

    /// Returns the sequence numbers in flight that were retransmitted.
    pub const fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    /// Returns true if the lowest range begins at `seq`.
    pub fn starts_at(&self, seq: SeqNum, arena: &SentArena) -> bool {
        self.head != NONE && arena.get(self.head).start == seq
    }

    /// Returns the lowest range that is lost.
    pub fn next_lost(&self, arena: &SentArena) -> Option<Range<SeqNum>> {
        let first = self.lists[SentStatus::Lost as usize].first;
        let lost = (first != NONE).then(|| arena.get(first))?;
        Some(lost.start..lost.end)
    }

    /// Marks `range`, which begins where a range of the board begins, as retransmitted.
    ///
    /// Needs no memory: without a node for the split, the rest of the range counts as retransmitted
    /// too, until an ACK of the first part marks the rest as lost again.
    pub fn on_retransmitted(
        &mut self,
        range: Range<SeqNum>,
        now: Instant,
        snapshot: Snapshot,
        arena: &mut SentArena,
    ) {
        let mut index = self.find(range.start, arena);
        if index != NONE && arena.visited(index).start.before(range.start) {
            index = arena.visited(index).next;
        }
        while index != NONE && arena.get(index).start.before(range.end) {
            let hides_loss =
                arena.visited(index).end.after(range.end) && !self.split(index, range.end, arena);
            self.change(index, arena, &|node| {
                node.hides_loss = hides_loss;
                node.status = SentStatus::InFlight;
                node.sent_at = now;
                node.snapshot = snapshot;
                node.retransmissions = node.retransmissions.saturating_add(1);
            });
            index = arena.visited(index).next;
        }
    }

    /// Removes all ranges and frees their nodes.
    pub fn clear(&mut self, arena: &mut SentArena) {
        while self.head != NONE {
            let node = *arena.get(self.head);
            self.subtract(&node, node.len());
            self.unlink(self.head, arena);
        }
    }

    /// Checks that the ranges cover `una..max` and that the sums are right.
    ///
    /// # Panics
    /// Panics if the ranges do not cover `una..max`, or a sum is wrong.
    pub fn verify(&self, una: SeqNum, max: SeqNum, arena: &SentArena) {
        let cut = self.iter(arena).filter(|sent| sent.is_cut).count();
        assert_eq!(self.cut as usize, cut, "ranges cut off by reports");
        assert_eq!(self.count as usize, self.iter(arena).count(), "ranges");
        let (mut sums, mut counts, mut again) = ([0; 3], [0; 3], 0);
        let mut expected = una;
        for sent in self.iter(arena) {
            assert_eq!(sent.start, expected, "a gap in the scoreboard");
            assert!(
                sent.start.before(sent.end),
                "an empty range in the scoreboard"
            );
            expected = sent.end;
            sums[sent.status as usize] += sent.len();
            counts[sent.status as usize] += 1;
            again += if sent.is_retransmission() {
                sent.len()
            } else {
                0
            };
            assert!(
                sent.next == NONE || arena.is_neighbour(arena.get(sent.next).previous, sent.next),
                "the tree and the list of the scoreboard"
            );
        }
        assert_eq!(expected, max, "the scoreboard ends elsewhere");
        assert_eq!(
            (sums, again),
            ([self.in_flight, self.sacked, self.lost], self.retransmitted),
            "sums of the scoreboard"
        );
        for status in [SentStatus::InFlight, SentStatus::Sacked, SentStatus::Lost] {
            self.lists[status as usize].verify(status, counts[status as usize], arena);
        }
    }

    fn sum_of(&mut self, status: SentStatus) -> &mut u32 {
        match status {
            SentStatus::InFlight => &mut self.in_flight,
            SentStatus::Sacked => &mut self.sacked,
            SentStatus::Lost => &mut self.lost,
        }
    }

    const fn list(&mut self, status: SentStatus) -> &mut StatusList {
        &mut self.lists[status as usize]
    }

    /// Adds `len` sequence numbers of `node` to the sums.
    fn add(&mut self, node: &Sent, len: u32) {
        *self.sum_of(node.status) += len;
        self.retransmitted += if node.is_retransmission() { len } else { 0 };
    }

    /// Subtracts `len` sequence numbers of `node` from the sums.
    fn subtract(&mut self, node: &Sent, len: u32) {
        *self.sum_of(node.status) -= len;
        self.retransmitted -= if node.is_retransmission() { len } else { 0 };
    }

    fn set_status(&mut self, index: u32, status: SentStatus, arena: &mut SentArena) {
        self.change(index, arena, &|node| {
            node.status = status;
            node.hides_loss = false;
        });
    }

    /// Changes a range with `change`, which must not move its start, and
    /// updates sums and lists.
    fn change(&mut self, index: u32, arena: &mut SentArena, change: &dyn Fn(&mut Sent)) {
        let before = *arena.visited(index);
        self.subtract(&before, before.len());
        self.list(before.status).remove(index, arena);
        change(arena.get_mut(index));
        let after = *arena.visited(index);
        self.add(&after, after.len());
        self.list(after.status).insert(index, arena);
    }

    /// Splits a range at `at`. Returns false if no node is free.
    fn split(&mut self, index: u32, at: SeqNum, arena: &mut SentArena) -> bool {
        let whole = *arena.visited(index);
        let second = Sent {
            start: at,
            is_cut: true,
            ..whole
        };
        let Some(new) = arena.allocate_cut(second, [self.cut, self.count], self.outstanding())
        else {
            return false;
        };
        arena.get_mut(index).end = at;
        self.cut += 1;
        self.link_after(index, new, arena);
        self.top = arena.insert_after(self.top, whole.start, new);
        self.list(second.status).insert_behind(index, new, arena);
        true
    }

    fn link_after(&mut self, previous: u32, index: u32, arena: &mut SentArena) {
        self.count += 1;
        let next = match previous {
            NONE => NONE,
            _ => arena.visited(previous).next,
        };
        let node = arena.get_mut(index);
        (node.previous, node.next) = (previous, next);
        match previous {
            NONE => self.head = index,
            _ => arena.get_mut(previous).next = index,
        }
        match next {
            NONE => self.tail = index,
            _ => arena.get_mut(next).previous = index,
        }
    }

    /// Removes a range whose bytes have been subtracted from the sums.
    fn unlink(&mut self, index: u32, arena: &mut SentArena) {
        let Sent {
            start,
            previous,
            next,
            is_cut,
            status,
            ..
        } = *arena.visited(index);
        self.cut -= u32::from(is_cut);
        self.count -= 1;
        self.top = arena.remove(self.top, start);
        self.list(status).remove(index, arena);
        match previous {
            NONE => self.head = next,
            _ => arena.get_mut(previous).next = next,
        }
        match next {
            NONE => self.tail = previous,
            _ => arena.get_mut(next).previous = previous,
        }
        arena.free_node(index, self.head == NONE);
    }
}

#[cfg(test)]
mod tests;
