//! Queues of answers to segments that belong to no connection: one queue for each interface.
//!
//! Rule: an answer waits only for the device of its own interface, so a full device stops no answer
//! to another link. The parts that queue answers bound their rate.

use alloc::{collections::VecDeque, vec::Vec};
use core::net::IpAddr;

use fullpipe_tcp::SegmentOut;

use super::four_tuple::FourTuple;
use crate::{interface_id::InterfaceId, link::Station};

/// A segment that answers a received segment without a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Addresses and ports.
    pub(crate) tuple: FourTuple,
    /// The segment.
    pub(crate) segment: SegmentOut,
    /// Station that sent the answered segment's frame.
    pub(crate) station: Station,
}

/// The queues of all interfaces.
#[derive(Debug)]
pub(super) struct AnswerQueues {
    /// The queue of each interface. No queue grows beyond its first capacity.
    queues: Vec<VecDeque<Answer>>,
    /// Largest number of answers in one queue.
    most: usize,
    /// Number of answers in all queues.
    waiting: usize,
}

impl AnswerQueues {
    /// Allocates the queue of one interface, for at most `most` answers.
    pub(super) fn new(most: u32) -> Self {
        let mut all = Self {
            queues: Vec::new(),
            most: most as usize,
            waiting: 0,
        };
        all.add_interface();
        all
    }

    /// Allocates the queue of one more interface.
    pub(super) fn add_interface(&mut self) {
        self.queues.reserve_exact(1);
        self.queues.push(VecDeque::with_capacity(self.most));
    }

    /// Returns the heap memory in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        let answers: usize = self.queues.iter().map(VecDeque::capacity).sum();
        answers * size_of::<Answer>() + self.queues.capacity() * size_of::<VecDeque<Answer>>()
    }

    /// Returns the number of answers that wait for `interface`, and the largest possible number.
    pub(super) fn level(&self, interface: InterfaceId) -> (usize, usize) {
        (self.queues[interface.index()].len(), self.most)
    }

    /// Appends an answer. The caller has checked that the queue of its interface has room.
    pub(super) fn push(&mut self, answer: Answer) {
        let interface = answer.station.interface;
        self.queues[interface.index()].push_back(answer);
        self.waiting += 1;
    }

    /// Removes and returns the answer to be sent next by `interface`.
    pub(super) fn take(&mut self, interface: InterfaceId) -> Option<Answer> {
        let answer = self.queues[interface.index()].pop_front()?;
        self.waiting -= 1;
        Some(answer)
    }

    /// Returns true if an answer waits for `interface`.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(super) fn has_for(&self, interface: InterfaceId) -> bool {
        // Nearly always, no answer waits.
        self.waiting != 0 && !self.queues[interface.index()].is_empty()
    }

    /// Drops the answers from `ip`, which was removed from this host.
    pub(super) fn forget_address(&mut self, ip: IpAddr) {
        for queue in &mut self.queues {
            queue.retain(|answer| answer.tuple.local_ip() != ip);
        }
        self.waiting = self.queues.iter().map(VecDeque::len).sum();
    }
}
