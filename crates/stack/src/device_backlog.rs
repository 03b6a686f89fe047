//! The device backlog: bytes handed to the device and not yet completed (Linux:
//! TSQ, BQL).
//!
//! Rule: the device reports only how many bytes it has completed. It completes frames in the order
//! in which they were handed over. The owner of each frame with payload is kept in a ring of fixed
//! size. If the ring is full, its oldest frame counts as completed, so a connection's backlog may
//! be underestimated but never overestimated. The connection itself decides how large its backlog
//! may be.

use alloc::vec::Vec;

use crate::slab::Key;

/// Largest number of frames in the ring.
const FRAMES: usize = 256;

/// A frame with payload that the device has not completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingFrame {
    /// Total of bytes handed to the device up to the end of this frame.
    end: u64,
    /// Length of the frame in bytes.
    pub(crate) len: u32,
    /// Connection whose payload the frame carries.
    pub(crate) owner: Key,
}

/// The frames that the device has not completed.
#[derive(Debug, Default)]
pub(crate) struct DeviceBacklog {
    /// Empty if the device does not report completions.
    frames: Vec<Option<PendingFrame>>,
    first: usize,
    len: usize,
    /// Total of bytes handed over.
    handed: u64,
    /// True if some connection may be limited by its backlog.
    is_awaited: bool,
}

impl DeviceBacklog {
    /// Returns an empty backlog, which takes memory only if the device
    /// `reports` completions.
    pub(crate) fn new(reports: bool) -> Self {
        Self {
            frames: alloc::vec![None; if reports { FRAMES } else { 0 }],
            ..Self::default()
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.frames)
    }

    /// Returns true if the device reports completions.
    pub(crate) const fn is_tracked(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Counts a frame of `len` bytes without payload.
    pub(crate) const fn add_bare(&mut self, len: usize) {
        self.handed += len as u64;
    }

    /// Adds a frame of `len` bytes with payload of `owner`. Returns the frame that the ring
    /// dropped to make room, if any.
    pub(crate) fn add(&mut self, len: usize, owner: Key) -> Option<PendingFrame> {
        let forgotten = if self.len == self.frames.len() {
            self.pop()
        } else {
            None
        };
        self.handed += len as u64;
        let place = (self.first + self.len) % self.frames.len();
        self.frames[place] = Some(PendingFrame {
            end: self.handed,
            len: len as u32,
            owner,
        });
        self.len += 1;
        forgotten
    }

    /// Removes and returns the oldest frame if it is complete. `completed` is the device's
    /// total of completed bytes.
    pub(crate) fn take_completed(&mut self, completed: u64) -> Option<PendingFrame> {
        let first = self.frames.get(self.first).copied().flatten()?;
        if first.end <= completed {
            self.pop()
        } else {
            None
        }
    }

    fn pop(&mut self) -> Option<PendingFrame> {
        let frame = self.frames[self.first].take();
        self.first = (self.first + 1) % self.frames.len();
        self.len -= 1;
        if self.len == 0 {
            self.is_awaited = false;
        }
        frame
    }

    /// Notes that a connection is limited by its backlog.
    pub(crate) const fn note_limited(&mut self) {
        self.is_awaited = true;
    }

    /// Returns true if a connection may be limited by its backlog.
    pub(crate) const fn is_awaited(&self) -> bool {
        self.is_awaited
    }
}

#[cfg(test)]
mod tests;
