//! A host's network device in the simulator.
//!
//! Rule: the device queues frames and decides nothing. Sent frames wait here until the link takes
//! them; when the queue is full, the stack gets no buffer for another frame, as with a full
//! transmit ring. Without offloads the device passes frames unchanged. With segmentation
//! (`segmenter.rs`) or merging (`merge.rs`), each frame on the wire is still one that a device
//! without offloads could have sent.

mod merge;
mod segmenter;

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use fullpipe::InterfaceId;
use fullpipe::device::{Capabilities, Device, Medium, Received, RxMeta, TxChecksum, TxMeta};
use fullpipe_pool::Instant;

pub use merge::Merge;
use merge::{Merger, ReceivedFrames};

/// The properties of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceModel {
    /// Largest number of frames that wait for the link (the transmit descriptors), at least 1. If
    /// this number of frames waits, the stack gets no buffer.
    pub queue: usize,
    /// Largest number of frames that wait for the stack (the receive descriptors); further frames
    /// are dropped. 0 is no limit.
    pub receive_ring: usize,
    /// The device computes checksums.
    pub checksum_tx: bool,
    /// Largest payload of a frame that the device cuts into segments, in bytes; 0 if the device
    /// cuts no frames. A device that cuts frames also computes checksums.
    pub super_segment: usize,
    /// The device reports how many bytes it has sent (completions).
    pub reports_sent: bool,
    /// Merging of received segments, if any.
    pub merge: Option<Merge>,
}

impl DeviceModel {
    /// A device without offloads that queues at most `queue` frames.
    pub const fn plain(queue: usize) -> Self {
        Self {
            queue,
            receive_ring: 0,
            checksum_tx: false,
            super_segment: 0,
            reports_sent: false,
            merge: None,
        }
    }

    /// The capabilities that the device reports to its stack on a link of this MTU.
    pub const fn capabilities(&self, mtu: usize) -> Capabilities {
        Capabilities {
            checksum_tx: self.checksum_tx || self.super_segment > 0,
            super_segment: self.super_segment,
            reports_sent: self.reports_sent,
            ..Capabilities::plain(Medium::Ethernet, mtu)
        }
    }
}

/// A transmit queue and a receive queue, which a stack uses as its device.
#[derive(Debug)]
pub struct SimDevice {
    capabilities: Capabilities,
    /// The interface of the stack that the device serves.
    interface: InterfaceId,
    arrived: ReceivedFrames,
    receive_ring: usize,
    /// Frames that were dropped because the receive ring was full.
    ring_drops: u64,
    /// The processor handles one frame at a time; see
    /// [`work_by_frame`](Self::work_by_frame).
    by_frame: bool,
    /// The frame from the ring that the stack may read now; used only with `by_frame`.
    handed: Option<(Vec<u8>, RxMeta)>,
    /// True if the last frame of `sent` is not finished; used only with `by_frame`.
    making: bool,
    merger: Option<Merger>,
    /// The frame that the stack is reading.
    current: Vec<u8>,
    /// The frame that the stack is writing.
    lent: Vec<u8>,
    sent: VecDeque<(Vec<u8>, TxMeta)>,
    /// Segments of the frame that is being cut, without those that the link has taken.
    cutting: VecDeque<Vec<u8>>,
    /// Length of the frame that is being cut.
    cutting_len: usize,
    /// Bytes of frames that the link has taken completely.
    sent_bytes: u64,
    /// The link has taken a frame since the stack last asked for `sent_bytes`.
    has_unreported_bytes: bool,
    queue_limit: usize,
    refused: bool,
    /// Buffers for reuse.
    spare: Vec<Vec<u8>>,
}

/// Number of buffers kept for reuse.
const SPARE_FRAMES: usize = 256;
/// Smallest capacity of a buffer, in bytes, so that most frames fit into every buffer.
const LEAST_CAPACITY: usize = 2_048;

