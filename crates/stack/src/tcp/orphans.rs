//! Connections whose application has closed, and that finish alone.
//!
//! Rule: nobody waits for an orphan, so it may not keep others waiting. More of
//! them than allowed cost the oldest its life; so does more than their share of
//! memory in the hands of those that get nowhere, while others are refused any.
//! Who is oldest and what they hold are running accounts, never a walk. How
//! long one may try in vain is its own knob, `tcp.orphan_retries`.

use alloc::vec::Vec;

use crate::queues::Queues;

#[cfg(test)]
mod tests;

/// The one queue of each kind.
const QUEUE: u32 = 0;

/// What an orphan is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Orphan {
    /// Its peer takes what is left.
    Finishing,
    /// Its peer has taken nothing for long; it holds this many blocks.
    Stalled {
        /// Held, or promised to it.
        blocks: u32,
    },
}

/// All orphans.
#[derive(Debug)]
pub(crate) struct Orphans {
    /// The oldest first.
    all: Queues,
    /// Those that get nowhere, the one that has for longest first.
    stalled: Queues,
    /// Blocks that each of these holds.
    holds: Vec<u32>,
    /// The sum of these.
    blocks: u32,
    most: u32,
    most_blocks: u32,
}

impl Orphans {
    /// For the connections below `connections`: at most `most` orphans, with
    /// `most_blocks` in the hands of stalled ones while others need them.
    /// Allocates here and only here.
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

    /// Connection `index` is such an orphan, or is none.
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

    /// The orphan that is one too many.
    pub(crate) fn surplus(&self) -> Option<u32> {
        let over = self.len() > self.most;
        self.all.first(QUEUE).filter(|_| over)
    }

    /// The orphan that has to give up its memory when others need some.
    pub(crate) fn over_share(&self) -> Option<u32> {
        let over = self.blocks > self.most_blocks;
        self.stalled.first(QUEUE).filter(|_| over)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u32 {
        self.all.len(QUEUE)
    }
}
