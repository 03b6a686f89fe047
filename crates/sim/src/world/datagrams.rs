//! Sending and reading datagrams.
//!
//! Rule: a host whose work takes no time sends every due datagram and reads every waiting
//! datagram. A host whose work takes time handles one datagram in each call, so that more urgent
//! work can come between two calls.

use std::net::SocketAddr;

use fullpipe::{UdpId, UdpInfo};
use fullpipe_pool::Duration;

use super::network::{World, WorldEvent};
use crate::cpu::AppTask;
use crate::datagrams::{DatagramFacts, DatagramFlow, DatagramFlowId, DatagramPlan, DatagramStep};
use crate::failure::WorldFailure;
use crate::flow::Side;
use crate::ids::HostId;

/// Port of the first receiver of datagrams; each receiver has its own port.
const FIRST_PORT: u16 = 10_000;

impl World {
    /// Sends datagrams from one host to another, from `delay` on. No [`Goal`](crate::Goal)
    /// includes datagrams, so run the world (the simulated network) for a time.
    ///
    /// # Panics
    /// Panics if a stack has no room for another socket, or if `plan.size` is less than 8 bytes,
    /// the length of a datagram's number.
    pub fn datagrams(
        &mut self,
        from: HostId,
        to: HostId,
        plan: DatagramPlan,
        delay: Duration,
    ) -> DatagramFlowId {
        let id = DatagramFlowId(self.datagrams.len());
        let port = FIRST_PORT + u16::try_from(id.0).expect("a port for each receiver");
        let address = SocketAddr::new(self.address_in_use(to), port);
        let any = SocketAddr::new(self.address_in_use(from), 0);
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

    /// The counts of a datagram flow so far.
    pub fn datagram_facts(&self, id: DatagramFlowId) -> DatagramFacts {
        self.datagrams[id.0].facts
    }

    /// The sockets of a datagram flow: the sender's and the receiver's.
    pub fn datagram_sockets(&self, id: DatagramFlowId) -> [UdpInfo; 2] {
        let DatagramFlow { hosts, sockets, .. } = &self.datagrams[id.0];
        Side::ALL.map(|side| {
            let stack = &self.hosts[hosts[side.index()].0].stack;
            let info = stack.udp_info(sockets[side.index()]);
            info.expect("the sockets of datagram flows are never closed")
        })
    }

    /// Runs the sender of a datagram flow at its due time.
    pub(super) fn datagrams_due(&mut self, id: DatagramFlowId) -> Result<(), WorldFailure> {
        let host = self.datagrams[id.0].hosts[Side::Client.index()];
        self.hosts[host.0].idle_wakes = 0;
        match &mut self.hosts[host.0].cpu {
            Some(cpu) => cpu.wait(AppTask::Datagrams(id, Side::Client)),
            None => self.run_datagrams(id, Side::Client)?,
        }
        self.work(host)
    }

    /// Runs the side of a flow whose UDP socket has an event.
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

    /// Sends or reads datagrams of one side.
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

    /// Sends or reads one datagram. Returns true if another may follow at once.
    fn one_datagram(&mut self, id: DatagramFlowId, side: Side) -> Result<bool, WorldFailure> {
        let now = self.now;
        let datagrams = &mut self.datagrams[id.0];
        let host = datagrams.hosts[side.index()];
        let stack = &mut self.hosts[host.0].stack;
        let before = datagrams.facts;
        let outcome = match side {
            Side::Client => datagrams.send_one(stack, now),
            Side::Server => datagrams.read_one(stack, now),
        };
        // The datagram counts as progress even if no other datagram follows at once.
        if datagrams.facts != before {
            self.watch.progress(now);
        }
        match outcome {
            Ok(DatagramStep::More) => Ok(true),
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