impl SimDevice {
    /// A device on a link of this MTU.
    pub fn new(model: DeviceModel, mtu: usize) -> Self {
        Self {
            capabilities: model.capabilities(mtu),
            interface: InterfaceId::FIRST,
            arrived: ReceivedFrames::new(),
            receive_ring: model.receive_ring,
            ring_drops: 0,
            by_frame: false,
            handed: None,
            making: false,
            merger: model.merge.map(Merger::new),
            current: Vec::new(),
            lent: Vec::new(),
            sent: VecDeque::new(),
            cutting: VecDeque::new(),
            cutting_len: 0,
            sent_bytes: 0,
            has_unreported_bytes: false,
            queue_limit: model.queue.max(1),
            refused: false,
            spare: Vec::new(),
        }
    }

    /// Makes the device serve `interface` of its stack instead of the first one.
    pub const fn serve(&mut self, interface: InterfaceId) {
        self.interface = interface;
    }

    /// Returns true if the receive ring has room for an arriving frame; otherwise counts
    /// the frame as dropped.
    pub fn has_descriptor(&mut self) -> bool {
        let is_full = self.receive_ring > 0 && self.arrived.len() >= self.receive_ring;
        self.ring_drops += u64::from(is_full);
        !is_full
    }

    /// Frames dropped by the full receive ring.
    pub fn ring_drops(&self) -> u64 {
        self.ring_drops
    }

    /// Number of frames in the receive ring, and its capacity.
    pub fn ring(&self) -> (usize, usize) {
        let most = match self.receive_ring {
            0 => usize::MAX,
            most => most,
        };
        (self.arrived.len(), most)
    }

    /// Merges an arriving frame, or puts it into the receive ring, which has room. If the device
    /// does not merge, the stack need not verify the checksum of a frame that `is_intact`.
    pub fn deliver(&mut self, frame: Vec<u8>, is_intact: bool, now: Instant) {
        let meta = RxMeta {
            checksum_verified: is_intact,
            ..RxMeta::default()
        };
        match &mut self.merger {
            Some(merger) => merger.take(frame, now, &mut self.arrived),
            None => self.arrived.push_back((frame, meta)),
        }
    }

    /// Makes the device hand frames to the stack one at a time ([`hand_up`](Self::hand_up)), and
    /// accept frames from the stack one at a time ([`finish_making`](Self::finish_making)), so
    /// that the host's processor can spend time on each frame.
    pub fn work_by_frame(&mut self) {
        self.by_frame = true;
    }

    /// Takes a frame from the ring, for the stack to read next. Returns its length.
    pub fn hand_up(&mut self) -> Option<usize> {
        debug_assert!(
            self.handed.is_none(),
            "the stack has not read the last frame handed up"
        );
        self.handed = self.arrived.pop_front();
        self.handed.as_ref().map(|(frame, _)| frame.len())
    }

    /// Returns true if the stack has not read the frame handed up.
    pub fn has_handed(&self) -> bool {
        self.handed.is_some()
    }

    /// Length of the frame that is being made, if any.
    pub fn making(&self) -> Option<usize> {
        let last = self.sent.back().filter(|_| self.making);
        last.map(|(frame, _)| frame.len())
    }

    /// Moves the frame that was being made into the transmit ring.
    pub fn finish_making(&mut self) {
        self.making = false;
    }

    /// Hands to the stack the merged segments whose merging time has ended.
    pub fn interrupt(&mut self, now: Instant) {
        if let Some(merger) = &mut self.merger {
            merger.interrupt(now, &mut self.arrived);
        }
    }

    /// Time of the next [`interrupt`](Self::interrupt).
    pub fn next_interrupt(&self) -> Option<Instant> {
        self.merger.as_ref()?.next_interrupt()
    }

    /// Number of whole frames that wait for the link.
    pub fn waiting(&self) -> usize {
        self.sent.len()
    }

    /// The frames that were added to the transmit queue since the queue had `waiting` frames.
    pub fn made_since(&self, waiting: usize) -> impl Iterator<Item = &[u8]> {
        self.sent.iter().skip(waiting).map(|(frame, _)| &frame[..])
    }

