//! The nodes of all scoreboards of a host, linked by index.
//!
//! Rule: a node is on the free list or in one scoreboard, never both. Each visit of a
//! node is counted, as a measure of work that is the same on every machine. Only the
//! scoreboard, its lists and its tree interpret the links.

use alloc::{vec, vec::Vec};
use core::cell::Cell;

use fullpipe_pool::{
    Instant,
    splay::{HIGHER, LOWER, NONE, SplayNodes},
};

use super::range::Sent;
use crate::{SeqNum, congestion::Snapshot};

/// Number of ranges that SACK blocks may always split off in a connection, however few bytes
/// are in flight.
const FEWEST_CUTS: u32 = 1_024;
/// Bytes in flight for each range that SACK blocks may split off.
const BYTES_PER_CUT: u32 = 1 << 10;
/// While a connection has too many ranges, its ranges of less than 256 bytes are merged.
pub(super) const SMALL_SEGMENT: u32 = 256;

/// The nodes of all connections of a host.
#[derive(Debug)]
pub struct SentArena {
    nodes: Vec<Sent>,
    free: u32,
    free_count: u32,
    /// Free nodes that are kept for connections without a node, one per connection, so that every
    /// connection can send. In a build with the feature `resting`, more connections than have a
    /// kept node may send, and the arena then grows.
    reserved_nodes: u32,
    /// Nodes that connections share beyond the first node of each.
    shared: u32,
    /// Number of ranges merged or reports ignored because few nodes or none were free.
    refused: u64,
    /// Number of ranges merged or reports ignored because one connection had as many nodes as it
    /// may have.
    refused_each: u64,
    /// Number of nodes that the peer's SACK blocks may add to one connection. If it is 0, the bytes
    /// in flight determine the limit.
    each: u32,
    /// Nodes visited: the work of all boards.
    nodes_visited: Cell<u64>,
}

