//! Finding a range by its number: a splay tree over the ranges of one board.
//! Sleator and Tarjan, "Self-adjusting binary search trees", 1985.
//!
//! Rule: the tree holds what the list holds, in the same order, and whatever
//! was looked for last is on top. So a report next to the last one costs a step
//! or two, and reports in the worst order cost a logarithm of the number of
//! ranges, amortised: a peer chooses the order. Nothing is known here but where
//! ranges start.

use super::{NONE, SentArena};
use crate::SeqNum;

/// The ranges below or above all that is being looked at: its top, and the node
/// where the next one hangs.
#[derive(Clone, Copy)]
struct Side {
    top: u32,
    open: u32,
}

impl Side {
    const EMPTY: Self = Self {
        top: NONE,
        open: NONE,
    };
}

impl SentArena {
    /// Turns the tree under `top` until the range that starts at `key`, or else
    /// a neighbour of where it would be, is on top. Returns it.
    pub(super) fn splay(&mut self, mut top: u32, key: SeqNum) -> u32 {
        let (mut below, mut above) = (Side::EMPTY, Side::EMPTY);
        loop {
            let start = self.get(top).start;
            if key.before(start) {
                let child = self.get_mut(top).left;
                if child == NONE {
                    break;
                }
                if key.before(self.get(child).start) {
                    let inner = core::mem::replace(&mut self.get_mut(child).right, top);
                    self.get_mut(top).left = inner;
                    top = child;
                }
                let rest = self.get_mut(top).left;
                if rest == NONE {
                    break;
                }
                self.hang_above(&mut above, top);
                top = rest;
            } else if start.before(key) {
                let child = self.get_mut(top).right;
                if child == NONE {
                    break;
                }
                if self.get(child).start.before(key) {
                    let inner = core::mem::replace(&mut self.get_mut(child).left, top);
                    self.get_mut(top).right = inner;
                    top = child;
                }
                let rest = self.get_mut(top).right;
                if rest == NONE {
                    break;
                }
                self.hang_below(&mut below, top);
                top = rest;
            } else {
                break;
            }
        }
        let (left, right) = (self.get_mut(top).left, self.get_mut(top).right);
        self.hang_below(&mut below, left);
        self.hang_above(&mut above, right);
        let node = self.get_mut(top);
        (node.left, node.right) = (below.top, above.top);
        top
    }

    /// `node`, and what is left of it, is the highest of what lies below.
    fn hang_below(&mut self, side: &mut Side, node: u32) {
        match side.open {
            NONE => side.top = node,
            open => self.get_mut(open).right = node,
        }
        side.open = node;
    }

    /// `node`, and what is right of it, is the lowest of what lies above.
    fn hang_above(&mut self, side: &mut Side, node: u32) {
        match side.open {
            NONE => side.top = node,
            open => self.get_mut(open).left = node,
        }
        side.open = node;
    }

    /// `node` starts behind all ranges of the tree. Returns the new top.
    pub(super) fn insert_last(&mut self, top: u32, node: u32) -> u32 {
        let last = self.get_mut(node);
        (last.left, last.right) = (top, NONE);
        node
    }

    /// `node` starts right behind `before`, a range of the tree. Returns the new
    /// top.
    pub(super) fn insert_after(&mut self, top: u32, before: u32, node: u32) -> u32 {
        let start = self.known(before).start;
        let top = self.splay(top, start);
        let right = core::mem::replace(&mut self.get_mut(top).right, NONE);
        let second = self.get_mut(node);
        (second.left, second.right) = (top, right);
        node
    }

    /// Takes `node` out of the tree. Returns the new top.
    pub(super) fn remove_node(&mut self, top: u32, node: u32) -> u32 {
        let start = self.known(node).start;
        let top = self.splay(top, start);
        let (left, right) = (self.get_mut(top).left, self.get_mut(top).right);
        if left == NONE {
            return right;
        }
        // All of it starts before, so that its highest comes out on top.
        let left = self.splay(left, start);
        self.get_mut(left).right = right;
        left
    }

    /// Whether `one` comes right before `other` in the tree.
    pub(super) fn is_neighbour(&self, one: u32, other: u32) -> bool {
        let right = self.get(one).right;
        if right != NONE {
            let mut lowest = right;
            while self.get(lowest).left != NONE {
                lowest = self.get(lowest).left;
            }
            return lowest == other;
        }
        let mut highest = self.get(other).left;
        while highest != NONE && self.get(highest).right != NONE {
            highest = self.get(highest).right;
        }
        highest == one
    }
}
