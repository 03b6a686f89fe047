//! Splay trees over nodes that an arena links by index. Sleator and Tarjan,
//! "Self-adjusting binary search trees", 1985.
//!
//! The one rule: the node searched last is the root, and no two nodes of a tree have the
//! same key. A peer may choose the order of the keys, and any order costs a logarithm of
//! the number of nodes, amortised.
//!
//! A tree is the index of its root; [`NONE`] is the empty tree. The keys are in the nodes,
//! and only [`SplayNodes::visit`] reads them.

use core::mem::replace;

pub use crate::index::NONE;

/// The child with the lower keys.
pub const LOWER: usize = 0;
/// The child with the higher keys.
pub const HIGHER: usize = 1;

/// A tree of the nodes that a search has passed on one side of the searched key, and the
/// node among them that is nearest to the key.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Passed {
    root: u32,
    nearest: u32,
}

impl Passed {
    const NONE: Self = Self {
        root: NONE,
        nearest: NONE,
    };
}

/// An arena whose nodes have two children, and the operations of the trees in it.
pub trait SplayNodes {
    /// A node's place in the order.
    type Key: Copy;

    /// Returns the key of a node that a search visits. An implementation may count the
    /// visits as a measure of work.
    fn visit(&self, node: u32) -> Self::Key;

    /// Returns true if `one` comes before `other`.
    fn precedes(one: Self::Key, other: Self::Key) -> bool;

    /// Returns the children of a node: [`LOWER`], [`HIGHER`].
    fn children(&mut self, node: u32) -> &mut [u32; 2];

    /// Rotates the tree under `root`, which is not empty, until the node with `key` is the root. If
    /// no node has `key`, the node with the next lower or the next higher key becomes the root.
    /// Returns the root.
    fn splay(&mut self, mut root: u32, key: Self::Key) -> u32 {
        let mut passed = [Passed::NONE; 2];
        loop {
            let here = self.visit(root);
            let rest = if Self::precedes(key, here) {
                self.descend(LOWER, &mut root, &mut passed, |at| Self::precedes(key, at))
            } else if Self::precedes(here, key) {
                self.descend(HIGHER, &mut root, &mut passed, |at| Self::precedes(at, key))
            } else {
                break;
            };
            if rest == NONE {
                break;
            }
            root = rest;
        }
        let [lower, higher] = *self.children(root);
        self.hang(LOWER, lower, &mut passed);
        self.hang(HIGHER, higher, &mut passed);
        *self.children(root) = passed.map(|tree| tree.root);
        root
    }

    /// Continues a search from `root` to its child on `side`. If the search passes that child, too
    /// (`is_passed`), first rotates the child above `root`, so that the child becomes `root`. Then
    /// moves `root` to the tree of passed nodes on the opposite side, and returns the child of
    /// `root` on `side`. If `root` has no child on `side`, returns [`NONE`] and `root` stays.
    #[doc(hidden)]
    #[cfg_attr(target_pointer_width = "64", inline(always))]
    fn descend(
        &mut self,
        side: usize,
        root: &mut u32,
        passed: &mut [Passed; 2],
        is_passed: impl Fn(Self::Key) -> bool,
    ) -> u32 {
        let child = self.children(*root)[side];
        if child == NONE {
            return NONE;
        }
        let mut rest = child;
        if is_passed(self.visit(child)) {
            self.children(*root)[side] = replace(&mut self.children(child)[1 - side], *root);
            *root = child;
            rest = self.children(child)[side];
        }
        if rest != NONE {
            self.hang(1 - side, *root, passed);
        }
        rest
    }

    /// Links `node` into the tree of nodes that the search passed on `side`. `node` becomes the
    /// node nearest to the searched key.
    #[doc(hidden)]
    #[cfg_attr(target_pointer_width = "64", inline(always))]
    fn hang(&mut self, side: usize, node: u32, passed: &mut [Passed; 2]) {
        match passed[side].nearest {
            NONE => passed[side].root = node,
            nearest => self.children(nearest)[1 - side] = node,
        }
        passed[side].nearest = node;
    }

    /// Inserts `node`, whose key is lower than all keys of the tree. Returns the new root.
    fn insert_first(&mut self, root: u32, node: u32) -> u32 {
        *self.children(node) = [NONE, root];
        node
    }

    /// Inserts `node`, whose key is higher than all keys of the tree. Returns the new root.
    fn insert_last(&mut self, root: u32, node: u32) -> u32 {
        *self.children(node) = [root, NONE];
        node
    }

    /// Inserts `node`, whose key is the next after `before`, a key of the tree. Returns the
    /// new root.
    fn insert_after(&mut self, root: u32, before: Self::Key, node: u32) -> u32 {
        let root = self.splay(root, before);
        let higher = replace(&mut self.children(root)[HIGHER], NONE);
        *self.children(node) = [root, higher];
        node
    }

    /// Removes the node with `key`, which is in the tree. Returns the new root.
    fn remove(&mut self, root: u32, key: Self::Key) -> u32 {
        let root = self.splay(root, key);
        let [lower, higher] = *self.children(root);
        if lower == NONE {
            return higher;
        }
        // All keys of `lower` come before `key`, so the highest of them becomes the root.
        let root = self.splay(lower, key);
        self.children(root)[HIGHER] = higher;
        root
    }
}
