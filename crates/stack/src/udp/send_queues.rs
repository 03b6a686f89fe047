//! The send queues of UDP sockets: each socket has one for each interface.
//!
//! Rule: a datagram waits only for the device of the interface by which it leaves, so a full device
//! stops no datagram to another link, not even one of the same socket. This file chooses neither
//! interfaces nor next hops.

use alloc::vec::Vec;
use core::net::IpAddr;

use fullpipe_pool::{Holder, Pool};

use super::info::UdpQueue;
use crate::{
    config::UdpConfig,
    counters::Counters,
    interface_id::InterfaceId,
    ip::{BuiltPacket, DatagramHeader, IpSender, SendQueue},
    queues::Queues,
};

/// The send queues of all sockets.
#[derive(Debug)]
pub(super) struct SendQueues {
    /// The queues of all sockets for the first interface, then those for the second, and so on.
    queues: Vec<SendQueue>,
    /// For each interface, the places in `queues` of the queues with datagrams.
    waiting: Queues,
    /// Number of sockets.
    sockets: u32,
    most_datagrams: u32,
    most_bytes: u32,
}

/// The outcome of queueing a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PushOutcome {
    /// The datagram is in the queue.
    Queued,
    /// The queue has no room now.
    QueueFull,
    /// The queue has room, but packet memory is short.
    NoMemory,
}

/// A packet, with the state of its socket.
pub(super) struct Polled {
    pub(super) built: BuiltPacket,
    /// The socket that sent the packet.
    pub(super) socket: u32,
    /// The packet completes its datagram.
    pub(super) is_last: bool,
}

impl SendQueues {
    /// Allocates the queues of all sockets for one interface.
    pub(super) fn new(config: &UdpConfig) -> Self {
        let mut all = Self {
            queues: Vec::new(),
            waiting: Queues::new(0, 0),
            sockets: config.sockets,
            most_datagrams: config.send_queue,
            most_bytes: config.send_buffer,
        };
        all.add_interface();
        all
    }

    /// Allocates the queues of all sockets for one more interface.
    pub(super) fn add_interface(&mut self) {
        let (datagrams, bytes) = (self.most_datagrams, self.most_bytes);
        let queue = || SendQueue::new(Holder::Datagram, datagrams, bytes);
        self.queues.reserve_exact(self.sockets as usize);
        self.queues.extend((0..self.sockets).map(|_| queue()));
        self.waiting.add_queues(1);
        self.waiting.add_indices(self.sockets);
    }

    /// Returns the heap memory in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        let datagrams = self.queues.iter().map(SendQueue::heap_bytes);
        self.queues.capacity() * size_of::<SendQueue>()
            + datagrams.sum::<usize>()
            + self.waiting.heap_bytes()
    }

    /// Returns the place of the first queue of `interface`.
    const fn base(&self, interface: InterfaceId) -> u32 {
        interface.0 as u32 * self.sockets
    }

    /// Returns the queues of `socket`.
    fn of(&self, socket: u32) -> impl Iterator<Item = &SendQueue> {
        let queues = self.queues.iter().skip(socket as usize);
        queues.step_by(self.sockets as usize)
    }

    /// Returns true if a datagram waits to be sent by `interface`.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(super) fn has_output(&self, interface: InterfaceId) -> bool {
        !self.waiting.is_empty(interface.0.into())
    }

    /// Returns true if no datagram of `socket` waits.
    pub(super) fn is_empty(&self, socket: u32) -> bool {
        self.of(socket).all(SendQueue::is_empty)
    }

    /// Returns true if a queue of `socket` has room for at least the smallest datagram.
    pub(super) fn has_room(&self, socket: u32) -> bool {
        self.of(socket).any(SendQueue::has_room)
    }

    /// Returns the length and the bounds of the queues of `socket` together.
    pub(super) fn level(&self, socket: u32) -> UdpQueue {
        let levels = self.of(socket).map(SendQueue::level);
        levels.fold(UdpQueue::default(), |sum, one| UdpQueue {
            datagrams: sum.datagrams + one.datagrams,
            most_datagrams: sum.most_datagrams + one.most_datagrams,
            bytes: sum.bytes + one.bytes,
            most_bytes: sum.most_bytes + one.most_bytes,
        })
    }

    /// Queues a datagram of `socket` that leaves by `interface`.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(super) fn push(
        &mut self,
        (socket, interface): (u32, InterfaceId),
        ends: (IpAddr, IpAddr),
        header: DatagramHeader,
        payload: &[u8],
        pool: &mut Pool,
    ) -> PushOutcome {
        let place = self.base(interface) + socket;
        let queue = &mut self.queues[place as usize];
        let was_empty = queue.is_empty();
        if !queue.push(ends, None, header, payload, pool) {
            return match queue.allows(payload.len() as u64) {
                true => PushOutcome::NoMemory,
                false => PushOutcome::QueueFull,
            };
        }
        if was_empty {
            self.waiting.join(interface.0.into(), place);
        }
        PushOutcome::Queued
    }

    /// Writes the next packet of `interface` to the start of `packet`, which is at least as long as
    /// the device's MTU. Sockets take turns datagram by datagram.
    pub(super) fn poll(
        &mut self,
        interface: InterfaceId,
        sender: &mut IpSender,
        pool: &mut Pool,
        packet: &mut [u8],
        counters: &mut Counters,
    ) -> Option<Polled> {
        let place = self.waiting.first(interface.0.into())?;
        let queue = &mut self.queues[place as usize];
        let built = queue
            .poll_packet(sender, pool, packet, counters)
            .expect("a socket that sends has something to send");
        let is_last = !queue.is_fragmenting();
        if queue.is_empty() {
            self.waiting.leave(place);
        } else if is_last {
            self.waiting.rotate(interface.0.into(), place);
        }
        Some(Polled {
            built,
            socket: place - self.base(interface),
            is_last,
        })
    }

    /// Drops the datagrams of `socket`.
    pub(super) fn clear(&mut self, socket: u32, pool: &mut Pool) {
        for place in (socket as usize..self.queues.len()).step_by(self.sockets as usize) {
            self.waiting.leave(place as u32);
            self.queues[place].clear(pool);
        }
    }
}
