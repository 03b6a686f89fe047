//! Sets of byte ranges, for reassembly queues and scoreboards.
//!
//! The one rule: the ranges of a set are ordered, disjoint and not empty, and two ranges
//! that touch are merged. A hole is therefore exactly the gap between two ranges.
//!
//! The nodes of all sets come from one arena inside the pool, allocated with it.
//! The bytes themselves are in a [`Stream`](crate::Stream).

pub(crate) mod arena;
#[cfg(test)]
mod tests;

use crate::pool::Pool;
use crate::record::{Record, RecordReader, RecordWriter};
use crate::splay::{LOWER, NONE, SplayNodes};
use arena::RangeArena;
use core::fmt;
use core::iter::FusedIterator;
use core::ops::Range;

/// A set of byte ranges of one stream.
///
/// A handle of 16 bytes; [`clear`](Self::clear) must be called before the set is dropped. An
/// insertion that starts at or after the start of the highest range needs no search; any other
/// insertion costs a logarithm of the number of ranges, amortised.
#[derive(Debug)]
pub struct Ranges {
    head: u32,
    tail: u32,
    /// Root of the tree.
    top: u32,
    count: u32,
}

/// The result of [`Ranges::insert`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// The range of the set that now contains the inserted range.
    pub merged: Range<u64>,
    /// Bytes that were not in the set before.
    pub new_bytes: u64,
    /// The lowest part of the inserted range that was in the set before, as a D-SACK block reports
    /// it (RFC 2883 §4).
    pub overlap: Option<Range<u64>>,
}

/// No range node is free for this set: all are in use, or the free ones are kept for sets
/// with few ranges. The set has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangesFull;

impl fmt::Display for RangesFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no range of the pool is free for this set")
    }
}

impl core::error::Error for RangesFull {}

/// The record of an empty set, which takes no bit. A set with ranges has no record.
impl Record for Ranges {
    fn pack(&self, _: &mut RecordWriter<'_>) {
        debug_assert!(self.is_empty(), "a set with ranges has no record");
    }

    fn unpack(_: &mut RecordReader<'_>) -> Self {
        Self::new()
    }
}

impl Default for Ranges {
    fn default() -> Self {
        Self::new()
    }
}

impl Ranges {
    /// The empty set.
    pub const fn new() -> Self {
        Self {
            head: NONE,
            tail: NONE,
            top: NONE,
            count: 0,
        }
    }

    /// Number of separate ranges.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns true if the set has no range.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The lowest range.
    pub fn first(&self, pool: &Pool) -> Option<Range<u64>> {
        self.iter(pool).next()
    }

    /// The highest range.
    pub fn last(&self, pool: &Pool) -> Option<Range<u64>> {
        (self.tail != NONE).then(|| pool.ranges.get(self.tail))
    }

