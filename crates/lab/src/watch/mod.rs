//! What a row is watched for beside its result: events, sockets, counters.
//!
//! Rule: watching changes nothing, and what was not asked for costs nothing.
//! Every time is virtual, from the start of the row; of several seeds it is
//! the first.

pub mod counters;
pub mod events;
pub mod sockets;
mod text;
pub mod udp;

#[cfg(test)]
mod tests;

use fullpipe_pool::Duration;
use serde::Serialize;

use counters::HostCounters;
use events::Happening;
use sockets::Socket;
use udp::UdpSocket;

pub use text::{events_json_lines, events_text, watched_text};

/// What is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// What happened, and when.
    pub events: bool,
    /// Every connection's and UDP socket's state, once in so long.
    pub sockets: Option<Duration>,
    /// Every host's counters at the end.
    pub counters: bool,
}

impl Watch {
    /// Nothing.
    pub const NONE: Self = Self {
        events: false,
        sockets: None,
        counters: false,
    };
}

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Watched {
    /// In the order of time; of what happens at once, in the order of hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Happening>,
    /// In the order of time, and of flows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<Socket>,
    /// The same of datagrams.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub udp_sockets: Vec<UdpSocket>,
    /// In the order of the file's hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<HostCounters>,
}

/// Seconds with as many digits as a nanosecond needs.
fn seconds(at_ns: u64) -> String {
    format!("{}.{:09}", at_ns / 1_000_000_000, at_ns % 1_000_000_000)
}
