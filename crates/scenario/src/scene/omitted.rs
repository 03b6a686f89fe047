//! The beginning of a row (scenario) that the results exclude (`omit`).
//!
//! Rule: every value that is divided by a time is stored at the start of the measurement, and
//! subtracted at the end. The measurement of all flows starts at the same time. Therefore rates and
//! shares describe only the measured time. Counts that are not divided by a time, such as segments,
//! include the beginning.

#[cfg(test)]
mod tests;

use fullpipe_pool::{Duration, Instant};
use fullpipe_tcp::{Limit, ReceiveLimit};

use super::built::{Built, times};
use crate::shares::Times;

/// Values at the start of the measurement; zero if the measurement starts with the row.
#[derive(Clone, Debug, Default)]
pub(super) struct Omitted {
    /// Time at which the measurement starts.
    pub until: Instant,
    /// Time charged to each limit of the senders.
    pub sender: Times<Limit>,
    /// Time charged to each limit of the receivers.
    pub receiver: Times<ReceiveLimit>,
    /// Bytes read by each connection, and the time of its last read; the time is `until` if the
    /// connection had read nothing.
    read: Vec<(u64, Instant)>,
    /// Time for which each direction of each link was in use.
    link_busy: Vec<[Duration; 2]>,
    /// Time for which each direction of each link waited for tokens.
    link_shaped: Vec<[Duration; 2]>,
    /// Time for which each host's processor worked.
    cpu_busy: Vec<Duration>,
}

impl Omitted {
    /// Stores the present values as the start of the measurement.
    pub fn at_present(built: &mut Built<'_>) -> Self {
        let until = built.world.now();
        let facts: Vec<_> = (0..built.flows.len())
            .map(|number| built.facts(number))
            .collect();
        let (sender, receiver) = times(facts.iter());
        Self {
            until,
            sender,
            receiver,
            read: facts
                .iter()
                .map(|facts| (facts.bytes, facts.server.last_read.unwrap_or(until)))
                .collect(),
            link_busy: (0..built.links.len())
                .map(|number| built.link_busy(number))
                .collect(),
            link_shaped: (0..built.links.len())
                .map(|number| built.link_shaped(number))
                .collect(),
            cpu_busy: (0..built.hosts.len())
                .map(|place| built.cpu_busy(place))
                .collect(),
        }
    }

    /// Time from which connection `number` is counted: the later of `start` and the connection's
    /// last read before the measurement starts. If the connection had read nothing, the start of
    /// the measurement replaces the last read. The counted time begins at the last read, because
    /// payload that counts may have arrived between this read and the start of the measurement.
    /// Without that time, the payload would be divided by too short a time, and a rate could exceed
    /// the path's rate.
    pub fn from(&self, number: usize, start: Instant) -> Instant {
        let read = self.read.get(number);
        read.map_or(start, |(_, last)| start.max(*last))
    }

    /// Returns the counted bytes and the counted time of a connection that read `bytes` in the time
    /// `elapsed` from `start` on.
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

    /// Time for which each direction of a link was in use before the measurement.
    pub fn link_busy(&self, number: usize) -> [Duration; 2] {
        self.link_busy.get(number).copied().unwrap_or_default()
    }

    /// Time for which each direction of a link waited for tokens before the measurement.
    pub fn link_shaped(&self, number: usize) -> [Duration; 2] {
        self.link_shaped.get(number).copied().unwrap_or_default()
    }

    /// Time for which a host's processor worked before the measurement.
    pub fn cpu_busy(&self, place: usize) -> Duration {
        self.cpu_busy.get(place).copied().unwrap_or_default()
    }
}
