//! The ranges of one board that have the same status, as a list: ranges in
//! flight by send time, lost ranges by sequence number.
//!
//! Rule: a search for ranges that are or may be lost visits one list only, and stops at the first
//! range that cannot be lost. A peer therefore cannot cause a search of the whole scoreboard. RFC
//! 8985 §6.2 requires the list by send time. `sent.rs` counts the bytes of each status.

use fullpipe_pool::splay::NONE;

use super::{
    arena::SentArena,
    range::{Sent, SentStatus},
};

/// The ranges of one status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatusList {
    /// The range that left first, or has the lowest sequence number.
    pub first: u32,
    /// The range that left last, or has the highest sequence number.
    pub last: u32,
    /// The range inserted last: the next one usually belongs beside it.
    near: u32,
}

impl StatusList {
    pub const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
        near: NONE,
    };

    /// Inserts `index` at its place.
    ///
    /// A range that comes after all others is appended without a walk. This is the usual case: a
    /// range that leaves now has the latest send time, and ranges that left in order are found lost
    /// in order. Otherwise the walk begins at the range inserted last.
    pub fn insert(&mut self, index: u32, arena: &mut SentArena) {
        let node = *arena.visited(index);
        let after = self.place_of(&node, arena);
        self.insert_behind(after, index, arena);
    }

    fn place_of(&self, node: &Sent, arena: &SentArena) -> u32 {
        let is_last = self.last == NONE || precedes(arena.get(self.last), node);
        if is_last {
            return self.last;
        }
        if !precedes(arena.visited(self.first), node) {
            return NONE;
        }
        let mut after = self.near;
        while !precedes(arena.get(after), node) {
            after = arena.visited(after).older;
        }
        loop {
            let newer = arena.visited(after).newer;
            if newer == NONE || !precedes(arena.get(newer), node) {
                return after;
            }
            after = newer;
        }
    }

    /// Inserts `index` right after `after`, or first if `after` is `NONE`.
    pub fn insert_behind(&mut self, after: u32, index: u32, arena: &mut SentArena) {
        let newer = match after {
            NONE => core::mem::replace(&mut self.first, index),
            _ => core::mem::replace(&mut arena.get_mut(after).newer, index),
        };
        match newer {
            NONE => self.last = index,
            _ => arena.get_mut(newer).older = index,
        }
        let node = arena.get_mut(index);
        (node.older, node.newer) = (after, newer);
        self.near = index;
    }

    /// Removes `index`.
    pub fn remove(&mut self, index: u32, arena: &mut SentArena) {
        let Sent { older, newer, .. } = *arena.visited(index);
        if self.near == index {
            self.near = if older == NONE { newer } else { older };
        }
        match older {
            NONE => self.first = newer,
            _ => arena.get_mut(older).newer = newer,
        }
        match newer {
            NONE => self.last = older,
            _ => arena.get_mut(newer).older = older,
        }
    }

    /// Checks that the list has `count` ranges of this status, in order.
    ///
    /// # Panics
    /// Panics if the list has other ranges or another order.
    pub fn verify(&self, status: SentStatus, count: u32, arena: &SentArena) {
        let (mut found, mut before, mut index) = (0, NONE, self.first);
        while index != NONE && found <= count {
            let node = arena.get(index);
            assert_eq!(
                (node.status, node.older),
                (status, before),
                "a list of status_list"
            );
            assert!(
                before == NONE || precedes(arena.get(before), node),
                "the order of the {status:?} ranges"
            );
            (found, before, index) = (found + 1, index, node.newer);
        }
        assert_eq!((found, self.last), (count, before), "ranges {status:?}");
    }
}

/// Returns true if `one` comes before `other`, whose status decides the order.
fn precedes(one: &Sent, other: &Sent) -> bool {
    match other.status {
        SentStatus::InFlight => one.left_before(other.sent_at, other.end),
        SentStatus::Lost => one.start.before(other.start),
        // The order of SACKed ranges has no meaning.
        SentStatus::Sacked => true,
    }
}
