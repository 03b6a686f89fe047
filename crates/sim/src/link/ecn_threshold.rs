//! A queue that reports congestion from a threshold on.
//!
//! Rule: if the threshold is exceeded, the arriving frame is marked with CE if its sender uses ECN,
//! and dropped otherwise. A threshold in packets is exceeded if that many frames already wait. A
//! threshold in bytes is exceeded if the waiting frames and the arriving frame together have more
//! bytes than the threshold. Nothing is random and nothing is averaged.

use super::{mark::mark, queue::FrameQueue};
use serde::{Deserialize, Serialize};

/// Length of the queue from which congestion is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum EcnThreshold {
    /// This many frames.
    Packets(u32),
    /// This many bytes of frames.
    Bytes(u64),
}

/// The queue's action on an arriving frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueAction {
    /// The frame is queued unchanged.
    Enqueue,
    /// The frame is queued and marked.
    EnqueueMarked,
    /// The frame is dropped.
    Drop,
}

impl EcnThreshold {
    /// Decides on `frame`, which would join `line`, and marks it if the threshold
    /// is exceeded.
    pub(super) fn treat(self, frame: &mut [u8], line: &FrameQueue) -> QueueAction {
        let exceeded = match self {
            Self::Packets(packets) => line.len() >= packets as usize,
            Self::Bytes(bytes) => line.bytes() + frame.len() as u64 > bytes,
        };
        match exceeded {
            false => QueueAction::Enqueue,
            true if mark(frame) => QueueAction::EnqueueMarked,
            true => QueueAction::Drop,
        }
    }
}
