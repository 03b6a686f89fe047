//! The nodes of every set of ranges, linked by index.
//!
//! The one rule: a node is on the free list or in one set, never both. The parent module
//! keeps the ranges of a set in order.

use crate::splay::{NONE, SplayNodes};
use alloc::vec::Vec;
use core::{cell::Cell, ops::Range};

/// A set with fewer ranges than this may take the last free nodes.
const FEW: u32 = 4;
/// One node in this many is reserved for sets with fewer than [`FEW`] ranges.
const KEPT_PART: u32 = 16;

/// A range, its successor and its children in the tree: 24 bytes. No range is longer than
/// the largest window, 1 GiB.
#[derive(Clone, Debug)]
struct Node {
    start: u64,
    len: u32,
    next: u32,
    children: [u32; 2],
}

/// All range nodes of a pool.
#[derive(Debug)]
pub(crate) struct RangeArena {
    nodes: Vec<Node>,
    first_free: u32,
    free: u32,
    /// Steps along lists and down trees: the work of all sets.
    walked: Cell<u64>,
}

impl RangeArena {
    /// Allocates `count` nodes, which may be 0.
    pub(crate) fn new(count: u32) -> Self {
        let mut nodes: Vec<Node> = (1..=count)
            .map(|next| Node {
                start: 0,
                len: 0,
                next,
                children: [NONE; 2],
            })
            .collect();
        if let Some(last) = nodes.last_mut() {
            last.next = NONE;
        }
        Self {
            nodes,
            first_free: if count == 0 { NONE } else { 0 },
            free: count,
            walked: Cell::new(0),
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(self.nodes.as_slice())
    }

    /// Nodes in no set.
    pub(crate) fn free(&self) -> u32 {
        self.free
    }

    /// Nodes, in a set or not.
    pub(crate) fn count(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Steps along lists and down trees so far.
    pub(crate) fn walked(&self) -> u64 {
        self.walked.get()
    }

    /// Returns true if a set of `count` ranges may take no node now, because the nodes still free
    /// are reserved for sets with fewer than [`FEW`] ranges. The many holes (gaps between ranges)
    /// of one connection thus cannot use up the nodes that all connections share.
    pub(super) fn is_kept_from(&self, count: u32) -> bool {
        count >= FEW && self.free <= self.count() / KEPT_PART
    }

    pub(super) fn get(&self, node: u32) -> Range<u64> {
        let node = &self.nodes[node as usize];
        node.start..node.start + u64::from(node.len)
    }

    pub(super) fn set(&mut self, node: u32, range: Range<u64>) {
        let node = &mut self.nodes[node as usize];
        node.start = range.start;
        node.len = (range.end - range.start) as u32;
    }

    pub(super) fn next(&self, node: u32) -> u32 {
        self.walked.set(self.walked.get() + 1);
        self.nodes[node as usize].next
    }

    pub(super) fn link(&mut self, node: u32, next: u32) {
        self.nodes[node as usize].next = next;
    }

    /// Takes a node from the free list for `range`, with `next` as its successor; `None` if
    /// no node is free.
    pub(super) fn take(&mut self, range: Range<u64>, next: u32) -> Option<u32> {
        let node = self.first_free;
        if node == NONE {
            return None;
        }
        self.first_free = self.nodes[node as usize].next;
        self.free -= 1;
        self.set(node, range);
        self.link(node, next);
        Some(node)
    }

    /// Puts the chain of `count` nodes from `head` to `tail` on the free list.
    pub(super) fn give_back(&mut self, head: u32, tail: u32, count: u32) {
        self.link(tail, self.first_free);
        self.first_free = head;
        self.free += count;
    }

    /// Checks that the free list is as long as the count of free nodes.
    pub(crate) fn verify(&self) {
        let (mut listed, mut node) = (0, self.first_free);
        while node != NONE && listed <= self.nodes.len() {
            listed += 1;
            node = self.nodes[node as usize].next;
        }
        assert_eq!(
            listed, self.free as usize,
            "the list of free ranges has another length than `free`"
        );
    }
}

/// The tree of a set has the ranges of its list, sorted by their starts.
impl SplayNodes for RangeArena {
    type Key = u64;

    fn visit(&self, node: u32) -> u64 {
        self.walked.set(self.walked.get() + 1);
        self.nodes[node as usize].start
    }

    fn precedes(one: u64, other: u64) -> bool {
        one < other
    }

    fn children(&mut self, node: u32) -> &mut [u32; 2] {
        &mut self.nodes[node as usize].children
    }
}
