//! Frames packed one after the other in memory that is allocated once.
//!
//! Rule: a batch is used by one thread at a time. It makes no system call except through
//! the device that it is given.

use std::io;

use fullpipe::{
    InterfaceId,
    device::{Capabilities, Device, Received, RxMeta, TxMeta},
};

use crate::device::{HostDevice, OutgoingFrame};

/// A batch has room for at least this many frames of the largest size.
const LARGEST_FRAMES: usize = 4;
/// Smallest memory of a batch, in bytes.
const BATCH_MIN: usize = 1 << 17;
/// Number of frames that are offered to a device at a time.
const OFFERED: usize = 32;
/// Frames start at multiples of this number of bytes, a cache line.
const ALIGNMENT: usize = 64;

/// Frames in order, each with metadata `M`.
#[derive(Debug)]
pub(crate) struct FrameBatch<M> {
    memory: Box<[u8]>,
    frames: Vec<PackedFrame<M>>,
    /// Number of frames at the front that have been removed.
    taken: usize,
    /// Bytes of memory up to the end of the last frame.
    used: usize,
}

#[derive(Debug)]
struct PackedFrame<M> {
    start: usize,
    len: usize,
    meta: M,
}

impl<M: Copy> FrameBatch<M> {
    /// Creates an empty batch with room for at least four frames of `frame_max` bytes.
    pub(crate) fn new(frame_max: usize) -> Self {
        let len = (LARGEST_FRAMES * (frame_max + ALIGNMENT)).max(BATCH_MIN);
        Self {
            memory: vec![0; len].into(),
            frames: Vec::new(),
            taken: 0,
            used: 0,
        }
    }

    /// Largest length that the next frame may have, in bytes.
    pub(crate) fn room(&self) -> usize {
        self.memory.len() - self.used
    }

    /// Memory for the next frame; `None` if there is no room for `len` bytes.
    pub(crate) fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        self.memory.get_mut(self.used..self.used + len)
    }

    /// Adds a frame: the first `len` bytes of the memory that the last call of [`lend`](Self::lend)
    /// returned.
    pub(crate) fn push(&mut self, len: usize, meta: M) {
        let start = self.used;
        self.frames.push(PackedFrame { start, len, meta });
        let end = (start + len).next_multiple_of(ALIGNMENT);
        self.used = end.min(self.memory.len());
    }

    /// Returns true if there are no frames.
    pub(crate) fn is_empty(&self) -> bool {
        self.taken == self.frames.len()
    }

    /// The first frame.
    pub(crate) fn first(&self) -> Option<(&[u8], M)> {
        let frame = self.frames.get(self.taken)?;
        Some((
            &self.memory[frame.start..frame.start + frame.len],
            frame.meta,
        ))
    }

    /// Removes the first frame. The memory is reused after all frames are removed.
    pub(crate) fn remove_first(&mut self) {
        self.taken += 1;
        if self.is_empty() {
            self.frames.clear();
            (self.taken, self.used) = (0, 0);
        }
    }
}

impl FrameBatch<RxMeta> {
    /// Receives up to `frames_max` frames. Returns true if more may wait.
    ///
    /// # Errors
    /// Fails if the device will never work again.
    pub(crate) fn receive_from(
        &mut self,
        device: &impl HostDevice,
        frame_max: usize,
        frames_max: usize,
    ) -> io::Result<bool> {
        while self.frames.len() < frames_max {
            let Some(buffer) = self.lend(frame_max) else {
                break;
            };
            match device.receive(buffer) {
                Ok((len, meta)) => self.push(len, meta),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

impl FrameBatch<TxMeta> {
    /// Sends and removes frames until the batch is empty or the device is full.
    /// Returns true if the device is full.
    pub(crate) fn send_to(&mut self, device: &impl HostDevice) -> bool {
        let mut is_full = false;
        while !is_full && !self.is_empty() {
            let mut offered = [OutgoingFrame::default(); OFFERED];
            let waiting = self.frames.iter().skip(self.taken);
            let mut count = 0;
            for (slot, frame) in offered.iter_mut().zip(waiting) {
                let bytes = &self.memory[frame.start..frame.start + frame.len];
                let meta = frame.meta;
                *slot = OutgoingFrame { bytes, meta };
                count += 1;
            }
            let done = device.send_all(&offered[..count]);
            is_full = done < count;
            (0..done).for_each(|_| self.remove_first());
        }
        device.flush();
        is_full
    }
}

/// The device that the stack sees while a thread holds the runtime's lock. Frames that the stack
/// sends go into a batch, which is sent after the lock is released.
pub(crate) struct Outlet<'a> {
    /// The interface of the device.
    pub(crate) interface: InterfaceId,
    pub(crate) capabilities: Capabilities,
    pub(crate) batch: &'a mut FrameBatch<TxMeta>,
    /// True if the device accepts no frames now.
    pub(crate) is_full: bool,
    /// True if the batch refused the stack's last request for memory.
    pub(crate) has_refused: bool,
    pub(crate) sent_bytes: u64,
}

impl Device for Outlet<'_> {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn interface(&self) -> InterfaceId {
        self.interface
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        None
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        let lent = if self.is_full {
            None
        } else {
            self.batch.lend(len)
        };
        self.has_refused = lent.is_none();
        lent
    }

    fn send(&mut self, len: usize, meta: TxMeta) {
        self.batch.push(len, meta);
    }

    fn sent_bytes(&mut self) -> u64 {
        self.sent_bytes
    }
}

#[cfg(test)]
mod tests;
