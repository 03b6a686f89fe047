//! A remembered place in a stream's chain of blocks.
//!
//! The one rule: a cursor at distance 0 means the head, regardless of the block that it names.

use crate::index::NONE;

/// A block of the chain and its distance from the head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    pub(super) block: u32,
    pub(super) index: u32,
}

impl Cursor {
    /// The cursor of an empty chain. The distance is 0, so the cursor means the head as soon as the
    /// chain has a block.
    pub(super) const NOWHERE: Self = Self {
        block: NONE,
        index: 0,
    };

    /// The cursor after `dropped` blocks were removed from the front.
    pub(super) fn shifted(self, dropped: u32, head: u32) -> Self {
        match self.index.checked_sub(dropped) {
            Some(index) if index > 0 => Self { index, ..self },
            Some(_) | None => Self {
                block: head,
                index: 0,
            },
        }
    }
}
