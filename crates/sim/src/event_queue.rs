//! What happens next.
//!
//! Rule: the order is total and does not depend on memory or hashing. Events
//! come out by time, and at one time in the order they were put in. Nothing
//! here knows what an event does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fullpipe_pool::Instant;

/// Events to come, in order.
#[derive(Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Reverse<ScheduledEvent<E>>>,
    sequence: u64,
}

#[derive(Debug)]
struct ScheduledEvent<E> {
    at: Instant,
    sequence: u64,
    event: E,
}

impl<E> PartialEq for ScheduledEvent<E> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.sequence) == (other.at, other.sequence)
    }
}

impl<E> Eq for ScheduledEvent<E> {}

impl<E> PartialOrd for ScheduledEvent<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for ScheduledEvent<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            sequence: 0,
        }
    }
}

impl<E> EventQueue<E> {
    /// Puts `event` in at `at`, behind what is there for that time already.
    pub fn add(&mut self, at: Instant, event: E) {
        let sequence = self.sequence;
        self.sequence += 1;
        self.heap.push(Reverse(ScheduledEvent {
            at,
            sequence,
            event,
        }));
    }

    /// When the next event is due.
    pub fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|entry| entry.0.at)
    }

    /// Takes the next event out.
    pub fn take(&mut self) -> Option<(Instant, E)> {
        self.heap.pop().map(|entry| (entry.0.at, entry.0.event))
    }
}

/// When something that can be woken is on the event queue next.
///
/// A wake-up that moves to a later time stays where it is: it is then early,
/// finds nothing to do, and is put in again. So a timer that every packet
/// moves costs no event each time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wakeup {
    at: Option<Instant>,
}

impl Wakeup {
    /// Makes sure that there is a wake-up at `due` or before. Returns when to
    /// add one, if one is missing.
    pub fn set(&mut self, due: Option<Instant>) -> Option<Instant> {
        let due = due?;
        if self.at.is_some_and(|at| at <= due) {
            return None;
        }
        self.at = Some(due);
        self.at
    }

    /// A wake-up for `at` has come out of the event queue. Returns whether it
    /// counts; one that an earlier replaced does not.
    pub fn fired(&mut self, at: Instant) -> bool {
        let counts = self.at == Some(at);
        if counts {
            self.at = None;
        }
        counts
    }
}

#[cfg(test)]
mod tests;
