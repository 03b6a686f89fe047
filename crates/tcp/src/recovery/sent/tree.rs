//! Search of a range by sequence number: a splay tree over the ranges of one
//! board. Sleator and Tarjan, "Self-adjusting binary search trees", 1985.
//!
//! Rule: the tree has the ranges of the scoreboard in the same order, and the range
//! searched last is the root. A SACK block next to the last one costs a step or two.
//! Blocks in the worst order, which a peer may choose, cost the logarithm of the number
//! of ranges, amortised. Only the starts of ranges are used here.

use super::{arena::SentArena, range::NONE};
use crate::SeqNum;

/// One of the two trees that a search leaves behind: all ranges below, or above, those
/// still to be visited. It has a root, and the node under which the next range is linked.
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
    /// Rotates the tree under `top` until the range that starts at `key`, or
    /// else a neighbour of its place, is the root. Returns the root.
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

    /// Links `node` and its left subtree as the highest of the ranges below.
    fn hang_below(&mut self, side: &mut Side, node: u32) {
        match side.open {
            NONE => side.top = node,
            open => self.get_mut(open).right = node,
        }
        side.open = node;
    }

    /// Links `node` and its right subtree as the lowest of the ranges above.
    fn hang_above(&mut self, side: &mut Side, node: u32) {
        match side.open {
            NONE => side.top = node,
            open => self.get_mut(open).left = node,
        }
        side.open = node;
    }

    /// Inserts `node`, which starts after all ranges of the tree. Returns the
    /// new root.
    pub(super) fn insert_last(&mut self, top: u32, node: u32) -> u32 {
        let last = self.get_mut(node);
        (last.left, last.right) = (top, NONE);
        node
    }

    /// Inserts `node`, which starts right after `before`, a range of the tree.
    /// Returns the new root.
    pub(super) fn insert_after(&mut self, top: u32, before: u32, node: u32) -> u32 {
        let start = self.visited(before).start;
        let top = self.splay(top, start);
        let right = core::mem::replace(&mut self.get_mut(top).right, NONE);
        let second = self.get_mut(node);
        (second.left, second.right) = (top, right);
        node
    }

    /// Removes `node`. Returns the new root.
    pub(super) fn remove_node(&mut self, top: u32, node: u32) -> u32 {
        let start = self.visited(node).start;
        let top = self.splay(top, start);
        let (left, right) = (self.get_mut(top).left, self.get_mut(top).right);
        if left == NONE {
            return right;
        }
        // All ranges of `left` start before `node`, so the highest of them becomes the
        // root.
        let left = self.splay(left, start);
        self.get_mut(left).right = right;
        left
    }

    /// Returns true if `one` is the predecessor of `other` in the tree.
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
