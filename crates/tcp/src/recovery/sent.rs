//! What has been sent and not acknowledged: the scoreboard. RFC 6675, RFC 8985.
//!
//! Rule: the ranges of a connection are in order, touch each other and cover
//! exactly `snd_una..snd_max`. Each is in flight, delivered out of order
//! (SACKed), or lost and not sent again yet; the bytes in flight are a running
//! sum, never a walk. The nodes come from one arena that all connections of a
//! host share; when it is empty ranges are merged, which loses precision and
//! nothing else. No text is kept here, and nothing is decided.
//!
//! What a packet costs is not its sender's choice: a range is found by its
//! number in a tree, and those of one fate are a list of their own, so that
//! only what changes is visited.

mod arena;
mod status_list;
mod tree;

pub use arena::SentArena;

use core::ops::Range;

use fullpipe_pool::Instant;

use crate::{SeqNum, congestion::Snapshot};
use status_list::Queue;

const NONE: u32 = u32::MAX;

/// Where a range stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentStatus {
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
    pub status: SentStatus,
    /// How often it has been sent again.
    pub retransmissions: u8,
    /// It was cut off what left with it.
    is_cut: bool,
    /// Neighbours by number.
    previous: u32,
    next: u32,
    /// Neighbours of the same fate.
    older: u32,
    newer: u32,
    /// Below it in the tree.
    left: u32,
    right: u32,
}

impl Sent {
    fn new(range: Range<SeqNum>, now: Instant, snapshot: Snapshot) -> Self {
        Self {
            start: range.start,
            end: range.end,
            sent_at: now,
            snapshot,
            status: SentStatus::InFlight,
            retransmissions: 0,
            is_cut: false,
            previous: NONE,
            next: NONE,
            older: NONE,
            newer: NONE,
            left: NONE,
            right: NONE,
        }
    }

    /// Sequence numbers covered.
    pub fn len(&self) -> u32 {
        self.start.room_to(self.end)
    }

