//! Search of a range by offset: a splay tree over the ranges of one set. Sleator
//! and Tarjan, "Self-adjusting binary search trees", 1985.
//!
//! The one rule: the tree has the ranges of the list in the same order, and the
//! range searched last is the root. A peer chooses the order in which payload
//! arrives, and any order costs a logarithm of the number of ranges, amortised.
//! Only the starts of ranges are known here.

use super::arena::RangeArena;
use crate::index::NONE;

/// The ranges below, or above, all that a search still has to visit: the root of
/// their tree, and the node under which the next one is linked.
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

impl RangeArena {
    /// Rotates the tree under `top`, which is not empty, until the range that
    /// starts at `key`, or else a neighbour of its place, is the root. Returns the
    /// root.
    pub(super) fn splay(&mut self, mut top: u32, key: u64) -> u32 {
        let (mut below, mut above) = (Side::EMPTY, Side::EMPTY);
        loop {
            let start = self.visit(top);
            if key < start {
                let child = self.left(top);
                if child != NONE && key < self.visit(child) {
                    let inner = self.right(child);
                    self.set_left(top, inner);
                    self.set_right(child, top);
                    top = child;
                }
                let rest = self.left(top);
                if rest == NONE {
                    break;
                }
                self.hang_above(&mut above, top);
                top = rest;
            } else if start < key {
                let child = self.right(top);
                if child != NONE && self.visit(child) < key {
                    let inner = self.left(child);
                    self.set_right(top, inner);
                    self.set_left(child, top);
                    top = child;
                }
                let rest = self.right(top);
                if rest == NONE {
                    break;
                }
                self.hang_below(&mut below, top);
                top = rest;
            } else {
                break;
            }
        }
        let (left, right) = (self.left(top), self.right(top));
        self.hang_below(&mut below, left);
        self.hang_above(&mut above, right);
        self.set_left(top, below.top);
        self.set_right(top, above.top);
        top
    }

    /// Links `node` and its left subtree as the highest of the ranges below.
    fn hang_below(&mut self, side: &mut Side, node: u32) {
        match side.open {
            NONE => side.top = node,
            open => self.set_right(open, node),
        }
        side.open = node;
    }

    /// Links `node` and its right subtree as the lowest of the ranges above.
    fn hang_above(&mut self, side: &mut Side, node: u32) {
        match side.open {
            NONE => side.top = node,
            open => self.set_left(open, node),
        }
        side.open = node;
    }

    /// Returns the root, after a search, and the last range that starts at or
    /// before `offset`; `NONE` if there is none.
    pub(super) fn last_from(&mut self, top: u32, offset: u64) -> (u32, u32) {
        if top == NONE {
            return (NONE, NONE);
        }
        let top = self.splay(top, offset);
        if self.visit(top) <= offset {
            return (top, top);
        }
        let left = self.left(top);
        if left == NONE {
            return (top, NONE);
        }
        // All of it starts at or before `offset`, so its highest range becomes its root.
        let left = self.splay(left, offset);
        self.set_left(top, left);
        (top, left)
    }

    /// Inserts `node`, whose start no range of the tree has. Returns the new root.
    pub(super) fn insert_node(&mut self, top: u32, node: u32) -> u32 {
        let (mut left, mut right) = (NONE, NONE);
        if top != NONE {
            let start = self.get(node).start;
            let top = self.splay(top, start);
            if self.get(top).start < start {
                (left, right) = (top, self.right(top));
                self.set_right(top, NONE);
            } else {
                (left, right) = (self.left(top), top);
                self.set_left(top, NONE);
            }
        }
        self.set_left(node, left);
        self.set_right(node, right);
        node
    }

    /// Inserts `node`, which starts after all ranges of the tree. Returns the new
    /// root.
    pub(super) fn insert_last(&mut self, top: u32, node: u32) -> u32 {
        self.set_left(node, top);
        self.set_right(node, NONE);
        node
    }

    /// Removes `node`. Returns the new root.
    pub(super) fn remove_node(&mut self, top: u32, node: u32) -> u32 {
        let start = self.get(node).start;
        let top = self.splay(top, start);
        let (left, right) = (self.left(top), self.right(top));
        if left == NONE {
            return right;
        }
        let left = self.splay(left, start);
        self.set_right(left, right);
        left
    }
}
