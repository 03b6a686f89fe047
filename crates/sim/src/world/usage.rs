//! Records of the times at which links and processors were in use.
//!
//! Rule: recording changes nothing that happens in the world (the simulated network), and is
//! off until `record_usage` is called.

use fullpipe_pool::Instant;

use super::network::World;
use crate::ids::{HostId, LinkId};
use crate::link::Transmission;

impl World {
    /// Records, from now on, the times at which each link and each processor is in use. Records
    /// nothing for hosts whose work takes no time.
    pub fn record_usage(&mut self) {
        for cable in &mut self.cables {
            cable.engine.record_transmissions();
        }
        let cpus = self.hosts.iter_mut().filter_map(|host| host.cpu.as_mut());
        cpus.for_each(|cpu| cpu.record_work());
    }

    /// Returns the frames that `link` carried since the last call, in the order of time.
    pub fn take_transmissions(&mut self, link: LinkId) -> Vec<Transmission> {
        self.cables[link.0].engine.take_transmissions()
    }

    /// Returns the start and end of each piece of work of `host` since the last call.
    pub fn take_work(&mut self, host: HostId) -> Vec<(Instant, Instant)> {
        let cpu = self.hosts[host.0].cpu.as_mut();
        cpu.map(|cpu| cpu.take_work()).unwrap_or_default()
    }
}
