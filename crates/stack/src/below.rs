//! What lies below: bytes that connections handed to the device and that it
//! has not sent yet.
//!
//! Rule: the device says how much it has sent and nothing else, and frames
//! leave in the order in which they were handed over; whose bytes those were is
//! remembered here, in a ring that is taken once. A frame that finds the ring
//! full counts the oldest one as sent, so a limit can only be too lax. What
//! follows for a connection is its own to decide.

use alloc::vec::Vec;

use crate::slab::Key;

/// Frames with text that are remembered.
const FRAMES: usize = 256;

/// A frame below the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Bytes handed over in all, this frame counted.
    end: u64,
    /// Its length.
    pub(crate) len: u32,
    /// Whose it is.
    pub(crate) owner: Key,
}

/// The frames below a stack.
#[derive(Debug, Default)]
pub(crate) struct Below {
    /// Empty where the device does not report.
    frames: Vec<Option<Frame>>,
    first: usize,
    len: usize,
    /// Bytes ever handed over.
    handed: u64,
    /// Some connection may wait for the device to send.
    waited_for: bool,
}

impl Below {
    /// Remembers frames only for a device that `reports` what it has sent.
    pub(crate) fn new(reports: bool) -> Self {
        Self {
            frames: alloc::vec![None; if reports { FRAMES } else { 0 }],
            ..Self::default()
        }
    }

    /// Whether the device reports.
    pub(crate) const fn is_told(&self) -> bool {
        !self.frames.is_empty()
    }

    /// A frame of `len` bytes without text was handed over.
    pub(crate) const fn pass(&mut self, len: usize) {
        self.handed += len as u64;
    }

    /// A frame with text of `owner` was handed over. Returns the one that had
    /// to be forgotten for it.
    pub(crate) fn push(&mut self, len: usize, owner: Key) -> Option<Frame> {
        let forgotten = if self.len == self.frames.len() {
            self.pop()
        } else {
            None
        };
        self.handed += len as u64;
        let place = (self.first + self.len) % self.frames.len();
        self.frames[place] = Some(Frame {
            end: self.handed,
            len: len as u32,
            owner,
        });
        self.len += 1;
        forgotten
    }

    /// The next frame of which the device, which has sent `sent` bytes in all,
    /// holds nothing any more.
    pub(crate) fn next_sent(&mut self, sent: u64) -> Option<Frame> {
        let first = self.frames.get(self.first).copied().flatten()?;
        if first.end <= sent { self.pop() } else { None }
    }

    fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames[self.first].take();
        self.first = (self.first + 1) % self.frames.len();
        self.len -= 1;
        if self.len == 0 {
            self.waited_for = false;
        }
        frame
    }

    /// A connection has as much below it as it may.
    pub(crate) const fn note_full(&mut self) {
        self.waited_for = true;
    }

    /// Whether a connection may wait for the device to send.
    pub(crate) const fn is_waited_for(&self) -> bool {
        self.waited_for
    }
}

#[cfg(test)]
mod tests;
