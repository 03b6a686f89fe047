//! What has been sent and not acknowledged: the scoreboard. RFC 6675, RFC 8985.
//!
//! Rule: the ranges of a connection are in order, touch each other and cover
//! exactly `snd_una..snd_max`. Each is in flight, delivered out of order
//! (SACKed), or lost and not sent again yet; the bytes in flight are a running
//! sum, never a walk. The nodes come from one arena that all connections of a
//! host share; when it is empty ranges are merged, which loses precision and
//! nothing else. No text is kept here, and nothing is decided.

use alloc::{boxed::Box, vec};
use core::{cell::Cell, ops::Range};

use fullpipe_pool::Instant;

use crate::{SeqNum, congestion::Snapshot};

const NONE: u32 = u32::MAX;

/// Where a range stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// On its way, as far as is known.
    InFlight,
    /// Arrived behind a gap. The peer may still take that back.
    Sacked,
    /// Taken for lost, and not sent again since.
    Lost,
}

/// A range of sequence numbers that left together and share their fate.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// First sequence number.
    pub start: SeqNum,
    /// One past the last.
    pub end: SeqNum,
    /// When it last left.
    pub sent_at: Instant,
    /// What had been delivered when it last left.
    pub snapshot: Snapshot,
    /// Where it stands.
    pub fate: Fate,
    /// How often it has been sent again.
    pub retransmissions: u8,
    /// It was cut off what left with it.
    is_cut: bool,
    previous: u32,
    next: u32,
}

/// The nodes of all connections of a host.
#[derive(Debug)]
pub struct SentArena {
    nodes: Box<[Sent]>,
    free: u32,
    free_count: u32,
    /// Nodes that only a connection without one may take, so that every
    /// connection can always send.
    kept_back: u32,
    refused: u64,
    /// Nodes that one connection may have because of what its peer reported.
    each: u32,
    /// Nodes looked at: the work of all boards.
    walked: Cell<u64>,
}

impl SentArena {
    /// Room for `ranges` ranges, and one more for each of `connections`.
    /// Allocates here and only here.
    pub fn new(ranges: u32, connections: u32) -> Self {
        let count = ranges + connections;
        let unused = Sent::new(SeqNum(0)..SeqNum(0), Instant::ZERO, Snapshot::default());
        let mut nodes = vec![unused; count as usize].into_boxed_slice();
        for (index, node) in nodes.iter_mut().enumerate() {
            node.next = index as u32 + 1;
        }
        if let Some(last) = nodes.last_mut() {
            last.next = NONE;
        }
        let free = if count == 0 { NONE } else { 0 };
        Self {
            nodes,
            free,
            free_count: count,
            kept_back: connections,
            refused: 0,
            each: u32::MAX,
            walked: Cell::new(0),
        }
    }

    /// The same, but what a peer reports cuts no more than `each` pieces off what
    /// was sent together, so that it costs a bounded number of nodes.
    #[must_use]
    pub fn bounded(mut self, each: u32) -> Self {
        self.each = each.max(1);
        self
    }

    /// Nodes looked at so far: the work that boards caused, the same on every
    /// machine.
    pub fn walked(&self) -> u64 {
        self.walked.get()
    }

    /// Nodes that no connection uses.
    pub const fn free_count(&self) -> u32 {
        self.free_count
    }

    /// How often none was left, and something was known less precisely from then
    /// on: what was SACKed may be sent again.
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// Nodes in all.
    pub fn capacity(&self) -> u32 {
        self.nodes.len() as u32
    }

    fn take(&mut self, node: Sent, is_first: bool) -> Option<u32> {
        if self.free_count == 0 || (!is_first && self.free_count <= self.kept_back) {
            self.refused += 1;
            return None;
        }
        let index = self.free;
        self.free = self.nodes[index as usize].next;
        self.free_count -= 1;
        self.nodes[index as usize] = node;
        Some(index)
    }

    fn give_back(&mut self, index: u32) {
        self.nodes[index as usize].next = self.free;
        self.free = index;
        self.free_count += 1;
    }

    fn get(&self, index: u32) -> &Sent {
        self.walked.set(self.walked.get() + 1);
        &self.nodes[index as usize]
    }

    fn get_mut(&mut self, index: u32) -> &mut Sent {
        &mut self.nodes[index as usize]
    }
}

impl Sent {
    fn new(range: Range<SeqNum>, now: Instant, snapshot: Snapshot) -> Self {
        Self {
            start: range.start,
            end: range.end,
            sent_at: now,
            snapshot,
            fate: Fate::InFlight,
            retransmissions: 0,
            is_cut: false,
            previous: NONE,
            next: NONE,
        }
    }

    /// Sequence numbers covered.
    pub fn len(&self) -> u32 {
        self.start.room_to(self.end)
    }

