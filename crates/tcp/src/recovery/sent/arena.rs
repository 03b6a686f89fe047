//! The nodes of all scoreboards of a host, linked by index.
//!
//! Rule: a node is on the free list or in one scoreboard, never both. Each visit of a
//! node is counted, as a measure of work that is the same on every machine. Only the
//! scoreboard, its lists and its tree interpret the links.

use alloc::{boxed::Box, vec};
use core::cell::Cell;

use fullpipe_pool::Instant;

use super::range::{NONE, Sent};
use crate::{SeqNum, congestion::Snapshot};

/// The nodes of all connections of a host.
#[derive(Debug)]
pub struct SentArena {
    nodes: Box<[Sent]>,
    free: u32,
    free_count: u32,
    /// Nodes that only a connection without any node may take, so that every
    /// connection can send.
    reserved_nodes: u32,
    refused: u64,
    /// Nodes that one connection may have because of the peer's SACK blocks.
    each: u32,
    /// Nodes visited: the work of all boards.
    nodes_visited: Cell<u64>,
}

impl SentArena {
    /// Creates an arena with `ranges` nodes and one more for each of
    /// `connections`. Allocates here and only here.
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

    /// Limits the ranges that SACK blocks may split off in one connection to
    /// `each`, so that a peer costs a bounded number of nodes.
    #[must_use]
    pub fn with_max_cuts(mut self, each: u32) -> Self {
        self.each = each.max(1);
        self
    }

    /// Returns the number of nodes visited so far, a measure of work that is
    /// the same on every machine.
    pub fn nodes_visited(&self) -> u64 {
        self.nodes_visited.get()
    }

    /// Returns the number of free nodes.
    pub const fn free_count(&self) -> u32 {
        self.free_count
    }

    /// Returns how often no node was free: the scoreboard lost precision, and
    /// SACKed payload may be retransmitted.
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// Returns the number of nodes.
    pub fn capacity(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Allocates a node for the second part of a range that is split. `cut` is the number
    /// of parts that this connection has split off already.
    pub(super) fn allocate_cut(&mut self, node: Sent, cut: u32) -> Option<u32> {
        if cut >= self.each {
            self.refused += 1;
            return None;
        }
        self.allocate(node, false)
    }

    pub(super) fn allocate(&mut self, node: Sent, is_first: bool) -> Option<u32> {
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

    pub(super) fn free_node(&mut self, index: u32) {
        self.nodes[index as usize].next = self.free;
        self.free = index;
        self.free_count += 1;
    }

    /// Returns a node that a walk visits, and counts the visit.
    pub(super) fn get(&self, index: u32) -> &Sent {
        self.nodes_visited.set(self.nodes_visited.get() + 1);
        &self.nodes[index as usize]
    }

    /// Returns a node without counting the visit, which was counted before.
    pub(super) fn visited(&self, index: u32) -> &Sent {
        &self.nodes[index as usize]
    }

    /// Returns a node for a change, without counting the visit.
    pub(super) fn get_mut(&mut self, index: u32) -> &mut Sent {
        &mut self.nodes[index as usize]
    }
}