    /// The ranges, lowest first.
    pub fn iter<'a>(&self, pool: &'a Pool) -> RangeIter<'a> {
        RangeIter {
            arena: &pool.ranges,
            node: self.head,
        }
    }

    /// Returns true if every byte of `range` is in the set.
    pub fn covers(&self, pool: &Pool, range: Range<u64>) -> bool {
        range.is_empty()
            || self
                .iter(pool)
                .take_while(|known| known.start <= range.start)
                .any(|known| range.end <= known.end)
    }

    /// Adds the bytes of `range`.
    ///
    /// Returns [`RangesFull`] if `range` touches no range of the set and no node is free
    /// for this set: the last nodes are kept for sets with few ranges.
    ///
    /// # Panics
    /// Panics if `range` is empty.
    pub fn insert(&mut self, pool: &mut Pool, range: Range<u64>) -> Result<Inserted, RangesFull> {
        assert!(range.start < range.end, "{range:?} has no bytes");
        let arena = &mut pool.ranges;
        if let Some(tail) = self.touched_tail(arena, &range) {
            return Ok(self.merge(arena, tail, range));
        }
        let before = self.search(arena, range.start);
        if before != NONE && arena.get(before).end >= range.start {
            return Ok(self.merge(arena, before, range));
        }
        let next = match before {
            NONE => self.head,
            _ => arena.next(before),
        };
        if next == NONE || range.end < arena.get(next).start {
            self.link_new(arena, before, next, range.clone())?;
            let new_bytes = range.end - range.start;
            return Ok(Inserted {
                merged: range,
                new_bytes,
                overlap: None,
            });
        }
        Ok(self.merge(arena, next, range))
    }

    /// Removes every byte below `offset`.
    pub fn remove_below(&mut self, pool: &mut Pool, offset: u64) {
        while self.head != NONE {
            let range = pool.ranges.get(self.head);
            if range.end > offset {
                pool.ranges
                    .set(self.head, range.start.max(offset)..range.end);
                return;
            }
            let next = pool.ranges.next(self.head);
            self.top = pool.ranges.remove(self.top, range.start);
            pool.ranges.give_back(self.head, self.head, 1);
            self.head = next;
            self.count -= 1;
        }
        self.tail = NONE;
    }

    /// Removes every range.
    pub fn clear(&mut self, pool: &mut Pool) {
        if self.count > 0 {
            pool.ranges.give_back(self.head, self.tail, self.count);
        }
        *self = Self::new();
    }

    /// Returns the highest node if `range` starts inside it or at its end, so that
    /// in-order segments need no walk.
    fn touched_tail(&self, arena: &RangeArena, range: &Range<u64>) -> Option<u32> {
        let tail = (self.tail != NONE).then(|| arena.get(self.tail))?;
        (tail.start <= range.start && range.start <= tail.end).then_some(self.tail)
    }

    /// Returns the last node that starts at or before `offset`; `NONE` if there is
    /// none.
    fn search(&mut self, arena: &mut RangeArena, offset: u64) -> u32 {
        if self.tail != NONE && arena.get(self.tail).start <= offset {
            return self.tail;
        }
        if self.top == NONE {
            return NONE;
        }
        self.top = arena.splay(self.top, offset);
        if arena.get(self.top).start <= offset {
            return self.top;
        }
        let lower = arena.children(self.top)[LOWER];
        if lower == NONE {
            return NONE;
        }
        // No range of `lower` starts at or after `offset`, so the highest range of `lower` becomes
        // its root.
        let before = arena.splay(lower, offset);
        arena.children(self.top)[LOWER] = before;
        before
    }

    /// Links a new node for `range` between `before` and `next`.
    fn link_new(
        &mut self,
        arena: &mut RangeArena,
        before: u32,
        next: u32,
        range: Range<u64>,
    ) -> Result<(), RangesFull> {
        if arena.is_kept_from(self.count) {
            return Err(RangesFull);
        }
        let node = arena.take(range, next).ok_or(RangesFull)?;
        if before == NONE {
            self.head = node;
        } else {
            arena.link(before, node);
        }
        self.top = if next == NONE {
            self.tail = node;
            arena.insert_last(self.top, node)
        } else if before == NONE {
            arena.insert_first(self.top, node)
        } else {
            let before = arena.get(before).start;
            arena.insert_after(self.top, before, node)
        };
        self.count += 1;
        Ok(())
    }

    /// Extends `node`, the lowest that `range` touches, by `range`, and absorbs every
    /// later node that `range` touches. Needs no new node.
    fn merge(&mut self, arena: &mut RangeArena, node: u32, range: Range<u64>) -> Inserted {
        let mut merged = arena.get(node);
        let mut known = shared_bytes(&merged, &range);
        let mut overlap = intersection(&merged, &range);
        let mut next = arena.next(node);
        while next != NONE && arena.get(next).start <= range.end {
            let absorbed = arena.get(next);
            known += shared_bytes(&absorbed, &range);
            overlap = overlap.or_else(|| intersection(&absorbed, &range));
            merged.end = absorbed.end;
            let after = arena.next(next);
            self.top = arena.remove(self.top, absorbed.start);
            arena.give_back(next, next, 1);
            self.count -= 1;
            next = after;
        }
        merged = merged.start.min(range.start)..merged.end.max(range.end);
        arena.set(node, merged.clone());
        arena.link(node, next);
        if next == NONE {
            self.tail = node;
        }
        Inserted {
            merged,
            new_bytes: range.end - range.start - known,
            overlap,
        }
    }
}

fn intersection(one: &Range<u64>, other: &Range<u64>) -> Option<Range<u64>> {
    let both = one.start.max(other.start)..one.end.min(other.end);
    (!both.is_empty()).then_some(both)
}

fn shared_bytes(one: &Range<u64>, other: &Range<u64>) -> u64 {
    intersection(one, other).map_or(0, |both| both.end - both.start)
}

/// The ranges of a set, lowest first. Made by [`Ranges::iter`].
#[derive(Clone, Debug)]
pub struct RangeIter<'a> {
    arena: &'a RangeArena,
    node: u32,
}

impl Iterator for RangeIter<'_> {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        if self.node == NONE {
            return None;
        }
        let range = self.arena.get(self.node);
        self.node = self.arena.next(self.node);
        Some(range)
    }
}

impl FusedIterator for RangeIter<'_> {}
