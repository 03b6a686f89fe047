//! A queue that reports congestion as soon as it is longer than a threshold.
//!
//! Rule: a frame that finds more waiting than the threshold is marked if it can
//! be, and dropped if it cannot, as if the queue ended there. Nothing is random
//! and nothing is averaged.

use super::{mark::mark, queue::FrameQueue};
use serde::{Deserialize, Serialize};

/// How long the queue may be before congestion is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum EcnThreshold {
    /// So many frames.
    Packets(u32),
    /// So many bytes of frames.
    Bytes(u64),
}

/// What becomes of a frame that joins a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueAction {
    /// It waits, unchanged.
    Alone,
    /// It waits, marked.
    Marked,
    /// It is dropped.
    Dropped,
}

impl EcnThreshold {
    /// What becomes of `frame`, which would join `line`; marks it if need be.
    pub(super) fn treat(self, frame: &mut [u8], line: &FrameQueue) -> QueueAction {
        let exceeded = match self {
            Self::Packets(packets) => line.len() >= packets as usize,
            Self::Bytes(bytes) => line.bytes() + frame.len() as u64 > bytes,
        };
        match exceeded {
            false => QueueAction::Alone,
            true if mark(frame) => QueueAction::Marked,
            true => QueueAction::Dropped,
        }
    }
}
