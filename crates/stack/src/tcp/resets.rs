//! Resets in answer to segments without a connection. RFC 9293 §3.10.7.1.
//!
//! Rule: each answer takes a place in the bounded queue of its interface and counts against the rate
//! limit of its receiver (`source_limit`). If the queue or the limit refuses the answer, the segment
//! is dropped. `egress` empties the queues.

use core::net::IpAddr;

use fullpipe_pool::Instant;
use fullpipe_tcp::{Segment, SegmentOut};

use super::{
    answer_queues::{Answer, AnswerQueues},
    four_tuple::FourTuple,
};
use crate::{interface_id::InterfaceId, link::Station, source_limit::SourceLimit};

#[cfg(test)]
mod tests;

/// The reason that a segment without a connection gets no reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoReset {
    /// The segment is a reset.
    IsReset,
    /// The queue refused the answer: at random, with a probability equal to the part of the queue
    /// in use.
    QueueFull,
    /// The rate limit is reached.
    RateLimited,
}

/// The answers that wait: resets, and challenge ACKs of handshakes.
#[derive(Debug)]
pub(crate) struct Resets {
    queues: AnswerQueues,
    limit: SourceLimit,
}

impl Resets {
    /// Returns the empty queue of one interface, for at most `most` answers; `limit` bounds the rate
    /// of the answers by all interfaces.
    pub(crate) fn new(most: u32, limit: SourceLimit) -> Self {
        Self {
            queues: AnswerQueues::new(most),
            limit,
        }
    }

    /// Adds the queue of one more interface.
    pub(crate) fn add_interface(&mut self) {
        self.queues.add_interface();
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.queues.heap_bytes() + self.limit.heap_bytes()
    }

    /// Queues the answer to a segment without a connection.
    pub(crate) fn answer(
        &mut self,
        tuple: FourTuple,
        segment: &Segment<'_>,
        station: Station,
        now: Instant,
    ) -> Result<(), NoReset> {
        let segment = SegmentOut::reset_for(segment).ok_or(NoReset::IsReset)?;
        let answer = Answer {
            tuple,
            segment,
            station,
        };
        self.queue(answer, now)
    }

    /// Queues a reset, or a challenge ACK of a handshake.
    pub(crate) fn queue(&mut self, answer: Answer, now: Instant) -> Result<(), NoReset> {
        let (taken, of) = self.queues.level(answer.station.interface);
        if !self.limit.has_luck(taken, of) {
            return Err(NoReset::QueueFull);
        }
        if !self.limit.allow(answer.tuple.remote_ip(), now) {
            return Err(NoReset::RateLimited);
        }
        self.queues.push(answer);
        Ok(())
    }

    /// Drops the answers from `ip`, which was removed from this host.
    pub(crate) fn forget_address(&mut self, ip: IpAddr) {
        self.queues.forget_address(ip);
    }

    /// Removes and returns the first answer that leaves by `interface`.
    pub(crate) fn take(&mut self, interface: InterfaceId) -> Option<Answer> {
        self.queues.take(interface)
    }

    /// Returns true if an answer waits that leaves by `interface`.
    pub(crate) fn has_for(&self, interface: InterfaceId) -> bool {
        self.queues.has_for(interface)
    }
}
