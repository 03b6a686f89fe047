//! The frames in flight on a link, in the order of their arrival.
//!
//! Rule: frames arrive in the order of time; frames of the same time in the order in which they
//! were sent. Frames of one direction rarely overtake each other, so each direction is a queue, and
//! only frames that arrive before an earlier frame of their direction are sorted in a heap.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use fullpipe_pool::Instant;

use super::frame::Direction;

/// A frame in flight, ordered by arrival, then by sequence number.
#[derive(Debug)]
pub(super) struct FlyingFrame {
    pub at: Instant,
    pub sequence: u64,
    pub direction: Direction,
    pub frame: Vec<u8>,
}

impl FlyingFrame {
    fn key(&self) -> (Instant, u64) {
        (self.at, self.sequence)
    }
}

impl PartialEq for FlyingFrame {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for FlyingFrame {}

impl PartialOrd for FlyingFrame {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for FlyingFrame {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// The frames in flight on a link.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// Frames that arrive after all earlier frames of their direction.
    in_order: [VecDeque<FlyingFrame>; 2],
    overtaking: BinaryHeap<Reverse<FlyingFrame>>,
}

impl InFlight {
    /// Adds a frame. Its sequence number must be higher than the numbers of all earlier frames.
    pub fn add(&mut self, frame: FlyingFrame) {
        let line = &mut self.in_order[frame.direction.index()];
        match line.back().is_none_or(|last| last.at <= frame.at) {
            true => line.push_back(frame),
            false => self.overtaking.push(Reverse(frame)),
        }
    }

    /// Time of the next arrival.
    pub fn next_at(&self) -> Option<Instant> {
        self.next().map(|next| next.at)
    }

    /// Removes and returns the next frame, if it has arrived by `now`.
    pub fn take(&mut self, now: Instant) -> Option<FlyingFrame> {
        let next = self.next().filter(|next| next.at <= now)?;
        let (direction, sequence) = (next.direction, next.sequence);
        let line = &mut self.in_order[direction.index()];
        match line.front().is_some_and(|first| first.sequence == sequence) {
            true => line.pop_front(),
            false => self.overtaking.pop().map(|frame| frame.0),
        }
    }

    /// Number of frames in flight.
    pub fn len(&self) -> usize {
        let in_order: usize = self.in_order.iter().map(VecDeque::len).sum();
        in_order + self.overtaking.len()
    }

    fn next(&self) -> Option<&FlyingFrame> {
        let [forward, back] = self.in_order.each_ref().map(VecDeque::front);
        let first = match (forward, back) {
            (Some(forward), Some(back)) => Some(forward.min(back)),
            (forward, back) => forward.or(back),
        };
        let overtaking = self.overtaking.peek().map(|frame| &frame.0);
        match (first, overtaking) {
            (Some(first), Some(overtaking)) => Some(first.min(overtaking)),
            (first, overtaking) => first.or(overtaking),
        }
    }
}

#[cfg(test)]
mod tests;
