//! Orphans: connections that the application has closed and that finish by
//! themselves.
//!
//! Rule: an orphan may not starve other connections. If there are too many, the oldest is aborted.
//! If stalled orphans hold more than their share of memory while other connections are refused
//! memory, the orphan that has stalled longest is aborted. The order by age and the sum of memory
//! are updated with each change, so no table is searched. The knob `tcp.orphan_retries` bounds the
//! retransmissions of an orphan.

use alloc::vec::Vec;

use crate::queues::Queues;

#[cfg(test)]
mod tests;

/// Index of the only queue of `all` and of `stalled`.
const QUEUE: u32 = 0;

/// The progress of an orphan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Orphan {
    /// The orphan's peer is acknowledging the remaining payload.
    Finishing,
    /// The orphan's peer has acknowledged nothing for R1 timeouts or probes (knob `tcp.retries1`).
    Stalled {
        /// Blocks of packet memory that the orphan holds or has reserved.
        blocks: u32,
    },
}

/// All orphans.
#[derive(Debug)]
pub(crate) struct Orphans {
    /// Every orphan, the oldest first.
    all: Queues,
    /// Stalled orphans, the longest stalled first.
    stalled: Queues,
    /// Blocks of each stalled orphan.
    holds: Vec<u32>,
    /// Sum of `holds`.
    blocks: u32,
    most: u32,
    most_blocks: u32,
}

impl Orphans {
    /// Allocates the queues for connections with indices below `connections`. At most `most` of the
    /// connections may be orphans. Stalled orphans may hold `most_blocks` while other connections
    /// need memory.
    pub(crate) fn new(connections: u32, most: u32, most_blocks: u32) -> Self {
        Self {
            all: Queues::new(1, connections),
            stalled: Queues::new(1, connections),
            holds: alloc::vec![0; connections as usize],
            blocks: 0,
            most,
            most_blocks,
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.all.heap_bytes() + self.stalled.heap_bytes() + size_of_val(&*self.holds)
    }

    /// Stores the progress of connection `index`; `None` if it is not an orphan.
    pub(crate) fn file(&mut self, index: u32, orphan: Option<Orphan>) {
        match orphan {
            Some(_) => _ = self.all.join(QUEUE, index),
            None => self.all.leave(index),
        }
        let blocks = match orphan {
            Some(Orphan::Stalled { blocks }) => {
                self.stalled.join(QUEUE, index);
                blocks
            }
            Some(Orphan::Finishing) | None => {
                self.stalled.leave(index);
                0
            }
        };
        let held = &mut self.holds[index as usize];
        self.blocks = self.blocks - *held + blocks;
        *held = blocks;
    }

    /// Returns the oldest orphan if there are too many.
    pub(crate) fn surplus(&self) -> Option<u32> {
        let over = self.len() > self.most;
        self.all.first(QUEUE).filter(|_| over)
    }

    /// Returns the orphan stalled longest if stalled orphans hold more than their share.
    pub(crate) fn over_share(&self) -> Option<u32> {
        let over = self.blocks > self.most_blocks;
        self.stalled.first(QUEUE).filter(|_| over)
    }

    /// Returns the orphan to abort when all `slots` are in use and another connection needs a
    /// slot: the orphan stalled longest. If no orphan is stalled but orphans hold all slots,
    /// returns the oldest orphan.
    pub(crate) fn yielding(&self, slots: u32) -> Option<u32> {
        let oldest = self.all.first(QUEUE).filter(|_| self.len() == slots);
        self.stalled.first(QUEUE).or(oldest)
    }

    /// Returns the number of orphans.
    pub(crate) fn len(&self) -> u32 {
        self.all.len(QUEUE)
    }
}