    /// Returns true if the device merges received segments.
    pub fn merges(&self) -> bool {
        self.merger.is_some()
    }

    /// Takes the frame that waits longest for the link.
    pub fn next_sent(&mut self) -> Option<Vec<u8>> {
        if self.cutting.is_empty() {
            if self.making && self.sent.len() == 1 {
                return None;
            }
            let (mut frame, meta) = self.sent.pop_front()?;
            if meta.segment_size == 0 {
                segmenter::complete(&mut frame, meta.checksum);
                self.count_sent(frame.len());
                return Some(frame);
            }
            self.cutting_len = frame.len();
            self.cutting.extend(segmenter::cut(&frame, meta));
        }
        let frame = self.cutting.pop_front();
        if self.cutting.is_empty() {
            self.count_sent(self.cutting_len);
        }
        frame
    }

    /// Notes that the link has taken all of a frame of `len` bytes.
    fn count_sent(&mut self, len: usize) {
        self.sent_bytes += len as u64;
        self.has_unreported_bytes = self.capabilities.reports_sent;
    }

    /// Returns true if a frame waits for the link.
    pub fn has_sent(&self) -> bool {
        !(self.sent.is_empty() && self.cutting.is_empty())
    }

    /// Forgets that the stack was refused a buffer, because the stack will try again.
    pub fn forget_refusal(&mut self) {
        self.refused = false;
    }

    /// Returns true if the stack was refused a buffer and has not tried again.
    pub fn was_refused(&self) -> bool {
        self.refused
    }

    /// Returns true if the link has taken bytes that were not yet reported to the stack.
    pub fn has_unreported_bytes(&self) -> bool {
        self.has_unreported_bytes
    }

    /// Returns true if the transmit queue has room for another frame.
    pub fn has_room(&self) -> bool {
        !self.making && self.sent.len() + usize::from(!self.cutting.is_empty()) < self.queue_limit
    }

    /// Exchanges the buffers kept for reuse with `spare`.
    pub fn exchange_spare(&mut self, spare: &mut Vec<Vec<u8>>) {
        std::mem::swap(&mut self.spare, spare);
    }

    /// Keeps a frame's buffer for reuse.
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

    fn interface(&self) -> InterfaceId {
        self.interface
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        let next = if self.by_frame {
            self.handed.take()
        } else {
            self.arrived.pop_front()
        };
        let (frame, meta) = next?;
        let interface = self.interface;
        let before = std::mem::replace(&mut self.current, frame);
        self.recycle(before);
        Some(Received {
            frame: &self.current,
            meta: RxMeta { interface, ..meta },
        })
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        if !self.has_room() {
            self.refused = true;
            return None;
        }
        if self.lent.len() < len {
            self.lent.resize(len, 0);
        }
        Some(&mut self.lent[..len])
    }

    fn send(&mut self, len: usize, meta: TxMeta) {
        let Capabilities {
            checksum_tx,
            super_segment,
            ..
        } = self.capabilities;
        assert!(
            meta.segment_size == 0 || super_segment > 0,
            "the device did not offer to cut super-segments"
        );
        assert!(
            meta.checksum == TxChecksum::Complete || checksum_tx,
            "the device did not offer to compute checksums"
        );
        // Copy the frame and keep the lent buffer at its length. Moving the buffer out would be
        // slower, because a new buffer must be extended to that length.
        let fresh = || Vec::with_capacity(len.max(LEAST_CAPACITY));
        let mut frame = self.spare.pop().unwrap_or_else(fresh);
        frame.clear();
        frame.extend_from_slice(&self.lent[..len]);
        self.sent.push_back((frame, meta));
        self.making = self.by_frame;
    }

    fn sent_bytes(&mut self) -> u64 {
        self.has_unreported_bytes = false;
        self.sent_bytes
    }
}

#[cfg(test)]
mod tests;
