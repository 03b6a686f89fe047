//! Reads, after every step, what limits each datagram flow and how long its queues are.
//!
//! Rule: nothing changes between two steps, so the state after a step applies until the next step.
//! A datagram counts as waiting from its due time until its last frame is in the device's queue. In
//! a world (simulated network) without datagrams nothing is read.

use fullpipe::counters::Discard;
use fullpipe_pool::{Duration, Instant};
use fullpipe_tcp::{Limit, ReceiveLimit};

use super::demand::{DatagramDemand, OverflowPlace};
use super::host::Host;
use super::network::World;
use crate::account::{DatagramAccount, Overflow, QueueLevel};
use crate::cpu::Cpu;
use crate::datagrams::{DatagramFlow, DatagramFlowId};
use crate::ids::HostId;
use crate::link::ETHERNET_HEADER_LEN;

impl World {
    /// Records, from now on, every overflow of receive queues and receive rings at
    /// hosts that receive datagrams.
    pub fn remember_overflows(&mut self) {
        self.overflows.get_or_insert_default();
    }

    /// The recorded overflows, by time.
    pub fn overflows(&self) -> Vec<(HostId, OverflowPlace, Overflow)> {
        let mut all = self.overflows.clone().unwrap_or_default();
        for (number, datagrams) in self.datagrams.iter().enumerate() {
            if let Some(open) = datagrams.demand.open() {
                let place = OverflowPlace::ReceiveQueue(DatagramFlowId(number));
                all.push((datagrams.hosts[1], place, open));
            }
        }
        for host in self.hosts() {
            let watch = self.hosts[host.0].receiver;
            if let Some(open) = watch.and_then(|watch| watch.ring.open()) {
                all.push((host, OverflowPlace::Ring, open));
            }
        }
        all.sort_by_key(|(.., overflow)| overflow.from);
        all
    }

    /// Time and bytes by limit so far. The account of a plan with a fixed time ends with that
    /// time; the account of a plan with an amount of bytes ends with the last datagram read.
    pub fn datagram_account(&self, id: DatagramFlowId) -> DatagramAccount {
        self.datagrams[id.0].account_at(self.now)
    }

    /// Queue lengths that the flow needed so far, and its losses.
    pub fn datagram_demand(&self, id: DatagramFlowId) -> DatagramDemand {
        let datagrams = &self.datagrams[id.0];
        let [sender, host] = datagrams.hosts.map(|host| &self.hosts[host.0]);
        let unknown = [
            Discard::ArpWaitQueueFull,
            Discard::ArpWaitNoMemory,
            Discard::ArpUnresolved,
            Discard::NeighbourUnreachable,
        ];
        let unknown = unknown.map(|reason| sender.stack.counters().discarded(reason));
        DatagramDemand {
            queue: datagrams.demand.most(),
            ring: host.receiver.map_or(0, |watch| watch.ring.most()),
            without_memory: host.stack.counters().discarded(Discard::UdpNoMemory),
            without_neighbour: unknown.into_iter().sum(),
        }
    }

    /// Updates the accounts of every sender and receiver of datagrams.
    pub(super) fn watch_datagrams(&mut self) {
        if self.datagrams.is_empty() {
            return;
        }
        for number in 0..self.datagrams.len() {
            let DatagramFlow { hosts, .. } = self.datagrams[number];
            let sending = sending(&self.hosts[hosts[0].0], &self.datagrams[number], self.now);
            let receiving = receiving(&self.hosts[hosts[1].0], &self.datagrams[number], self.now);
            self.datagrams[number].account_until(sending, receiving, self.now);
        }
        for number in 0..self.hosts.len() {
            self.watch_receiver(HostId(number));
        }
    }

    /// Updates the ring and the queues of a host that receives datagrams.
    fn watch_receiver(&mut self, id: HostId) {
        let now = self.now;
        let host = &mut self.hosts[id.0];
        let Some(watch) = &mut host.receiver else {
            return;
        };
        let busy = host
            .cpu
            .as_ref()
            .map_or(Duration::ZERO, |cpu| cpu.busy(now));
        let idle = now.since(watch.at) - (busy - watch.busy);
        (watch.at, watch.busy) = (now, busy);
        let model = host.cpu.as_ref().map(|cpu| cpu.model).unwrap_or_default();
        let mut over = Vec::new();
        let mtu = self.cables[host.link.0].engine.link(host.direction).mtu;
        let pool = &host.config.pool;
        let memory = u64::from(pool.blocks) * u64::from(pool.block_size);
        let mut longest = 0;
        for (number, own) in self.datagrams.iter_mut().enumerate() {
            if own.hosts[1] != id {
                continue;
            }
            let Ok(info) = host.stack.udp_info(own.sockets[1]) else {
                continue;
            };
            longest = longest.max(own.frame_len());
            let size = u64::from(own.plan.size);
            let queue = QueueLevel {
                waiting: info.unread.datagrams as u64,
                most: (memory / size).min(info.unread.most_of(size) as u64),
                lost: info.drops,
                cost: model.call,
            };
            let place = OverflowPlace::ReceiveQueue(DatagramFlowId(number));
            over.extend(
                own.demand
                    .look(now, idle, queue)
                    .map(|over| (id, place, over)),
            );
        }
        let (waiting, most) = host.device.ring();
        let ring = QueueLevel {
            waiting: waiting as u64,
            most: most as u64,
            lost: host.device.ring_drops(),
            cost: model.receive.of(longest.min(mtu + ETHERNET_HEADER_LEN)) + model.call,
        };
        let rung = watch.ring.look(now, idle, ring);
        over.extend(rung.map(|over| (id, OverflowPlace::Ring, over)));
        if let Some(overflows) = &mut self.overflows {
            overflows.extend(over);
        }
    }
}

/// The sender's limit at `now`.
fn sending(host: &Host, datagrams: &DatagramFlow, now: Instant) -> Limit {
    let unsent = host.stack.udp_info(datagrams.sockets[0]);
    let is_queued = unsent.is_ok_and(|info| info.unsent.datagrams > 0);
    let is_made = host.device.making().is_some();
    if datagrams.is_due(now) || is_queued || is_made {
        if is_made {
            Limit::Processor
        } else if !host.device.has_room() {
            Limit::Device
        } else if is_busy(host, now) {
            Limit::Processor
        } else {
            Limit::Device
        }
    } else if datagrams.facts.is_sent {
        Limit::Closing
    } else {
        Limit::Application
    }
}

/// The receiver's limit at `now`.
fn receiving(host: &Host, datagrams: &DatagramFlow, now: Instant) -> ReceiveLimit {
    let unread = host.stack.udp_info(datagrams.sockets[1]);
    let size = datagrams.plan.size.into();
    let (waiting, most) = host.device.ring();
    if waiting >= most {
        ReceiveLimit::Descriptors
    } else if unread.is_ok_and(|info| info.unread.is_full(size)) {
        ReceiveLimit::Buffer
    } else if is_busy(host, now) {
        ReceiveLimit::Processor
    } else {
        ReceiveLimit::None
    }
}

fn is_busy(host: &Host, now: Instant) -> bool {
    host.cpu.as_ref().is_some_and(|cpu: &Cpu| cpu.is_busy(now))
}
