//! One direction of the link: a queue of frames.
//!
//! Rule: all memory is allocated at the start. Frames are written into the queue and read from it
//! in place, so the link copies nothing and costs the same for every stack.

use crate::stack::{LINK_FRAMES, MTU};

/// A queue of at most [`LINK_FRAMES`] frames.
pub struct Link {
    frames: Vec<[u8; MTU]>,
    lens: Vec<usize>,
    first: usize,
    len: usize,
}

impl Link {
    /// Creates an empty queue.
    pub fn new() -> Self {
        Self {
            frames: vec![[0; MTU]; LINK_FRAMES],
            lens: vec![0; LINK_FRAMES],
            first: 0,
            len: 0,
        }
    }

    /// Returns memory for the next frame to send; `None` if the queue is full.
    pub fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        let place = (self.first + self.len) % LINK_FRAMES;
        (self.len < LINK_FRAMES).then(|| &mut self.frames[place][..len])
    }

    /// Sends the first `len` bytes of the memory that was lent last.
    pub fn send(&mut self, len: usize) {
        self.lens[(self.first + self.len) % LINK_FRAMES] = len;
        self.len += 1;
    }

    /// Returns the oldest frame without removing it from the queue.
    pub fn oldest(&self) -> Option<&[u8]> {
        let place = self.first;
        (self.len > 0).then(|| &self.frames[place][..self.lens[place]])
    }

    /// Removes the oldest frame.
    pub fn receive(&mut self) -> Option<&[u8]> {
        self.len = self.len.checked_sub(1)?;
        let place = self.first;
        self.first = (place + 1) % LINK_FRAMES;
        Some(&self.frames[place][..self.lens[place]])
    }

    /// Returns true if the queue has no space for the next frame.
    #[cfg(feature = "peers")]
    pub fn is_full(&self) -> bool {
        self.len == LINK_FRAMES
    }
}
