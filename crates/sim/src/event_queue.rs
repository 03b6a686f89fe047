//! Events in the order in which they happen.
//!
//! Rule: events are ordered by time; events at the same time are in the order of insertion. The
//! order does not depend on memory or hashing. The queue does not interpret events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fullpipe_pool::Instant;

/// Future events, in order.
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
    /// Inserts `event` at `at`, after the events of the same time.
    pub fn add(&mut self, at: Instant, event: E) {
        let sequence = self.sequence;
        self.sequence += 1;
        self.heap.push(Reverse(ScheduledEvent {
            at,
            sequence,
            event,
        }));
    }

    /// Time of the next event.
    pub fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|entry| entry.0.at)
    }

    /// Removes and returns the next event.
    pub fn take(&mut self) -> Option<(Instant, E)> {
        self.heap.pop().map(|entry| (entry.0.at, entry.0.event))
    }
}

/// The wake-up of one sleeper (a host, an application) in the event queue.
///
/// If the sleeper's time moves later, the event keeps its place. The event then comes too early,
/// the sleeper finds nothing to do, and the event is inserted again. Therefore a timer that
/// moves with every packet does not need an event for each move.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wakeup {
    at: Option<Instant>,
}

impl Wakeup {
    /// Ensures that there is an event at or before `due`. Returns the time of the event
    /// that the caller must insert, if one is missing.
    pub fn set(&mut self, due: Option<Instant>) -> Option<Instant> {
        let due = due?;
        if self.at.is_some_and(|at| at <= due) {
            return None;
        }
        self.at = Some(due);
        self.at
    }

    /// Notes that the event for `at` came. Returns true if the event is current, false if an
    /// earlier event has replaced it.
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
