//! The queue of frames that wait for the wire.
//!
//! Rule: a full queue drops the arriving frame (drop tail). The frame on the wire
//! is no longer in the queue.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use fullpipe_pool::Instant;

use super::frame_loss::FrameLoss;

/// The limit of each direction's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Queue {
    /// The queue has no limit; a token bucket may still drop frames.
    Unlimited,
    /// The link has no queue: the sender's device keeps its frames until the wire is free. A full
    /// device accepts no further frames from its stack.
    Device,
    /// This many frames; a further frame is dropped.
    Packets(u32),
    /// This many bytes of frames; a frame that does not fit is dropped.
    Bytes(u64),
}

/// A frame that waits.
#[derive(Debug)]
pub(super) struct QueuedFrame {
    pub frame: Vec<u8>,
    /// Time at which the frame joined the queue; for a delayed frame, the time from which it may
    /// leave.
    pub since: Instant,
    /// True for an ACK that waits for further ACKs, so that only the last of them is sent.
    pub is_delayed: bool,
    /// Number of ACKs that this frame stands for, itself included.
    pub acks: u32,
}

/// One direction's queue.
#[derive(Debug, Default)]
pub(super) struct FrameQueue {
    frames: VecDeque<QueuedFrame>,
    bytes: u64,
}

impl FrameQueue {
    /// Returns an error if a frame of `len` bytes would exceed `limit`, or `shaper_bytes`, the
    /// limit of the token bucket.
    pub fn admit(
        &self,
        len: usize,
        limit: Queue,
        shaper_bytes: Option<u64>,
    ) -> Result<(), FrameLoss> {
        let bytes = self.bytes + len as u64;
        if shaper_bytes.is_some_and(|limit| bytes > limit) {
            return Err(FrameLoss::TokenBucket);
        }
        let fits = match limit {
            Queue::Unlimited | Queue::Device => true,
            Queue::Packets(packets) => self.frames.len() < packets as usize,
            Queue::Bytes(limit) => bytes <= limit,
        };
        if fits { Ok(()) } else { Err(FrameLoss::Queue) }
    }

    pub fn join(&mut self, frame: Vec<u8>, since: Instant) {
        self.put(QueuedFrame {
            frame,
            since,
            is_delayed: false,
            acks: 1,
        });
    }

    pub fn put(&mut self, frame: QueuedFrame) {
        self.bytes += frame.frame.len() as u64;
        self.frames.push_back(frame);
    }

    /// Removes the last frame for which `is_it` is true.
    pub fn remove_last(&mut self, is_it: impl Fn(&QueuedFrame) -> bool) -> Option<QueuedFrame> {
        let place = self.frames.iter().rposition(is_it)?;
        let removed = self.frames.remove(place)?;
        self.bytes -= removed.frame.len() as u64;
        Some(removed)
    }

    /// Ends the delay of the last frame: it may leave from `now` on.
    pub fn send_off(&mut self, now: Instant) {
        if let Some(last) = self.frames.back_mut().filter(|last| last.is_delayed) {
            last.since = last.since.min(now);
            last.is_delayed = false;
        }
    }

    pub fn first(&self) -> Option<&QueuedFrame> {
        self.frames.front()
    }

    pub fn leave(&mut self) -> Option<QueuedFrame> {
        let first = self.frames.pop_front()?;
        self.bytes -= first.frame.len() as u64;
        Some(first)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns true if no frame waits for the wire.
    pub fn is_idle(&self) -> bool {
        self.frames.iter().all(|frame| frame.is_delayed)
    }

    pub fn len(&self) -> usize {
        self.frames.len()
    }
}
