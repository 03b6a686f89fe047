//! The neighbours of a link, for reading.
//!
//! Rule: reading changes nothing: no entry counts as used, and no request becomes due.

use core::{fmt, net::IpAddr};

use fullpipe_wire::MacAddress;

use super::{NeighbourState, Neighbours};

/// The state of a neighbour in the cache. Names are those of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reachability {
    /// The neighbour was asked for its MAC address and has not replied.
    Incomplete,
    /// The neighbour has a MAC address that needs no probe yet, or was not used since.
    Reachable,
    /// The last reply is old: the neighbour is probed, and its MAC address stays in use.
    Probe,
    /// The neighbour did not reply.
    Failed,
}

impl fmt::Display for Reachability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Incomplete => "INCOMPLETE",
            Self::Reachable => "REACHABLE",
            Self::Probe => "PROBE",
            Self::Failed => "FAILED",
        })
    }
}

impl Neighbours {
    /// Returns the address, the MAC address and the state of each neighbour.
    pub(crate) fn list(&self) -> impl Iterator<Item = (IpAddr, Option<MacAddress>, Reachability)> {
        self.entries.iter().map(|(_, entry)| {
            let (mac, state) = match entry.state {
                NeighbourState::Incomplete { .. } => (None, Reachability::Incomplete),
                NeighbourState::Reachable { mac, .. } => (Some(mac), Reachability::Reachable),
                NeighbourState::Refreshing { mac, .. } => (Some(mac), Reachability::Probe),
                NeighbourState::Failed { .. } => (None, Reachability::Failed),
            };
            (entry.ip.get(), mac, state)
        })
    }
}