    /// Whether this left before what left at `at` and ends at `end`. Of what
    /// left in the same instant, whatever ends sooner. RFC 8985 §6.2.
    pub fn left_before(&self, at: Instant, end: SeqNum) -> bool {
        self.sent_at < at || (self.sent_at == at && self.end.before(end))
    }

    /// Whether this left after `other` did; of what left in the same instant,
    /// whatever ends later. RFC 8985 §6.2.
    pub fn left_after(&self, at: Instant, end: SeqNum) -> bool {
        self.sent_at > at || (self.sent_at == at && self.end.after(end))
    }
}

/// The scoreboard of one connection. [`clear`](Self::clear) must be called
/// before it is dropped.
#[derive(Debug)]
pub struct Scoreboard {
    head: u32,
    tail: u32,
    in_flight: u32,
    sacked: u32,
    lost: u32,
    /// Nodes cut off because of what the peer reported.
    cut: u32,
    /// A node near which the last report ended: the next one goes on there.
    near: u32,
    /// No range before this node is lost; none at all is when there is none.
    first_lost: u32,
}

impl Scoreboard {
    /// Nothing sent.
    pub const fn new() -> Self {
        Self {
            head: NONE,
            tail: NONE,
            in_flight: 0,
            sacked: 0,
            lost: 0,
            cut: 0,
            near: NONE,
            first_lost: NONE,
        }
    }

    /// Sequence numbers on their way: the pipe of RFC 6675.
    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Sequence numbers that arrived behind a gap.
    pub const fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Sequence numbers taken for lost and not sent again yet.
    pub const fn lost(&self) -> u32 {
        self.lost
    }

    /// The ranges from the oldest on.
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

