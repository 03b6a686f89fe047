//! Resets to connections that do not exist. RFC 9293 §3.10.7.1.
//!
//! Rule: a stranger's segment costs an entry in a bounded queue and one reset
//! within a rate limit; when either is used up it is dropped and nothing else
//! happens. The queue is emptied by the one way out.

use alloc::collections::VecDeque;

use fullpipe_pool::Instant;
use fullpipe_tcp::{Segment, SegmentOut};

use super::four_tuple::FourTuple;
use crate::rate_limit::RateLimit;

#[cfg(test)]
mod tests;

/// A reset to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reset {
    /// Between whom.
    pub(crate) tuple: FourTuple,
    /// The segment.
    pub(crate) segment: SegmentOut,
}

/// Why a segment that belongs to nothing gets no reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoReset {
    /// It is a reset itself.
    IsReset,
    /// The queue is full.
    QueueFull,
    /// Too many resets lately.
    RateLimited,
}

/// The queue of resets.
#[derive(Debug)]
pub(crate) struct Resets {
    /// Never grows beyond its first capacity.
    queue: VecDeque<Reset>,
    most: usize,
    limit: RateLimit,
}

impl Resets {
    /// Room for `most` resets; `per_second` are sent in the long run.
    pub(crate) fn new(most: u32, per_second: u32) -> Self {
        Self {
            queue: VecDeque::with_capacity(most as usize),
            most: most as usize,
            limit: RateLimit::new(per_second, most),
        }
    }

    /// Queues the answer to a segment that belongs to nothing.
    pub(crate) fn answer(
        &mut self,
        tuple: FourTuple,
        segment: &Segment<'_>,
        now: Instant,
    ) -> Result<(), NoReset> {
        let segment = SegmentOut::reset_for(segment).ok_or(NoReset::IsReset)?;
        if self.queue.len() == self.most {
            return Err(NoReset::QueueFull);
        }
        if !self.limit.allow(now) {
            return Err(NoReset::RateLimited);
        }
        self.queue.push_back(Reset { tuple, segment });
        Ok(())
    }

    /// The reset to be sent first.
    pub(crate) fn first(&self) -> Option<&Reset> {
        self.queue.front()
    }

    /// Forgets the first reset: it was sent, or cannot be.
    pub(crate) fn pop(&mut self) {
        self.queue.pop_front();
    }

    /// Whether no reset waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
