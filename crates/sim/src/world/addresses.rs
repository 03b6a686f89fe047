//! Addresses that a host loses and gets again, as when a lease ends and is renewed late.
//!
//! Rule: a host without its address sends nothing from it, not even a reset; its connections and its
//! listener end. The same address comes back, so the peers' segments then meet a host that does not
//! know their connections.

use std::net::{IpAddr, SocketAddr};

use fullpipe::{AddressError, InterfaceId, Subnet};
use fullpipe_pool::Duration;

use super::network::{SERVER_PORT, V4_PREFIX_LEN, World, WorldEvent, address_of};
use crate::failure::WorldFailure;
use crate::flow::Side;
use crate::ids::{Family, HostId};

impl World {
    /// Removes the address of `family` from `host` after `begin`, for `length`. If the host does not
    /// have the address at that time, nothing happens.
    pub fn lose_address_for(
        &mut self,
        host: HostId,
        family: Family,
        begin: Duration,
        length: Duration,
    ) {
        let lost = self.now + begin;
        self.events.add(lost, WorldEvent::Lose(host, family));
        let regained = WorldEvent::Regain(host, family);
        self.events.add(lost + length, regained);
    }

    pub(super) fn lose_address(&mut self, id: HostId, family: Family) -> Result<(), WorldFailure> {
        let now = self.now;
        let host = &mut self.hosts[id.0];
        match host.stack.remove_address(address_of(id, family), now) {
            Ok(()) => {}
            Err(AddressError::NotOurs) => return Ok(()),
            Err(error) => return Err(self.address_failure(id, "remove_address", error)),
        }
        for flow in &mut self.flows {
            let server = flow.ends[Side::Server.index()].host;
            if flow.server.ip() == address_of(server, family) {
                let own = flow.ends.iter_mut().filter(|end| end.host == id);
                own.for_each(|end| end.is_cut_off |= end.connection.is_some());
            }
        }
        let host = &mut self.hosts[id.0];
        let listener = host.take_listener(family);
        host.lost[family.index()] = Some(listener.is_some());
        if let Some(listener) = listener {
            let closed = host.stack.tcp_close_listener(listener, now);
            closed.map_err(|error| self.refused(id, "tcp_close_listener", error))?;
        }
        self.work(id)
    }

    pub(super) fn regain_address(
        &mut self,
        id: HostId,
        family: Family,
    ) -> Result<(), WorldFailure> {
        let address = address_of(id, family);
        let subnet = Subnet {
            address,
            prefix_len: match address {
                IpAddr::V4(_) => V4_PREFIX_LEN,
                IpAddr::V6(_) => 64,
            },
        };
        let host = &mut self.hosts[id.0];
        let Some(listened) = host.lost[family.index()].take() else {
            // The end of another absence of the address was earlier, or the host never had it.
            return Ok(());
        };
        let added = host.stack.add_address(InterfaceId::FIRST, subnet);
        if let Err(error) = added {
            return Err(self.address_failure(id, "add_address", error));
        }
        if listened {
            host.listen(SocketAddr::new(address, SERVER_PORT));
        }
        self.work(id)
    }

    fn address_failure(&self, id: HostId, call: &str, error: AddressError) -> WorldFailure {
        let finding = format!("{call} was refused: {error}");
        self.failure(format!("host {}", id.0), finding)
    }
}
