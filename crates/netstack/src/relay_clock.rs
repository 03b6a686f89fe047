//! Clocks of a relay: the time that each direction waited for its source and for its sink.
//!
//! Rule: the time of a direction is charged to its source or to its sink, until the direction ends.
//! The time of copying bytes is charged to the wait before the copying.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The side for which one direction of a relay waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// No bytes have arrived from the source.
    #[default]
    Source,
    /// The sink accepts no bytes.
    Sink,
    /// The direction is closed.
    Ended,
}

/// A direction of a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelaySide {
    /// From the flow to the other stream.
    Up,
    /// From the other stream to the flow.
    Down,
}

/// The account of one direction: the time that it waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayReport {
    /// Bytes that the sink accepted.
    pub bytes: u64,
    /// Time for which the direction waited for its source.
    pub waited_for_source: Duration,
    /// Time for which the direction waited for its sink.
    pub waited_for_sink: Duration,
    /// The present state.
    pub waiting: Waiting,
}

/// The accounts of both directions of a relay. Other tasks may read them while the relay runs.
#[derive(Debug)]
pub struct RelayClock(Mutex<[Direction; 2]>);

#[derive(Clone, Copy, Debug)]
struct Direction {
    report: RelayReport,
    since: Instant,
}

impl Default for RelayClock {
    fn default() -> Self {
        let direction = Direction {
            report: RelayReport::default(),
            since: Instant::now(),
        };
        Self(Mutex::new([direction; 2]))
    }
}

impl RelayClock {
    /// Returns the account of a direction up to now.
    pub fn report(&self, side: RelaySide) -> RelayReport {
        self.with(side, |direction| {
            direction.charge();
            direction.report
        })
    }

    /// Charges the time since the last change to the previous state, and stores the new state.
    pub(crate) fn enter(&self, side: RelaySide, waiting: Waiting) {
        self.with(side, |direction| {
            direction.charge();
            direction.report.waiting = waiting;
        });
    }

    /// Counts bytes that the sink accepted.
    pub(crate) fn count(&self, side: RelaySide, bytes: usize) {
        self.with(side, |direction| direction.report.bytes += bytes as u64);
    }

    fn with<R>(&self, side: RelaySide, change: impl FnOnce(&mut Direction) -> R) -> R {
        let mut directions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut directions[side as usize])
    }
}

impl Direction {
    fn charge(&mut self) {
        let now = Instant::now();
        let passed = now.duration_since(self.since);
        self.since = now;
        match self.report.waiting {
            Waiting::Source => self.report.waited_for_source += passed,
            Waiting::Sink => self.report.waited_for_sink += passed,
            Waiting::Ended => {}
        }
    }
}
