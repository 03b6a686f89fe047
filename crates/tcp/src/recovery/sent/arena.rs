//! The nodes of every scoreboard of a host, linked by index.
//!
//! Rule: a node is on the free list or in one scoreboard, never both, and
//! whoever looks at one counts it: the work of all boards is a number that is
//! the same on every machine. What the links mean is the neighbours' business.

use alloc::{boxed::Box, vec};
use core::cell::Cell;

use fullpipe_pool::Instant;

use super::{NONE, Sent};
use crate::{SeqNum, congestion::Snapshot};

/// The nodes of all connections of a host.
#[derive(Debug)]
pub struct SentArena {
    nodes: Box<[Sent]>,
    free: u32,
    free_count: u32,
    /// Nodes that only a connection without one may take, so that every
    /// connection can always send.
    reserved_nodes: u32,
    refused: u64,
    /// Nodes that one connection may have because of what its peer reported.
    each: u32,
    /// Nodes looked at: the work of all boards.
    nodes_visited: Cell<u64>,
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
            reserved_nodes: connections,
            refused: 0,
            each: u32::MAX,
            nodes_visited: Cell::new(0),
        }
    }

    /// The same, but what a peer reports cuts no more than `each` pieces off what
    /// was sent together, so that it costs a bounded number of nodes.
    #[must_use]
    pub fn with_max_cuts(mut self, each: u32) -> Self {
        self.each = each.max(1);
        self
    }

    /// Nodes looked at so far: the work that boards caused, the same on every
    /// machine.
    pub fn nodes_visited(&self) -> u64 {
        self.nodes_visited.get()
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

    /// A node for the second part of a range of a connection that has cut off
    /// `cut` already.
    pub(super) fn take_cut(&mut self, node: Sent, cut: u32) -> Option<u32> {
        if cut >= self.each {
            self.refused += 1;
            return None;
        }
        self.take(node, false)
    }

    pub(super) fn take(&mut self, node: Sent, is_first: bool) -> Option<u32> {
        if self.free_count == 0 || (!is_first && self.free_count <= self.reserved_nodes) {
            self.refused += 1;
            return None;
        }
        let index = self.free;
        self.free = self.nodes[index as usize].next;
        self.free_count -= 1;
        self.nodes[index as usize] = node;
        Some(index)
    }

    pub(super) fn give_back(&mut self, index: u32) {
        self.nodes[index as usize].next = self.free;
        self.free = index;
        self.free_count += 1;
    }

    /// The node that a walk comes to: a step.
    pub(super) fn get(&self, index: u32) -> &Sent {
        self.nodes_visited.set(self.nodes_visited.get() + 1);
        &self.nodes[index as usize]
    }

    /// A node that a walk has come to already.
    pub(super) fn known(&self, index: u32) -> &Sent {
        &self.nodes[index as usize]
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, index: u32) -> &mut Sent {
        &mut self.nodes[index as usize]
    }
}
