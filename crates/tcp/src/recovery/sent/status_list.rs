//! The ranges of one board that share a fate, as a list: what is in flight by
//! the time it left, what is lost by its number.
//!
//! Rule: whoever looks for what may be lost, or is, looks at that alone and
//! stops at the first that is not: a peer that says little cannot make a board
//! be searched. RFC 8985 §6.2 asks for the list by time. Sums are kept elsewhere.

use super::{NONE, Sent, SentArena, SentStatus};

/// The ranges of one fate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    /// The one that left first, or with the lowest number.
    pub first: u32,
    /// The other end.
    pub last: u32,
    /// Where the last one was put: the next one usually belongs beside it.
    near: u32,
}

impl Queue {
    pub const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
        near: NONE,
    };

    /// Puts `index` in its place among those of its fate.
    ///
    /// What leaves now, and what is lost in the order in which it left, belongs
    /// at an end. Else the walk begins where the last one was put.
    pub fn insert(&mut self, index: u32, arena: &mut SentArena) {
        let node = *arena.known(index);
        let after = self.place_of(&node, arena);
        self.insert_behind(after, index, arena);
    }

    fn place_of(&self, node: &Sent, arena: &SentArena) -> u32 {
        let is_last = self.last == NONE || precedes(arena.get(self.last), node);
        if is_last {
            return self.last;
        }
        if !precedes(arena.known(self.first), node) {
            return NONE;
        }
        let mut after = self.near;
        while !precedes(arena.get(after), node) {
            after = arena.known(after).older;
        }
        loop {
            let newer = arena.known(after).newer;
            if newer == NONE || !precedes(arena.get(newer), node) {
                return after;
            }
            after = newer;
        }
    }

    /// Puts `index` right behind `after`, or first.
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

    /// Takes `index` out.
    pub fn remove(&mut self, index: u32, arena: &mut SentArena) {
        let Sent { older, newer, .. } = *arena.known(index);
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

    /// Checks that these are `count` ranges of this fate, in their order.
    ///
    /// # Panics
    /// If not.
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
                "the order of what is {status:?}"
            );
            (found, before, index) = (found + 1, index, node.newer);
        }
        assert_eq!((found, self.last), (count, before), "ranges {status:?}");
    }
}

/// Whether `one` stands before `other`, which has the same fate or is to have it.
fn precedes(one: &Sent, other: &Sent) -> bool {
    match other.status {
        SentStatus::InFlight => one.left_before(other.sent_at, other.end),
        SentStatus::Lost => one.start.before(other.start),
        // Nobody asks in which order they arrived.
        SentStatus::Sacked => true,
    }
}