impl SentArena {
    /// Creates an arena with `ranges` nodes and one more for each of `connections`, the number of
    /// connections that may send at the same time before the arena grows.
    pub fn new(ranges: u32, connections: u32) -> Self {
        let count = ranges + connections;
        let unused = Sent::new(SeqNum(0)..SeqNum(0), Instant::ZERO, Snapshot::default());
        let mut nodes = vec![unused; count as usize];
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
            shared: ranges,
            refused: 0,
            refused_each: 0,
            each: u32::MAX,
            nodes_visited: Cell::new(0),
        }
    }

    /// Returns the heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Sent>()
    }

    /// Limits the ranges that SACK blocks may split off in one connection to `each`, so that a peer
    /// costs a bounded number of nodes. With 0, the limit is one range for each KiB that is not
    /// acknowledged, but at least 1,024.
    #[must_use]
    pub fn with_max_cuts(mut self, each: u32) -> Self {
        self.each = each;
        self
    }

    /// Returns true if less than a quarter of the shared nodes is free. Neighbouring ranges are
    /// then merged, so that some nodes stay free. The first node of a connection is not shared.
    pub(super) fn is_scarce(&self) -> bool {
        self.shared_free() < self.shared.div_ceil(4)
    }

    /// Returns the number of free nodes that a connection that already has a node may take.
    const fn shared_free(&self) -> u32 {
        self.free_count.saturating_sub(self.reserved_nodes)
    }

    /// Counts a loss of precision for lack of nodes. `is_cut_up` means that the connection
    /// has as many nodes as it may have.
    pub(super) fn count_merge(&mut self, is_cut_up: bool) {
        let count = if is_cut_up {
            &mut self.refused_each
        } else {
            &mut self.refused
        };
        *count += 1;
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

    /// Returns how often a range was merged or a report ignored because few or no
    /// nodes were free: the scoreboard lost precision, and SACKed payload may be
    /// retransmitted.
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// Returns how often the scoreboard lost precision because one connection had as many
    /// nodes as it may have ([`with_max_cuts`](Self::with_max_cuts)).
    pub const fn refused_each(&self) -> u64 {
        self.refused_each
    }

    /// Returns the number of nodes.
    pub fn capacity(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Returns the number of ranges that SACK blocks may split off in a connection with
    /// `outstanding` bytes in flight if [`with_max_cuts`](Self::with_max_cuts) set 0.
    #[must_use]
    pub fn default_max_cuts(outstanding: u32) -> u32 {
        (outstanding / BYTES_PER_CUT).max(FEWEST_CUTS)
    }

    /// Returns the number of ranges that SACK blocks may split off in a connection with
    /// `outstanding` bytes in its scoreboard.
    fn most_cuts(&self, outstanding: u32) -> u32 {
        match self.each {
            0 => Self::default_max_cuts(outstanding),
            set => set,
        }
    }

    /// Returns true if a connection with `count` ranges has more ranges than its segments
    /// need, because SACK blocks have split them.
    pub(super) fn is_cut_up(&self, count: u32, outstanding: u32) -> bool {
        count >= self.most_cuts(outstanding).max(outstanding / SMALL_SEGMENT)
    }

    /// Allocates a node for the second part of a range that is split. `cut` is the number of
    /// ranges that were split off in this connection before; its scoreboard covers
    /// `outstanding` bytes in `count` ranges.
    pub(super) fn allocate_cut(
        &mut self,
        node: Sent,
        [cut, count]: [u32; 2],
        outstanding: u32,
    ) -> Option<u32> {
        if cut >= self.most_cuts(outstanding) || self.is_cut_up(count, outstanding) {
            self.refused_each += 1;
            return None;
        }
        self.allocate(node, false)
    }

    /// Allocates a node; `is_first` if the connection has none. Returns `None` if no node is
    /// free for this connection.
    pub(super) fn allocate(&mut self, node: Sent, is_first: bool) -> Option<u32> {
        let available = if is_first {
            if cfg!(feature = "resting") && self.reserved_nodes == 0 {
                return Some(self.grow(node));
            }
            self.free_count
        } else {
            self.shared_free()
        };
        if available == 0 {
            self.refused += 1;
            return None;
        }
        self.reserved_nodes -= u32::from(is_first);
        let index = self.free;
        self.free = self.nodes[index as usize].next;
        self.free_count -= 1;
        self.nodes[index as usize] = node;
        Some(index)
    }

    /// Adds a node, which is kept for connections without a node once it is free.
    #[cold]
    fn grow(&mut self, node: Sent) -> u32 {
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// Frees a node; `is_only` if the connection has no other node.
    pub(super) fn free_node(&mut self, index: u32, is_only: bool) {
        self.reserved_nodes += u32::from(is_only);
        self.nodes[index as usize].next = self.free;
        self.free = index;
        self.free_count += 1;
    }

    /// Returns a node that a walk visits, and counts the visit.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub(super) fn get(&self, index: u32) -> &Sent {
        self.nodes_visited.set(self.nodes_visited.get() + 1);
        &self.nodes[index as usize]
    }

    /// Returns a node without counting the visit, because it was counted before.
    pub(super) fn visited(&self, index: u32) -> &Sent {
        &self.nodes[index as usize]
    }

    /// Returns a node for a change, without counting the visit.
    pub(super) fn get_mut(&mut self, index: u32) -> &mut Sent {
        &mut self.nodes[index as usize]
    }

    /// Returns true if `one` is the predecessor of `other` in the tree.
    pub(super) fn is_neighbour(&self, one: u32, other: u32) -> bool {
        let furthest = |from: u32, side: usize| {
            let (mut last, mut node) = (NONE, self.get(from).children[1 - side]);
            while node != NONE {
                (last, node) = (node, self.get(node).children[side]);
            }
            last
        };
        match furthest(one, LOWER) {
            NONE => furthest(other, HIGHER) == one,
            lowest => lowest == other,
        }
    }
}

/// The tree of a scoreboard contains all of the board's ranges, sorted by first sequence number.
impl SplayNodes for SentArena {
    type Key = SeqNum;

    fn visit(&self, node: u32) -> SeqNum {
        self.get(node).start
    }

    fn precedes(one: SeqNum, other: SeqNum) -> bool {
        one.before(other)
    }

    fn children(&mut self, node: u32) -> &mut [u32; 2] {
        &mut self.nodes[node as usize].children
    }
}