    /// Whether it is in flight, and not for the first time.
    const fn is_again(&self) -> bool {
        self.retransmissions > 0 && matches!(self.status, SentStatus::InFlight)
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
    /// Of the tree.
    top: u32,
    in_flight: u32,
    sacked: u32,
    lost: u32,
    /// Of what is in flight, what has been sent more than once.
    sent_again: u32,
    /// Nodes cut off because of what the peer reported.
    cut: u32,
    /// The ranges of each fate.
    queues: [Queue; 3],
}

impl Scoreboard {
    /// Nothing sent.
    pub const fn new() -> Self {
        Self {
            head: NONE,
            tail: NONE,
            top: NONE,
            in_flight: 0,
            sacked: 0,
            lost: 0,
            sent_again: 0,
            cut: 0,
            queues: [Queue::EMPTY; 3],
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
        if self.tail != NONE {
            let tail = arena.get_mut(self.tail);
            debug_assert_eq!(tail.end, node.start, "a gap in what was sent");
            let alike = tail.status == SentStatus::InFlight && tail.retransmissions == 0;
            if alike && tail.sent_at == now {
                tail.end = node.end;
                tail.snapshot = snapshot;
                self.in_flight += node.len();
                return;
            }
        }
        match arena.take(node, self.tail == NONE) {
            Some(index) => {
                self.link_after(self.tail, index, arena);
                self.top = arena.insert_last(self.top, index);
                self.add(&node, node.len());
                self.queue(SentStatus::InFlight).insert(index, arena);
            }
            // The last range grows, and forgets what it knew better.
            None => self.change(self.tail, arena, &|tail| {
                tail.status = SentStatus::InFlight;
                tail.end = node.end;
                tail.sent_at = now;
            }),
        }
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
            self.subtract(&node, arrived.len());
            if node.status != SentStatus::Sacked {
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
    /// The walk begins where the block does. What is SACKed is merged on the
    /// way, so that each range is passed once.
    pub fn on_sack(
        &mut self,
        block: Range<SeqNum>,
        arena: &mut SentArena,
        delivered: &mut dyn FnMut(&Sent),
    ) {
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
            // Without a node for the other part the news is forgotten, which is
            // always safe: a later ACK brings it again.
            if node.start.before(block.start) {
                if !self.split(index, block.start, arena) {
                    break;
                }
                index = arena.known(index).next;
                continue;
            }
            if node.end.after(block.end) && !self.split(index, block.end, arena) {
                break;
            }
            delivered(arena.known(index));
            self.set_status(index, SentStatus::Sacked, arena);
            index = self.merge_sacked(index, arena);
            index = arena.known(index).next;
        }
    }

    /// The last range that begins at `start` or before it; the oldest, if all
    /// begin later.
    fn find(&mut self, start: SeqNum, arena: &mut SentArena) -> u32 {
        if self.top == NONE {
            return NONE;
        }
        self.top = arena.splay(self.top, start);
        let found = arena.known(self.top);
        if found.start.after(start) && found.previous != NONE {
            return found.previous;
        }
        self.top
    }

    /// Joins a SACKed range with SACKed neighbours. Returns its node.
    fn merge_sacked(&mut self, index: u32, arena: &mut SentArena) -> u32 {
        let Sent { previous, next, .. } = *arena.known(index);
        if next != NONE && arena.get(next).status == SentStatus::Sacked {
            arena.get_mut(index).end = arena.known(next).end;
            self.unlink(next, arena);
        }
        if previous != NONE && arena.get(previous).status == SentStatus::Sacked {
            arena.get_mut(previous).end = arena.known(index).end;
            self.unlink(index, arena);
            return previous;
        }
        index
    }

    /// Asks `is_lost` about the ranges in flight, in the order in which they
    /// left, until it says no: what left later cannot be lost either. Returns the
    /// bytes that are newly taken for lost.
    pub fn mark_lost(
        &mut self,
        arena: &mut SentArena,
        is_lost: &mut dyn FnMut(&Sent) -> bool,
    ) -> u32 {
        let before = self.lost;
        loop {
            let oldest = self.queue(SentStatus::InFlight).first;
            if oldest == NONE || !is_lost(arena.get(oldest)) {
                return self.lost - before;
            }
            self.set_status(oldest, SentStatus::Lost, arena);
        }
    }

    /// After a timeout everything that is not SACKed is taken for lost; with
    /// `renege` what was SACKed too, because the peer has taken it back.
    pub fn mark_all_lost(&mut self, renege: bool, arena: &mut SentArena) {
        self.all_become(SentStatus::InFlight, SentStatus::Lost, arena);
        if renege {
            self.all_become(SentStatus::Sacked, SentStatus::Lost, arena);
        }
    }

    /// What was taken for lost is in flight after all: an undo.
    pub fn unmark_lost(&mut self, arena: &mut SentArena) {
        self.all_become(SentStatus::Lost, SentStatus::InFlight, arena);
    }

    /// What counts as SACKed is in flight again: it was only assumed.
    pub fn forget_sacked(&mut self, arena: &mut SentArena) {
        self.all_become(SentStatus::Sacked, SentStatus::InFlight, arena);
    }

    fn all_become(&mut self, was: SentStatus, status: SentStatus, arena: &mut SentArena) {
        loop {
            let last = self.queue(was).last;
            if last == NONE {
                return;
            }
            self.set_status(last, status, arena);
        }
    }

    /// The oldest `bytes` that are in flight are lost.
    pub fn mark_head_lost(&mut self, bytes: u32, arena: &mut SentArena) {
        if self.head == NONE || arena.get(self.head).status != SentStatus::InFlight {
            return;
        }
        let head = *arena.get(self.head);
        if head.len() > bytes {
            self.split(self.head, head.start + bytes, arena);
        }
        self.set_status(self.head, SentStatus::Lost, arena);
    }

    /// Whether the oldest range is SACKed: a peer never says that of what it
    /// could acknowledge, so it has taken something back. RFC 2018 §8.
    pub fn head_is_sacked(&self, arena: &SentArena) -> bool {
        self.head != NONE && arena.get(self.head).status == SentStatus::Sacked
    }

    /// Sequence numbers in flight that have been sent more than once.
    pub const fn sent_again(&self) -> u32 {
        self.sent_again
    }

    /// Whether the oldest range begins at `seq`.
    pub fn starts_at(&self, seq: SeqNum, arena: &SentArena) -> bool {
        self.head != NONE && arena.get(self.head).start == seq
    }

    /// The oldest range that is lost.
    pub fn next_lost(&self, arena: &SentArena) -> Option<Range<SeqNum>> {
        let first = self.queues[SentStatus::Lost as usize].first;
        let lost = (first != NONE).then(|| arena.get(first))?;
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
        let mut index = self.find(range.start, arena);
        if index != NONE && arena.known(index).start.before(range.start) {
            index = arena.known(index).next;
        }
        while index != NONE && arena.get(index).start.before(range.end) {
            if arena.known(index).end.after(range.end) {
                self.split(index, range.end, arena);
            }
            self.change(index, arena, &|node| {
                node.status = SentStatus::InFlight;
                node.sent_at = now;
                node.snapshot = snapshot;
                node.retransmissions = node.retransmissions.saturating_add(1);
            });
            index = arena.known(index).next;
        }
    }

    /// Forgets everything and returns the nodes.
    pub fn clear(&mut self, arena: &mut SentArena) {
        while self.head != NONE {
            let node = *arena.get(self.head);
            self.subtract(&node, node.len());
            self.unlink(self.head, arena);
        }
    }

    /// Checks that the ranges cover `una..max` and the sums are theirs.
    ///
    /// # Panics
    /// With what is broken.
    pub fn verify(&self, una: SeqNum, max: SeqNum, arena: &SentArena) {
        let cut = self.iter(arena).filter(|sent| sent.is_cut).count();
        assert_eq!(self.cut as usize, cut, "ranges cut off by reports");
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
            again += if sent.is_again() { sent.len() } else { 0 };
            assert!(
                sent.next == NONE || arena.is_neighbour(arena.get(sent.next).previous, sent.next),
                "the tree and the list of the scoreboard"
            );
        }
        assert_eq!(expected, max, "the scoreboard ends elsewhere");
        assert_eq!(
            (sums, again),
            ([self.in_flight, self.sacked, self.lost], self.sent_again),
            "sums of the scoreboard"
        );
        for status in [SentStatus::InFlight, SentStatus::Sacked, SentStatus::Lost] {
            self.queues[status as usize].verify(status, counts[status as usize], arena);
        }
    }

    fn sum_of(&mut self, status: SentStatus) -> &mut u32 {
        match status {
            SentStatus::InFlight => &mut self.in_flight,
            SentStatus::Sacked => &mut self.sacked,
            SentStatus::Lost => &mut self.lost,
        }
    }

    const fn queue(&mut self, status: SentStatus) -> &mut Queue {
        &mut self.queues[status as usize]
    }

    /// `len` numbers of `node` count from now on.
    fn add(&mut self, node: &Sent, len: u32) {
        *self.sum_of(node.status) += len;
        self.sent_again += if node.is_again() { len } else { 0 };
    }

    /// `len` numbers of `node` count no more.
    fn subtract(&mut self, node: &Sent, len: u32) {
        *self.sum_of(node.status) -= len;
        self.sent_again -= if node.is_again() { len } else { 0 };
    }

    fn set_status(&mut self, index: u32, status: SentStatus, arena: &mut SentArena) {
        self.change(index, arena, &|node| node.status = status);
    }

    /// Whatever `change` does to a range but move its start, sums and lists
    /// follow.
    fn change(&mut self, index: u32, arena: &mut SentArena, change: &dyn Fn(&mut Sent)) {
        let before = *arena.known(index);
        self.subtract(&before, before.len());
        self.queue(before.status).remove(index, arena);
        change(arena.get_mut(index));
        let after = *arena.known(index);
        self.add(&after, after.len());
        self.queue(after.status).insert(index, arena);
    }

    /// Cuts a range in two at `at`. False when no node is free for it.
    fn split(&mut self, index: u32, at: SeqNum, arena: &mut SentArena) -> bool {
        let second = Sent {
            start: at,
            is_cut: true,
            ..*arena.known(index)
        };
        let Some(new) = arena.take_cut(second, self.cut) else {
            return false;
        };
        arena.get_mut(index).end = at;
        self.cut += 1;
        self.link_after(index, new, arena);
        self.top = arena.insert_after(self.top, index, new);
        self.queue(second.status).insert_behind(index, new, arena);
        true
    }

    fn link_after(&mut self, previous: u32, index: u32, arena: &mut SentArena) {
        let next = match previous {
            NONE => NONE,
            _ => arena.known(previous).next,
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

    /// Takes a range, whose numbers are accounted for, off the board.
    fn unlink(&mut self, index: u32, arena: &mut SentArena) {
        let Sent {
            previous,
            next,
            is_cut,
            status,
            ..
        } = *arena.known(index);
        self.cut -= u32::from(is_cut);
        self.top = arena.remove_node(self.top, index);
        self.queue(status).remove(index, arena);
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
