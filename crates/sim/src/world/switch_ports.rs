//! The ports of a switch, and the port that the switch has learned for each
//! host.
//!
//! Rule: a host's port is the port at which the host's latest frame arrived.

use crate::ids::{HostId, LinkId};
use crate::link::Direction;

/// The ports of a switch.
#[derive(Debug, Default)]
pub(super) struct SwitchPorts {
    /// The links plugged into the switch, each with its direction away from the switch.
    pub ports: Vec<(LinkId, Direction)>,
    /// The port of each host, by the host's number; `None` until the host has sent a frame.
    learned: Vec<Option<usize>>,
}

impl SwitchPorts {
    pub fn port_of(&self, link: LinkId) -> Option<usize> {
        self.ports.iter().position(|(port, _)| *port == link)
    }

    pub fn learn(&mut self, host: HostId, port: usize) {
        if self.learned.len() <= host.0 {
            self.learned.resize(host.0 + 1, None);
        }
        self.learned[host.0] = Some(port);
    }

    pub fn port_to(&self, host: HostId) -> Option<usize> {
        self.learned.get(host.0).copied().flatten()
    }
}
