//! Sending and reading datagrams.
//!
//! Rule: a host whose processor takes no time sends all that is due and reads
//! all that is there; one whose work takes time does one datagram a call, and
//! whatever is more urgent comes between.

use std::net::SocketAddr;

use fullpipe::{UdpId, UdpInfo};
use fullpipe_pool::Duration;

use super::{HostId, World, WorldEvent, address_of};
use crate::cpu::AppTask;
use crate::datagrams::{DatagramFacts, DatagramFlow, DatagramFlowId, DatagramPlan, DatagramStep};
use crate::failure::WorldFailure;
use crate::flow::Side;

/// Where the first receiver of datagrams listens; each has a port of its own.
const FIRST_PORT: u16 = 10_000;

impl World {
    /// Datagrams from one host to another, from `delay` on. They are no
    /// conversation: no goal waits for them, so let time pass.
    ///
    /// # Panics
    /// If a stack has no room for another socket, or the datagrams have none for
    /// their number (8 bytes).
    pub fn datagrams(
        &mut self,
        from: HostId,
        to: HostId,
        plan: DatagramPlan,
        delay: Duration,
    ) -> DatagramFlowId {
        let id = DatagramFlowId(self.datagrams.len());
        let port = FIRST_PORT + u16::try_from(id.0).expect("a port for each receiver");
        let address = SocketAddr::new(address_of(to), port);
        let any = SocketAddr::new(address_of(from), 0);
        let sockets = [(from, any), (to, address)].map(|(host, local)| {
            let socket = self.hosts[host.0].stack.udp_bind(local);
            socket.unwrap_or_else(|error| panic!("{local}: {error}"))
        });
        let key = self.rng.fork(0x44_0000 + id.0 as u64).next_u64();
        let started = self.now + delay;
        let mut datagrams = DatagramFlow::new(plan, [from, to], sockets, address, key, started);
        if let Some(at) = datagrams.wakeup.set(Some(started)) {
            self.events.add(at, WorldEvent::Datagrams(id));
        }
        self.datagrams.push(datagrams);
        self.hosts[to.0].receiver.get_or_insert_default();
        id
    }

    /// What datagrams have come to so far.
    pub fn datagram_facts(&self, id: DatagramFlowId) -> DatagramFacts {
        self.datagrams[id.0].facts
    }

    /// The sockets of datagrams: who sends, and who receives.
    pub fn datagram_sockets(&self, id: DatagramFlowId) -> [UdpInfo; 2] {
        let DatagramFlow { hosts, sockets, .. } = &self.datagrams[id.0];
        Side::ALL.map(|side| {
            let stack = &self.hosts[hosts[side.index()].0].stack;
            let info = stack.udp_info(sockets[side.index()]);
            info.expect("they are never closed")
        })
    }

    /// Datagrams whose time has come.
    pub(super) fn datagrams_due(&mut self, id: DatagramFlowId) -> Result<(), WorldFailure> {
        let host = self.datagrams[id.0].hosts[Side::Client.index()];
        self.hosts[host.0].idle_wakes = 0;
        match &mut self.hosts[host.0].cpu {
            Some(cpu) => cpu.wait(AppTask::Datagrams(id, Side::Client)),
            None => self.run_datagrams(id, Side::Client)?,
        }
        self.work(host)
    }

    /// A host's stack has news of a UDP socket.
    pub(super) fn serve_datagrams(
        &mut self,
        host: HostId,
        socket: UdpId,
    ) -> Result<(), WorldFailure> {
        let found = self.datagrams.iter().enumerate().find_map(|(number, own)| {
            let side = own.side_of(host, socket)?;
            Some((DatagramFlowId(number), side))
        });
        match found {
            Some((id, side)) => self.run_datagrams(id, side),
            None => Ok(()),
        }
    }

    /// Sends or reads.
    pub(super) fn run_datagrams(
        &mut self,
        id: DatagramFlowId,
        side: Side,
    ) -> Result<(), WorldFailure> {
        let host = self.datagrams[id.0].hosts[side.index()];
        let one_a_call = self.hosts[host.0].cpu.is_some();
        while self.one_datagram(id, side)? {
            if one_a_call {
                if let Some(cpu) = &mut self.hosts[host.0].cpu {
                    cpu.wait(AppTask::Datagrams(id, side));
                }
                break;
            }
        }
        Ok(())
    }

    /// Sends or reads one. Returns whether there may be another at once.
    fn one_datagram(&mut self, id: DatagramFlowId, side: Side) -> Result<bool, WorldFailure> {
        let now = self.now;
        let datagrams = &mut self.datagrams[id.0];
        let host = datagrams.hosts[side.index()];
        let stack = &mut self.hosts[host.0].stack;
        let outcome = match side {
            Side::Client => datagrams.send_one(stack, now),
            Side::Server => datagrams.read_one(stack, now),
        };
        match outcome {
            Ok(DatagramStep::More) => {
                self.watch.progress(now);
                Ok(true)
            }
            Ok(DatagramStep::At(at)) => {
                if let Some(at) = datagrams.wakeup.set(Some(at)) {
                    self.events.add(at, WorldEvent::Datagrams(id));
                }
                Ok(false)
            }
            Ok(DatagramStep::Blocked | DatagramStep::Done) => Ok(false),
            Err(finding) => {
                let place = format!("datagrams {}, {side:?} on host {}", id.0, host.0);
                Err(self.failure(place, finding))
            }
        }
    }
}