    /// The range sent last, by sequence number.
    pub fn last<'a>(&self, arena: &'a SentArena) -> Option<&'a Sent> {
        (self.tail != NONE).then(|| arena.get(self.tail))
    }

    /// `range`, which begins where the last one ended, leaves for the first time.
    pub fn on_sent(
        &mut self,
        range: Range<SeqNum>,
        now: Instant,
        snapshot: Snapshot,
        arena: &mut SentArena,
    ) {
        let node = Sent::new(range, now, snapshot);
        self.in_flight += node.len();
        if self.tail != NONE {
            let tail = arena.get_mut(self.tail);
            debug_assert_eq!(tail.end, node.start, "a gap in what was sent");
            let alike = tail.fate == Fate::InFlight && tail.retransmissions == 0;
            if alike && tail.sent_at == now {
                tail.end = node.end;
                tail.snapshot = snapshot;
                return;
            }
        }
        match arena.take(node, self.tail == NONE) {
            Some(index) => self.link_after(self.tail, index, arena),
            None => self.widen_tail(node.end, now, arena),
        }
    }

    /// No node is free: the last range grows, and forgets what it knew better.
    fn widen_tail(&mut self, end: SeqNum, now: Instant, arena: &mut SentArena) {
        self.set_fate(self.tail, Fate::InFlight, arena);
        let tail = arena.get_mut(self.tail);
        tail.end = end;
        tail.sent_at = now;
    }

    /// Everything before `ack` arrived. `delivered` is told of each range that
    /// was not SACKed before, oldest first.
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
            *self.sum_of(node.fate) -= arrived.len();
            if node.fate != Fate::Sacked {
                delivered(&arrived);
            }
            if node.end.after(ack) {
                arena.get_mut(self.head).start = ack;
                break;
            }
            self.unlink(self.head, arena);
        }
    }

    /// The peer reports `block` as arrived. `delivered` is told of each part
    /// that is news, oldest first.
    ///
    /// The walk begins where the last one ended, or at the oldest range if that
    /// is nearer. What is SACKed is merged on the way.
    pub fn on_sack(
        &mut self,
        block: Range<SeqNum>,
        arena: &mut SentArena,
        delivered: &mut dyn FnMut(&Sent),
    ) {
        let mut index = self.begin_near(block.start, arena);
        while index != NONE {
            let node = *arena.get(index);
            if node.start.at_or_after(block.end) {
                break;
            }
            self.near = index;
            if node.end.at_or_before(block.start) || node.fate == Fate::Sacked {
                index = node.next;
                continue;
            }
            // Without a node for the other part the news is forgotten, which is
            // always safe: a later ACK brings it again.
            if node.start.before(block.start) {
                if !self.split(index, block.start, arena) {
                    break;
                }
                index = arena.get(index).next;
                continue;
            }
            if node.end.after(block.end) && !self.split(index, block.end, arena) {
                break;
            }
            delivered(arena.get(index));
            self.set_fate(index, Fate::Sacked, arena);
            index = self.merge_sacked(index, arena);
            self.near = index;
            index = arena.get(index).next;
        }
    }

    /// A node from which a walk to `start` is short: no node before it reaches
    /// beyond `start`.
    fn begin_near(&self, start: SeqNum, arena: &SentArena) -> u32 {
        let mut index = self.near;
        if index == NONE {
            return self.head;
        }
        let near = arena.get(index).start;
        if near.after(start) && arena.get(self.head).start.room_to(start) < start.room_to(near) {
            return self.head;
        }
        while arena.get(index).start.after(start) && arena.get(index).previous != NONE {
            index = arena.get(index).previous;
        }
        index
    }

    /// Joins a SACKed range with SACKed neighbours. Returns its node.
    fn merge_sacked(&mut self, index: u32, arena: &mut SentArena) -> u32 {
        let Sent { previous, next, .. } = *arena.get(index);
        if next != NONE && arena.get(next).fate == Fate::Sacked {
            arena.get_mut(index).end = arena.get(next).end;
            self.unlink(next, arena);
        }
        if previous != NONE && arena.get(previous).fate == Fate::Sacked {
            arena.get_mut(previous).end = arena.get(index).end;
            self.unlink(index, arena);
            return previous;
        }
        index
    }

    /// Asks `is_lost` about every range in flight, oldest first, until it says
    /// `None`: what follows cannot be lost either. Returns the bytes that are
    /// newly taken for lost.
    pub fn mark_lost(
        &mut self,
        arena: &mut SentArena,
        is_lost: &mut dyn FnMut(&Sent) -> Option<bool>,
    ) -> u32 {
        let before = self.lost;
        let mut index = self.head;
        while index != NONE {
            let node = arena.get(index);
            let next = node.next;
            if node.fate == Fate::InFlight {
                match is_lost(node) {
                    None => break,
                    Some(true) => self.set_fate(index, Fate::Lost, arena),
                    Some(false) => {}
                }
            }
            index = next;
        }
        self.lost - before
    }

    /// After a timeout everything that is not SACKed is taken for lost; with
    /// `renege` what was SACKed too, because the peer has taken it back.
    pub fn mark_all_lost(&mut self, renege: bool, arena: &mut SentArena) {
        let mut index = self.head;
        while index != NONE {
            let node = arena.get(index);
            let next = node.next;
            if node.fate == Fate::InFlight || (renege && node.fate == Fate::Sacked) {
                self.set_fate(index, Fate::Lost, arena);
            }
            index = next;
        }
    }

    /// What was taken for lost is in flight after all: an undo.
    pub fn unmark_lost(&mut self, arena: &mut SentArena) {
        let mut index = self.head;
        while index != NONE {
            let next = arena.get(index).next;
            if arena.get(index).fate == Fate::Lost {
                self.set_fate(index, Fate::InFlight, arena);
            }
            index = next;
        }
    }

    /// What counts as SACKed is in flight again: it was only assumed.
    pub fn forget_sacked(&mut self, arena: &mut SentArena) {
        let mut index = if self.sacked > 0 { self.head } else { NONE };
        while index != NONE {
            let next = arena.get(index).next;
            if arena.get(index).fate == Fate::Sacked {
                self.set_fate(index, Fate::InFlight, arena);
            }
            index = next;
        }
    }

    /// The oldest `bytes` that are in flight are lost.
    pub fn mark_head_lost(&mut self, bytes: u32, arena: &mut SentArena) {
        if self.head == NONE || arena.get(self.head).fate != Fate::InFlight {
            return;
        }
        let head = *arena.get(self.head);
        if head.len() > bytes {
            self.split(self.head, head.start + bytes, arena);
        }
        self.set_fate(self.head, Fate::Lost, arena);
    }

    /// Whether the oldest range is SACKed: a peer never says that of what it
    /// could acknowledge, so it has taken something back. RFC 2018 §8.
    pub fn head_is_sacked(&self, arena: &SentArena) -> bool {
        self.head != NONE && arena.get(self.head).fate == Fate::Sacked
    }

    /// Sequence numbers in flight that have been sent more than once.
    pub fn sent_again(&self, arena: &SentArena) -> u32 {
        self.iter(arena)
            .filter(|sent| sent.retransmissions > 0 && sent.fate == Fate::InFlight)
            .map(Sent::len)
            .sum()
    }

    /// Whether the oldest range begins at `seq`.
    pub fn starts_at(&self, seq: SeqNum, arena: &SentArena) -> bool {
        self.head != NONE && arena.get(self.head).start == seq
    }

    /// The oldest range that is lost.
    pub fn next_lost(&self, arena: &SentArena) -> Option<Range<SeqNum>> {
        if self.lost == 0 {
            return None;
        }
        let lost = self
            .iter_from(self.first_lost, arena)
            .find(|sent| sent.fate == Fate::Lost)?;
        Some(lost.start..lost.end)
    }

    /// `range`, the beginning of a range of the board, leaves again. Needs no
    /// memory: without a node to split with, the rest counts as sent, too, and
    /// is found missing later.
    pub fn on_sent_again(
        &mut self,
        range: Range<SeqNum>,
        now: Instant,
        snapshot: Snapshot,
        arena: &mut SentArena,
    ) {
        // What is lost leaves again in order, so it is usually found at once.
        let mut index = match self.first_lost {
            NONE => self.head,
            first if arena.get(first).start.at_or_before(range.start) => first,
            _ => self.head,
        };
        while index != NONE && arena.get(index).start.before(range.start) {
            index = arena.get(index).next;
        }
        while index != NONE && arena.get(index).start.before(range.end) {
            if arena.get(index).end.after(range.end) {
                self.split(index, range.end, arena);
            }
            self.set_fate(index, Fate::InFlight, arena);
            if self.first_lost == index {
                self.first_lost = arena.get(index).next;
            }
            let node = arena.get_mut(index);
            node.sent_at = now;
            node.snapshot = snapshot;
            node.retransmissions = node.retransmissions.saturating_add(1);
            index = node.next;
        }
    }

    /// Forgets everything and returns the nodes.
    pub fn clear(&mut self, arena: &mut SentArena) {
        while self.head != NONE {
            let node = *arena.get(self.head);
            *self.sum_of(node.fate) -= node.len();
            self.unlink(self.head, arena);
        }
    }

    /// Checks that the ranges cover `una..max` and the sums are theirs.
    ///
    /// # Panics
    /// With what is broken.
    pub fn verify(&self, una: SeqNum, max: SeqNum, arena: &SentArena) {
        let first = self.iter(arena).find(|sent| sent.fate == Fate::Lost);
        let found = self.next_lost(arena).map(|range| range.start);
        assert_eq!(first.map(|sent| sent.start), found, "the oldest lost range");
        let cut = self.iter(arena).filter(|sent| sent.is_cut).count();
        assert_eq!(self.cut as usize, cut, "ranges cut off by reports");
        let mut sums = [0; 3];
        let mut expected = una;
        for sent in self.iter(arena) {
            assert_eq!(sent.start, expected, "a gap in the scoreboard");
            assert!(
                sent.start.before(sent.end),
                "an empty range in the scoreboard"
            );
            expected = sent.end;
            sums[sent.fate as usize] += sent.len();
        }
        assert_eq!(expected, max, "the scoreboard ends elsewhere");
        assert_eq!(
            sums,
            [self.in_flight, self.sacked, self.lost],
            "sums of the scoreboard"
        );
    }

    fn sum_of(&mut self, fate: Fate) -> &mut u32 {
        match fate {
            Fate::InFlight => &mut self.in_flight,
            Fate::Sacked => &mut self.sacked,
            Fate::Lost => &mut self.lost,
        }
    }

    fn set_fate(&mut self, index: u32, fate: Fate, arena: &mut SentArena) {
        let node = arena.get_mut(index);
        let (was, len) = (core::mem::replace(&mut node.fate, fate), node.len());
        *self.sum_of(was) -= len;
        *self.sum_of(fate) += len;
        if fate == Fate::Lost {
            let start = arena.get(index).start;
            let is_first =
                self.first_lost == NONE || start.before(arena.get(self.first_lost).start);
            if is_first {
                self.first_lost = index;
            }
        }
    }

    /// Cuts a range in two at `at`. False when no node is free for it.
    fn split(&mut self, index: u32, at: SeqNum, arena: &mut SentArena) -> bool {
        if self.cut >= arena.each {
            arena.refused += 1;
            return false;
        }
        let second = Sent {
            start: at,
            is_cut: true,
            ..*arena.get(index)
        };
        let Some(new) = arena.take(second, false) else {
            return false;
        };
        arena.get_mut(index).end = at;
        self.cut += 1;
        self.link_after(index, new, arena);
        true
    }

    fn link_after(&mut self, previous: u32, index: u32, arena: &mut SentArena) {
        let next = if previous == NONE {
            NONE
        } else {
            arena.get(previous).next
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

    fn unlink(&mut self, index: u32, arena: &mut SentArena) {
        let Sent {
            previous,
            next,
            is_cut,
            ..
        } = *arena.get(index);
        self.cut -= u32::from(is_cut);
        if self.near == index {
            self.near = if previous == NONE { next } else { previous };
        }
        if self.first_lost == index {
            self.first_lost = next;
        }
        match previous {
            NONE => self.head = next,
            _ => arena.get_mut(previous).next = next,
        }
        match next {
            NONE => self.tail = previous,
            _ => arena.get_mut(next).previous = previous,
        }
        arena.give_back(index);
    }
}
