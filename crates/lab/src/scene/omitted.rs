//! What is left out of a row because it came before its beginning counts.
//!
//! Rule: everything that is divided by a time is noted at one moment, the same for all
//! flows, and taken off at the end, so that rates and shares are those of the rest. What
//! is said without a time, such as segments, is counted from the start.

#[cfg(test)]
mod tests;

use fullpipe_pool::{Duration, Instant};
use fullpipe_sim::WorldFailure;

use super::{SLICE, Scene, facts_of, times};
use crate::{experiment::omitted_until, shares::Times};

/// What there was at the moment from which everything counts; nothing where it
/// counts from the start.
#[derive(Clone, Debug, Default)]
pub(super) struct Omitted {
    /// The moment.
    pub until: Instant,
    /// What had held the senders back.
    pub sender: Times,
    /// What the receivers had done to them.
    pub receiver: Times,
    /// Bytes that had been read, and when the last of them were, connection by connection.
    read: Vec<(u64, Instant)>,
    /// How long each direction of each link had been in use.
    link_busy: Vec<[Duration; 2]>,
    /// How long each host's processor had been at work.
    cpu_busy: Vec<Duration>,
}

impl Omitted {
    /// From when on a connection counts that began at `start`: from its last read before
    /// the moment, so that text is counted with all of the time in which it came, and no
    /// path seems to carry a segment more than it can.
    pub fn from(&self, number: usize, start: Instant) -> Instant {
        let read = self.read.get(number);
        read.map_or(start, |(_, last)| start.max(*last))
    }

    /// What counts of `bytes` that a connection brought in `elapsed` from `start` on.
    pub fn counted(
        &self,
        number: usize,
        start: Instant,
        bytes: u64,
        elapsed: Duration,
    ) -> (u64, Duration) {
        let before = self.read.get(number).map_or(0, |(bytes, _)| *bytes);
        let from = self.from(number, start);
        let end = (start + elapsed).max(from);
        (bytes - before, end - from)
    }

    /// How long each direction of a link had been in use.
    pub fn link_busy(&self, number: usize) -> [Duration; 2] {
        self.link_busy.get(number).copied().unwrap_or_default()
    }

    /// How long the processor of a host had been at work.
    pub fn cpu_busy(&self, place: usize) -> Duration {
        self.cpu_busy.get(place).copied().unwrap_or_default()
    }
}

impl Scene<'_> {
    /// Runs until everything counts, where a flow leaves something out, and notes
    /// what there was until then.
    pub(super) fn omit(&mut self) -> Result<(), WorldFailure> {
        let Some(last) = omitted_until(&self.setup.flows) else {
            return Ok(());
        };
        let until = Instant::ZERO + last;
        while self.world.now() < until {
            self.run_for(SLICE.min(until - self.world.now()))?;
        }
        let setup = self.setup;
        let flows = self.flows.clone().into_iter();
        let facts: Vec<_> = flows
            .map(|(place, flow)| facts_of(&mut self.world, &setup.flows[place], flow))
            .collect();
        let (sender, receiver) = times(facts.iter());
        self.omitted = Omitted {
            until,
            sender,
            receiver,
            read: facts
                .iter()
                .map(|facts| (facts.bytes, facts.server.last_read.unwrap_or(until)))
                .collect(),
            link_busy: (0..self.links.len())
                .map(|number| self.link_busy(number))
                .collect(),
            cpu_busy: (0..self.hosts.len())
                .map(|place| self.cpu_busy(place))
                .collect(),
        };
        Ok(())
    }
}
