//! Records of a row (scenario) in addition to its result: events, sockets, counters.
//!
//! Rule: recording changes nothing in the run. Records that are not requested cost nothing. Times
//! are virtual, from the start of the row. Of several seeds, only the first is recorded.

pub mod counters;
pub mod events;
mod seconds;
pub mod sockets;
pub mod udp;

#[cfg(test)]
mod tests;

use fullpipe_pool::Duration;
use serde::Serialize;

use counters::HostCounters;
use events::WatchEvent;
use sockets::Socket;
use udp::UdpSocket;

use crate::experiment::{Experiment, FlowPlan};

/// Selects the records to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// True to record events.
    pub events: bool,
    /// Interval at which every connection and UDP socket is recorded.
    pub sockets: Option<Duration>,
    /// True to record every host's counters at the end.
    pub counters: bool,
}

impl Watch {
    /// No records.
    pub const NONE: Self = Self {
        events: false,
        sockets: None,
        counters: false,
    };

    /// Returns the shortest interval at which sockets of `experiment` can be recorded: a millionth
    /// of the longest row's time.
    pub fn least_interval(experiment: &Experiment) -> Duration {
        let flows = experiment.rows.iter().flat_map(|row| &row.setup.flows);
        let longest = flows.map(FlowPlan::latest_end).max();
        let nanos = longest.unwrap_or_default().as_nanos();
        Duration::from_nanos(nanos.div_ceil(MOST_MOMENTS).max(1))
    }
}

/// Largest number of times at which the sockets of a row are recorded.
const MOST_MOMENTS: u64 = 1_000_000;

/// The records of a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Watched {
    /// Events in the order of time; simultaneous events in the order of hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<WatchEvent>,
    /// Sockets in the order of time; simultaneous records in the order of flows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<Socket>,
    /// UDP sockets in the order of time; simultaneous records in the order of flows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub udp_sockets: Vec<UdpSocket>,
    /// Counters in the order of the file's hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<HostCounters>,
}
