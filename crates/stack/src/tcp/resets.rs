//! Resets in answer to segments without a connection. RFC 9293 §3.10.7.1.
//!
//! Rule: each answer takes a place in a bounded queue and counts against the rate limit of its
//! receiver (`source_limit`). If the queue or the limit refuses the answer, the segment is
//! dropped. `egress` empties the queue.

use alloc::collections::VecDeque;
use core::net::IpAddr;

use fullpipe_pool::Instant;
use fullpipe_tcp::{Segment, SegmentOut};

use super::four_tuple::FourTuple;
use crate::{interface_id::InterfaceId, link::Station, source_limit::SourceLimit};

#[cfg(test)]
mod tests;

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

/// The queue of answers: resets, and challenge ACKs of handshakes.
#[derive(Debug)]
pub(crate) struct Resets {
    /// Never grows beyond its first capacity.
    queue: VecDeque<Answer>,
    most: usize,
    limit: SourceLimit,
}

impl Resets {
    /// Returns an empty queue for at most `most` answers; `limit` bounds their rate.
    pub(crate) fn new(most: u32, limit: SourceLimit) -> Self {
        Self {
            queue: VecDeque::with_capacity(most as usize),
            most: most as usize,
            limit,
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.queue.capacity() * size_of::<Answer>() + self.limit.heap_bytes()
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
        if !self.limit.has_luck(self.queue.len(), self.most) {
            return Err(NoReset::QueueFull);
        }
        if !self.limit.allow(answer.tuple.remote_ip, now) {
            return Err(NoReset::RateLimited);
        }
        self.queue.push_back(answer);
        Ok(())
    }

    /// Drops the answers from `ip`, which was removed from this host.
    pub(crate) fn forget_address(&mut self, ip: IpAddr) {
        self.queue.retain(|answer| answer.tuple.local_ip != ip);
    }

    /// Removes and returns the first answer that leaves by `interface`.
    pub(crate) fn take(&mut self, interface: InterfaceId) -> Option<Answer> {
        take_answer(&mut self.queue, interface)
    }

    /// Returns true if an answer waits that leaves by `interface`.
    pub(crate) fn has_for(&self, interface: InterfaceId) -> bool {
        has_answer(&self.queue, interface)
    }
}

/// Removes and returns the first answer of `queue` that leaves by `interface`. The search skips the
/// answers of other interfaces, whose number the size of the queue bounds.
pub(super) fn take_answer(queue: &mut VecDeque<Answer>, interface: InterfaceId) -> Option<Answer> {
    let mut answers = queue.iter();
    let place = answers.position(|answer| answer.station.interface == interface)?;
    queue.remove(place)
}

/// Returns true if an answer of `queue` leaves by `interface`.
#[inline]
pub(super) fn has_answer(queue: &VecDeque<Answer>, interface: InterfaceId) -> bool {
    let is_for = |answer: &Answer| answer.station.interface == interface;
    // Nearly always, no answer waits.
    !queue.is_empty() && queue.iter().any(is_for)
}
