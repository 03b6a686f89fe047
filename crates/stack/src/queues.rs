//! First-in-first-out queues of indices.
//!
//! Rule: an index is in at most one queue of a [`Queues`]. Joining, leaving and taking
//! the first index take constant time. The caller decides what an index means.

use alloc::vec::Vec;

use crate::row_number::{NO_ROW as NONE, RowNumber, assert_numbered, widened};

#[cfg(test)]
mod tests;

#[derive(Clone, Copy, Debug)]
struct QueueLinks {
    /// Queue of the index.
    queue: RowNumber,
    before: RowNumber,
    after: RowNumber,
}

const LOOSE: QueueLinks = QueueLinks {
    queue: NONE,
    before: NONE,
    after: NONE,
};

#[derive(Clone, Copy, Debug)]
struct QueueEnds {
    first: RowNumber,
    last: RowNumber,
    len: RowNumber,
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
        assert_numbered(indices.max(queues) as usize);
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
        assert_numbered(count);
        self.ends.resize(count, EMPTY);
    }

    /// Adds `indices` indices, which get the next numbers and are in no queue.
    #[cfg_attr(not(feature = "udp"), allow(dead_code, reason = "UDP alone calls it"))]
    pub(crate) fn add_indices(&mut self, indices: u32) {
        self.links.reserve_exact(indices as usize);
        let count = self.links.len() + indices as usize;
        assert_numbered(count);
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
        held_by != queue as RowNumber && self.add(queue, index)
    }

    /// Moves `index`, which is not in `queue`, to the tail of `queue`. Returns true if the index
    /// was in no queue.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn add(&mut self, queue: u32, index: u32) -> bool {
        let held_by = self.links[index as usize].queue;
        self.leave(index);
        let ends = &mut self.ends[queue as usize];
        let before = ends.last;
        ends.last = index as RowNumber;
        ends.len += 1;
        self.queued += 1;
        if before == NONE {
            ends.first = index as RowNumber;
        } else {
            self.links[before as usize].after = index as RowNumber;
        }
        self.links[index as usize] = QueueLinks {
            queue: queue as RowNumber,
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
        (first != NONE).then_some(widened(first))
    }

    /// Returns the index after `index` in its queue.
    pub(crate) fn after(&self, index: u32) -> Option<u32> {
        let after = self.links[index as usize].after;
        (after != NONE).then_some(widened(after))
    }

    /// Removes and returns the first index of `queue`.
    pub(crate) fn take(&mut self, queue: u32) -> Option<u32> {
        let first = self.first(queue)?;
        self.leave(first);
        Some(first)
    }

    /// Returns the number of indices in `queue`.
    pub(crate) fn len(&self, queue: u32) -> u32 {
        widened(self.ends[queue as usize].len)
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
        ends.first == index as RowNumber && ends.last == index as RowNumber
    }

    /// Returns the queue of `index`, if any.
    pub(crate) fn queue_of(&self, index: u32) -> Option<u32> {
        if self.queued == 0 {
            return None;
        }
        let queue = self.links[index as usize].queue;
        (queue != NONE).then_some(widened(queue))
    }
}
