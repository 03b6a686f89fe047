//! A host's network device in the simulator.
//!
//! Rule: the device holds frames and decides nothing. What was sent waits here
//! until the link takes it; when as many frames wait as the queue holds, the
//! stack is refused memory for more, as a full transmit ring would. Frames are
//! sent as they are: super-segments are not offered among its capabilities.

use std::collections::VecDeque;

use fullpipe::device::{Capabilities, Device, Received, RxMeta, TxChecksum, TxMeta};

/// Two queues of frames, seen by a stack as a device.
#[derive(Debug)]
pub struct SimDevice {
    capabilities: Capabilities,
    arrived: VecDeque<Vec<u8>>,
    /// The frame that the stack is reading.
    current: Vec<u8>,
    /// The frame that the stack is writing.
    lent: Vec<u8>,
    sent: VecDeque<Vec<u8>>,
    queue_limit: usize,
    refused: bool,
    /// Frames to be used again.
    spare: Vec<Vec<u8>>,
}

/// Frames kept for use again; more are freed.
const SPARE_FRAMES: usize = 64;

impl SimDevice {
    /// A device that holds up to `queue_limit` frames for the link, at least 1.
    pub fn new(capabilities: Capabilities, queue_limit: usize) -> Self {
        Self {
            capabilities,
            arrived: VecDeque::new(),
            current: Vec::new(),
            lent: Vec::new(),
            sent: VecDeque::new(),
            queue_limit: queue_limit.max(1),
            refused: false,
            spare: Vec::new(),
        }
    }

    /// A frame arrives.
    pub fn deliver(&mut self, frame: Vec<u8>) {
        self.arrived.push_back(frame);
    }

    /// The frame that waits longest for the link.
    pub fn next_sent(&mut self) -> Option<Vec<u8>> {
        self.sent.pop_front()
    }

    /// The stack will be asked again what it was refused.
    pub fn forget_refusal(&mut self) {
        self.refused = false;
    }

    /// Whether the stack was refused memory, and not asked again since.
    pub fn was_refused(&self) -> bool {
        self.refused
    }

    /// Whether there is room for another frame.
    pub fn has_room(&self) -> bool {
        self.sent.len() < self.queue_limit
    }

    /// Gives a frame's memory back.
    pub fn recycle(&mut self, frame: Vec<u8>) {
        if self.spare.len() < SPARE_FRAMES {
            self.spare.push(frame);
        }
    }
}

impl Device for SimDevice {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        let frame = self.arrived.pop_front()?;
        let before = std::mem::replace(&mut self.current, frame);
        self.recycle(before);
        Some(Received {
            frame: &self.current,
            meta: RxMeta::default(),
        })
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        if !self.has_room() {
            self.refused = true;
            return None;
        }
        if self.lent.capacity() == 0 {
            self.lent = self.spare.pop().unwrap_or_default();
        }
        if self.lent.len() < len {
            self.lent.resize(len, 0);
        }
        Some(&mut self.lent[..len])
    }

    fn send(&mut self, len: usize, meta: TxMeta) {
        assert_eq!(meta.segment_size, 0, "a super-segment was not offered");
        assert_eq!(
            meta.checksum,
            TxChecksum::Complete,
            "checksums were not offered"
        );
        let mut frame = std::mem::take(&mut self.lent);
        frame.truncate(len);
        self.sent.push_back(frame);
    }
}

#[cfg(test)]
mod tests;
