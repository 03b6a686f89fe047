//! First-in-first-out queues of indices.
//!
//! Rule: an index is in at most one queue of a [`Queues`]. Joining, leaving and taking
//! the first index take constant time. The caller decides what an index means.

#![cfg_attr(
    not(target_pointer_width = "32"),
    allow(
        clippy::useless_conversion,
        reason = "a row has 16 bits on a 32-bit machine"
    )
)]

use alloc::vec::Vec;

use crate::footprint::MOST_LINKS;

#[cfg(test)]
mod tests;

/// An index, the number of a queue, or a length.
#[cfg(not(target_pointer_width = "32"))]
type Link = u32;
/// An index, the number of a queue, or a length. A table of a 32-bit machine has fewer than
/// [`MOST_LINKS`](crate::footprint::MOST_LINKS) rows.
#[cfg(target_pointer_width = "32")]
type Link = u16;

/// Stands for no index and for no queue.
const NONE: Link = Link::MAX;

#[derive(Clone, Copy, Debug)]
struct QueueLinks {
    /// Queue of the index.
    queue: Link,
    before: Link,
    after: Link,
}

const LOOSE: QueueLinks = QueueLinks {
    queue: NONE,
    before: NONE,
    after: NONE,
};

#[derive(Clone, Copy, Debug)]
struct QueueEnds {
    first: Link,
    last: Link,
    len: Link,
}

const EMPTY: QueueEnds = QueueEnds {
    first: NONE,
    last: NONE,
    len: 0,
};

/// First-in-first-out queues over one space of indices.
#[derive(Debug)]
pub(crate) struct Queues {
    links: Vec<QueueLinks>,
    ends: Vec<QueueEnds>,
    /// Number of indices in all queues.
    queued: u32,
}

impl Queues {
    /// Allocates `queues` empty queues for the indices below `indices`.
    pub(crate) fn new(queues: u32, indices: u32) -> Self {
        assert!(
            u64::from(indices.max(queues)) <= MOST_LINKS.into(),
            "more indices than links can name"
        );
        Self {
            links: alloc::vec![LOOSE; indices as usize],
            ends: alloc::vec![EMPTY; queues as usize],
            queued: 0,
        }
    }

    /// Adds `queues` empty queues, which get the next numbers.
    pub(crate) fn add_queues(&mut self, queues: u32) {
        self.ends.reserve_exact(queues as usize);
        let count = self.ends.len() + queues as usize;
        self.ends.resize(count, EMPTY);
    }

    /// Adds `indices` indices, which get the next numbers and are in no queue.
    #[cfg_attr(not(feature = "udp"), allow(dead_code, reason = "UDP alone calls it"))]
    pub(crate) fn add_indices(&mut self, indices: u32) {
        self.links.reserve_exact(indices as usize);
        let count = self.links.len() + indices as usize;
        self.links.resize(count, LOOSE);
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.links.capacity() * size_of::<QueueLinks>()
            + self.ends.capacity() * size_of::<QueueEnds>()
    }

    /// Moves `index` to the tail of `queue`, unless it is in that queue already. Returns true if
    /// the index was in no queue before.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn join(&mut self, queue: u32, index: u32) -> bool {
        let held_by = self.links[index as usize].queue;
        held_by != queue as Link && self.add(queue, index)
    }

    /// Moves `index`, which is not in `queue`, to the tail of `queue`. Returns true if the index
    /// was in no queue.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn add(&mut self, queue: u32, index: u32) -> bool {
        let held_by = self.links[index as usize].queue;
        self.leave(index);
        let ends = &mut self.ends[queue as usize];
        let before = ends.last;
        ends.last = index as Link;
        ends.len += 1;
        self.queued += 1;
        if before == NONE {
            ends.first = index as Link;
        } else {
            self.links[before as usize].after = index as Link;
        }
        self.links[index as usize] = QueueLinks {
            queue: queue as Link,
            before,
            after: NONE,
        };
        held_by == NONE
    }

    /// Moves `index`, which is in `queue`, to the tail of `queue`.
    #[cfg_attr(not(feature = "udp"), allow(dead_code, reason = "UDP alone calls it"))]
    pub(crate) fn rotate(&mut self, queue: u32, index: u32) {
        if !self.is_alone(queue, index) {
            self.leave(index);
            self.join(queue, index);
        }
    }

    /// Removes `index` from its queue, if any.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn leave(&mut self, index: u32) {
        if self.links[index as usize].queue != NONE {
            self.unlink(index);
        }
    }

    /// Removes `index` from the queue that it is in.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn unlink(&mut self, index: u32) {
        let QueueLinks {
            queue,
            before,
            after,
        } = core::mem::replace(&mut self.links[index as usize], LOOSE);
        let ends = &mut self.ends[queue as usize];
        ends.len -= 1;
        self.queued -= 1;
        if before == NONE {
            ends.first = after;
        }
        if after == NONE {
            ends.last = before;
        }
        if before != NONE {
            self.links[before as usize].after = after;
        }
        if after != NONE {
            self.links[after as usize].before = before;
        }
    }

    /// Returns the first index of `queue`.
    pub(crate) fn first(&self, queue: u32) -> Option<u32> {
        if self.queued == 0 {
            return None;
        }
        let first = self.ends[queue as usize].first;
        (first != NONE).then_some(first.into())
    }

    /// Returns the index after `index` in its queue.
    pub(crate) fn after(&self, index: u32) -> Option<u32> {
        let after = self.links[index as usize].after;
        (after != NONE).then_some(after.into())
    }

    /// Removes and returns the first index of `queue`.
    pub(crate) fn take(&mut self, queue: u32) -> Option<u32> {
        let first = self.first(queue)?;
        self.leave(first);
        Some(first)
    }

    /// Returns the number of indices in `queue`.
    pub(crate) fn len(&self, queue: u32) -> u32 {
        self.ends[queue as usize].len.into()
    }

    /// Returns true if `queue` is empty.
    pub(crate) fn is_empty(&self, queue: u32) -> bool {
        self.queued == 0 || self.len(queue) == 0
    }

    /// Returns true if no index is in any queue.
    pub(crate) fn are_empty(&self) -> bool {
        self.queued == 0
    }

    /// Returns true if `index` is the only one in `queue`.
    pub(crate) fn is_alone(&self, queue: u32, index: u32) -> bool {
        let ends = &self.ends[queue as usize];
        ends.first == index as Link && ends.last == index as Link
    }

    /// Returns the queue of `index`, if any.
    pub(crate) fn queue_of(&self, index: u32) -> Option<u32> {
        if self.queued == 0 {
            return None;
        }
        let queue = self.links[index as usize].queue;
        (queue != NONE).then_some(queue.into())
    }
}
